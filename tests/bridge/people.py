"""What people request, and how lives begin and end: commands, schedules, nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, cast
from uuid import UUID

from dao.cluster import fencing, nodes
from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me, NewNode
from dao.commands import commands, deadly_commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions, schedules
from dao.definitions.schedules import DueSchedules, Fire
from dao.postgres import newer_schema
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.choices import Misfire, Priority, ReleaseState
from model.cluster.nodes import Heartbeat, NodeKind, ProcessIdentity
from model.cluster.slots import Slot
from model.definitions.workflow import WorkflowSpec
from model.ids import CommandId, ScheduleId, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import COMMAND_MOVES, CommandType
from model.time.schedules import ScheduleSpec
from tests.bridge.program import ADDRESS, CODES, TRIGGERS, Program
from tests.bridge.two_stores import Each
from tests.simulation.statements.cluster import fencing as model_fencing
from tests.simulation.statements.cluster import nodes as model_nodes
from tests.simulation.statements.commands import commands as model_commands
from tests.simulation.statements.commands import deadly_commands as model_suspect
from tests.simulation.statements.definitions import definitions as model_definitions
from tests.simulation.statements.definitions import schedules as model_schedules
from tests.simulation.tables import Transaction, Values

C = CommandType
_RECOVERS = (C.RECOVER_TOLERANCE_FAULT_PROCESS,) * 3
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FAR_OFF = datetime(2050, 1, 1, tzinfo=UTC)
_CRONTABS = ("0 0 * * * ?", "0 30 * * * ?")
_MOVES = (C.PAUSE, C.STOP, C.RECOVER_SUSPENDED_PROCESS, C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK)


# ------------------------------------------------------------------------------------------------- commands


def ask_in_model(tx: Transaction, new: NewCommand) -> CommandId:
    """`commands.insert` in the words of the model: every column text."""
    columns = {name: None if value is None else str(value) for name, value in asdict(new).items()}
    columns |= {"dry_run": str(new.dry_run).lower(), "created_by": new.created_by or "shoal"}
    del columns["type"]
    return model_commands.ask(tx, new.type, **columns)


async def ask(p: Program) -> None:
    for _ in range(p.random.choice((1, 1, 2, 5))):
        if p.chance(0.6):
            new = NewCommand(
                C.START_PROCESS,
                WorkflowCode(p.random.choice(CODES)),
                params=p.random.choice(("{}", '{"key": "a"}', '{"key": "b"}')),
                priority=p.random.choice((None, None, Priority.HIGHEST, Priority.LOW)),
                created_by="client",
            )
        elif p.chance(0.15):
            new = NewCommand(C.RECOVER_SERIAL_WAIT, WorkflowCode(p.random.choice(CODES)), created_by="client")
        else:
            id_ = p.one(p.instances())
            new = NewCommand(
                p.random.choice(_fitting(p, id_) if p.chance(0.7) else (*_MOVES, *_RECOVERS)),
                workflow_instance_id=id_,
                start_tasks="1",
                created_by="client",
            )
        await p.stores.both("dao.commands.commands.insert", commands.insert, ask_in_model, new)


def _fitting(p: Program, id_: WorkflowInstanceId) -> list[CommandType]:
    """The commands that make sense for a run in its present state."""
    run = p.stores.tx.get(p.server.instances, id_)
    return [type_ for type_ in _MOVES if run is not None and run.state in COMMAND_MOVES[type_]] or [C.STOP]


async def save_max_active(p: Program) -> None:
    """Change how many runs of a workflow may be live at once."""
    code, max_active = WorkflowCode(p.random.choice(CODES)), p.random.choice((1, 2, 2, 3))
    model = model_definitions.save_max_active
    await p.stores.both("another max_active", _save_max_active, model, code, max_active)


async def _save_max_active(connection: AsyncConnection, code: WorkflowCode, max_active: int) -> None:
    spec = WorkflowSpec.parse(
        {
            "max_active": max_active,
            "description": f"{max_active} at once",
            "triggers": TRIGGERS.get(code, []),
            "tasks": [{"name": "a", "type": "FAKE"}],
        }
    )
    await definitions.save(connection, "default", f"w{code}", ReleaseState.ONLINE, spec)


# ---------------------------------------------------------------------------------------------------- lives


async def begin_a_life(p: Program, kind: NodeKind | None = None) -> None:
    kind = kind or p.random.choice(list(NodeKind))
    process = ProcessIdentity("boot", 17, 4711)
    name = p.random.choice(("", "one", "two"))
    await p.call(nodes.enlist, UUID(int=p.random.getrandbits(128)), NewNode(kind, ADDRESS, process, name))


async def beat(p: Program) -> None:
    me = p.node(p.random.choice(list(NodeKind)))
    beaten = p.stores.tx.get(p.server.beats, me.epoch)
    assert beaten is not None
    slot = p.random.choice((None, Slot(0, 1), Slot(0, 2), Slot(1, 2)))
    told = {} if slot is None else {"slot_current": slot.current, "slot_total": slot.total}
    heartbeat = Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address, **told)
    known = max(0, beaten.beat_no - p.random.choice((0, 0, 0, 1, 2, -1)))
    unanswered = p.random.choice((0, 0, 1, 2))
    await _upgrade_now_and_then(p)
    answer = await p.call(nodes.beat, me, known, unanswered=unanswered, heartbeat=heartbeat)
    p.seen = [*p.seen[-20:], *answer.living]


async def _upgrade_now_and_then(p: Program) -> None:
    random = Random(f"{p.seed}/schema/{p.stores.calls}")
    if random.random() < 0.1:
        version = newer_schema.known_version() + random.randint(1, 3)
        await p.stores.both("a newer schema", _record_schema, _record_in_model, version, random.random() < 0.7)


async def _record_schema(connection: AsyncConnection, version: int, may_run: bool) -> None:
    record = Sql(
        "INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (:version, 'next', :may_run) "
        "ON CONFLICT DO NOTHING"
    )
    await connection.execute(record, {"version": version, "may_run": may_run})


def _record_in_model(tx: Transaction, version: int, may_run: bool) -> None:
    if version not in {row.id for row, _ in tx.scan(tx.server.schemas.rows)}:
        tx.insert(tx.server.schemas, version, Values(old_nodes_may_run=may_run))


class _OpenTransaction:
    """The database of `fencing.fence`, within the open transaction."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        yield self._connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        yield self._connection


