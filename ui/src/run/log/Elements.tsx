import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Answer } from "@/parts/Answer";
import { More } from "@/parts/More";
import { Panel } from "@/parts/Panel";
import { Mark } from "@/parts/State";
import { Heads } from "@/parts/Table";
import { count, duration } from "@/parts/time";
import { useRun } from "../context";
import { FAILED, type TaskView } from "../model";
import { type Attempt, ELEMENTS_EVERY_MS, elementsOf } from "../queries";
import { OfAttempt } from "./LogPane";

interface Props {
  task: TaskView;
  elements: NonNullable<Attempt["elements"]>;
  isTall: boolean;
}

/** The elements of a task, by pages, and the log of the one that is chosen. */
export function Elements({ task, elements, isTall }: Props) {
  const { t } = useTranslation("run");
  const { run } = useRun();
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [chosen, setChosen] = useState<Attempt | null>(null);
  const found = useInfiniteQuery({
    ...elementsOf(run.id, task.name, onlyFailed ? FAILED : []),
    refetchInterval: task.last?.ended_at == null ? ELEMENTS_EVERY_MS : false,
  });
  const failed = elements.failed + elements.killed;
  const shown = found.data?.items.find((each) => each.id === chosen?.id) ?? chosen;
  return (
    <>
      <Panel
        title={t("elements")}
        remark={t("short.elements", { done: count(elements.done), total: count(elements.total) })}
        end={
          failed > 0 && (
            <button type="button" className="chip" aria-pressed={onlyFailed} onClick={() => setOnlyFailed(!onlyFailed)}>
              {t("failedElements", { number: count(failed) })}
            </button>
          )
        }
      >
        <Answer of={found} lines={5}>
          {(data) => (
            <div className="task-rows">
              <table className="dense">
                <Heads of={[t("element"), { num: t("attempt") }, { num: t("took") }]} />
                <tbody>
                  {data.items.map((each) => (
                    <tr key={each.element} aria-selected={each.id === chosen?.id}>
                      <td>
                        <button
                          type="button"
                          className="task-name"
                          title={each.reason ?? undefined}
                          onClick={() => setChosen(each)}
                        >
                          <Mark state={each.state} />
                          <span className="cut">{each.name}</span>
                          {each.reason && <span className="mute cut">{each.reason}</span>}
                        </button>
                      </td>
                      <td className="num">{each.attempt}</td>
                      <td className="num">{each.took_s == null ? "–" : duration(each.took_s)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Answer>
        <More of={found} word={t("moreElements")} />
      </Panel>
      {shown !== null && shown.worker_id != null && (
        <OfAttempt key={shown.id} attempt={shown} numbers={null} isTall={isTall} task={shown.name} />
      )}
    </>
  );
}
