import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { Confirm } from "@/forms/Confirm";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Heads } from "@/parts/Table";
import { Moment } from "@/parts/Time";

/** Which secrets are stored and which keys encrypt them; all can be encrypted with the first key. */
export function Secrets() {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("secrets", "data-sources", "environments", "alerts");
  const [isAsking, setIsAsking] = useState(false);
  const keys = useQuery(asked(["secrets", "keys"], () => api.GET("/api/v1/secrets/keys")));
  const secrets = useQuery(asked(["secrets"], () => api.GET("/api/v1/secrets")));
  const rotate = useMutation({
    mutationFn: () => api.POST("/api/v1/secrets:rotate"),
    onSuccess: (said) => {
      setIsAsking(false);
      return done(
        t("rotated", {
          sources: said.data_sources,
          environments: said.environments,
          channels: said.alert_channels,
          key: said.key_id,
        }),
      );
    },
  });
  return (
    <>
      <Panel title={t("keys")} end={<SmallAct why={whyNot} onClick={() => setIsAsking(true)} word={t("rotate")} />}>
        <Answer of={keys} empty={<Empty title={t("noKeys")} />}>
          {(all) => (
            <table>
              <Heads of={[t("key"), t("keyUse"), { num: t("section.secrets") }]} />
              <tbody>
                {all.items.map((each) => (
                  <tr key={each.key_id}>
                    <td className="mono">{each.key_id}</td>
                    <td>
                      <i className="st" data-s={each.is_here ? "SUCCESS" : "FAILURE"} aria-hidden />{" "}
                      {t(each.encrypts ? "keyEncrypts" : each.is_here ? "keyReads" : "keyMissing")}
                    </td>
                    <td className="num">{each.secrets}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Answer>
      </Panel>
      <Panel title={t("section.secrets")} remark={secrets.data?.items.length}>
        <Answer of={secrets} empty={<Empty title={t("noSecrets")}>{t("noSecretsHelp")}</Empty>}>
          {(all) => (
            <table>
              <Heads of={[t("name"), t("kind"), t("key"), { num: t("changed") }]} />
              <tbody>
                {all.items.map((each) => (
                  <tr key={`${each.kind} ${each.name}`}>
                    <td>{each.name}</td>
                    <td>
                      <WhereSaved kind={each.kind} />
                    </td>
                    <td className="mono">{each.key_id}</td>
                    <td className="num">
                      <Moment at={each.updated_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Answer>
        <footer>{t("writeOnly")}</footer>
      </Panel>
      {isAsking && (
        <Confirm title={t("rotate")} verb={t("rotateVerb")} sending={rotate} onClose={() => setIsAsking(false)}>
          <p>{t("rotateHelp")}</p>
        </Confirm>
      )}
    </>
  );
}

/** A link to where the secrets of this kind are saved, which names the kind. */
function WhereSaved({ kind }: { kind: Schemas["SecretKind"] }) {
  const { t } = useTranslation("settings");
  const word = t(`kind.${kind}`);
  if (kind === "ALERT_CHANNEL") {
    return (
      <Link to="/alerts" search={{ tab: "channels" }}>
        {word}
      </Link>
    );
  }
  const section = kind === "DATA_SOURCE" ? "data-sources" : "environments";
  return (
    <Link to="/settings/$section" params={{ section }} search={{}}>
      {word}
    </Link>
  );
}
