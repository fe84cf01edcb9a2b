import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { Confirm } from "@/forms/Confirm";
import { changedSchedules, type Schedule } from "./queries";

/** Asks before a schedule is deleted. */
export function DeleteSchedule({ schedule, name, onClose }: { schedule: Schedule; name: string; onClose: () => void }) {
  const { t } = useTranslation("schedules");
  const removal = useMutation({
    mutationFn: () =>
      api.DELETE("/api/v1/schedules/{id}", {
        params: { path: { id: schedule.id }, header: match(schedule.version) },
      }),
    onSuccess: async () => {
      onClose();
      await changedSchedules();
    },
  });
  return (
    <Confirm title={t("deleteTitle", { id: schedule.id, name })} verb={t("delete")} sending={removal} onClose={onClose}>
      <p>{t("deleteHelp", { name })}</p>
      {schedule.from_file && <p className="mute">{t("fromFileHelp")}</p>}
    </Confirm>
  );
}
