import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { ShownOnce } from "@/forms/ShownOnce";
import { useDone } from "@/forms/useDone";
import { RowAct, SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Ago, Moment } from "@/parts/Time";
import { NewToken } from "./NewToken";

/** The tokens of an account: what each may, and when it was used. A new one is shown once. */
export function Tokens({ account }: { account: string }) {
  const { t } = useTranslation("settings");
  const done = useDone("tokens");
  const [isMaking, setIsMaking] = useState(false);
  const [made, setMade] = useState<Schemas["TokenMade"] | null>(null);
  const found = useQuery(
    asked(["tokens", account], () =>
      api.GET("/api/v1/users/{account}/tokens", { params: { path: { account }, query: { limit: 200 } } }),
    ),
  );
  const revoke = useMutation({
    mutationFn: (id: string) =>
      api.DELETE("/api/v1/users/{account}/tokens/{id}", { params: { path: { account, id } } }),
    onSuccess: () => done(t("tokenRevoked")),
    onError: sayFailure,
  });
  return (
    <Panel
      title={t("tokens")}
      remark={found.data?.items.length}
      end={<SmallAct onClick={() => setIsMaking(true)} word={t("newToken")} />}
    >
      {made !== null && (
        <div className="pad">
          <ShownOnce text={made.token} what={t("tokenOnce", { name: made.name })} />
        </div>
      )}
      <Answer of={found} empty={<Empty title={t("noTokens")}>{t("noTokensHelp")}</Empty>}>
        {(all) => (
          <Table
            heads={[
              t("name"),
              t("scopes"),
              t("projects"),
              { num: t("lastUsed") },
              { num: t("ends") },
              { unseen: t("actions") },
            ]}
          >
            {all.items.map((each) => (
              <tr key={each.id}>
                <td>{each.name}</td>
                <td>{each.scopes.join(", ")}</td>
                <td>{each.projects?.join(", ") ?? t("all")}</td>
                <td className="num" title={each.last_used_from ?? undefined}>
                  {each.last_used_at ? <Ago at={each.last_used_at} /> : t("never")}
                </td>
                <td className="num">{each.revoked_at ? t("revoked") : <Moment at={each.expires_at} />}</td>
                <td className="num">
                  <RowAct
                    why={each.revoked_at ? t("isRevoked") : null}
                    onClick={() => revoke.mutate(each.id)}
                    word={t("revoke")}
                  />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
      {isMaking && (
        <NewToken
          account={account}
          onClose={() => setIsMaking(false)}
          onMade={(token) => {
            setIsMaking(false);
            setMade(token);
            void done(t("tokenMade", { name: token.name }));
          }}
        />
      )}
    </Panel>
  );
}
