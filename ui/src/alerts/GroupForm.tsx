import { Checkbox, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { Answer } from "@/parts/Answer";
import { channels, type Group } from "./queries";

interface Props {
  /** Only a name = a new one. */
  group: Group | { name: string };
  onClose: () => void;
}

/** A named set of channels. */
export function GroupForm({ group, onClose }: Props) {
  const { t } = useTranslation("alerts");
  const done = useDone("alerts");
  const saved = "version" in group ? group : null;
  const found = useQuery(channels);
  const { values, fieldsOf } = useFields({
    name: group.name,
    description: saved?.description ?? "",
    channels: [...(saved?.channels ?? [])],
  });
  const { name, ...body } = values;
  const save = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/alert-groups/{name}", {
        params: { path: { name }, header: match(saved?.version) },
        body,
      }),
    onSuccess: () => {
      onClose();
      void done(t("savedNamed", { name }));
    },
  });
  const field = fieldsOf(save.error);
  return (
    <FormDialog
      title={saved === null ? t("newGroup") : t("changeNamed", { name: saved.name })}
      verb={t("save")}
      why={name === "" ? t("nameFirst") : null}
      sending={save}
      fields={["name", "description", "channels"]}
      onClose={onClose}
    >
      <TextInput
        label={t("name")}
        description={saved === null ? t("groupNameHelp") : undefined}
        readOnly={saved !== null}
        {...field("name")}
      />
      <TextInput label={t("description")} {...field("description")} />
      <Answer of={found} lines={2} empty={<p>{t("noChannels")}</p>}>
        {(all) => (
          <Checkbox.Group label={t("channels")} {...field("channels")}>
            <div className="channel-choices">
              {all.items.map((each) => (
                <Checkbox key={each.name} value={each.name} label={each.name} size="xs" />
              ))}
            </div>
          </Checkbox.Group>
        )}
      </Answer>
    </FormDialog>
  );
}