async def fence_within(connection: AsyncConnection, dead: NodeRow, judge: Me | None) -> bool:
    return await fencing.fence(cast(Database, _OpenTransaction(connection)), dead, "a test", by=judge)


def fence_in_model(tx: Transaction, dead: NodeRow, judge: Me | None) -> bool:
    if judge is not None:
        model_nodes.hold_alive(tx, judge)
    fenced = model_fencing.fence(tx, dead.epoch, dead.beat_no, "a test")
    if fenced and dead.slot is not None:
        model_suspect.mark_suspects(tx, dead.epoch, dead.slot)
    return fenced


async def fence(p: Program) -> None:
    if p.chance(0.4):
        p.seen = await p.call(nodes.living)
    judge = None if p.chance(0.1) else p.node(p.random.choice(list(NodeKind)))
    dead = p.one(p.seen)
    await p.stores.both("dao.cluster.fencing.fence", fence_within, fence_in_model, dead, judge)


async def mark_suspects(p: Program) -> None:
    me = p.node(NodeKind.MASTER)
    await p.call(deadly_commands.mark_suspects, me.epoch, p.random.choice((Slot(0, 1), Slot(0, 2), Slot(1, 3))))


async def leave(p: Program) -> None:
    me = p.node(p.random.choice(list(NodeKind)))
    if p.chance(0.3):
        await p.call(nodes.set_alive, me)
    elif p.chance(0.5):
        await p.call(nodes.set_leaving, me)
    else:
        await p.call(nodes.set_left, me, broke=p.chance(0.4))


