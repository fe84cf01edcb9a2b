import { Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { Panel } from "@/parts/Panel";

interface Props {
  catalog: string;
  missing: number;
  onNames: (names: string) => void;
}

/** The names behind the ids of an export, which a person fills in. */
export function Names({ catalog, missing, onNames }: Props) {
  const { t } = useTranslation("importing");
  const [typed, setTyped] = useState(catalog);
  return (
    <Panel title={t("names")} remark={t("missing", { count: missing })}>
      <div className="pad stack">
        <p className="mute">{t("namesHelp")}</p>
        <Textarea
          aria-label={t("names")}
          classNames={{ input: "mono-input" }}
          autosize
          minRows={4}
          maxRows={20}
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <div className="line end">
          <Act why={typed === catalog ? t("fillFirst") : null} onClick={() => onNames(typed)} word={t("readAgain")} />
        </div>
      </div>
    </Panel>
  );
}
