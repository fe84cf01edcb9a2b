"""What must be true of the tables when the faults are over and everything has ended. Each rule yields its violations.

The tables are read by plain SQL and judged here, with nothing of Shoal but its own table of states: a checker that used
the code under test would share its mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from model.runs.states import TASK_TRANSITIONS, WORKFLOW_TRANSITIONS
from tests.chaos import duty_rules, pool_rules
from tests.chaos.journal import Line, not_alone, started_again, twice_at_once
from tests.chaos.load import SCHEDULE_EVERY_S, Promises
from tests.chaos.workflows import BACKFILLED, KEYED, Kind
from tests.cluster.cluster import Cluster

SHOWN_MAX = 20
"""Violations of one rule that are shown; the others are counted."""
STREAM_ATTEMPTS_LEFT = 20
"""At least this many attempts of a stream are kept, if it had as many."""

STARTING = ("START_PROCESS", "START_CURRENT_TASK_PROCESS", "SCHEDULER", "COMPLEMENT_DATA")
INTERNAL = ("RECOVER_TOLERANCE_FAULT_PROCESS", "RECOVER_SERIAL_WAIT")
REVIVING = ("RECOVER_SUSPENDED_PROCESS", "START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING", "EXECUTE_TASK")
GIVEN_UP = "its masters died"

# A run was moved when a command that was done moved it or one above it.
_MOVED = """
    WITH RECURSIVE moved(id) AS (
        SELECT workflow_instance_id FROM command_history WHERE outcome = 'DONE' AND type = ANY(%s)
        UNION SELECT i.id FROM workflow_instance i JOIN moved m ON i.parent_instance_id = m.id
    )
