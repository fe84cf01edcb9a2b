import { TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { FormDialog } from "@/forms/FormDialog";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { More } from "@/parts/More";
import { sayFailure } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { State } from "@/parts/State";
import { Table } from "@/parts/Table";
import { Ago, coarse, Moment } from "@/parts/Time";
import { count } from "@/parts/time";
import { type PoolContent, type Resource, type ResourceState, resourcesOf, STATES } from "./queries";
import { TaskOf } from "./TaskOf";

/** Each resource: who holds it, since and until when, and why nobody gets it. */
export function Resources({ pool }: { pool: PoolContent }) {
  const { t } = useTranslation(["pools", "parts"]);
  const [state, setState] = useState<ResourceState | null>(null);
  const found = useInfiniteQuery(resourcesOf(pool.name, state));
  const [aside, setAside] = useState<Resource | null>(null);
  return (
    <Panel
      title={t(pool.kind === "COUNT" ? "places" : "resources")}
      remark={count(pool.total + pool.removed)}
      end={
        <fieldset className="chips states" aria-label={t("state")}>
          {STATES.map((each) => (
            <button
              key={each}
              type="button"
              className="chip"
              aria-pressed={state === each}
              onClick={() => setState(state === each ? null : each)}
            >
              {t(`parts:state.${each}`)}
            </button>
          ))}
        </fieldset>
      }
    >
      <Answer of={found} empty={<Empty title={t("noneInState")} />}>
        {({ items }) => (
          <Table
            className="dense"
            hasFocus
            heads={[
              t("resource"),
              t("state"),
              t("heldBy"),
              t("worker"),
              t("since"),
              t("until"),
              t("why"),
              { unseen: t("actions") },
            ]}
          >
            {items.map((each) => (
              <Row key={each.id} pool={pool.name} resource={each} onSetAside={() => setAside(each)} />
            ))}
          </Table>
        )}
      </Answer>
      <More of={found} word={t("more")} />
      {aside && <SetAside pool={pool.name} resource={aside} onClose={() => setAside(null)} />}
    </Panel>
  );
}

function Row({ pool, resource, onSetAside }: { pool: string; resource: Resource; onSetAside: () => void }) {
  const { t } = useTranslation("pools");
  const whyNot = useWhyNot("ADMIN");
  const done = useDone("pools");
  const back = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/resource-pools/{name}/take-back", {
        params: { path: { name: pool } },
        body: { resource: resource.name },
      }),
    onSuccess: () => void done(t("takenBack", { name: resource.name })),
    onError: sayFailure,
  });
  const since = resource.taken_at ?? resource.set_aside_at ?? resource.free_since;
  const isAside = resource.set_aside_at != null;
  const isByPerson = resource.set_aside_by != null;
  // Not `loading`, which takes the focus away.
  const takeBack = { onClick: () => back.isPending || back.mutate(), word: t("takeBack") };
  return (
    <tr>
      <td className="mono name">{resource.name}</td>
      <td>
        <State state={resource.state} />
      </td>
      <td className="cut of-task">{resource.taken_at && <TaskOf task={resource.task} />}</td>
      <td>{resource.worker}</td>
      <td>{since && <Ago at={since} />}</td>
      <td>{until()}</td>
      <td className="why">{why()}</td>
      <td>
        {resource.state !== "REMOVED" && (
          <div className="row-acts">
            {isAside && !isByPerson && <Act size="compact-xs" variant="default" why={whyNot} {...takeBack} />}
            {/* One button for both, so that it keeps the focus when what it does changes. */}
            <Act
              size="compact-xs"
              variant="default"
              why={whyNot}
              {...(isAside && isByPerson ? takeBack : { onClick: onSetAside, word: t("setAsideVerb") })}
            />
          </div>
        )}
      </td>
    </tr>
  );

  /** About when it is given back, which a stream does only when it is stopped; else until when the lease lasts unless its worker beats again. */
  function until() {
    if (!resource.taken_at) return null;
    if (resource.task?.is_stream) return t("whenStopped");
    if (resource.left_s != null)
      return resource.left_s < 1 ? t("soon") : t("aboutIn", { time: coarse(resource.left_s) });
    return resource.busy_before ? (
      <span title={t("leaseHelp")}>
        {t("leaseUntil")} <Moment at={resource.busy_before} />
      </span>
    ) : null;
  }

  function why() {
    if (!isAside) return resource.state === "REMOVED" ? t("removedHeld") : null;
    const by = resource.set_aside_by;
    const said = by == null ? t("asideByCheck") : t("asideBy", { by });
    return (
      <span title={resource.set_aside_why ?? undefined}>
        {said}: {resource.set_aside_why}
      </span>
    );
  }
}

/** Stops giving a resource, with the reason that everybody sees. */
function SetAside({ pool, resource, onClose }: { pool: string; resource: Resource; onClose: () => void }) {
  const { t } = useTranslation("pools");
  const done = useDone("pools");
  const [reason, setReason] = useState("");
  const aside = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/resource-pools/{name}/set-aside", {
        params: { path: { name: pool } },
        body: { resource: resource.name, reason },
      }),
    onSuccess: ({ is_new, set_aside_by, set_aside_why }) => {
      onClose();
      const name = resource.name;
      void done(is_new ? t("isAside", { name }) : t("wasAside", { name, by: set_aside_by, why: set_aside_why }));
    },
  });
  return (
    <FormDialog
      title={t("setAsideNamed", { name: resource.name })}
      verb={t("setAsideVerb")}
      sending={aside}
      onClose={onClose}
    >
      <p>{t(resource.taken_at ? "setAsideHeldHelp" : "setAsideHelp")}</p>
      <TextInput
        label={t("reason")}
        description={t("reasonHelp")}
        value={reason}
        maxLength={1000}
        data-autofocus
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
