"""Commands that change a run: PAUSE, STOP, and those by which one leaves a final state or a wait.

Each is checked against the table in `model/runs/command_moves.py`, with the row of its run locked; one that is not
allowed is refused with the reason as a sentence, and nothing is changed. Two commands of one batch for one run see each
other. A child that its parent task resumes waits for its turn while another run of its line is before it; if it cannot
continue at all, that task is notified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dao.accounts import members
from dao.accounts.members import LimitedRun
from dao.definitions import definitions
from dao.runs import after_end, children, control, serial_line
from dao.runs.children import Above
from dao.runs.code_lists import Unreadable
from dao.runs.control import Locked, Revival
from dao.tasks import past_attempts, task_events, task_instances
from master.claim.batch_work import BatchWork
from master.claim.line_keys import OlderCommands
from master.claim.revival import revival
from master.claim.serial import next_of
from master.claim.version_changes import Onto, onto_version
from master.drive.driver import Driver
from model.accounts.project_limits import used_by_start
from model.choices import ExecutionType
from model.definitions.plan import Plan
from model.errors import NotFound, Refused
from model.ids import CommandId, Epoch, WorkflowInstanceId
from model.parameters.parameters import parse_parameters
from model.runs.command_moves import COMMAND_MOVES, HALTING, REVIVING, CommandType, why_not
from model.runs.commands import CommandRow, Move, RecoverSerialWait
from model.runs.elements import task_of
from model.runs.instances import WorkflowInstance
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState

C, W = CommandType, WorkflowState
LINES_MAX = 100
"""In how many lines one command without a key lets a run begin; a second command handles the rest."""
READ_MAX = 1_000
"""How many lines it reads. Lines that wait for older commands cost little, and may be many for long."""
_AFRESH = (C.REPEAT_RUNNING, C.EXECUTE_TASK)
"""Commands that run tasks from their beginning, with all retries, instead of resuming them."""
_HALTED = {W.PAUSE: "it was paused before it had begun to run", W.STOP: "it was stopped before it had begun to run"}


class Mover:
    """Changes runs; this master becomes the owner of those that continue."""

    def __init__(self, epoch: Epoch, driver: Driver) -> None:
        self._epoch = epoch
        self._driver = driver

    async def handle(self, moves: Sequence[tuple[CommandRow, Move]], work: BatchWork) -> None:
        """Handle these commands in their order."""
        connection = work.connection
        ids = {move.workflow_instance_id for _, move in moves}
        locked = await control.lock(connection, ids)
        states = {id_: instance.state for id_, instance in locked.items()}
        waits_over: dict[WorkflowInstanceId, tuple[WorkflowState, str]] = {}
        asked: dict[WorkflowInstanceId, WorkflowState] = {}
        at_rest: dict[WorkflowInstanceId, str | None] = {}
        resumed = {
            locked[move.workflow_instance_id].above
            for row, move in moves
            if _is_resumed_from_above(row, move) and move.workflow_instance_id in locked
        }
        above = await children.above(connection, {id_ for id_ in resumed if id_ is not None}) if resumed else {}
        revived = {move.workflow_instance_id: move for _, move in moves if move.type in REVIVING}
        limited = {run.id: run for run in await members.limited_runs(connection, revived)} if revived else {}
        await self._check_projects([(locked[id_], move) for id_, move in revived.items() if id_ in locked], work)
        for row, move in moves:
            id_ = move.workflow_instance_id
            from_above = _is_resumed_from_above(row, move)
            if from_above and id_ in locked and _is_halted(above.get(locked[id_].above or WorkflowInstanceId(0))):
                at_rest[id_] = None
                work.done(row)
                continue
            if move.type is C.STOP and id_ in locked and _cleans_up_since(row, locked[id_]):
                work.done(row, id_)
                continue
            try:
                if id_ not in locked:
                    raise NotFound(f"there is no workflow instance {id_}")
                after = COMMAND_MOVES[move.type].get(states[id_])
                if after is None:
                    raise Refused(why_not(move.type, id_, states[id_]))
                if after in _HALTED:
                    waits_over[id_] = (after, _HALTED[after])
                    await control.end_waiting(connection, {id_: waits_over[id_]})
                elif move.type in HALTING:
                    asked[id_] = after
                else:
                    self._check_limits(locked[id_], move, limited.get(id_), work)
                    after = await self._resume(locked[id_], move, work, from_above=from_above)
            except Refused as error:
                work.refuse(row, str(error), id_ if id_ in locked else None)
                if from_above:
                    at_rest[id_] = str(error)
                continue
            states[id_] = after
            work.done(row, id_)
        await after_end.notify_awaiting(connection, list(waits_over))
        if asked:
            await control.ask_halt(connection, asked)
        if at_rest:
            await children.report_at_rest(connection, at_rest)

    async def _check_projects(self, revived: Sequence[tuple[Locked, Move]], work: BatchWork) -> None:
        """Forget the plans of workflows that were moved to another project since their runs ended."""
        if not revived:
            return
        keys = {
            (instance.workflow_code, version)
            for instance, move in revived
            for version in (instance.workflow_version, move.version)
            if version is not None
        }
        where = await definitions.whereabouts(work.connection, {code for code, _ in keys})
        self._driver.plans.check_projects(where, keys)

    def _check_limits(self, instance: Locked, move: Move, limited: LimitedRun | None, work: BatchWork) -> None:
        """Raises `Refused` if its project may not use what the run continues with."""
        if limited is None:
            return
        key = (instance.workflow_code, move.version or instance.workflow_version)
        plan = self._driver.plans.at_hand([key], work.writes.plans)[key]
        if isinstance(plan, Refused):
            raise plan
        limited.limits.check(limited.project, plan.used | used_by_start(limited, plan.spec))

    async def _resume(self, instance: Locked, move: Move, work: BatchWork, *, from_above: bool) -> WorkflowState:
        """Let a run continue, or wait for its turn; returns its state. Raises `Refused`."""
        try:
            await self._check_turn(instance, work)
        except Refused:
            if not from_above or instance.state is W.SERIAL_WAIT:
                raise
            await self._go_on(instance, move, work, waits=True)  # its parent task asks only once
            return W.SERIAL_WAIT
        # Only its parent task may decide to which attempt it belongs.
        await self._go_on(instance, move if from_above else replace(move, parent=None), work)
        return W.RUNNING_EXECUTION

    async def _check_turn(self, instance: Locked, work: BatchWork) -> None:
        """Raises `Refused` if another run of its line, live or waiting, or an older command of its key is before it."""
        waits = instance.state is W.SERIAL_WAIT and bool(instance.serial_key)
        if waits or work.lines.next(instance.line) is not None:
            work.lines.add(await serial_line.standing(work.connection, [instance.line]))
        work.lines.check(instance)
        if not instance.serial_key or instance.execution_type is ExecutionType.PARALLEL:
            return
        # A run that was halted while it waited has not had its turn either.
        first = work.lines.next(instance.line) if waits else None
        command = instance.command if first is None else first.command
        if await self._older(work).oldest({instance.line: command}):
            raise Refused(
                f"workflow instance {instance.id} cannot go on: an older command of the key "
                f'"{instance.serial_key}" has not been handled yet; wait for it'
            )

    def _older(self, work: BatchWork) -> OlderCommands:
        return OlderCommands(work, self._driver.plans)

    async def next_in_line(self, rows: Sequence[tuple[CommandRow, RecoverSerialWait]], work: BatchWork) -> None:
        """Let the first waiting runs of each of these lines continue, as many as there is room for."""
        connection = work.connection
        called: dict[CommandId, list[Line]] = {}
        for code in {command.workflow_code for _, command in rows if command.key is None}:
            calls = [command for _, command in rows if command.key is None and command.workflow_code == code]
            open_ = await serial_line.with_room(connection, code, READ_MAX, min(command.first for command in calls))
            free = await self._not_blocked(open_, work)
            called |= {command.id: free[:LINES_MAX] for command in calls}
            # Continue from there: the first lines may have to wait long.
            if len(free) > LINES_MAX:
                await serial_line.call_from(connection, free[LINES_MAX - 1])
            elif len(open_) == READ_MAX:
                await serial_line.call_from(connection, open_[-1])
        called |= {
            row.id: [Line(command.workflow_code, command.key)] for row, command in rows if command.key is not None
        }
        lines = {line for each in called.values() for line in each}
        turns = await next_of(connection, work.lines, lines, self._older(work).oldest)
        if turns:
            await self._begin(turns, work)
        begun: dict[Line, WorkflowInstanceId] = {}
        for turn in turns:
            begun.setdefault(turn.line, turn.id)
        for row, _ in rows:
            own = [id_ for line in called[row.id] if (id_ := begun.pop(line, None)) is not None]
            work.done(row, own[0] if own else None)

    async def _not_blocked(self, lines: Sequence[Line], work: BatchWork) -> list[Line]:
        """The lines of a workflow whose first run waits for no older command."""
        if not lines or not lines[-1].key:
            return list(lines)
        heads = await serial_line.waiting(work.connection, dict.fromkeys(lines, 1))
        blocked = await self._older(work).oldest({head.line: head.command for head in heads})
        return [line for line in lines if line not in blocked]

    async def _onto(self, instance: Locked, move: Move, work: BatchWork) -> tuple[Plan, Onto | None]:
        """The plan with which a run continues, and what changes if it is of another version. Raises `Refused`."""
        code, own = instance.workflow_code, instance.workflow_version
        version = move.version or own
        plans = self._driver.plans.at_hand([(code, each) for each in {own, version}], work.writes.plans)
        plan = plans[code, version]
        if isinstance(plan, Refused):
            raise plan
        if version == own:
            return plan, None
        head = (await definitions.heads(work.connection, [code])).get(code)
        project = parse_parameters(head.project_params, "the project's parameters") if head else {}
        return plan, onto_version(await control.read(work.connection, instance.id), plans[code, own], plan, project)

    async def _begin(self, waiting: Sequence[Locked], work: BatchWork) -> None:
        """Let waiting runs begin, owned by this master."""
        await task_events.delete_of(work.connection, [turn.id for turn in waiting])
        for turn in waiting:
            work.lines.goes_on(turn.id, turn.line)
        revived = await self._revive(waiting, work)
        await self._driver.restorer.restore(work, revived, {turn.id: turn.resumes for turn in waiting})

    async def _revive(self, waiting: Sequence[Locked], work: BatchWork) -> list[WorkflowInstance]:
        """Read their rows. A run that cannot be read ends as FAILURE: it must not block its line."""
        revivals = [Revival(turn.id, keeps_executing=True, keeps_ending=True) for turn in waiting]
        try:
            return list((await control.revive(work.connection, revivals, self._epoch)).values())
        except Unreadable as error:
            if len(waiting) > 1:
                return [each for turn in waiting for each in await self._revive([turn], work)]
            work.writes.fail(waiting[0].id, str(error))
            return []

    async def _go_on(self, instance: Locked, move: Move, work: BatchWork, *, waits: bool = False) -> None:
        """Make a run continue, owned by this master, or wait for its turn.

        Raises `Refused`, having changed nothing.
        """
        connection, id_ = work.connection, instance.id
        plan, onto = await self._onto(instance, move, work)
        attempts = (await past_attempts.latest_attempts(connection, [id_]))[id_]
        if any(not attempt.state.is_final for attempt in attempts):
            # It ended because it could not be driven, and its tasks are still being killed: none may run twice.
            raise Refused(
                f"tasks of workflow instance {id_} are still being ended, since it could not be driven; "
                "ask again when they have ended"
            )
        changed = onto.changed if onto else None
        cleans_up = instance.ending_as is not None
        going_on = revival(move, plan, attempts, instance.scope, changed, cleans_up=cleans_up)
        again = going_on.again & {attempt.code for attempt in attempts}
        if onto is not None:
            again |= {attempt.code for attempt in attempts if task_of(attempt.code) not in plan.tasks}
            await control.change_version(connection, onto.change)
        if again:
            await task_instances.invalidate(connection, [(id_, code) for code in sorted(again)])
        resumes = going_on.resumes
        if move.type in _AFRESH:
            # If it was halted while it waited to continue, the attempts to repeat were invalidated before.
            tried = again if move.type is C.EXECUTE_TASK else {attempt.code for attempt in attempts}
            await task_instances.reset_retries(connection, id_, sorted(tried))
        else:
            resumes |= instance.resumes
        await task_events.delete_of(connection, [id_])
        change = Revival(
            *(id_, going_on.repeats, going_on.executing, going_on.keeps_executing, move.parent, waits, resumes),
            keeps_ending=going_on.keeps_ending,
        )
        revived = await control.revive(connection, [change], self._epoch)
        if waits:
            return
        work.lines.goes_on(id_, instance.line)
        await self._driver.restorer.restore(work, list(revived.values()), {id_: resumes})


def _is_resumed_from_above(row: CommandRow, move: Move) -> bool:
    return row.from_above == "true" and move.type not in HALTING


def _cleans_up_since(row: CommandRow, instance: Locked) -> bool:
    """Whether a run to be stopped has begun its cleanup since the request: it ends then, and the cleanup continues."""
    return instance.ending_as is not None and (row.from_above == "true" or row.id <= instance.ending_after)


def _is_halted(above: Above | None) -> bool:
    return above is not None and above.state in (W.READY_PAUSE, W.READY_STOP)
