import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem } from "@/api/client";
import { RunLink } from "@/parts/Links";
import { commandSlot } from "../queries";
import { useClusterSearch } from "../search";

const TYPING_MS = 300;

/** Ask where a command belongs: its slot and owner, then and now, and what became of it. */
export function AskCommand() {
  const { t } = useTranslation("cluster");
  const [{ command }, change] = useClusterSearch();
  const [typed, setTyped] = useState(command ?? "");
  useEffect(() => setTyped(command ?? ""), [command]);
  useEffect(() => {
    if (typed === (command ?? "")) return;
    const timer = setTimeout(() => change({ command: /^\d{1,19}$/.test(typed) ? typed : undefined }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, command, change]);
  const found = useQuery({ ...commandSlot(command ?? "0"), enabled: command !== undefined });
  const { data } = found;
  return (
    <div className="ask">
      <TextInput
        label={t("ask")}
        inputMode="numeric"
        placeholder="4711"
        value={typed}
        aria-label={t("commandId")}
        onChange={(event) => setTyped(event.currentTarget.value.trim())}
      />
      <output>
        {command === undefined && <span className="mute">{t("askHow")}</span>}
        {found.error && (
          <span className="bad">
            {found.error.message} {found.error instanceof ApiProblem && <code>[{found.error.code}]</code>}
          </span>
        )}
        {data && command !== undefined && (
          <>
            {(data.slot ?? data.taken_slot) && (
              <b className="slot">{t("slotOfText", { slot: data.slot ?? data.taken_slot })}</b>
            )}{" "}
            {data.why}
            {data.slot_then && data.slot_then !== (data.slot ?? data.taken_slot) && (
              <span className="mute"> {t("before", { slot: data.slot_then, owner: data.owner_then })}</span>
            )}{" "}
            {data.run_id && <RunLink id={data.run_id}>{t("openRun", { id: data.run_id })}</RunLink>}
          </>
        )}
      </output>
    </div>
  );
}
