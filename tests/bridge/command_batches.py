"""A master takes commands out of the table, in the order of `master/claim/command_loop.py`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dao.accounts import members
from dao.cluster.nodes import Me
from dao.commands import commands, deadly_commands
from dao.commands.commands import Outcome
from dao.commands.older_starts import backlogs, older_starts, parameters_above
from dao.runs import after_end, children, control, failover, serial_line, started_runs, workflow_instances
from dao.runs.children import Unmade
from dao.runs.control import Revival, VersionChange
from dao.runs.workflow_instances import NewInstance
from dao.tasks import past_attempts, task_events, task_instances
from model.choices import ExecutionType, FailureStrategy, Priority
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import COMMAND_MOVES, CommandType
from model.runs.commands import CommandRow, Move, RecoverSerialWait, RecoverToleranceFault, Start, read_command
from model.runs.instances import Parent
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.bridge.masters import TASKS
from tests.bridge.program import Program

C, W = CommandType, WorkflowState
SERIAL = {3: ExecutionType.SERIAL_WAIT, 4: ExecutionType.SERIAL_PRIORITY}
KEYED = 3
"""The serial workflow with a line for each value of the parameter `key`."""
AN_HOUR = timedelta(hours=1)


async def take_commands(p: Program) -> None:
    me = await p.licensed(NodeKind.MASTER)
    slot = p.random.choice((Slot(0, 1), Slot(0, 1), Slot(0, 1), Slot(0, 2), Slot(1, 2)))
    limit = p.random.choice((1, 3, 10))
    match p.random.choice(("claim", "claim", "claim", "steal", "try", "take")):
        case "claim":
            step = p.random.choice((1, 1, 1, 2))
            if p.chance(0.1):
                rows = await p.call(commands.claim_urgent, p.random.choice((slot, None)), AN_HOUR, limit, step)
            else:
                rows = await p.call(commands.claim, slot, limit, step)
        case "steal":
            rows = await p.call(commands.steal, AN_HOUR, limit)
        case "try":
            group = await p.call(deadly_commands.try_next, me.epoch, p.random.choice((1, 3, 1_000)))
            ids = sorted(each.id for each in group)
            if p.chance(0.5):
                await p.call(deadly_commands.give_back, ids[1:], me.epoch)
                return
            rows = await p.call(commands.take, ids[:limit])
        case _:
            ids = [row.id for row, _ in p.rows(p.server.commands)]
            rows = await p.call(commands.take, p.some(ids) if ids else [])
    if rows:
        await p.call(commands.any_but, rows[0].id)
        outcomes = [await _handle(p, me, row) for row in rows]
        await p.call(commands.record, outcomes, me.epoch, slot)


async def _handle(p: Program, me: Me, row: CommandRow) -> Outcome:
    if p.chance(0.05):
        return Outcome(row, None, "somebody refuses it")
    command = read_command(row)
    match command:
        case Start():
            return await _start(p, me, row, command)
        case RecoverToleranceFault(workflow_instance_id=id_):
            return await _claim_failover(p, me, row, id_)
        case RecoverSerialWait(workflow_code=code, key=key, first=first):
            return await _next_in_line(p, me, row, code, key, first)
        case Move():
            return await _move(p, me, row, command)


async def _start(p: Program, me: Me, row: CommandRow, start: Start) -> Outcome:
    if (parent := start.parent) is not None:
        above = (await p.call(children.above, {parent.instance})).get(parent.instance)
        if above is None or above.state in (W.READY_STOP, W.READY_PAUSE) or p.chance(0.1):
            unmade = Unmade(parent, p.random.choice((W.STOP, W.PAUSE, W.FAILURE)), "nothing came of it")
            if above is not None:
                await p.call(children.report_unmade, [unmade])
            return Outcome(row, None, "nothing came of it")
        existing = children.existing if parent.waits else started_runs.existing
        await p.call(existing, [parent, parent])
        await p.call(parameters_above, {parent.instance, *p.instances()})
    await p.call(members.of_workflow, start.workflow_code)
    execution, state, reason = SERIAL.get(start.workflow_code, ExecutionType.PARALLEL), W.RUNNING_EXECUTION, ""
    key = ""
    if execution is not ExecutionType.PARALLEL:
        key = start.params.get("key", "") if start.workflow_code == KEYED else ""
        await p.call(serial_line.lock, {start.workflow_code})
        (line,) = await p.call(serial_line.standing, {Line(start.workflow_code, key)})
        is_full = line.next is not None or len(line.live) >= line.max_active
        older = await p.call(older_starts, {start.workflow_code: row.id}, p.random.choice((1, 1_000)))
        if execution is ExecutionType.SERIAL_PRIORITY and is_full:
            await p.call(serial_line.live, Line(start.workflow_code, key))
        await p.call(backlogs, {start.workflow_code: p.random.choice((1, 2, 1_000))})
        if older and p.chance(0.5):
            await p.call(serial_line.call, {start.workflow_code})
        elif p.chance(0.1):
            await p.call(serial_line.call_without_lock, start.workflow_code)
        if is_full and p.chance(0.8):
            state = W.SERIAL_WAIT
        elif is_full:
            state, reason = W.STOP, "another one runs"
    new = NewInstance(
        row.id,
        start.workflow_code,
        1,
        FailureStrategy.CONTINUE,
        start.priority or Priority.MEDIUM,
        start.worker_group or "default",
        '{"p":"1"}',
        state=state,
        reason=reason,
        command_type=row.type,
        execution_type=execution,
        schedule_time=start.schedule_time,
        schedule_id=start.schedule_id,
        scope="[1,2]" if p.chance(0.1) else None,
        depth=0 if parent is None else 1,
        parent=parent if parent and parent.waits else None,
        started_by=parent if parent and not parent.waits else None,
        serial_key=key,
    )
    made = await p.call(workflow_instances.insert, [new], me.epoch)
    if parent and not parent.waits and row.id in made:
        await p.call(started_runs.report, {made[row.id][0]: parent})
    if p.chance(0.03):
        await p.call(workflow_instances.insert, [new], me.epoch)  # the command was taken twice: the schema refuses
    if state.is_final and made:
        await p.call(after_end.notify_awaiting, [id_ for id_, _ in made.values()])
    return Outcome(row, made[row.id][0] if row.id in made else None)


async def _claim_failover(p: Program, me: Me, row: CommandRow, id_: WorkflowInstanceId) -> Outcome:
    taken = await p.call(failover.claim_failover, [id_, *p.instances(1)] if p.chance(0.1) else [id_], me.epoch)
    await p.call(task_events.delete_of, list(taken))
    await _restore(p, list(taken))
    if id_ not in taken:
        return Outcome(row, id_, await p.call(failover.why_not_recovered, id_))
    return Outcome(row, id_)


async def _restore(p: Program, ids: list[WorkflowInstanceId]) -> None:
    await p.call(past_attempts.latest_attempts, ids)
    await p.call(children.of, ids)
    await p.call(started_runs.of, ids)


async def _next_in_line(
    p: Program, me: Me, row: CommandRow, code: WorkflowCode, key: str | None, first: str
) -> Outcome:
    await p.call(serial_line.lock, {code})
    lines = [Line(code, key or "")]
    if key is None:
        lines = await p.call(serial_line.with_room, code, p.random.choice((1, 100)), first)
        if p.chance(0.5):
            await p.call(serial_line.call_from, lines[-1] if lines else Line(code, "a"))
    standing = await p.call(serial_line.standing, lines)
    room = {each.line: count for each in standing if (count := each.max_active - len(each.live)) > 0}
    if not room:
        return Outcome(row, None)
    stay = {each.line: each.max_active for each in standing if each.line in room}
    found = await p.call(serial_line.overtaken, stay, p.random.choice((1, 500)))
    if overtaken := [id_ for ids in found.values() for id_ in ids]:
        await p.call(control.lock, overtaken)
        await p.call(control.end_waiting, dict.fromkeys(overtaken, (W.STOP, "a newer run has priority")))
        await p.call(after_end.notify_awaiting, overtaken)
    waiting = [each.id for each in await p.call(serial_line.waiting, room)]
    if not waiting:
        return Outcome(row, None)
    await p.call(control.lock, waiting)
    await p.call(control.revive, [Revival(each) for each in waiting], me.epoch)
    await _restore(p, waiting)
    return Outcome(row, waiting[0])


async def _move(p: Program, me: Me, row: CommandRow, move: Move) -> Outcome:
    id_, is_from_above = move.workflow_instance_id, row.from_above == "true"
    if move.type not in (C.PAUSE, C.STOP) and (lines := await p.call(control.serial_lines, [id_])):
        await p.call(serial_line.lock, {line.workflow_code for line in lines})
        await p.call(serial_line.standing, lines)
    locked = (await p.call(control.lock, [id_])).get(id_)
    if p.chance(0.5):
        await p.call(task_instances.reset_retries, id_, [TaskCode(code) for code in p.some(TASKS)])
    after = None if locked is None else COMMAND_MOVES[move.type].get(locked.state)
    if after is None or p.chance(0.3 if is_from_above else 0.05):
        if is_from_above and locked is not None:
            await p.call(children.report_at_rest, {id_: p.random.choice((None, "it was refused"))})
        return Outcome(row, id_ if locked else None, "it was refused")
    if after in (W.PAUSE, W.STOP):
        await p.call(control.end_waiting, {id_: (after, "before it had begun")})
        await p.call(after_end.notify_awaiting, [id_])
    elif move.type in (C.PAUSE, C.STOP):
        await p.call(control.ask_halt, {id_: after})
    else:
        await _revive(p, me, id_, move.parent)
    return Outcome(row, id_)


async def _revive(p: Program, me: Me, id_: WorkflowInstanceId, parent: Parent | None) -> None:
    await p.call(members.limited_runs, [id_])
    attempts = (await p.call(past_attempts.latest_attempts, [id_])).get(id_, [])
    again = [(id_, attempt.code) for attempt in attempts if p.chance(0.5)]
    if again:
        await p.call(task_instances.invalidate, again)
    if p.chance(0.7):
        await _change_version(p, id_)
    await p.call(task_events.delete_of, [id_])
    executing = frozenset({TaskCode(1)}) if p.chance(0.4) else None
    run = p.stores.tx.get(p.server.instances, id_)
    if run is not None and run.parent is not None and p.chance(0.5):
        parent = replace(run.parent, attempt=run.parent.attempt + 1)
    revival = Revival(id_, p.chance(0.3), executing, p.chance(0.4), parent, keeps_ending=p.chance(0.5))
    await p.call(control.revive, [revival], me.epoch)
    await _restore(p, [id_])


async def _change_version(p: Program, id_: WorkflowInstanceId) -> None:
    before = await p.call(control.read, id_)
    drawn = p.random.choice(("default", "gpu")), p.random.choice((None, "test")), p.random.choice(list(Priority))
    version = before.workflow_version + 1
    await p.call(control.change_version, VersionChange(id_, version, '{"p":"2"}', *drawn, FailureStrategy.END))


ACTIONS = ((take_commands, 26),)
