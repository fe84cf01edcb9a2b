"""`dao/runs/children.py`: runs under a task of another, made once, halted and resumed by commands like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from dao.cluster.nodes import Me
from dao.runs import children, control, workflow_instances
from dao.runs.children import Above, NewChild, Unmade
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import task_events, task_instances
from model.choices import Priority
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, ChildState, Parent
from model.runs.states import TaskState, WorkflowState
from tests.dao.scene import Scene

T, W = TaskState, WorkflowState
TASK = TaskCode(3)


def place(above: WorkflowInstanceId, index: int = 0, attempt: int = 1) -> Parent:
    return Parent(above, TASK, attempt, index)


async def child(
    scene: Scene, master: Me, parent: Parent, state: WorkflowState = W.RUNNING_EXECUTION
) -> WorkflowInstanceId:
    """A child of that place, in a state that it came to by itself."""
    id_ = await scene.instance(master, parent=parent, depth=1)
    if state is not W.RUNNING_EXECUTION:
        async with scene.writing() as connection:
            if halting := {W.PAUSE: W.READY_PAUSE, W.STOP: W.READY_STOP}.get(state):
                await workflow_instances.enter(connection, {id_: halting}, master.epoch)
            await workflow_instances.finish(connection, [InstanceEnd(id_, state, "", '{"a": "1"}')], master.epoch)
    return id_


def new_child(parent: Parent, workflow: str | int, **params: str) -> NewChild:
    return NewChild(
        *(parent, "default", workflow, None, params, Priority.HIGH, "gpu", "etl", True, None, "Europe/Berlin"),
    )


async def start(scene: Scene, *new: NewChild) -> None:
    async with scene.writing() as connection:
        await children.start(connection, new)


async def halt(scene: Scene, halts: Mapping[WorkflowInstanceId, TaskState]) -> list[tuple[str, int]]:
    """What is asked of whom."""
    async with scene.writing() as connection:
        await children.halt(connection, halts)
    return await scene.sql("DELETE FROM command RETURNING type, workflow_instance_id")


# ------------------------------------------------------------------------------------------------ who is above


async def test_an_instance_above_is_told_with_the_attempts_that_stand_for_children(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    above, halted = await scene.instance(master, depth=2), await scene.instance(master)
    await scene.queue(above, 3, attempt=2, state=T.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    await scene.queue(above, 4, master=master)
    await scene.claim(worker)
    async with scene.writing() as connection:
        await control.ask_halt(connection, {halted: W.READY_STOP})
        found = await children.above(connection, [above, halted, WorkflowInstanceId(777)])
    assert found == {
        above: Above(W.RUNNING_EXECUTION, "{}", 2, {TASK: 2}),
        halted: Above(W.READY_STOP, "{}", 0, {}),
    }


async def test_a_halt_of_the_instance_above_waits_for_a_child_that_is_just_made(scene: Scene) -> None:
    """Else the halt would miss the child, and the child the halt."""
    master = await scene.master()
    above = await scene.instance(master)

    async def stop() -> None:
        async with scene.writing() as connection:
            await control.lock(connection, [above])
            await control.ask_halt(connection, {above: W.READY_STOP})

    async with scene.writing() as starting:
        await children.above(starting, [above])
        stopping = asyncio.create_task(stop())
        await scene.waits_for_a_lock()
        assert not stopping.done()
    await stopping


async def test_two_that_start_children_of_one_instance_do_not_wait_for_each_other(scene: Scene) -> None:
    above = await scene.instance(await scene.master())
    async with scene.writing() as one, scene.writing() as other:
        assert set(await children.above(one, [above])) == set(await children.above(other, [above])) == {above}


# -------------------------------------------------------------------------------------------------- asked for


async def test_a_child_is_asked_for_by_a_command_that_says_all_it_takes_from_above(scene: Scene) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (2002, 'below')")
    above = await scene.instance(await scene.master())
    await start(scene, new_child(place(above, 0), "below", day="ä"), new_child(place(above, 1), 2002))
    assert await scene.sql(
        "SELECT type, workflow_code, params, priority, worker_group, environment, dry_run, time_zone, parent "
        "FROM command ORDER BY id"
    ) == [
        ("START_PROCESS", 2002, params, "HIGH", "gpu", "etl", True, "Europe/Berlin", f"{above}/3/1/{index}")
        for index, params in enumerate(('{"day": "ä"}', "{}"))
    ]


async def test_a_child_of_a_workflow_that_is_gone_is_not_asked_for_and_the_instance_above_hears_why(
    scene: Scene,
) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    await start(scene, new_child(place(above, 0), 2002), new_child(place(above, 1), "gone"))
    assert await scene.sql("SELECT workflow_code, parent FROM command") == [(2002, f"{above}/3/1/0")]
    why = 'there is no workflow "gone" in project "default"; save it, or name another'
    assert await heard(scene, master) == [(above, ChildState(TASK, 1, 1, W.FAILURE, why))]


async def heard(scene: Scene, master: Me) -> list[object]:
    async with scene.writing() as connection:
        return [(event.run, event.what) for event in await task_events.consume(connection, master.epoch, 10)]


async def test_a_thousand_children_are_asked_for_in_one_statement(scene: Scene) -> None:
    above = await scene.instance(await scene.master())
    await start(scene, *(new_child(place(above, index), 2002) for index in range(1_000)))
    assert await scene.sql("SELECT count(DISTINCT parent) FROM command") == [1_000]


async def test_a_place_is_taken_by_one_child_and_no_second(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    first = await child(scene, master, place(above))
    with pytest.raises(KeyError):
        await child(scene, master, place(above))
    again = await child(scene, master, place(above, attempt=2))
    async with scene.database.reading() as connection:
        found = await children.existing(connection, [place(above), place(above, 1), place(above, 0, 2)])
    assert found == {place(above): first, place(above, 0, 2): again}


async def test_all_children_of_an_instance_are_found_whatever_their_state(scene: Scene) -> None:
    master = await scene.master()
    above, lonely, other = [await scene.instance(master) for _ in range(3)]
    await child(scene, master, place(above, 0), W.SUCCESS)
    await child(scene, master, place(above, 1))
    await child(scene, master, place(other))
    async with scene.database.reading() as connection:
        found = await children.of(connection, [above, lonely])
        assert await children.of(connection, []) == {}
    assert {id_: sorted(rows, key=lambda row: row.index) for id_, rows in found.items()} == {
        above: [
            ChildState(TASK, 1, 0, W.SUCCESS, '{"a": "1"}'),
            ChildState(TASK, 1, 1, W.RUNNING_EXECUTION),
        ],
    }


# ---------------------------------------------------------------------------------------------------- resumed


@pytest.mark.parametrize(
    ("state", "asked"),
    [
        (W.SUCCESS, []),
        (W.RUNNING_EXECUTION, []),
        (W.FAILURE, ["START_FAILURE_TASK_PROCESS"]),
        (W.PAUSE, ["RECOVER_SUSPENDED_PROCESS"]),
        (W.STOP, ["RECOVER_SUSPENDED_PROCESS"]),
    ],
)
async def test_a_child_goes_on_under_the_new_attempt_in_the_way_of_its_state(
    scene: Scene, state: WorkflowState, asked: list[str]
) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    id_ = await child(scene, master, place(above), state)
    async with scene.writing() as connection:
        await children.resume(connection, [(place(above), 2)])
    async with scene.database.reading() as connection:
        assert await children.existing(connection, [place(above), place(above, 0, 2)]) == {place(above, 0, 2): id_}
    assert await scene.sql("SELECT type, workflow_instance_id FROM command") == [(type_, id_) for type_ in asked]


async def test_a_child_that_succeeds_as_its_task_is_resumed_is_told_to_the_new_attempt_and_nobody_else_is(
    scene: Scene,
) -> None:
    """Somebody had let it go on alone: it told the attempt before of its end, which nobody reads by then."""
    master = await scene.master()
    above = await scene.instance(master)
    for index, state in enumerate((W.SUCCESS, W.RUNNING_EXECUTION, W.FAILURE)):
        await child(scene, master, place(above, index), state)
    await scene.sql("DELETE FROM task_event")
    async with scene.writing() as connection:
        await children.resume(connection, [(place(above, index), 2) for index in range(3)])
    told = "SELECT workflow_instance_id, task_code, attempt, child_index, state, owner FROM task_event"
    assert await scene.sql(told) == [(above, TASK, 2, 0, "SUCCESS", master.epoch)]


# ----------------------------------------------------------------------------------------------------- halted


async def test_a_halt_goes_down_to_what_runs_below_and_to_nothing_else(scene: Scene) -> None:
    master = await scene.master()
    above, other = await scene.instance(master), await scene.instance(master)
    running = await child(scene, master, place(above, 0))
    await child(scene, master, place(above, 1), W.SUCCESS)
    await child(scene, master, place(other))
    assert await halt(scene, {above: T.PAUSE}) == [("PAUSE", running)]
    assert await halt(scene, {above: T.KILL}) == [("STOP", running)]


async def test_a_child_is_asked_once_and_a_stop_may_follow_a_pause(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    below = await child(scene, master, place(above))
    async with scene.writing() as connection:
        await control.ask_halt(connection, {below: W.READY_PAUSE})
    assert await halt(scene, {above: T.PAUSE}) == []
    assert await halt(scene, {above: T.KILL}) == [("STOP", below)]
    async with scene.writing() as connection:
        await control.ask_halt(connection, {below: W.READY_STOP})
    assert await halt(scene, {above: T.KILL}) == []
    assert await halt(scene, {above: T.PAUSE}) == []


async def test_a_halt_of_what_has_no_children_wakes_nobody(scene: Scene) -> None:
    above = await scene.instance(await scene.master())
    assert await halt(scene, {above: T.KILL}) == []


# ------------------------------------------------------------------------------------------------------- told


async def test_the_instance_above_hears_of_a_child_that_was_never_made(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    async with scene.writing() as connection:
        unmade = [Unmade(place(above, 7), W.FAILURE, "it is OFFLINE"), Unmade(place(above, 8), W.PAUSE)]
        await children.report_unmade(connection, unmade)
    assert await heard(scene, master) == [
        (above, ChildState(TASK, 1, 7, W.FAILURE, "it is OFFLINE")),
        (above, ChildState(TASK, 1, 8, W.PAUSE)),
    ]


async def test_why_a_child_of_another_project_was_refused_is_not_for_those_who_see_the_run_above(scene: Scene) -> None:
    """The reason may name its tasks, its parameters, and the limits of its project."""
    master = await scene.master()
    above = await scene.instance(master)
    [own] = await scene.sql("SELECT workflow_code FROM workflow_instance")
    await scene.sql(
        "INSERT INTO workflow_definition (code, project, name) "
        "VALUES (:own, 'p', 'a'), (700, 'p', 'b'), (701, 'q', 'c')",
        own=own,
    )
    workflows = (WorkflowCode(700), WorkflowCode(701), WorkflowCode(799), None)
    rests = [await child(scene, master, place(above, index), W.PAUSE) for index in (4, 5)]
    await scene.sql("UPDATE workflow_instance SET workflow_code = 701 WHERE id = :id", id=rests[1])
    async with scene.writing() as connection:
        unmade = [
            Unmade(place(above, index), W.FAILURE, "it is OFFLINE", workflow)
            for index, workflow in enumerate(workflows)
        ]
        await children.report_unmade(connection, unmade)
        await children.report_at_rest(connection, dict.fromkeys(rests, "it is OFFLINE"))
    heard_of = {what.index: what.outputs for _, what in await heard(scene, master) if isinstance(what, ChildState)}
    assert heard_of == {
        0: "it is OFFLINE",
        1: None,
        2: "it is OFFLINE",
        3: "it is OFFLINE",
        4: "it is OFFLINE",
        5: None,
    }


@pytest.mark.parametrize(("from_above", "counts_as"), [(True, W.RUNNING_EXECUTION), (False, W.SUCCESS)])
async def test_a_child_counts_as_running_again_if_its_own_task_asked_for_that_and_not_if_a_person_did(
    scene: Scene, from_above: bool, counts_as: WorkflowState
) -> None:
    """What a person asked for may be refused, and of that the task is not told: it would wait for ever."""
    master = await scene.master()
    above = await scene.instance(master)
    id_ = await child(scene, master, place(above), W.SUCCESS)
    await scene.sql(
        "INSERT INTO command (type, workflow_instance_id, created_by, from_above) "
        "VALUES ('START_FAILURE_TASK_PROCESS', :id, 'sub-workflow', :from_above)",
        id=id_,
        from_above=from_above,
    )
    async with scene.writing() as connection:
        found = await children.of(connection, [above])
    assert [each.state for each in found[above]] == [counts_as]


async def test_the_instance_above_hears_of_a_child_that_was_to_go_on_and_rests(scene: Scene) -> None:
    """One that goes on already will tell of its end by itself."""
    master = await scene.master()
    above = await scene.instance(master)
    states = (W.SUCCESS, W.PAUSE, W.PAUSE, W.RUNNING_EXECUTION)
    ids = [await child(scene, master, place(above, index), state) for index, state in enumerate(states)]
    async with scene.writing() as connection:
        await children.report_at_rest(connection, dict(zip(ids, ["x", "it is OFFLINE", None, "x"], strict=True)))
    assert await heard(scene, master) == [
        (above, ChildState(TASK, 1, 0, W.SUCCESS, '{"a": "1"}')),
        (above, ChildState(TASK, 1, 1, W.FAILURE, "it is OFFLINE")),
        (above, ChildState(TASK, 1, 2, W.PAUSE)),
    ]


async def test_the_task_that_stands_for_children_ends_in_its_master_and_only_once(scene: Scene) -> None:
    master, other, worker = await scene.master(), await scene.master(), await scene.worker()
    above = await scene.instance(master)
    await scene.queue(above, 3, state=T.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    await scene.queue(above, 4, master=master)
    await scene.claim(worker)

    async def end(code: int, by: Me, attempt: int = 1) -> None:
        one = (above, AttemptEnd(TaskCode(code), attempt, T.FAILURE, reason="the workflow it stands for failed"))
        async with scene.writing() as connection:
            await task_instances.end_in_master(connection, [one], by.epoch)

    for code, by, attempt in [(3, other, 1), (3, master, 2), (4, master, 1)]:
        with pytest.raises(workflow_instances.OwnershipLost, match="do not run in master"):
            await end(code, by, attempt)
    await end(3, master)
    with pytest.raises(workflow_instances.OwnershipLost):
        await end(3, master)
    assert await scene.sql("SELECT state, reason, ended_at IS NOT NULL FROM task_instance WHERE task_code = 3") == [
        ("FAILURE", "the workflow it stands for failed", True)
    ]


async def test_a_child_on_its_way_to_a_task_that_is_killed_does_not_begin(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    await scene.queue(above, 3, state=T.RUNNING_EXECUTION, type_="SUB_PROCESS", master=master)
    async with scene.writing() as connection:
        await task_instances.ask_kill(connection, [above], master.epoch)
    async with scene.writing() as connection:
        seen = (await children.above(connection, [above]))[above]
    assert (seen.attempts, seen.killed) == ({TASK: 1}, {TASK})
