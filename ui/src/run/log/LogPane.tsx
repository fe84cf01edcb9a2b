import { ActionIcon, SegmentedControl, Switch, TextInput } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconDownload, IconSearch, IconTextWrap } from "@tabler/icons-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, ROOT } from "@/api/client";
import { bytes } from "@/cluster/bytes";
import { SmallAct } from "@/parts/Act";
import { Failure, Skeleton } from "@/parts/Answer";
import { IconAct } from "@/parts/IconAct";
import { Panel } from "@/parts/Panel";
import { count } from "@/parts/time";
import { useRun } from "../context";
import type { TaskView } from "../model";
import type { Attempt } from "../queries";
import { Elements } from "./Elements";
import { LogRows } from "./LogRows";
import { LogReader } from "./reader";
import { firstError, useLogSearch } from "./useLogSearch";

const FINAL = ["SUCCESS", "FAILURE", "KILL", "PAUSE", "NEED_FAULT_TOLERANCE", "SKIPPED", "FORCED_SUCCESS"];

interface Props {
  task: TaskView;
  /** It has the page, and not a corner of it. */
  isTall: boolean;
}

/** The log of a task: of its last attempt, or the one that the address names. */
export function LogPane({ task, isTall }: Props) {
  const { t } = useTranslation("run");
  const { run, search, go } = useRun();
  const all = run.tasks.filter((attempt) => attempt.name === task.name);
  const attempt = all.find((each) => each.id === search.attempt) ?? all.at(-1);
  const numbers = (
    <SegmentedControl
      size="xs"
      aria-label={t("attempts")}
      data={all.slice(-6).map((each) => ({ value: each.id, label: String(each.attempt) }))}
      value={attempt?.id ?? ""}
      onChange={(id) => go({ attempt: id, task: task.name, at: undefined })}
    />
  );
  if (attempt?.elements != null) return <Elements task={task} elements={attempt.elements} isTall={isTall} />;
  const hasLooked = attempt?.looks != null;
  if (attempt === undefined || (!hasLooked && ["DELAY_EXECUTION", "QUEUED", "DISPATCH"].includes(attempt.state)))
    return (
      <Panel title={t("log")} remark={task.name} className="log" end={all.length > 1 && numbers}>
        <div className="fact">
          <div>
            <b>{t("noLog", { task: task.name })}</b>
            <p>{attempt === undefined ? t("noLogNotBegun") : t("noLogWaits")}</p>
            {all.length > 1 && (
              <SmallAct
                onClick={() => go({ task: task.name, attempt: all.at(-2)?.id, at: undefined })}
                word={t("earlierLog", { number: all.at(-2)?.attempt })}
              />
            )}
          </div>
        </div>
      </Panel>
    );
  return (
    <OfAttempt
      key={attempt.id}
      attempt={attempt}
      numbers={all.length > 1 ? numbers : null}
      isTall={isTall}
      task={task.name}
    />
  );
}

interface AttemptProps {
  attempt: Attempt;
  numbers: React.ReactNode;
  isTall: boolean;
  task: string;
}

/** The log of one attempt. */
export function OfAttempt({ attempt, numbers, isTall, task }: AttemptProps) {
  const { t } = useTranslation("run");
  const { search, go, nodeName } = useRun();
  const [said, setSaid] = useState("");
  const isFinal = FINAL.includes(attempt.state);
  const reader = useLog(attempt, isFinal);
  const goTo = (at: number) => {
    const isThere = reader !== null && at >= reader.from && at < reader.to;
    if (reader !== null && !isThere) {
      reader.unfollow();
      void reader.open(at).then(() => go({ at, task, attempt: attempt.id }));
    } else go({ at, task, attempt: attempt.id });
  };
  return (
    <Panel
      title={t("log")}
      remark={task}
      className={isTall ? "log tall" : "log"}
      end={
        <>
          {numbers}
          {reader !== null && !isFinal && <Follow reader={reader} />}
          <ActionIcon
            variant={search.wrap ? "light" : "subtle"}
            aria-label={t("wrap")}
            title={t("wrap")}
            aria-pressed={search.wrap === true}
            onClick={() => go({ wrap: search.wrap ? undefined : true })}
          >
            <IconTextWrap size={16} stroke={1.5} />
          </ActionIcon>
          <ActionIcon
            component="a"
            variant="subtle"
            aria-label={t("download")}
            title={t("download")}
            href={`${ROOT}api/v1/task-instances/${attempt.id}/log`}
            download={`${task}-${attempt.id}.log`}
          >
            <IconDownload size={16} stroke={1.5} />
          </ActionIcon>
        </>
      }
    >
      <SearchBar attempt={attempt.id} goTo={goTo} say={setSaid} />
      {reader === null ? <Skeleton lines={6} /> : <Body reader={reader} isFinal={isFinal} goTo={goTo} />}
      {reader !== null && (
        <Foot reader={reader} said={said} on={attempt.worker_id ? nodeName(attempt.worker_id, attempt.worker) : null} />
      )}
    </Panel>
  );
}

