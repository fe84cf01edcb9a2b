import { Switch } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Look } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Ago } from "@/parts/Time";
import { count } from "@/parts/time";
import { EXAMPLES } from "./examples";
import { type Rule, rules } from "./queries";
import { RuleForm } from "./RuleForm";

/** The rules in words: what each says, and whether it works. */
export function RulesTab() {
  const { t } = useTranslation("alerts");
  const project = useProject();
  const found = useInfiniteQuery(rules(project));
  const whyNot = useWhyNot("EDITOR", project);
  const [editing, setEditing] = useState<Rule | "new" | null>(null);
  return (
    <Panel
      title={t("tab.rules")}
      remark={found.data && `${count(found.data.items.length)}${found.hasNextPage ? "+" : ""}`}
      end={<Act size="xs" why={whyNot} onClick={() => setEditing("new")} word={t("newRule")} />}
    >
      <Answer
        of={found}
        empty={
          <Empty title={t("noRules")}>
            <p>{t("noRulesHelp")}</p>
            <ul className="examples">
              {EXAMPLES.slice(0, 3).map((each) => (
                <li key={each}>
                  <code>{each}</code>
                </li>
              ))}
            </ul>
          </Empty>
        }
      >
        {({ items }) => (
          <Table
            hasFocus
            heads={[
              t("on"),
              t("project"),
              t("name"),
              t("rule"),
              t("state"),
              { num: t("changed") },
              { unseen: t("actions") },
            ]}
          >
            {items.map((each) => (
              <RuleRow key={`${each.project}/${each.name}`} rule={each} onChange={() => setEditing(each)} />
            ))}
          </Table>
        )}
      </Answer>
      <More of={found} word={t("more")} />
      {editing !== null && (
        <RuleForm rule={editing === "new" ? null : editing} project={project} onClose={() => setEditing(null)} />
      )}
    </Panel>
  );
}

function RuleRow({ rule, onChange }: { rule: Rule; onChange: () => void }) {
  const { t } = useTranslation("alerts");
  const whyNot = useWhyNot("EDITOR", rule.project);
  const done = useDone("alerts");
  const path = { project: rule.project, name: rule.name };
  const header = match(rule.version);
  const turn = useMutation({
    mutationFn: (enabled: boolean) =>
      api.PUT("/api/v1/projects/{project}/alert-rules/{name}", {
        params: { path, header },
        body: { text: rule.text, enabled },
      }),
    onSuccess: (saved) => done(t(saved.enabled ? "ruleOn" : "ruleOff", { name: saved.name })),
    onError: sayFailure,
  });
  const remove = () => api.DELETE("/api/v1/projects/{project}/alert-rules/{name}", { params: { path, header } });
  return (
    <tr>
      <td>
        <Switch
          size="xs"
          aria-label={t("onOf", { name: rule.name })}
          checked={rule.enabled}
          disabled={whyNot !== null || turn.isPending}
          title={whyNot ?? undefined}
          onChange={(event) => turn.mutate(event.currentTarget.checked)}
        />
      </td>
      <td>{rule.project}</td>
      <td>{rule.name}</td>
      <td className="wrap words">
        <RuleText text={rule.text} />
      </td>
      <td className="wrap of-state">
        <RuleState rule={rule} />
      </td>
      <td className="num" title={rule.updated_by}>
        <Ago at={rule.updated_at} />
      </td>
      <td>
        <div className="row-acts">
          <ChangeOrDelete name={rule.name} whyNot={whyNot} onChange={onChange} remove={remove} touches={["alerts"]}>
            <p className="words">
              <RuleText text={rule.text} />
            </p>
            <p>{t("deleteRuleHelp")}</p>
          </ChangeOrDelete>
        </div>
      </td>
    </tr>
  );
}

/** A rule as it was written, with its arrow in one piece. */
function RuleText({ text }: { text: string }) {
  const place = text.lastIndexOf("->");
  if (place < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, place)}
      <span className="nowrap">-&gt;</span>
      {text.slice(place + 2)}
    </>
  );
}

/** Whether it works; if not, the sentence that says why. */
function RuleState({ rule }: { rule: Rule }) {
  const { t } = useTranslation("alerts");
  if (!rule.enabled) return <Look of="SKIPPED" word={t("off")} />;
  if (rule.problem != null)
    return (
      <span className="checked">
        <i className="st" data-s="LATE" role="img" aria-label={t("raisesNothing")} title={t("raisesNothing")} />
        <span>
          {t("raisesNothing")}: {rule.problem}.{" "}
          <Link to="/workflows" className="nowrap">
            {t("toWorkflows")}
          </Link>
        </span>
      </span>
    );
  return <Look of="NORMAL" word={t("works")} />;
}
