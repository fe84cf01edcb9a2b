import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Answer, Empty } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { Mark } from "@/parts/State";
import { Heads } from "@/parts/Table";
import { count, duration, exactMoment, moment } from "@/parts/time";
import { useRun } from "../context";
import { storyOf } from "../queries";

const ROW = 32;
type Event = Schemas["StoryEventAnswer"];

const ABOUT = { commands: ["ASKED", "REFUSED", "STARTED", "HANDLED", "FAILED_OVER", "ENDED"] };

/** The story of the run: every command, master, attempt and child of it, in order; nothing of it is ever changed. */
export function EventsTab() {
  const { t } = useTranslation("run");
  const { run, search, go } = useRun();
  const story = useQuery(storyOf(run.id));
  const shown = (all: Event[]) =>
    search.about === undefined
      ? all
      : all.filter((event) => ABOUT.commands.includes(event.kind) === (search.about === "commands"));
  return (
    <Panel
      title={t("tab.events")}
      remark={story.data && count(shown(story.data.events).length)}
      end={
        <div className="chips">
          {(["commands", "tasks"] as const).map((about) => (
            <button
              key={about}
              type="button"
              className="chip"
              aria-pressed={search.about === about}
              onClick={() => go({ about: search.about === about ? undefined : about })}
            >
              {t(`about.${about}`)}
            </button>
          ))}
        </div>
      }
    >
      <Answer of={story} lines={8} isEmpty={(data) => data.events.length === 0} empty={<Empty title={t("noEvents")} />}>
        {(data) => <Events events={shown(data.events)} />}
      </Answer>
    </Panel>
  );
}

function Events({ events }: { events: Event[] }) {
  const { t, i18n } = useTranslation("run");
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  const items = rows.getVirtualItems();
  const begin = Date.parse(events[0]?.at ?? "");
  return (
    <div className="event-rows" ref={box}>
      <table className="events" aria-rowcount={events.length}>
        <Heads of={[{ num: t("at") }, { num: t("after") }, t("event")]} />
        <tbody>
          {(items[0]?.start ?? 0) > 0 && <tr className="space" style={{ height: items[0]?.start }} />}
          {items.map((item) => {
            const event = events[item.index];
            return (
              event !== undefined && (
                <tr key={item.key}>
                  <td className="num mute">
                    <time dateTime={event.at} title={exactMoment(event.at, i18n.language)}>
                      {moment(event.at, i18n.language)}
                    </time>
                  </td>
                  <td className="num mute">+{duration((Date.parse(event.at) - begin) / 1000)}</td>
                  <td className="wide">
                    <span className="line">
                      <Mark state={event.state ?? LOOK[event.kind] ?? "NOT_BEGUN"} />
                      <span className="cut">
                        <EventText event={event} />
                      </span>
                    </span>
                  </td>
                </tr>
              )
            );
          })}
          <tr className="space" style={{ height: Math.max(0, rows.getTotalSize() - (items.at(-1)?.end ?? 0)) }} />
        </tbody>
      </table>
    </div>
  );
}

const LOOK: Partial<Record<Event["kind"], string>> = {
  ASKED: "SUBMITTED_SUCCESS",
  REFUSED: "REFUSED",
  STARTED: "DISPATCH",
  HANDLED: "DISPATCH",
  FAILED_OVER: "FAILOVER",
  TASK_QUEUED: "QUEUED",
  TASK_STARTED: "RUNNING_EXECUTION",
  CHILD_STARTED: "RUNNING_EXECUTION",
};

/** An event of a run as a sentence. */
function EventText({ event }: { event: Schemas["StoryEventAnswer"] }) {
  const { t } = useTranslation("run");
  const type = event.command_type ?? "";
  const [slot, total] = (event.slot ?? "").split("/");
  const said = t(`event.${event.kind}`, {
    command: event.command_id,
    what: t(`trigger.${type}`, { defaultValue: type }),
    by: event.by ?? "",
    node: event.node ?? event.master_id ?? event.worker_id ?? "?",
    task: event.task,
    child: event.child_id,
    workflow: event.workflow,
    state: t(`parts:state.${event.state ?? "NOT_BEGUN"}`),
    context: event.kind === "ASKED" && event.by == null ? "nobody" : undefined,
  });
  return (
    <>
      {said}
      {total !== undefined && (event.kind === "STARTED" || event.kind === "HANDLED") && (
        <span className="mute">{t("slot", { slot, total })}</span>
      )}
      {(event.attempt ?? 1) > 1 && <span className="mute"> · {t("attemptNo", { number: event.attempt })}</span>}
      {event.reason && <span className="soft">: {event.reason}</span>}{" "}
      {event.child_id && <RunLink id={event.child_id}>{t("open")}</RunLink>}
      {event.kind === "TASK_ENDED" && event.task && (
        <Link to="." search={{ tab: "logs", task: event.task, attempt: event.task_id ?? undefined }}>
          {t("log")}
        </Link>
      )}
    </>
  );
}
