import { Switch, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import type { Channel } from "./queries";

const FIELDS = ["name", "url", "description", "subject_template", "text_template"] as const;
// biome-ignore lint/suspicious/noTemplateCurlyInString: a template of the server's
const SUBJECT = "${severity}: ${subject}";
const URLS = [
  "mailtos://user:password@mail.example?to=ops@example.org",
  "jsons://example.org/hook",
  "slack://TokenA/TokenB/TokenC",
  "dingtalk://token",
  "feishu://token",
  "wecombot://key",
];

interface Props {
  /** null = a new one. */
  channel: Channel | null;
  onClose: () => void;
}

/** Where alerts are sent. The URL is written and never read: a change without one keeps it. */
export function ChannelForm({ channel, onClose }: Props) {
  const { t } = useTranslation("alerts");
  const done = useDone("alerts");
  const { values, change, fieldsOf } = useFields({
    name: channel?.name ?? "",
    url: "",
    description: channel?.description ?? "",
    enabled: channel?.enabled ?? true,
    subject_template: channel?.subject_template ?? "",
    text_template: channel?.text_template ?? "",
  });
  const { name, enabled, ...texts } = values;
  const url = texts.url.trim();
  const save = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/alert-channels/{name}", {
        params: { path: { name }, header: match(channel?.version) },
        body: {
          url: url || null,
          description: texts.description,
          enabled,
          subject_template: texts.subject_template || null,
          text_template: texts.text_template || null,
        },
      }),
    onSuccess: (saved) => {
      onClose();
      void done(t("channelSaved", { name: saved.name }));
    },
  });
  const field = fieldsOf(save.error);
  const why = name === "" ? t("nameFirst") : channel === null && url === "" ? t("urlFirst") : null;
  return (
    <FormDialog
      title={channel === null ? t("newChannel") : t("changeNamed", { name: channel.name })}
      size={680}
      verb={t("save")}
      why={why}
      sending={save}
      fields={FIELDS}
      onClose={onClose}
    >
      <div className="fields">
        <TextInput label={t("name")} readOnly={channel !== null} {...field("name")} />
        <TextInput label={t("description")} {...field("description")} />
        <TextInput
          className="whole"
          label={t("url")}
          description={channel === null ? t("urlHelp") : t("urlKept", { url: channel.url })}
          placeholder={URLS[0]}
          list="alert-urls"
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: "mono" }}
          {...field("url")}
        />
        <datalist id="alert-urls">
          {URLS.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <Switch
          className="whole"
          label={t("channelOn")}
          description={t("channelOnHelp")}
          checked={enabled}
          onChange={(event) => change({ enabled: event.currentTarget.checked })}
        />
      </div>
      <details>
        <summary>{t("templates")}</summary>
        <div className="form templates">
          <p className="mute">{t("templatesHelp")}</p>
          <TextInput
            label={t("subjectTemplate")}
            placeholder={SUBJECT}
            classNames={{ input: "mono" }}
            {...field("subject_template")}
          />
          <Textarea
            label={t("textTemplate")}
            rows={4}
            spellCheck={false}
            classNames={{ input: "mono" }}
            {...field("text_template")}
          />
        </div>
      </details>
    </FormDialog>
  );
}
