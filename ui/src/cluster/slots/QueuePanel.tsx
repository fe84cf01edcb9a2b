import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem } from "@/api/client";
import { Answer } from "@/parts/Answer";
import { RunLink } from "@/parts/Links";
import { Panel } from "@/parts/Panel";
import { ScrollX } from "@/parts/ScrollX";
import { coarse } from "@/parts/Time";
import { commandSlot, queue } from "../queries";
import { useClusterSearch } from "../search";
import { type Story, usualWaitMs } from "./story";

/** What waits for the masters, and where any command belongs. */
export function QueuePanel({ usual, ms }: { usual: Story | null; ms: number }) {
  const { t } = useTranslation("cluster");
  const found = useQuery(queue);
  const waiting = found.data?.slots.reduce((sum, each) => sum + each.waiting, 0);
  const waitMs = usual === null ? null : usualWaitMs(usual, ms);
  return (
    <Panel
      title={t("queue")}
      remark={
        waiting === undefined ? undefined : waiting === 0 ? t("nothingWaits") : t("commandsWait", { count: waiting })
      }
      end={<Link to="/queue">{t("open")}</Link>}
    >
      <AskCommand />
      <Answer of={found} lines={2}>
        {(data) =>
          data.commands.length === 0 ? (
            <p className="usual soft">
              {waitMs === null ? t("noneTakenLately") : t("usualWait", { ms: Math.round(waitMs) })}
            </p>
          ) : (
            <ScrollX>
              <table className="dense">
                <tbody>
                  {data.commands.map((each) => (
                    <tr key={each.id}>
                      <td className="mono">
                        <Link
                          to="/cluster"
                          search={(before: Record<string, unknown>) => ({ ...before, command: each.id })}
                        >
                          {each.id}
                        </Link>
                      </td>
                      <td className="wide">
                        {t(`type.${each.type}`, { defaultValue: each.type })}{" "}
                        <span className="mute">{each.workflow}</span>
                      </td>
                      <td>{each.slot != null && t("slotNumber", { slot: each.slot })}</td>
                      <td className="num">{each.age_s != null && coarse(each.age_s)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollX>
          )
        }
      </Answer>
    </Panel>
  );
}

const TYPING_MS = 300;

/** Ask where a command belongs: its slot and owner, then and now, and what became of it. */
function AskCommand() {
  const { t } = useTranslation("cluster");
  const [{ command }, change] = useClusterSearch();
  const [typed, setTyped] = useState(command ?? "");
  useEffect(() => setTyped(command ?? ""), [command]);
  useEffect(() => {
    if (typed === (command ?? "")) return;
    const timer = setTimeout(() => change({ command: /^\d{1,19}$/.test(typed) ? typed : undefined }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, command, change]);
  const found = useQuery({ ...commandSlot(command ?? "0"), enabled: command !== undefined });
  const { data } = found;
  return (
    <div className="ask">
      <TextInput
        label={t("ask")}
        inputMode="numeric"
        placeholder="4711"
        value={typed}
        aria-label={t("commandId")}
        onChange={(event) => setTyped(event.currentTarget.value.trim())}
      />
      <output>
        {command === undefined && <span className="mute">{t("askHow")}</span>}
        {found.error && (
          <span className="bad">
            {found.error.message} {found.error instanceof ApiProblem && <code>[{found.error.code}]</code>}
          </span>
        )}
        {data && command !== undefined && (
          <>
            {(data.slot ?? data.taken_slot) && (
              <b className="slot">{t("slotOfText", { slot: data.slot ?? data.taken_slot })}</b>
            )}{" "}
            {data.why}
            {data.slot_then && data.slot_then !== (data.slot ?? data.taken_slot) && (
              <span className="mute"> {t("before", { slot: data.slot_then, owner: data.owner_then })}</span>
            )}{" "}
            {data.run_id && <RunLink id={data.run_id}>{t("openRun", { id: data.run_id })}</RunLink>}
          </>
        )}
      </output>
    </div>
  );
}