/** What reads the log of an attempt: it begins at the line of the address, or follows what is written. */
function useLog(attempt: Attempt, isFinal: boolean): LogReader | null {
  const { t } = useTranslation("run");
  const { search } = useRun();
  const [reader, setReader] = useState<LogReader | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a line of the address is gone to once; later by its row
  useEffect(() => {
    const made = new LogReader(attempt.id, (bytes) => t("logMissed", { count: bytes, shown: count(bytes) }));
    setReader(made);
    void made.open(search.at ?? null).then(() => {
      if (!isFinal && search.at === undefined) made.follow();
    });
    return () => made.close();
  }, [attempt.id]);
  // Its end is what is wanted: the rest is read again when an attempt that was not followed has ended.
  useEffect(() => {
    if (reader !== null && isFinal && !reader.isComplete && !reader.isFollowing && reader.isRead) void reader.later();
  }, [reader, isFinal]);
  return reader;
}

interface BarProps {
  attempt: string;
  goTo: (at: number) => void;
  /** Says below the log how far a search is. */
  say: (text: string) => void;
}

/** Finds a text, or the first error. */
function SearchBar({ attempt, goTo, say }: BarProps) {
  const { t } = useTranslation("run");
  const { search, go } = useRun();
  const { search: hits, show } = useLogSearch(attempt, search.q);
  const next = (step: 1 | -1) => {
    const place = (hits.current + step + hits.found.length) % hits.found.length;
    const line = hits.found[place];
    if (line === undefined) return;
    show(place);
    goTo(line.offset);
  };
  const find = async () => {
    say(t("looking"));
    try {
      const at = await firstError(attempt, (share) => say(t("lookedAt", { percent: Math.round(share * 100) })));
      say(at === null ? t("noError") : "");
      if (at !== null) goTo(at);
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div className="log-bar">
      <TextInput
        size="xs"
        className="grow"
        aria-label={t("searchLog")}
        placeholder={t("searchLog")}
        leftSection={<IconSearch size={14} stroke={1.5} />}
        defaultValue={search.q ?? ""}
        onChange={(event) => go({ q: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Enter" && hits.found.length > 0) next(event.shiftKey ? -1 : 1);
        }}
      />
      {search.q !== undefined && (
        <span className="hits" role="status">
          {hits.error !== null
            ? hits.error.message
            : t(hits.isDone ? "hits" : "hitsSoFar", {
                place: hits.current + 1,
                total: `${count(hits.found.length)}${hits.found.length >= 1000 ? "+" : ""}`,
                percent: hits.size === 0 ? 0 : Math.round((hits.searched / hits.size) * 100),
              })}
        </span>
      )}
      {hits.found.length > 0 && (
        <>
          <IconAct icon={IconArrowUp} word={t("hitBefore")} variant="default" onClick={() => next(-1)} />
          <IconAct icon={IconArrowDown} word={t("hitAfter")} variant="default" onClick={() => next(1)} />
        </>
      )}
      <SmallAct onClick={() => void find()} word={t("firstError")} />
    </div>
  );
}

function useReader(reader: LogReader): void {
  useSyncExternalStore(reader.subscribe, () => reader.version);
}

function Follow({ reader }: { reader: LogReader }) {
  const { t } = useTranslation("run");
  useReader(reader);
  return (
    <Switch
      size="xs"
      label={t("follow")}
      checked={reader.isFollowing}
      onChange={(event) => {
        if (!event.currentTarget.checked) reader.unfollow();
        else if (reader.hasLater) void reader.open(null).then(() => reader.follow());
        else reader.follow();
      }}
    />
  );
}

function Body({ reader, isFinal, goTo }: { reader: LogReader; isFinal: boolean; goTo: (at: number) => void }) {
  const { t } = useTranslation("run");
  const { search } = useRun();
  useReader(reader);
  if (!reader.isRead) return <Skeleton lines={6} />;
  const hasNone = reader.problem instanceof ApiProblem && reader.problem.status === 404;
  if (reader.lines.length === 0)
    return reader.problem !== null && !hasNone ? (
      <Failure error={reader.problem} again={() => void reader.open(null)} />
    ) : (
      <div className="fact">
        <div>
          <b>{reader.isComplete || isFinal || hasNone ? t("emptyLog") : t("nothingYet")}</b>
        </div>
      </div>
    );
  return <LogRows reader={reader} at={search.at} sought={search.q} wrap={search.wrap === true} goTo={goTo} />;
}

function Foot({ reader, said, on }: { reader: LogReader; said: string; on: string | null }) {
  const { t } = useTranslation("run");
  useReader(reader);
  const { first, lines } = reader;
  const isWhole = !reader.hasEarlier && !reader.hasLater;
  return (
    <footer>
      <span>
        {isWhole
          ? t("lines", { count: lines.length, shown: count(lines.length) })
          : first === null
            ? t("part", { from: bytes(reader.from), to: bytes(reader.to), size: bytes(reader.size) })
            : t("linesOf", { from: count(first + 1), to: count(first + lines.length), size: bytes(reader.size) })}
        {on !== null && t("onWorker", { worker: on })}
      </span>
      <span role="status">{said || (lines.length > 0 && reader.problem?.message)}</span>
      <span className="end">
        {reader.hasEarlier && (
          <button type="button" className="as-link" onClick={() => void reader.open(0)}>
            {t("toStart")}
          </button>
        )}
        {reader.hasLater && (
          <button type="button" className="as-link" onClick={() => void reader.open(null)}>
            {t("toEnd")}
          </button>
        )}
      </span>
    </footer>
  );
}