"""


@dataclass(frozen=True)
class Violation:
    """Which rule, and what broke it."""

    rule: str
    what: str


class Checker:
    """All rules over one ended run.

    Args:
        cluster: the database.
        kinds: the workflows of the load.
        promises: what was acknowledged to those who inserted commands.
        lines: the tasks' journal.
    """

    def __init__(self, cluster: Cluster, kinds: list[Kind], promises: Promises, lines: list[Line]) -> None:
        self._cluster = cluster
        self._kinds = {kind.code: kind for kind in kinds}
        self._promises = promises
        self._lines = lines

    def violations(self) -> list[Violation]:
        """The violations of all rules."""
        rules: list[Callable[[], Iterable[str]]] = [
            self.each_command_has_one_outcome,
            self.each_start_made_one_run,
            self.each_key_made_one_run,
            self.only_what_is_wrong_was_refused,
            self.everything_has_ended,
            self.each_run_ended_as_it_should,
            self.attempts_follow_each_other,
            self.no_success_was_repeated,
            self.states_changed_legally,
            self.nobody_wrote_after_the_fence,
            self.nobody_wrote_without_a_licence,
            self.who_runs_alone_ran_alone,
            self.runs_of_a_key_kept_their_order,
            self.each_time_fired_once,
            self.each_date_was_filled_once,
            self.children_were_made_once,
            self.the_journal_agrees,
            self.duties_were_done_once_a_period,
            self.no_resource_had_two_users,
        ]
        found = []
        for rule in rules:
            sentences = list(rule())
            name = rule.__name__.replace("_", " ")
            found += [Violation(name, what) for what in sentences[:SHOWN_MAX]]
            if len(sentences) > SHOWN_MAX:
                found.append(Violation(name, f"and {len(sentences) - SHOWN_MAX} more"))
        return found

    def each_command_has_one_outcome(self) -> Iterator[str]:
        """Each acknowledged command is in the history, once (its primary key), and errors are reported."""
        rows = self._cluster.rows("SELECT command_id, outcome FROM command_history")
        outcomes = dict(rows)
        for id_, type_ in self._promises.acknowledged.items():
            if id_ not in outcomes:
                yield f"command {id_} ({type_}) was acknowledged, and nothing became of it"
        told = {id_ for (id_,) in self._cluster.rows("SELECT command_id FROM error_command")}
        errors = {id_ for id_, outcome in rows if outcome == "ERROR"}
        yield from (f"command {id_} is told to be an error in one table only" for id_ in told ^ errors)
        handled = self._cluster.rows(
            "SELECT row_id, count(*) FROM chaos.change WHERE kind = 'command' GROUP BY 1 HAVING count(*) > 1"
        )
        yield from (f"command {id_} was handled {count} times" for id_, count in handled)

    def each_start_made_one_run(self) -> Iterator[str]:
        """A start that was done made one run, and no run came from anything else.

        Only a child is not made when the run above it is being halted by then, or when it is there already: who takes
        over asks again.
        """
        query = """SELECT h.command_id, h.type, count(i.id) FROM command_history h
                   LEFT JOIN workflow_instance i ON i.command_id = h.command_id
                   WHERE h.outcome = 'DONE' AND h.type = ANY(%s)
                   GROUP BY 1, 2
                   HAVING count(i.id) > 1
                       OR (count(i.id) = 0 AND h.command_id NOT IN (SELECT command_id FROM chaos.child_command))"""
        for id_, type_, count in self._cluster.rows(query, list(STARTING)):
            yield f"command {id_} ({type_}) made {count} runs"
        query = """SELECT i.id, i.command_id, h.type, h.outcome FROM workflow_instance i
                   LEFT JOIN command_history h USING (command_id)
                   WHERE h.outcome IS DISTINCT FROM 'DONE' OR h.type <> ALL(%s)"""
        for id_, command, type_, outcome in self._cluster.rows(query, list(STARTING)):
            yield f"run {id_} comes from command {command}, which is {type_} {outcome}"

    def each_key_made_one_run(self) -> Iterator[str]:
        """An idempotency key made at most one run; one that was answered made one, of the command that all answers
        named."""
        query = """SELECT params::json ->> 'key', array_agg(command_id) FROM workflow_instance
                   WHERE workflow_code = %s GROUP BY 1"""
        made: dict[str, list[int]] = dict(self._cluster.rows(query, KEYED))
        yield from (f"{key} made {len(commands)} runs" for key, commands in made.items() if len(commands) > 1)
        for key, named in self._promises.keyed.items():
            if named != set(made.get(key, ())):
                yield f"{key} was answered with the commands {sorted(named)}, and made runs of {made.get(key, [])}"

    def only_what_is_wrong_was_refused(self) -> Iterator[str]:
        """Errors are what the load broke on purpose, or a change that does not fit the state, each in a sentence."""
        for id_, type_, reason in self._cluster.rows("SELECT command_id, type, reason FROM error_command"):
            fits_no_state = type_ not in STARTING and (" is " in reason or "already ended" in reason)
            if id_ not in self._promises.broken and not fits_no_state:
                yield f"command {id_} ({type_}) was refused: {reason}"
            elif "Traceback" in reason:
                yield f"command {id_} was refused without a sentence: {reason}"
        done = self._cluster.rows("SELECT command_id FROM command_history WHERE outcome = 'DONE'")
        yield from (f"the broken command {id_} was done" for (id_,) in done if id_ in self._promises.broken)

    def everything_has_ended(self) -> Iterator[str]:
        """Nothing waits, nothing runs, nothing is left to be read."""
        rows = self._cluster.rows
        for id_, type_, run in rows("SELECT id, type, workflow_instance_id FROM command"):
            yield f"command {id_} ({type_} of {run}) still waits"
        query = "SELECT id, workflow_code, state, master_id FROM workflow_instance WHERE ended_at IS NULL"
        for id_, code, state, master in rows(query):
            yield f"run {id_} of {self._kinds[code].name} is {state}, owned by {master}"
        query = """SELECT id, workflow_instance_id, task_name, attempt, state, worker_id FROM task_instance
                   WHERE ended_at IS NULL"""
        for id_, run, name, attempt, state, worker in rows(query):
            yield f"task {id_} ({run}, {name}, attempt {attempt}) is {state}, with worker {worker}"
        for id_, run, task, state in rows("SELECT id, workflow_instance_id, task_code, state FROM task_event"):
            yield f"event {id_} ({state} of task {task} of {run}) was never read"

    def each_run_ended_as_it_should(self) -> Iterator[str]:
        """A run that nobody moved ended as its kind says, or failed with a task whose keeper was killed or whose
        worker's disk was full."""
        query = f"""{_MOVED} SELECT id, workflow_code, state, reason FROM workflow_instance
                    WHERE ended_at IS NOT NULL AND id NOT IN (SELECT id FROM moved WHERE id IS NOT NULL)"""
        cramped = """SELECT workflow_instance_id FROM task_instance
                     WHERE state = 'FAILURE' AND worker_id = ANY(%s) AND reason LIKE '%%disk of its worker is full%%'"""
        failed = {id_ for (id_,) in self._cluster.rows(cramped, list(self._promises.cramped))}
        failed |= {int(key.partition(".")[0]) for key, _ in self._promises.unkept}
        excused = self._with_those_above(failed)
        for id_, code, state, reason in self._cluster.rows(query, ["PAUSE", "STOP", *REVIVING]):
            kind = self._kinds[code]
            if state == "FAILURE" and id_ in excused:
                continue
            if state not in kind.ends and GIVEN_UP not in (reason or ""):
                yield f"run {id_} of {kind.name} ended as {state}: {reason}"
            if kind.once and state == "FAILURE" and "lost with its worker" not in (reason or ""):
                yield f"run {id_} of {kind.name} failed for another reason than its worker's loss: {reason}"

    def attempts_follow_each_other(self) -> Iterator[str]:
        """Attempts of a task are numbered without gaps, and none began before the one before it had ended. Only of a
        stream the oldest may be gone."""
        query = """SELECT workflow_instance_id, task_name, max(attempt), count(*) FROM task_instance GROUP BY 1, 2
                   HAVING max(attempt) - min(attempt) + 1 <> count(*)
                          OR (min(attempt) <> 1 AND (count(*) < %s OR NOT bool_and(stream IS NOT NULL)))"""
        for run, name, highest, count in self._cluster.rows(query, STREAM_ATTEMPTS_LEFT):
            yield f"task {name} of {run} has {count} attempts, up to number {highest}"
        query = """SELECT a.workflow_instance_id, a.task_name, a.attempt FROM task_instance a
                   JOIN task_instance b ON b.workflow_instance_id = a.workflow_instance_id
                        AND b.task_code = a.task_code AND b.attempt = a.attempt + 1
                   WHERE b.started_at < a.ended_at"""
        for run, name, attempt in self._cluster.rows(query):
            yield f"task {name} of {run}: attempt {attempt + 1} began before attempt {attempt} had ended"

    def no_success_was_repeated(self) -> Iterator[str]:
        """Nothing follows a SUCCESS unless a command asked for it."""
        query = f"""{_MOVED} SELECT a.workflow_instance_id, a.task_name, a.attempt FROM task_instance a
                    JOIN task_instance b ON b.workflow_instance_id = a.workflow_instance_id
                         AND b.task_code = a.task_code AND b.attempt > a.attempt
                    WHERE a.state = 'SUCCESS'
                      AND a.workflow_instance_id NOT IN (SELECT id FROM moved WHERE id IS NOT NULL)"""
        for run, name, attempt in self._cluster.rows(query, list(REVIVING)):
            yield f"task {name} of {run} succeeded in attempt {attempt}, and ran again though nobody asked"
        query = """SELECT workflow_instance_id, task_name FROM task_instance
                   WHERE state = 'SUCCESS' AND flag = 'YES' GROUP BY 1, 2 HAVING count(*) > 1"""
        for run, name in self._cluster.rows(query):
            yield f"task {name} of {run} has two valid successes"

    def states_changed_legally(self) -> Iterator[str]:
        """Every change that the witness in the database saw is in the table of states."""
        legal = {
            "workflow": {(str(old), str(new)) for old, news in WORKFLOW_TRANSITIONS.items() for new in news},
            "task": {(str(old), str(new)) for old, news in TASK_TRANSITIONS.items() for new in news},
        }
        query = """SELECT kind, before, after, min(row_id) FROM chaos.change
                   WHERE before IS NOT NULL AND before <> after GROUP BY 1, 2, 3"""
        for kind, before, after, row in self._cluster.rows(query):
            if (before, after) not in legal[kind]:
                yield f"{kind} instance {row} went from {before} to {after}"

    def nobody_wrote_after_the_fence(self) -> Iterator[str]:
        """No write of a node that was fenced when it wrote."""
        query = "SELECT kind, row_id, after, epoch, at::text FROM chaos.change WHERE node_state = 'FENCED' ORDER BY id"
        for kind, row, after, epoch, at in self._cluster.rows(query):
            yield f"node {epoch} was fenced, and wrote {after} to {kind} {row} at {at}"

    def nobody_wrote_without_a_licence(self) -> Iterator[str]:
        """Every write of a node was made while its transaction held the node's own row."""
        query = "SELECT epoch, operation, table_name, count(*) FROM chaos.unlicensed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        for epoch, operation, table, count in self._cluster.rows(query):
            yield f"node {epoch} wrote without its licence: {operation} of {table}, {count} times"

    def who_runs_alone_ran_alone(self) -> Iterator[str]:
        """Serial workflows, by the witness in the database and by the journal."""
        query = """SELECT row_id, after FROM chaos.change WHERE kind = 'workflow' AND workflow = %s ORDER BY id"""
        under_way = ("RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "FAILOVER")
        for kind in self._kinds.values():
            if not kind.alone:
                continue
            running: set[int] = set()
            for run, after in self._cluster.rows(query, kind.code):
                if after not in under_way:
                    running.discard(run)
                elif run not in running:
                    running.add(run)
                    if len(running) > 1:
                        yield f"runs {sorted(running)} of {kind.name} were under way at once"
            yield from not_alone(self._lines, self._runs_of([kind.code]))

    def runs_of_a_key_kept_their_order(self) -> Iterator[str]:
        """Runs of one key ran one at a time, and began in the order of their commands: by the witness in the database
        and by the journal."""
        codes = [code for code, kind in self._kinds.items() if kind.by_key]
        lines: dict[str, dict[int, int]] = defaultdict(dict)
        query = "SELECT serial_key, id, command_id FROM workflow_instance WHERE workflow_code = ANY(%s)"
        for key, run, command in self._cluster.rows(query, codes):
            lines[key][run] = command
        query = """SELECT row_id FROM chaos.change
                   WHERE kind = 'workflow' AND workflow = ANY(%s) AND after = 'RUNNING_EXECUTION' ORDER BY id"""
        moves = [run for (run,) in self._cluster.rows(query, codes)]
        starts = [line.instance for line in self._lines if line.what == "start"]
        for key, commands in lines.items():
            for where, runs in (("the database", moves), ("the journal", starts)):
                begun = list(dict.fromkeys(run for run in runs if run in commands))
                for before, after in pairwise(begun):
                    if commands[after] < commands[before]:
                        yield (
                            f"key {key}, by {where}: run {after} of command {commands[after]} began after run {before} "
                            f"of command {commands[before]}"
                        )
            yield from not_alone(self._lines, set(commands))

    def each_time_fired_once(self) -> Iterator[str]:
        """Every fire time from a schedule's making to its last has one command, and each one run."""
        fires = defaultdict(list)
        for schedule, time in self._cluster.rows("SELECT schedule_id, schedule_time FROM chaos.fire ORDER BY 1, 2"):
            fires[schedule].append(time)
        for schedule, times in fires.items():
            every = [times[0] + number * timedelta(seconds=SCHEDULE_EVERY_S) for number in range(len(times))]
            if times != every:
                odd = next(time for time, due in zip(times, every, strict=True) if time != due)
                yield f"schedule {schedule} fired {len(times)} times, and is out of step at {odd}"
        query = """SELECT id, to_timestamp(%s * (1 + floor(extract(epoch FROM created_at) / %s))),
                          updated_at - created_at > interval '10 s' FROM schedule ORDER BY id"""
        for schedule, first, stood_long in self._cluster.rows(query, SCHEDULE_EVERY_S, SCHEDULE_EVERY_S):
            if schedule in fires and fires[schedule][0] != first:
                yield f"schedule {schedule} fired first at {fires[schedule][0]}, and should have at {first}"
            elif stood_long and schedule not in fires:
                yield f"schedule {schedule} never fired"
        query = """SELECT f.schedule_id, f.schedule_time, count(i.id) FROM chaos.fire f
                   LEFT JOIN workflow_instance i USING (schedule_id, schedule_time)
                   GROUP BY 1, 2 HAVING count(i.id) <> 1"""
        for schedule, time, count in self._cluster.rows(query):
            yield f"schedule {schedule} made {count} runs for {time}"

    def each_date_was_filled_once(self) -> Iterator[str]:
        """Backfills: as many runs for each date as backfills came to it; a run that fails ends its backfill."""
        begun = self._cluster.one(
            """SELECT count(*) FROM chaos.change c JOIN workflow_instance i ON i.command_id = c.row_id
               WHERE c.kind = 'command' AND i.workflow_code = %s AND i.schedule_time::date = '2026-01-01'""",
            BACKFILLED,
        )
        query = """SELECT left(day, 10)::date, count(*) FROM workflow_instance,
                          jsonb_array_elements_text(backfill::jsonb -> 'backfill' -> 'dates') AS day
                   WHERE workflow_code = %s AND state <> 'SUCCESS' GROUP BY 1"""
        not_reached = dict(self._cluster.rows(query, BACKFILLED))
        query = "SELECT schedule_time::date, count(*) FROM workflow_instance WHERE workflow_code = %s GROUP BY 1"
        for day, count in self._cluster.rows(query, BACKFILLED):
            if count != begun - not_reached.get(day, 0):
                yield f"{begun} backfills began, and {day} was filled {count} times"
        if begun < len(self._promises.backfills):
            yield f"{len(self._promises.backfills)} backfills were acknowledged, and {begun} began"

    def children_were_made_once(self) -> Iterator[str]:
        """A task that stands for workflows and succeeded has one child for each, and all succeeded."""
        query = """SELECT t.workflow_instance_id, t.task_type, count(c.id), count(*) FILTER (WHERE c.state = 'SUCCESS')
                   FROM task_instance t
                   LEFT JOIN workflow_instance c ON c.parent_instance_id = t.workflow_instance_id
                        AND c.parent_task_code = t.task_code AND c.parent_attempt = t.attempt
                   WHERE t.task_type IN ('SUB_PROCESS', 'DYNAMIC') AND t.attempt = 1 AND t.state = 'SUCCESS'
                   GROUP BY t.id, 1, 2"""
        for run, type_, children, good in self._cluster.rows(query):
            wanted = 1 if type_ == "SUB_PROCESS" else 3
            if (children, good) != (wanted, wanted):
                yield f"the {type_} of run {run} made {children} of {wanted} children, {good} of them a SUCCESS"

    def the_journal_agrees(self) -> Iterator[str]:
        """The tables agree with what tasks wrote about themselves."""
        yield from twice_at_once(self._lines)
        yield from started_again(self._lines, self._runs_of([code for code, kind in self._kinds.items() if kind.once]))
        said = {
            (f"{run}.{code}", attempt): (state, worker)
            for run, code, attempt, state, worker in self._cluster.rows(
                """SELECT workflow_instance_id, task_code, attempt, state, worker_id FROM task_instance
                   WHERE task_type = 'SHELL'"""
            )
        }
        for line in self._lines:
            state, worker = said.get((line.key, line.attempt), (None, None))
            if worker != line.worker:
                yield f"{line.key} attempt {line.attempt} ran on worker {line.worker}, and is told to be with {worker}"
        ended = {(line.key, line.attempt) for line in self._lines if line.what == "end"}
        for (key, attempt), (state, _) in said.items():
            if state == "SUCCESS" and (key, attempt) not in ended:
                yield f"{key} attempt {attempt} is told to be a SUCCESS, and never came to its end"

    def duties_were_done_once_a_period(self) -> Iterator[str]:
        """See `tests/chaos/duty_rules.py`."""
        yield from duty_rules.broken(self._cluster)

    def no_resource_had_two_users(self) -> Iterator[str]:
        """See `tests/chaos/pool_rules.py`."""
        yield from pool_rules.broken(self._cluster)

    def _with_those_above(self, runs: set[int]) -> set[int]:
        query = """WITH RECURSIVE above(id) AS (
                       SELECT unnest(%s::bigint[])
                       UNION SELECT i.parent_instance_id FROM workflow_instance i JOIN above USING (id)
                       WHERE i.parent_instance_id IS NOT NULL)
                   SELECT id FROM above"""
        return {id_ for (id_,) in self._cluster.rows(query, list(runs))}

    def _runs_of(self, codes: list[int]) -> set[int]:
        rows = self._cluster.rows("SELECT id FROM workflow_instance WHERE workflow_code = ANY(%s)", codes)
        return {id_ for (id_,) in rows}
