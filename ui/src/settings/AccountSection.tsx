import { PasswordInput, SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { ZoneSelect } from "@/forms/ZoneSelect";
import { me } from "@/login/session";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { sends } from "@/parts/sends";
import { zone } from "@/parts/time";
import { chooseLanguage, LANGUAGES, type Language } from "@/words/i18n";
import { END_TOKENS, EndTokens } from "./EndTokens";
import { Sessions } from "./Sessions";
import { Tokens } from "./Tokens";

/** Oneself: how the page looks here, password, sessions, tokens. */
export function AccountSection() {
  const { t, i18n } = useTranslation("settings");
  const shownZone = zone.use();
  const who = useQuery(me);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Panel title={t("thisBrowser")}>
        <div className="fields pad">
          <div>
            <p className="field-label">{t("language")}</p>
            <SegmentedControl
              fullWidth
              aria-label={t("language")}
              data={(Object.keys(LANGUAGES) as Language[]).map((value) => ({ value, label: LANGUAGES[value] }))}
              value={i18n.language}
              onChange={(language) => void chooseLanguage(language as Language)}
            />
          </div>
          <div>
            <p className="field-label">{t("theme")}</p>
            <SegmentedControl
              fullWidth
              aria-label={t("theme")}
              data={(["auto", "light", "dark"] as const).map((value) => ({ value, label: t(`theme.${value}`) }))}
              value={colorScheme}
              onChange={(scheme) => setColorScheme(scheme as typeof colorScheme)}
            />
          </div>
          <ZoneSelect label={t("zone")} value={shownZone} onChange={zone.set} />
        </div>
      </Panel>
      <Answer of={who}>
        {({ account, name }) =>
          account == null ? null : (
            <>
              <OwnPassword name={name} />
              <Sessions account={account} />
              <Tokens account={account} />
            </>
          )
        }
      </Answer>
    </>
  );
}

/** The first password needs no current one. */
function OwnPassword({ name }: { name: string }) {
  const { t } = useTranslation("settings");
  const { values, change: type, fieldsOf } = useFields({ current: "", password: "" });
  const { current, password } = values;
  const [endTokens, setEndTokens] = useState(END_TOKENS);
  const done = useDone("sessions", "tokens");
  const change = useMutation({
    mutationFn: () =>
      api.PUT("/api/v1/me/password", {
        body: { password, end_tokens: endTokens, ...(current !== "" && { current }) },
      }),
    onSuccess: () => {
      type({ current: "", password: "" });
      return done(t("passwordChanged"));
    },
  });
  const field = fieldsOf(change.error);
  const show = { "aria-label": t("show") };
  return (
    <Panel title={t("password")} remark={name}>
      <form className="form pad narrow" onSubmit={sends(() => change.mutate())}>
        <input type="text" hidden readOnly autoComplete="username" value={name} />
        <PasswordInput
          label={t("currentPassword")}
          description={t("currentHelp")}
          autoComplete="current-password"
          visibilityToggleButtonProps={show}
          {...field("current")}
        />
        <PasswordInput
          label={t("newPassword")}
          description={t("passwordHelp")}
          autoComplete="new-password"
          visibilityToggleButtonProps={show}
          {...field("password")}
        />
        <EndTokens value={endTokens} onChange={setEndTokens} />
        <Refusal error={faultBeside(change.error, "current", "password")} />
        <div className="form-end">
          <Submit
            isPending={change.isPending}
            why={password === "" ? t("passwordFirst") : null}
            word={t("changePassword")}
          />
        </div>
      </form>
    </Panel>
  );
}
