import { Switch, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, bodyOf } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { faultAt } from "@/forms/faults";
import { useDone } from "@/forms/useDone";
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
  const [name, setName] = useState(channel?.name ?? "");
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState(channel?.description ?? "");
  const [enabled, setEnabled] = useState(channel?.enabled ?? true);
  const [subject, setSubject] = useState(channel?.subject_template ?? "");
  const [text, setText] = useState(channel?.text_template ?? "");
  const save = useMutation({
    mutationFn: () =>
      bodyOf(
        api.PUT("/api/v1/alert-channels/{name}", {
          params: { path: { name }, header: channel === null ? {} : { "If-Match": `"${channel.version}"` } },
          body: {
            url: url.trim() === "" ? null : url.trim(),
            description,
            enabled,
            subject_template: subject === "" ? null : subject,
            text_template: text === "" ? null : text,
          },
        }),
      ),
    onSuccess: (saved) => {
      onClose();
      void done(t("channelSaved", { name: saved.name }));
    },
  });
  const why = name === "" ? t("nameFirst") : channel === null && url.trim() === "" ? t("urlFirst") : null;
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
        <TextInput
          label={t("name")}
          value={name}
          readOnly={channel !== null}
          error={faultAt(save.error, "name")}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label={t("description")}
          value={description}
          error={faultAt(save.error, "description")}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <TextInput
          className="whole"
          label={t("url")}
          description={channel === null ? t("urlHelp") : t("urlKept", { url: channel.url })}
          placeholder={URLS[0]}
          list="alert-urls"
          autoComplete="off"
          spellCheck={false}
          classNames={{ input: "mono" }}
          value={url}
          error={faultAt(save.error, "url")}
          onChange={(event) => setUrl(event.currentTarget.value)}
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
          onChange={(event) => setEnabled(event.currentTarget.checked)}
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
            value={subject}
            error={faultAt(save.error, "subject_template")}
            onChange={(event) => setSubject(event.currentTarget.value)}
          />
          <Textarea
            label={t("textTemplate")}
            rows={4}
            spellCheck={false}
            classNames={{ input: "mono" }}
            value={text}
            error={faultAt(save.error, "text_template")}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </div>
      </details>
    </FormDialog>
  );
}