async def put_up_a_barrier(p: Program) -> None:
    await p.call(nodes.barrier, p.node(p.random.choice(list(NodeKind))))


# ------------------------------------------------------------------------------------------------ schedules


async def save(connection: AsyncConnection, code: WorkflowCode, crontab: str, misfire: str) -> ScheduleId:
    return await schedules.insert(
        connection, code, ScheduleSpec(crontab, misfire=Misfire(misfire), misfire_grace_s=2.0)
    )


async def save_a_schedule(p: Program) -> None:
    values = (WorkflowCode(p.random.choice(CODES)), p.random.choice(_CRONTABS), p.random.choice(list(Misfire)).value)
    await p.stores.both("dao.definitions.schedules.insert", save, model_schedules.save, *values)


async def edit(connection: AsyncConnection, id_: ScheduleId, **columns: str) -> None:
    if "state" in columns:
        await schedules.set_state(connection, id_, online=columns["state"] == "ONLINE")
    else:
        before = await schedules.find(connection, id_)
        spec = ScheduleSpec(columns["crontab"], misfire=Misfire(before.misfire), misfire_grace_s=2.0)
        await schedules.change(connection, id_, spec)


async def change_a_schedule(p: Program) -> None:
    row, _ = p.one(p.rows(p.server.schedules))
    await _change(p, row.id)


async def _change(p: Program, id_: ScheduleId) -> None:
    columns = {"crontab": p.random.choice(_CRONTABS)}
    if p.chance(0.5):
        columns = {"state": p.random.choice(("ONLINE", "ONLINE", "OFFLINE"))}
    await p.stores.both("dao.definitions.schedules.change", edit, model_schedules.edit, id_, **columns)


async def fire(p: Program) -> None:
    await p.licensed(NodeKind.MASTER)
    slot = p.random.choice((None, Slot(0, 1), Slot(0, 1), Slot(0, 2), Slot(1, 2)))
    await p.call(schedules.next_due_in_s, slot)
    if p.plans and p.chance(0.4):  # as one that read them long ago, and knows of nothing that happened since
        await p.call(schedules.fire, p.one(p.plans))
        return
    due = await p.stores.pair(schedules.due, slot, p.random.choice((1, 2, 10)))
    if due.real is None:
        return
    plans: list[dict[str, Any]] = []
    for _ in due.real.rows:
        first = LONG_AGO + timedelta(days=p.random.randrange(10_000), seconds=p.random.randrange(80_000))
        times = [first + timedelta(minutes=minute) for minute in range(p.random.choice((0, 0, 1, 1, 2)))]
        times = [time.replace(year=2020) for time in times]
        is_over = p.chance(0.1)
        following = None if is_over else p.random.choice((FAR_OFF, LONG_AGO + timedelta(days=p.random.randrange(300))))
        plans.append({"times": times, "next_fire": following, "problem": "it is over" if is_over else None})
    fires = Each(_fires(due.real, plans), _fires(due.model, plans))
    p.plans = [*p.plans[-5:], fires]
    if p.chance(0.2):
        await _change(p, due.real.rows[0].id)
    if p.chance(0.6):
        await p.call(schedules.fire, fires)


def _fires(due: DueSchedules, plans: list[dict[str, Any]]) -> list[Fire]:
    return [Fire(row, **plan) for row, plan in zip(due.rows, plans, strict=True)]


ACTIONS = (
    *((ask, 14), (begin_a_life, 3), (beat, 8), (fence, 5), (mark_suspects, 1), (leave, 1), (put_up_a_barrier, 1)),
    *((save_a_schedule, 2), (change_a_schedule, 3), (fire, 5), (save_max_active, 2)),
)
