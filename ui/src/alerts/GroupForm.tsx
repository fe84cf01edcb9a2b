import { Checkbox, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { useDone } from "@/forms/useDone";
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
  const [name, setName] = useState(group.name);
  const [description, setDescription] = useState(saved?.description ?? "");
  const [chosen, setChosen] = useState<string[]>([...(saved?.channels ?? [])]);
  const save = useMutation({
    mutationFn: () =>
      bodyOf(
        api.PUT("/api/v1/alert-groups/{name}", {
          params: { path: { name }, header: saved === null ? {} : { "If-Match": `"${saved.version}"` } },
          body: { channels: chosen, description },
        }),
      ),
    onSuccess: () => {
      onClose();
      void done(t("savedNamed", { name }));
    },
  });
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
        value={name}
        readOnly={saved !== null}
        error={faultAt(save.error, "name")}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label={t("description")}
        value={description}
        error={faultAt(save.error, "description")}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <Answer of={found} lines={2} isEmpty={(all) => all.items.length === 0} empty={<p>{t("noChannels")}</p>}>
        {(all) => (
          <Checkbox.Group
            label={t("channels")}
            value={chosen}
            error={faultAt(save.error, "channels")}
            onChange={setChosen}
          >
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
