"""What must hold after every step, read off each commit and each start of a process; and what must hold at the end.

The numbers are those of the invariants in the reliability study that tables and processes can show. I7, states change
only along `model/runs/states.py`, is checked with each statement, by the triggers' model in `tables.py`: whatever the
database would have to refuse is a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dao.runs.failover import SOON_MIN, TAKEOVERS_MAX
from model.cluster.nodes import Heartbeat, NodeState
from model.runs.command_moves import URGENT, CommandType
from model.runs.states import TaskState, WorkflowState
from tests.simulation.approval_invariants import ApprovalInvariants
from tests.simulation.closing_invariants import ClosingInvariants
from tests.simulation.date_invariants import DateInvariants
from tests.simulation.duty_invariants import DutyInvariants
from tests.simulation.element_invariants import ElementInvariants
from tests.simulation.line_invariants import LineInvariants
from tests.simulation.pool_invariants import BEGINNING, PoolInvariants
from tests.simulation.start_invariants import StartInvariants
from tests.simulation.started_invariants import StartedInvariants
from tests.simulation.stream_shares import took_too_many
from tests.simulation.tables import Change, Row, Transaction, Values
from tests.simulation.trace import Trace
from tests.simulation.trigger_invariants import TriggerInvariants

if TYPE_CHECKING:
    from tests.simulation.server import Server
    from tests.simulation.task_runs import TaskRun

T, W = TaskState, WorkflowState
_LIVING = (NodeState.ALIVE, NodeState.LEAVING)
_QUEUED = (T.QUEUED, T.DELAY_EXECUTION)
_MASTERS_OWN = ("workflow_instance", "task_instance", "command", "command_history")


class Invariants:
    """The invariants of one run."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._asked: set[int] = set()
        self._died_of: dict[int, int] = {}
        self._driven_since_s: dict[int, float] = {}
        self._asked_for: set[tuple[object, ...]] = set()
        self._fired: dict[tuple[int, object], int] = {}
        self._recorded: set[int] = set()
        self._running: dict[tuple[int, int], TaskRun] = {}
        self._pools = PoolInvariants(trace, self._broken)
        self.duties = DutyInvariants(trace, self._broken)
        self._starts = StartInvariants(self._broken)
        self._closing = ClosingInvariants(self._broken)
        self._lines = LineInvariants(self._broken)
        self._dates = DateInvariants(self._broken)
        self._started = StartedInvariants(self._broken)
        self._elements = ElementInvariants(self._broken)
        self._triggers = TriggerInvariants(self._broken)
        self._approvals = ApprovalInvariants(self._broken)
        self.server: Server
        self.is_innocent: Callable[[int], bool] = lambda _: False
        self.on_beat: Callable[[int], None] = lambda _: None
        self.on_driven: Callable[[int, int], None] = lambda _code, _epoch: None
        self.attempts = 0

    def watch(self, server: Server) -> None:
        """Read the tables of this server from now on."""
        self.server = self._pools.server = self.duties.server = self._starts.server = self._closing.server = server
        self._lines.server = self._dates.server = self._started.server = self._elements.server = server
        self._triggers.server = server
        self._approvals.server = server

    # ------------------------------------------------------------------------------------------- each commit

    def before_commit(self, tx: Transaction) -> None:
        """I4: nothing is written under the licence of an epoch that has ended. I20: one that is drained, and has
        confirmed it, begins nothing."""
        if tx.epoch is not None and any(row.table.name in _MASTERS_OWN for row in tx.writes):
            node = self.server.nodes.rows[tx.epoch].values
            if node is None or node.state not in _LIVING:
                rows = sorted({f"{row.table.name} {row.id}" for row in tx.writes})
                self._broken("I4", f"epoch {tx.epoch} is {node and node.state} and writes {', '.join(rows)}")
        if tx.epoch is not None and self._is_drained(tx.epoch):
            for row, after in tx.writes.items():
                handles, before = row.table.name == "command_history", row.values
                if row.table.name == "task_instance" and before is not None and after is not None:
                    handles = after.state in BEGINNING and before.state is not after.state
                if handles:
                    self._broken("I20", f"epoch {tx.epoch} is drained and writes {row.table.name} {row.id}")

    def _is_drained(self, epoch: int) -> bool:
        node, beat = self.server.nodes.rows[epoch].values, self.server.beats.rows[epoch].values
        if node is None or beat is None or beat.heartbeat is None:
            return False
        drain = self.server.drains.get((node.kind, node.name or node.address))
        return drain is not None and beat.heartbeat.drained == drain

    def after_commit(self, changes: Sequence[Change], began_s: float) -> None:
        """Check the changes of a transaction that began at `began_s`, by the database's clock."""
        recorded = {row.id for row, _, after in changes if row.table.name == "command_history" and after is not None}
        self._recorded |= recorded
        for row, before, after in changes:
            match row.table.name:
                case "node_beat" if before is not None and after is not None:
                    if after.beat_no == before.beat_no + 1:  # a fence moves it out of reach
                        self.on_beat(row.id)
                case "node" if before is not None and after is not None:
                    self._node(row, before, after)
                case "command":
                    self._command(row, before, after, recorded)
                case "command_history" if after is None:
                    self.duties.record_deleted(row)
                case "command_history" if after is not None:
                    told = f": {after.reason}" if after.reason else ""
                    self._trace.add("tables", f"command {row.id} {after.type} made or moved {after.instance}{told}")
                case "task_event":
                    self._event(row, before, after)
                case "duty" if before is not None and after is not None:
                    self.duties.stepped(row, before, after)
                case "duty_done" if after is not None:
                    self.duties.done(after)
                case "workflow_instance":
                    self._instance(row, before, after)
                case "task_instance":
                    self._task(row, before, after)
                case "pool_resource" if before is not None and after is not None:
                    self._pools.changed(row, before, after)
        self._pools.leases_are_whole(changes)
        self._starts.committed(changes)
        self._closing.committed(changes)
        self._lines.committed(changes)
        self._dates.committed(changes)
        self._started.committed(changes)
        self._elements.committed(changes)
        self._triggers.committed(changes)
        self._approvals.committed(changes)
        self._streams(changes, began_s)

    def _streams(self, changes: Sequence[Change], began_s: float) -> None:
        """I25: no worker takes more than its share of the streams that wait."""
        taken = [
            after
            for row, before, after in changes
            if row.table.name == "task_instance"
            and before is not None
            and after is not None
            and after.stream is not None
            and before.state is T.QUEUED
            and after.state in BEGINNING
        ]
        if taken and (fault := took_too_many(self.server, taken, began_s, self.is_innocent)):
            self._broken("I25", fault)

    def running_tasks(self) -> Mapping[tuple[int, int], TaskRun]:
        """The running tasks, by run and code."""
        return self._running

    def _node(self, row: Row, before: Values, after: Values) -> None:
        """I14: silence that is not a death costs no node its life."""
        is_fenced = before.state in _LIVING and after.state is NodeState.FENCED
        if is_fenced and "stood still" in (after.ended_why or "") and self.is_innocent(row.id):
            self._broken("I14", f"{after.kind.lower()} {row.id} lived, and was fenced: {after.ended_why}")

    def _command(self, row: Row, before: Values | None, after: Values | None, recorded: set[int]) -> None:
        if before is None and after is not None:
            self._asked.add(row.id)
            if after.type is CommandType.SCHEDULER and after.row.schedule_id is not None:
                self._fires(row, after)
            asked = after.row.parent or after.row.workflow_instance_id or after.row.workflow_code
            self._trace.add("tables", f"command {row.id} {after.type} of {asked}")
            if after.type is CommandType.RECOVER_TOLERANCE_FAULT_PROCESS:
                same = [
                    other.id
                    for other in self.server.commands.rows.values()
                    if other.values is not None
                    and other.values.type is after.type
                    and other.values.row.workflow_instance_id == after.row.workflow_instance_id
                ]
                if len(same) > 1:
                    self._broken("I3", f"two open RECOVER commands of one instance: {same}")
        if after is None and row.id in self._asked and row.id not in recorded:
            self._broken("I1", f"command {row.id} left its table and nobody recorded what became of it")

    def _fires(self, row: Row, after: Values) -> None:
        """I8: no time of a schedule is requested twice, unless a person changed the schedule in between."""
        schedule = self.server.schedules.rows[int(after.row.schedule_id)].values
        time = (after.row.schedule_id, after.row.schedule_time, schedule and schedule.updated_at)
        if time in self._asked_for and self.server.protections.fire_once:  # else the runs are looked at
            self._broken("I8", f"command {row.id} asks for {time[1]} of schedule {time[0]} once more")
        self._asked_for.add(time)

    def _event(self, row: Row, before: Values | None, after: Values | None) -> None:
        event = after or before
        if event is not None:
            if after is None:
                self._died_of[event.workflow_instance_id] = 0
            child = "" if event.child_index is None else f" child {event.child_index}"
            told = f"{event.workflow_instance_id}/{event.task_code}#{event.attempt}{child} {event.state}"
            self._trace.add("tables", f"event {row.id} {'of' if after else 'is read of'} {told}")

    def _instance(self, row: Row, before: Values | None, after: Values | None) -> None:
        if after is None:
            if before is not None:
                self.duties.deleted(row, before)
            return
        if before is None:
            if after.parent is not None:
                self.duties.child_made(row, after)
            if after.schedule_id is not None:
                time = (after.schedule_id, after.schedule_time)
                if time in self._fired:
                    self._broken(
                        "I8", f"schedule {time[0]} started two runs for {time[1]}: {self._fired[time]}, {row.id}"
                    )
                self._fired[time] = row.id
            self._trace.add("tables", f"workflow {row.id} ({after.workflow_code}) {after.state} of {after.master_id}")
            if after.state.is_driven:
                self._driven_by_another(row, after)
            return
        if before.state is not after.state and after.state.is_final:
            self._ended(row, after)
        if before.master_id != after.master_id and before.state not in (W.FAILOVER, W.SERIAL_WAIT):
            owner = self.server.nodes.rows[before.master_id].values if before.master_id else None
            if not before.state.is_final and owner is not None and owner.state in _LIVING:
                self._broken("I3", f"workflow instance {row.id} was taken from living master {before.master_id}")
        if before.state.is_final and after.state.is_driven:
            self._died_of[row.id] = 0  # somebody wants it to go on, and counts again
        elif before.master_id != after.master_id and after.state.is_driven:
            self._failed_over(row, before)
        if before.master_id != after.master_id and after.state.is_driven:
            self._driven_by_another(row, after)
        if (
            before.state is not after.state
            or before.master_id != after.master_id
            or before.ending_as != after.ending_as
        ):
            told = f" {after.reason}" if after.reason else ""
            told += f" cleans up, then {after.ending_as}" if after.ending_as is not None else ""
            self._trace.add("tables", f"workflow {row.id} {before.state} -> {after.state} of {after.master_id}{told}")

    def _driven_by_another(self, row: Row, after: Values) -> None:
        self._driven_since_s[row.id] = self.server.loop.now
        self.on_driven(after.workflow_code, after.master_id)

    def _failed_over(self, row: Row, before: Values) -> None:
        """I16: what kills its masters soon is driven by no more of them than are allowed."""
        owner = self.server.nodes.rows[before.master_id].values if before.master_id else None
        if owner is None or owner.state is not NodeState.FENCED:
            self._died_of[row.id] = 0
            return
        drove_s = self.server.loop.now - self._driven_since_s[row.id]
        self._died_of[row.id] = 1 if drove_s > SOON_MIN.total_seconds() else self._died_of.get(row.id, 0) + 1
        if self._died_of[row.id] >= TAKEOVERS_MAX:
            self._broken("I16", f"{TAKEOVERS_MAX} masters died of workflow instance {row.id}, and one more drives it")

    def _ended(self, row: Row, after: Values) -> None:
        """I10: nothing of an ended instance is queued or runs."""
        left = [
            task.id
            for task in self.server.tasks.by_key.get(row.id, ())
            if task.values is not None
            and not task.values.state.is_final
            and not ("cannot be driven" in (after.reason or "") or "its masters died" in (after.reason or ""))
        ]
        if left:
            self._broken("I10", f"workflow instance {row.id} ended as {after.state}, and tasks {left} of it have not")

    def _task(self, row: Row, before: Values | None, after: Values | None) -> None:
        if after is None:
            return
        who = f"task {row.id} ({after.workflow_instance_id}/{after.task_code}#{after.attempt})"
        if after.state in _QUEUED and (before is None or before.state is not after.state):
            self._queued(who, after)
        if before is None:
            others = [
                other.id
                for other in self.server.tasks.by_key.get(after.workflow_instance_id, ())
                if other is not row
                and other.values is not None
                and other.values.task_code == after.task_code
                and not other.values.state.is_final
            ]
            counting = [
                other.id
                for other in self.server.tasks.by_key.get(after.workflow_instance_id, ())
                if other.values is not None and other.values.task_code == after.task_code and other.values.flag
            ]
            if len(counting) > 1:
                self._broken("I19", f"of the attempts of one task {counting} count")
            if others and not after.state.is_final:
                self._broken("I5", f"{who} is queued while attempt {others} of it has not ended")
            self._trace.add("tables", f"{who} {after.state}")
            return
        if before.state is not after.state:
            self._trace.add("tables", f"{who} {before.state} -> {after.state} at {after.worker_id}")
            if after.state is T.DELAY_EXECUTION:
                self._put_off(who, row, before, after)
            run = self._running.get((after.workflow_instance_id, after.task_code))
            is_lost = after.state is T.NEED_FAULT_TOLERANCE
            if is_lost and run is not None and run.task.id == row.id and not run.process.is_dead:
                self._broken("I5", f"{who} is given up for lost, and still runs at {run.process.name}")
        elif before.state.is_final and (before.ended_s, before.worker_id) != (after.ended_s, after.worker_id):
            self._broken("I5", f"{who} had ended as {before.state} and was written once more")

    def _put_off(self, who: str, row: Row, before: Values, after: Values) -> None:
        """I34: between two looks a WAIT task has no process, no worker and no resource; each look counts once."""
        run = self._running.get((after.workflow_instance_id, after.task_code))
        if run is not None and run.task.id == row.id:
            self._broken("I34", f"{who} waits for its next look, and still runs at {run.process.name}")
        holds = [
            each.id for each in self.server.resources.rows.values() if each.values and each.values.holder == row.id
        ]
        if after.worker_id is not None or holds:
            self._broken("I34", f"{who} waits for its next look, and has worker {after.worker_id} and {holds}")
        if after.looks != before.looks + 1:
            self._broken("I34", f"{who} had looked {before.looks} times, and now {after.looks} times")

    def _queued(self, who: str, after: Values) -> None:
        """I17: of a run that is halted or over nothing is queued."""
        run = self.server.instances.rows[after.workflow_instance_id].values
        if run is not None and run.state not in (W.RUNNING_EXECUTION, W.FAILOVER):
            self._broken("I17", f"{who} is {after.state}, and its run is {run.state}")

    # ------------------------------------------------------------------------------------------- each process

    def task_starts(self, run: TaskRun) -> None:
        """I5 and I6: no other attempt of it runs, and its row said RUNNING before it began."""
        self.attempts += 1
        row = self.server.tasks.rows[run.task.id].values
        who = f"task {run.task.id} ({run.key[0]}/{run.key[1]}#{run.task.attempt})"
        self._trace.add(run.process.name, f"{who} begins to run")
        if run.key in self._running and not self._running[run.key].hangs:
            other = self._running[run.key]
            self._broken(
                "I5",
                f"{who} begins at {run.process.name} while task {other.task.id} of it runs at {other.process.name}",
            )
        self._running[run.key] = run
        self._pools.task_starts(run)
        if row is None or row.state not in (T.RUNNING_EXECUTION, T.NEED_FAULT_TOLERANCE):
            self._broken("I6", f"{who} begins to run though its row says {row and row.state}")

    def task_stops(self, run: TaskRun) -> None:
        if self._running.get(run.key) is run:
            del self._running[run.key]

    # ----------------------------------------------------------------------------------------------- the end

    def is_quiet(self) -> bool:
        """Whether nothing is left to do."""
        server = self.server
        return not (
            server.commands.rows or server.events.rows or server.instances.unfinished or server.tasks.unfinished
        )

    def no_command_waits(self, since_s: float, *, may_be_full: bool) -> None:
        """I2: what was asked for before that time of the database has been taken, or waits for room."""
        for row in self.server.commands.rows.values():
            if row.values is None or (may_be_full and row.values.type not in URGENT):
                continue
            if row.values.created_s < since_s:
                self._broken("I2", f"command {row.id} has waited since {row.values.created_s:.1f}, though all is well")

    def slots_are_right(self, entries: Iterable[Heartbeat]) -> None:
        """I2: each residue belongs to one master."""
        told = sorted(((each.slot_current, each.slot_total) for each in entries), key=str)
        if told != [(place, len(told)) for place in range(len(told))]:
            self._broken("I2", f"the masters believe in the slots {told}")

    def at_the_end(self) -> None:
        """I1, I2, I3, I10: all faults have ended, and time has passed since."""
        server = self.server
        for table in (server.commands, server.events, server.instances, server.tasks):
            rows = table.rows if table in (server.commands, server.events) else table.unfinished
            for row in rows.values():
                if row.values is not None:
                    told = {
                        k: v
                        for k, v in row.values.__dict__.items()
                        if k
                        in ("state", "type", "master_id", "worker_id", "workflow_instance_id", "task_code", "attempt")
                    }
                    self._broken("I10", f"{table.name} {row.id} is left for ever: {told}")
        if (lost := self._asked - self._recorded) and not server.commands.rows:
            self._broken("I1", f"commands {sorted(lost)} left no record")
        self._pools.all_are_free()
        if self._running:
            self._broken("I11", f"processes run of which nobody knows: {sorted(self._running)}")

    def _broken(self, number: str, what: str) -> None:
        self._trace.violation(f"{number}: {what}")
