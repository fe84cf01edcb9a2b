"""Runs that tasks start without waiting for them: each attempt one, and its run is told."""

from __future__ import annotations

from dao.cluster.nodes import Me
from dao.runs import children, started_runs
from model.ids import TaskCode, WorkflowInstanceId
from model.logic.sub_process import STARTED_RUN
from model.runs.instances import ChildState, Parent
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

TASK = TaskCode(2**63 - 1)
EVENTS = "SELECT count(*) FROM task_event WHERE workflow_instance_id = :run AND state = 'SUCCESS'"


async def start(scene: Scene, master: Me, *asked: Parent) -> list[WorkflowInstanceId]:
    """The runs that are made for a batch of commands, each of which asks for the run of one attempt."""
    made = await scene.instances(master, [{"started_by": parent} for parent in asked])
    if made:
        async with scene.writing() as transaction:
            await started_runs.report(transaction, {id_: asked[place] for place, id_ in made.items()})
    return list(made.values())


async def test_the_attempt_that_started_a_run_is_found_and_told(scene: Scene) -> None:
    master = await scene.master()
    above, other = [await scene.instance(master) for _ in range(2)]
    parent = Parent(above, TASK, 3, 0, waits=False)
    (made,) = await start(scene, master, parent)
    outputs = f'{{"{STARTED_RUN}": "{made}"}}'
    async with scene.writing() as connection:
        assert await started_runs.existing(connection, [parent, Parent(other, TASK, 3, 0, waits=False)]) == {
            parent: made
        }
        begun = ChildState(TASK, 3, 0, WorkflowState.SUCCESS, outputs)
        assert await started_runs.of(connection, [above, other]) == {above: [begun]}
        assert [each.id for each in await started_runs.of_run(connection, above)] == [made]
        assert not await children.of(connection, [above]), "it is no child"
    assert await scene.sql(EVENTS, run=above) == [1]


async def test_no_attempt_starts_two_runs(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    parent = Parent(above, TASK, 1, 0, waits=False)
    assert len(await start(scene, master, parent, parent)) == 1, "two commands for it in one batch"
    assert await start(scene, master, parent) == []
    assert await scene.sql(EVENTS, run=above) == [1]
