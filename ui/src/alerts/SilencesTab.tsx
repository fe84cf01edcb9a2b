import { Switch } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useProject } from "@/app/ProjectSwitch";
import { useDone } from "@/forms/useDone";
import { textOf, useFilters } from "@/lists/filters";
import { useWhyNot } from "@/login/rights";
import { Act, RowAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { Look } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Moment, useMinute } from "@/parts/Time";
import { inOrder, WHEN_LOOKS, whenOf } from "./looks";
import { type Silence, silences } from "./queries";
import { SilenceForm } from "./SilenceForm";

/** Times in which alerts are kept and not sent: those that are, that will be, and on request those that were. */
export function SilencesTab() {
  const { t } = useTranslation("alerts");
  const { search, change } = useFilters();
  const past = textOf(search, "past") === "true";
  const found = useQuery(silences(past));
  const project = useProject();
  const whyNot = useWhyNot("OPERATOR", project);
  const [isNew, setIsNew] = useState(false);
  const ofProject = (each: Silence) => project === null || each.project == null || each.project === project;
  useMinute();
  const nowMs = Date.now();
  const shown = inOrder(found.data?.items.filter(ofProject) ?? [], nowMs);
  return (
    <Panel
      title={t("tab.silences")}
      remark={found.data && shown.length}
      end={
        <>
          <Switch
            size="xs"
            label={t("showPast")}
            checked={past}
            onChange={(event) => change({ past: event.currentTarget.checked || undefined })}
          />
          <Act size="xs" why={whyNot} onClick={() => setIsNew(true)} word={t("newSilence")} />
        </>
      }
    >
      <Answer
        of={found}
        isEmpty={() => shown.length === 0}
        empty={<Empty title={t("noSilences")}>{t("noSilencesHelp")}</Empty>}
      >
        {() => (
          <Table
            hasFocus
            heads={[t("state"), t("covers"), t("from"), t("until"), t("reason"), t("madeBy"), { unseen: t("actions") }]}
          >
            {shown.map((each) => (
              <SilenceRow key={each.id} silence={each} nowMs={nowMs} />
            ))}
          </Table>
        )}
      </Answer>
      {isNew && <SilenceForm like={project === null ? {} : { project }} onClose={() => setIsNew(false)} />}
    </Panel>
  );
}

function SilenceRow({ silence, nowMs }: { silence: Silence; nowMs: number }) {
  const { t } = useTranslation("alerts");
  const when = whenOf(silence, nowMs);
  const whyNot = useWhyNot(silence.project == null ? "ADMIN" : "OPERATOR", silence.project ?? null);
  const done = useDone("alerts");
  const end = useMutation({
    mutationFn: () => api.POST("/api/v1/alert-silences/{id}/end", { params: { path: { id: silence.id } } }),
    onSuccess: () => done(t(when === "future" ? "silenceDeleted" : "silenceEnded")),
    onError: sayFailure,
  });
  const { project, workflow, kind } = silence;
  const covers = [
    project == null ? t("allAndCluster") : workflow == null ? t("allOf", { project }) : `${project}/${workflow}`,
    kind != null && t(`kind.${kind}` as never, { defaultValue: kind }),
  ].filter((each) => each !== false);
  return (
    <tr>
      <td>
        <Look of={WHEN_LOOKS[when]} word={t(`silence.${when}`)} />
      </td>
      <td>{covers.join(" · ")}</td>
      <td>
        <Moment at={silence.starts_at} />
      </td>
      <td>
        <Moment at={silence.ends_at} />
      </td>
      <td className="wide" title={silence.reason}>
        {silence.reason}
      </td>
      <td>{silence.created_by}</td>
      <td>
        <div className="row-acts">
          {when !== "past" && (
            <RowAct
              why={whyNot}
              loading={end.isPending}
              onClick={() => end.mutate()}
              word={when === "future" ? t("delete") : t("endNow")}
            />
          )}
        </div>
      </td>
    </tr>
  );
}
