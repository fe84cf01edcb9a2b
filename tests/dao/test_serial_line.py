"""`dao/runs/serial_line.py`: of runs that are started in the same moment exactly one goes on, whoever starts them."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from dao.cluster import gone_nodes
from dao.cluster.nodes import Me
from dao.commands.older_starts import backlogs, older_starts
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import control, serial_line, workflow_instances
from dao.runs.serial_line import InLine
from dao.runs.workflow_instances import InstanceEnd, NewInstance
from model.choices import ExecutionType, FailureStrategy, Priority
from model.ids import CommandId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import Parent
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

W = WorkflowState
CODE, OTHER = WorkflowCode(1001), WorkflowCode(2002)
SERIAL = ExecutionType.SERIAL_WAIT
_commands = count(1)
_LOOK = Sql("SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL")


@pytest.fixture(autouse=True)
async def definitions(scene: Scene) -> None:
    """Two workflows; the row of a definition is what its line is held by."""
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'a'), (2002, 'b')")


async def join(connection: AsyncConnection, master: Me, code: WorkflowCode = CODE) -> WorkflowState:
    """Start a run as a master does: it runs if nobody stands in its line."""
    await serial_line.lock(connection, [code])
    (standing,) = await serial_line.standing(connection, [Line(code)])
    is_full = standing.next or len(standing.live) >= standing.max_active
    state = W.SERIAL_WAIT if is_full else W.RUNNING_EXECUTION
    new = NewInstance(
        CommandId(next(_commands)),
        *(code, 1, FailureStrategy.CONTINUE, Priority.MEDIUM, "default", "{}"),
        state=state,
        execution_type=SERIAL,
    )
    await workflow_instances.insert(connection, [new], master.epoch)
    return state


async def line(scene: Scene, *codes: WorkflowCode) -> list[InLine]:
    async with scene.writing() as connection:
        await serial_line.lock(connection, codes)
        found = await serial_line.standing(connection, [Line(code) for code in codes])
    return [run for each in found for run in (*each.live, each.next) if run is not None]


async def called(scene: Scene) -> int:
    async with scene.writing() as connection:
        return await serial_line.call_missed(connection)


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_of_two_that_start_it_in_the_same_moment_exactly_one_runs(scene: Scene, is_deleted: bool) -> None:
    """The second looks while the first has inserted its run and not committed: it must wait, and then see it. Also of
    a workflow whose row somebody deleted."""
    if is_deleted:
        await scene.sql("DELETE FROM workflow_definition")
    one, other = await scene.master(), await scene.master()

    async def start() -> WorkflowState:
        async with scene.writing() as connection:
            return await join(connection, other)

    async with scene.writing() as first:
        assert await join(first, one) is W.RUNNING_EXECUTION
        second = asyncio.create_task(start())
        await scene.waits_for_a_lock()
        assert not second.done()
    assert await second is W.SERIAL_WAIT


async def test_of_many_that_start_it_at_once_exactly_one_runs(scene: Scene) -> None:
    masters = [await scene.master() for _ in range(8)]

    async def start(master: Me) -> None:
        async with scene.writing() as connection:
            await join(connection, master)

    await asyncio.gather(*(start(master) for master in masters for _ in range(3)))
    assert await scene.sql("SELECT state, count(*) FROM workflow_instance GROUP BY 1 ORDER BY 1") == [
        ("RUNNING_EXECUTION", 1),
        ("SERIAL_WAIT", 23),
    ]


async def test_without_the_line_both_would_run(scene: Scene) -> None:
    """That the tests above test something: to look and then to decide is not enough."""
    master = await scene.master()
    async with scene.writing() as first, scene.writing() as second:
        looks = [await first.execute(_LOOK), await second.execute(_LOOK)]
        for connection, look in zip((first, second), looks, strict=True):
            assert look.scalar_one() == 0
            new = NewInstance(
                CommandId(next(_commands)),
                *(CODE, 1, FailureStrategy.CONTINUE, Priority.MEDIUM, "default", "{}"),
                execution_type=SERIAL,
            )
            await workflow_instances.insert(connection, [new], master.epoch)
    assert await scene.sql("SELECT count(*) FROM workflow_instance WHERE state = 'RUNNING_EXECUTION'") == [2]


async def test_one_line_does_not_wait_for_another(scene: Scene) -> None:
    master = await scene.master()
    async with scene.writing() as first, scene.writing() as second:
        await join(first, master, CODE)
        assert await join(second, master, OTHER) is W.RUNNING_EXECUTION


async def test_lines_are_taken_in_one_order_so_that_nobody_waits_in_a_circle(scene: Scene) -> None:
    await asyncio.gather(*(line(scene, *order) for order in ((CODE, OTHER), (OTHER, CODE)) * 10))


async def test_a_held_line_does_not_stop_those_who_only_read_the_definition(scene: Scene) -> None:
    async with scene.writing() as holding:
        await serial_line.lock(holding, [CODE])
        assert await scene.sql("SELECT name FROM workflow_definition WHERE code = 1001 FOR KEY SHARE") == ["a"]


async def test_a_line_is_told_by_its_heads_oldest_first_with_what_was_asked(scene: Scene) -> None:
    master = await scene.master()
    over, running, waiting, _, elsewhere = [
        await scene.instance(master, code=code, execution_type=SERIAL, state=state)
        for code, state in [
            (CODE, W.RUNNING_EXECUTION),
            (CODE, W.RUNNING_EXECUTION),
            (CODE, W.SERIAL_WAIT),
            (CODE, W.SERIAL_WAIT),
            (OTHER, W.RUNNING_EXECUTION),
        ]
    ]
    async with scene.writing() as connection:
        await workflow_instances.finish(connection, [InstanceEnd(over, W.SUCCESS, "")], master.epoch)
        await control.ask_halt(connection, {running: W.READY_STOP})
    assert [(each.id, each.line, each.state) for each in await line(scene, CODE)] == [
        (running, Line(CODE), W.READY_STOP),
        (waiting, Line(CODE), W.SERIAL_WAIT),
    ]
    assert {each.id for each in await line(scene, CODE, OTHER)} == {running, waiting, elsewhere}


async def test_of_a_line_of_parallel_runs_all_are_told_to_whom_they_must_give_way(scene: Scene) -> None:
    master = await scene.master()
    runs = [await scene.instance(master) for _ in range(3)]
    await scene.instance(master, execution_type=SERIAL, state=W.SERIAL_WAIT)
    async with scene.writing() as connection:
        assert [each.id for each in await serial_line.live(connection, Line(CODE))] == runs


async def test_who_waits_is_overtaken_by_the_newest_that_waits_and_has_priority(scene: Scene) -> None:
    master = await scene.master()
    wins = ExecutionType.SERIAL_PRIORITY
    runs = [
        await scene.instance(master, execution_type=type_, state=W.SERIAL_WAIT)
        for type_ in (SERIAL, wins, SERIAL, wins, SERIAL)
    ]
    await scene.instance(master, code=OTHER, execution_type=wins, state=W.SERIAL_WAIT)
    async with scene.writing() as connection:
        assert await serial_line.overtaken(connection, {Line(CODE): 1}, 10) == {Line(CODE): runs[:3]}
        assert await serial_line.overtaken(connection, {Line(CODE): 1}, 2) == {Line(CODE): runs[:2]}
        assert await serial_line.overtaken(connection, {Line(CODE): 3}, 10) == {Line(CODE): runs[:1]}
        assert await serial_line.overtaken(connection, {Line(CODE): 4}, 10) == {}
        assert [each.id for each in await serial_line.waiting(connection, {Line(CODE): 10})] == runs


@pytest.mark.parametrize("state", ["READY_PAUSE", "READY_STOP", "FAILOVER", "RUNNING_EXECUTION"])
async def test_whatever_has_not_ended_stands_in_the_line(scene: Scene, state: str) -> None:
    id_ = await put(scene, state)
    assert [each.id for each in await line(scene, CODE)] == [id_]


async def put(scene: Scene, state: str) -> WorkflowInstanceId:
    """A serial run in any state that is not final, past the triggers."""
    id_ = await scene.instance(await scene.master(), execution_type=SERIAL, state=W.SERIAL_WAIT)
    async with scene.writing() as connection:
        await connection.execute(Sql("SET LOCAL session_replication_role = replica"))
        await connection.execute(Sql(f"UPDATE workflow_instance SET state = '{state}' WHERE id = {id_}"))
    return id_


# ----------------------------------------------------------------------------------------- who is called again


async def test_a_line_in_which_nobody_runs_is_called_once(scene: Scene) -> None:
    master = await scene.master()
    for _ in range(3):
        await scene.instance(master, execution_type=SERIAL, state=W.SERIAL_WAIT)
    async with scene.database.reading() as connection:
        assert (await gone_nodes.work_left(connection)).in_lines
    assert [await called(scene), await called(scene)] == [1, 0]
    assert await scene.sql("SELECT type, workflow_code, workflow_instance_id, created_by FROM command") == [
        ("RECOVER_SERIAL_WAIT", CODE, None, "serial")
    ]


async def test_each_line_in_which_nobody_runs_is_called(scene: Scene) -> None:
    master = await scene.master()
    for code in (CODE, OTHER, WorkflowCode(3003)):
        for _ in range(3):
            await scene.instance(master, code=code, execution_type=SERIAL, state=W.SERIAL_WAIT)
    await scene.instance(master, code=OTHER, execution_type=SERIAL)
    assert await called(scene) == 2
    assert await scene.sql("SELECT workflow_code FROM command ORDER BY 1") == [CODE, 3003]


async def test_a_line_in_which_somebody_runs_is_left_alone(scene: Scene) -> None:
    master = await scene.master()
    await scene.instance(master, execution_type=SERIAL)
    await scene.instance(master, execution_type=SERIAL, state=W.SERIAL_WAIT)
    assert await called(scene) == 0


async def test_where_nobody_waits_nobody_is_called(scene: Scene) -> None:
    await scene.instance(await scene.master(), execution_type=SERIAL)
    async with scene.database.reading() as connection:
        assert not (await gone_nodes.work_left(connection)).in_lines
    assert await called(scene) == 0


# ------------------------------------------------------------------------------------------------ lines by key

A, B = Line(CODE, "a"), Line(CODE, "b")


async def waits(scene: Scene, line: Line, command: int, **fields: Any) -> WorkflowInstanceId:
    """A run that waits in a line, of that command."""
    fields = {"execution_type": SERIAL, "state": W.SERIAL_WAIT, "serial_key": line.key, **fields}
    return await scene.instance(await scene.master(), code=line.workflow_code, command=command, **fields)


async def test_runs_with_a_key_wait_in_the_order_of_their_commands_and_each_key_has_its_line(scene: Scene) -> None:
    second, first, other = await waits(scene, A, 20), await waits(scene, A, 10), await waits(scene, B, 15)
    without = [await waits(scene, Line(CODE), command) for command in (40, 30)]
    async with scene.writing() as connection:
        found = await serial_line.waiting(connection, {A: 10, B: 10, Line(CODE): 10})
        heads = [each.next for each in await serial_line.standing(connection, [A, B]) if each.next]
    assert [(each.line.key, each.id) for each in found] == [
        *(("", run) for run in without),
        *(("a", first), ("a", second), ("b", other)),
    ]
    assert {each.id: each.command for each in heads} == {first: 10, other: 15}


async def test_who_has_priority_overtakes_those_of_its_key_alone(scene: Scene) -> None:
    newer, older, _ = await waits(scene, A, 30), await waits(scene, A, 10), await waits(scene, B, 11)
    await waits(scene, A, 20, execution_type=ExecutionType.SERIAL_PRIORITY)
    async with scene.writing() as connection:
        assert await serial_line.overtaken(connection, {A: 1, B: 1}, 10) == {A: [older]}
        assert [each.id for each in await serial_line.waiting(connection, {A: 10})][-1] == newer


async def test_only_lines_without_a_live_run_have_room_and_are_called(scene: Scene) -> None:
    for line, command in ((A, 1), (A, 2), (B, 3), (Line(OTHER, "a"), 4), (Line(CODE), 5)):
        await waits(scene, line, command)
    await scene.instance(await scene.master(), code=CODE, execution_type=SERIAL, serial_key="b")
    async with scene.writing() as connection:
        assert await serial_line.with_room(connection, CODE, 10) == [Line(CODE), A]
        assert await serial_line.with_room(connection, CODE, 1) == [Line(CODE)]
        assert await serial_line.with_room(connection, CODE, 10, "a") == [A]
        assert await serial_line.with_room(connection, CODE, 10, "c") == []
        assert await serial_line.with_room(connection, OTHER, 10) == [Line(OTHER, "a")]
        assert await serial_line.with_room(connection, WorkflowCode(3003), 10) == []
    assert [await called(scene), await called(scene)] == [2, 0], "one for all lines of a workflow"
    assert sorted(await scene.sql("SELECT workflow_code, params FROM command")) == [(CODE, "{}"), (OTHER, "{}")]


async def test_a_line_is_missed_until_it_or_all_of_its_workflow_is_called(scene: Scene) -> None:
    await waits(scene, A, 1)
    await waits(scene, B, 2)
    ask = """INSERT INTO command (type, workflow_code, params)
             VALUES ('RECOVER_SERIAL_WAIT', 1001, json_build_object(CAST(:name AS text), CAST(:key AS text))::text)"""
    await scene.sql(ask, name="serial_key", key="a")
    assert await called(scene) == 1, "of b"
    await scene.sql("DELETE FROM command WHERE params = '{}'")
    await scene.sql(ask, name="serial_key", key="b")
    assert await called(scene) == 0
    await scene.sql("DELETE FROM command")
    await scene.sql(ask, name="serial_from", key="b")
    assert await called(scene) == 0, "all lines are being called"
    await scene.sql("UPDATE command SET workflow_code = 2002")
    assert await called(scene) == 1


async def test_a_workflow_whose_call_is_not_handled_yet_is_not_called_again(scene: Scene) -> None:
    await waits(scene, A, 1)
    async with scene.writing() as connection:
        await serial_line.call(connection, [CODE])
        await serial_line.call(connection, [CODE])
        await serial_line.call_from(connection, A)
    assert await scene.sql("SELECT count(*) FROM command WHERE params = '{}'") == [1]
    await scene.sql("UPDATE command SET deaths = 1")  # it may be refused, and is one that nobody may rely on
    async with scene.writing() as connection:
        await serial_line.call(connection, [CODE])
    assert await scene.sql("SELECT count(*) FROM command WHERE params = '{}'") == [2]


async def test_without_a_lock_lines_are_called_whoever_has_called_them_and_only_if_somebody_waits(scene: Scene) -> None:
    calls = "SELECT count(*) FROM command WHERE type = 'RECOVER_SERIAL_WAIT'"
    await scene.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1001)")
    for expected in (0, 1, 2):
        async with scene.writing() as connection:
            await serial_line.call_without_lock(connection, CODE)
        assert await scene.sql(calls) == [expected]
        if expected == 0:
            await waits(scene, A, 1)


async def test_a_workflow_has_a_backlog_of_as_many_starts_as_are_in_the_table(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO command (type, workflow_code) SELECT unnest(ARRAY['START_PROCESS', 'SCHEDULER', 'STOP']), 1001"
    )
    async with scene.database.reading() as connection:
        assert await backlogs(connection, {CODE: 2, OTHER: 1}) == {CODE}
        assert await backlogs(connection, {CODE: 3}) == set()


async def test_a_workflow_in_which_nobody_waits_is_not_called(scene: Scene) -> None:
    await waits(scene, A, 1)
    async with scene.writing() as connection:
        await serial_line.call(connection, [CODE, OTHER])
    assert await scene.sql("SELECT type, workflow_code, params FROM command") == [("RECOVER_SERIAL_WAIT", CODE, "{}")]
    assert await called(scene) == 0, "a call without a key is one of every line"


async def test_a_call_may_begin_at_a_line(scene: Scene) -> None:
    async with scene.writing() as connection:
        await serial_line.call_from(connection, Line(CODE, 'a"\u00e9'))
    assert await scene.sql("SELECT type, workflow_code, params FROM command") == [
        ("RECOVER_SERIAL_WAIT", CODE, '{"serial_from" : "a\\"\u00e9"}')
    ]


async def test_runs_of_two_keys_that_wait_for_each_other_are_found_and_others_are_not(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master, code=CODE, execution_type=SERIAL, serial_key="a")
    other_key = await waits(scene, B, 2, parent=Parent(above, TaskCode(1), 1, 0))
    await scene.instance(master, code=CODE, execution_type=SERIAL, serial_key="b")
    same_key = await waits(scene, A, 3, parent=Parent(above, TaskCode(1), 1, 1))
    async with scene.writing() as connection:
        found = await serial_line.deadlocked(connection)
    assert [(each.id, each.live) for each in found] == [(same_key, above)]
    assert other_key not in {each.id for each in found}


# ------------------------------------------------------------------------------------- commands before a run


async def test_older_starts_are_those_of_the_workflow_even_if_another_has_taken_them(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO command (type, workflow_code, params) VALUES ('START_PROCESS', 1001, '{\"k\": 1}'), "
        "('STOP', 1001, '{}'), ('START_PROCESS', 2002, '{}'), ('nonsense', 1001, '{}'), ('SCHEDULER', 1001, '{}'), "
        "('START_PROCESS', 1001, '{\"k\": 2}')"
    )
    async with scene.writing() as taking, scene.writing() as connection:
        await taking.execute(Sql("DELETE FROM command WHERE id = 1"))
        found = await older_starts(connection, {CODE: CommandId(6), OTHER: CommandId(6)}, 10)
        assert [(row.id, row.params, above) for row, above in found if row.workflow_code == "1001"] == [
            (1, '{"k": 1}', None),
            (5, "{}", None),
        ]
        assert [row.id for row, _ in found if row.workflow_code == "2002"] == [3]
        assert [row.id for row, _ in await older_starts(connection, {CODE: CommandId(6)}, 1)] == [1]


async def test_an_older_start_of_a_child_comes_with_what_the_run_above_gives_it(scene: Scene) -> None:
    above = await scene.instance(await scene.master())
    await scene.sql('UPDATE workflow_instance SET params = \'{"k": "x"}\'')
    await scene.sql(
        "INSERT INTO command (type, workflow_code, parent) VALUES ('START_PROCESS', 1001, :of || '/1/1/0'), "
        "('START_PROCESS', 1001, '99999999999999999999/1/1/0'), ('START_PROCESS', 1001, 'nonsense')",
        of=str(above),
    )
    async with scene.writing() as connection:
        found = await older_starts(connection, {CODE: CommandId(100)}, 10)
    assert [given for _, given in found] == ['{"k": "x"}', None, None]
