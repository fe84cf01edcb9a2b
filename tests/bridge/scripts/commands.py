"""Commands, schedules and the runs that are made of them, in one transaction each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.commands import commands, deadly_commands
from dao.commands.commands import Outcome
from dao.commands.older_starts import older_starts
from dao.definitions import schedules
from dao.definitions.schedules import Fire
from dao.postgres.pool import AsyncConnection
from dao.runs import serial_line, workflow_instances
from model.ids import CommandId, ScheduleId
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.bridge.interleaving import Script, call
from tests.bridge.people import edit
from tests.bridge.scenes import ALL, CODE, new_run
from tests.simulation.statements.definitions import schedules as model_schedules
from tests.simulation.tables import Transaction

W = WorkflowState
KEY = Line(CODE, "k")
LAST_FIRE, NEXT_FIRE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)


def takes(me: Me, limit: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.claim, ALL, limit, 1)
        if rows:
            await call(commands.record, [Outcome(row, None) for row in rows], me.epoch, ALL)

    return script


def steals(me: Me, limit: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.steal, timedelta(hours=1), limit)
        if rows:
            await call(commands.record, [Outcome(row, None) for row in rows], me.epoch, None)

    return script


def starts(me: Me) -> Script:
    """Takes a command and makes its run."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.claim, ALL, 1, 1)
        if rows:
            made = await call(workflow_instances.insert, [new_run(rows[0].id)], me.epoch)
            await call(commands.record, [Outcome(rows[0], made[rows[0].id][0])], me.epoch, ALL)

    return script


def joins(me: Me, command: int) -> Script:
    """Starts a run of a serial workflow, as `master/claim/serial.py`."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(serial_line.lock, {CODE})
        (line,) = await call(serial_line.standing, {Line(CODE)})
        new = new_run(command, W.SERIAL_WAIT if line.live or line.next else W.RUNNING_EXECUTION, is_serial=True)
        await call(workflow_instances.insert, [new], me.epoch)

    return script


def takes_one_of_key(me: Me, place: int) -> Script:
    """Takes one of three commands of one key and makes its run, which begins if nothing is before it, as
    `master/claim/line_keys.py`; then calls the line."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.take, [CommandId(place)])
        await call(serial_line.lock, {CODE})
        (line,) = await call(serial_line.standing, {KEY})
        is_busy = bool(line.live or line.next)
        older = await call(older_starts, {CODE: CommandId(place)}, 10)
        if rows:
            state = W.SERIAL_WAIT if is_busy or older else W.RUNNING_EXECUTION
            new = replace(new_run(rows[0].id, state, is_serial=True), serial_key=KEY.key)
            made = await call(workflow_instances.insert, [new], me.epoch)
            if is_busy and not older:
                await call(serial_line.call, {CODE})
            await call(commands.record, [Outcome(rows[0], made[rows[0].id][0])], me.epoch, ALL)

    return script


def tries(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(deadly_commands.try_next, me.epoch, 1_000)

    return script


def marks_suspects(dead: Me) -> Script:
    async def script() -> None:
        await call(deadly_commands.mark_suspects, dead.epoch, ALL)

    return script


def fires(me: Me) -> Script:
    """Fire what is due."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        due = await call(schedules.due, ALL, 10)
        if due is not None:
            await call(schedules.fire, [Fire(row, [LAST_FIRE], NEXT_FIRE) for row in due.rows])

    return script


def edits() -> Script:
    """A person does."""

    async def script() -> None:
        await call(edit_crontab, ScheduleId(1), "0 30 * * * ?", model=_edit_in_model)

    return script


async def edit_crontab(connection: AsyncConnection, id_: ScheduleId, crontab: str) -> None:
    await edit(connection, id_, crontab=crontab)


def _edit_in_model(tx: Transaction, id_: ScheduleId, crontab: str) -> None:
    model_schedules.edit(tx, id_, crontab=crontab)
