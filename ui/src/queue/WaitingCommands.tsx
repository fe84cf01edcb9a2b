import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Empty } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { coarse } from "@/parts/Time";
import { count, duration } from "@/parts/time";
import { type Queue, type Waiting, whyOf } from "./queries";
import { whyNothingIsTaken } from "./whyNotYet";

/** Each sentence is a request: beyond these rows it is asked for by a click. */
const WHY_AT_ONCE = 10;

/** Commands that no master has taken yet: since when, which slot and owner, and why not. */
export function WaitingCommands({ queue }: { queue: Queue }) {
  const { t } = useTranslation("queue");
  const waiting = queue.slots.reduce((sum, slot) => sum + slot.waiting, 0);
  const all = Math.max(waiting, queue.commands.length);
  const last = queue.last_taken;
  const whyNone = whyNothingIsTaken(queue);
  return (
    <Panel
      title={t("commands")}
      remark={`${count(all)}${queue.is_complete ? "" : "+"}`}
      end={whyNone === null ? <SlotCounts queue={queue} /> : <span className="problem">{t(whyNone)}</span>}
    >
      {queue.commands.length === 0 ? (
        <Empty title={t(all > 0 ? "notYours" : "nothingWaits")}>
          {last
            ? t(last.id ? "lastTaken" : "lastOfOthers", {
                id: last.id,
                ago: coarse(last.ago_s),
                took: duration(last.took_s ?? 0),
              })
            : t("neverTaken")}
        </Empty>
      ) : (
        <Table
          heads={[
            { num: t("command") },
            t("type"),
            t("about"),
            t("priority"),
            { num: t("age") },
            t("slot"),
            t("owner"),
            t("whyNotYet"),
          ]}
        >
          {queue.commands.map((each, place) => (
            <Row key={each.id} command={each} queue={queue} isExplained={place < WHY_AT_ONCE} />
          ))}
        </Table>
      )}
      {all > queue.commands.length && queue.commands.length > 0 && (
        <footer>{t("moreWait", { number: count(all - queue.commands.length) })}</footer>
      )}
    </Panel>
  );
}

function SlotCounts({ queue }: { queue: Queue }) {
  const { t } = useTranslation("queue");
  return (
    <span className="slot-counts">
      {queue.slots.map((each) => (
        <span key={each.slot} className="tag" title={each.master ?? t("noOwner")}>
          {t("slotWaiting", { slot: each.slot, total: queue.total, waiting: each.waiting })}
        </span>
      ))}
    </span>
  );
}

function Row({ command, queue, isExplained }: { command: Waiting; queue: Queue; isExplained: boolean }) {
  const { t } = useTranslation("queue");
  const forms = useTranslation("forms").t;
  const why = useQuery({ ...whyOf(command.id), enabled: isExplained });
  return (
    <tr>
      <td className="num">{command.id}</td>
      <td>{t(`type.${command.type}`, { defaultValue: command.type })}</td>
      <td>
        {command.run_id ? (
          <RunLink id={command.run_id}>{t("run", { id: command.run_id })}</RunLink>
        ) : (
          (command.workflow ?? command.workflow_code ?? "–")
        )}
      </td>
      <td>{command.priority ? forms(`choice.${command.priority}`, { defaultValue: command.priority }) : "–"}</td>
      <td className="num">{command.age_s == null ? "–" : duration(command.age_s)}</td>
      <td title={t("slotHow", { id: command.id, step: queue.id_step, total: queue.total })}>
        {command.slot == null ? "–" : `${command.slot} / ${queue.total}`}
      </td>
      <td>{command.owner ?? t("noOwner")}</td>
      <td className="wide" title={why.data && `${why.data.why} ${why.data.do}`}>
        {why.data?.why ??
          (why.error?.message || (
            <button type="button" className="text-button" onClick={() => void why.refetch()}>
              {t("askWhy")}
            </button>
          ))}
      </td>
    </tr>
  );
}
