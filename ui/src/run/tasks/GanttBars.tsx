import { useTranslation } from "react-i18next";
import { useNow } from "@/parts/Time";
import { duration, moment } from "@/parts/time";
import { useRun } from "../context";
import type { TaskView } from "../model";
import { type Axis, type BarKind, barsOf, placeOf, ticksOf, tickText } from "./bars";

const KINDS: BarKind[] = ["wait", "queue", "run", "ok", "bad", "lost", "halted", "skipped", "retry", "expected"];

interface Props {
  task: TaskView;
  axis: Axis;
  isCritical: boolean;
  usualS: number | null;
}

/** The bars of one task, in its row. The tick is where it would end if it took what it usually takes. */
export function GanttBars({ task, axis, isCritical, usualS }: Props) {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const ticking = useNow(axis.now !== null);
  const bars = barsOf(task, Date.parse(run.started_at), run.read_at, axis.now === null ? axis.to : ticking);
  const started = task.last?.started_at == null ? null : Date.parse(task.last.started_at);
  const isToCome = axis.now !== null && task.last === null && usualS !== null && task.state === "WAITING";
  return (
    <div className="gantt" data-critical={isCritical || undefined}>
      {ticksOf(axis).map((at) => (
        <s key={at} style={{ left: `${placeOf(axis, axis.from + at * 1000)}%` }} />
      ))}
      {bars.map((bar) => {
        const left = placeOf(axis, bar.from);
        const said = `${t(`bar.${bar.kind}`)}, ${duration((bar.to - bar.from) / 1000)}`;
        const forWhat = bar.kind === "wait" && task.after.length > 0 ? ` (${task.after.slice(0, 5).join(", ")})` : "";
        return (
          <i
            key={`${bar.attempt}-${bar.kind}`}
            data-k={bar.kind}
            title={bar.attempt === null ? said + forWhat : `${t("attemptNo", { number: bar.attempt })}: ${said}`}
            style={{ left: `${left}%`, width: `max(2px, ${placeOf(axis, bar.to) - left}%)` }}
          />
        );
      })}
      {isToCome && axis.now !== null && (
        <i
          data-k="expected"
          title={t("bar.expected")}
          style={{
            left: `${placeOf(axis, axis.now)}%`,
            width: `${placeOf(axis, axis.now + usualS * 1000) - placeOf(axis, axis.now)}%`,
          }}
        />
      )}
      {usualS !== null && started !== null && (
        <u
          title={t("usualEnd", { time: duration(usualS) })}
          style={{ left: `${placeOf(axis, started + usualS * 1000)}%` }}
        />
      )}
      {axis.now !== null && <b style={{ left: `${placeOf(axis, ticking)}%` }} />}
    </div>
  );
}

/** The times above the bars: when the run began, and how long after that. */
export function AxisHead({ axis }: { axis: Axis }) {
  const { i18n } = useTranslation();
  return (
    <div className="gantt-axis">
      {ticksOf(axis).map((at) => {
        const place = placeOf(axis, axis.from + at * 1000);
        return (
          place < 94 &&
          (at === 0 || place > 20) && (
            <span key={at} style={{ left: `${place}%` }}>
              {at === 0 ? moment(new Date(axis.from), i18n.language) : tickText(at)}
            </span>
          )
        );
      })}
    </div>
  );
}

/** What the kinds of bars mean. */
export function Key() {
  const { t } = useTranslation("run");
  return (
    <span className="gantt-key">
      {KINDS.map((kind) => (
        <span key={kind}>
          <i data-k={kind} aria-hidden /> {t(`bar.${kind}`)}
        </span>
      ))}
      <span>
        <i data-k="path" aria-hidden /> {t("bar.path")}
      </span>
      <span>
        <i data-k="usual" aria-hidden /> {t("bar.usual")}
      </span>
    </span>
  );
}
