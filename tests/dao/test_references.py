"""`dao/definitions/references.py`: a workflow must exist to be named, and none may run itself, however far around."""

from __future__ import annotations

import json
from typing import Any

from dao.definitions import definitions, references
from model.choices import ReleaseState
from model.definitions.workflow import WorkflowSpec
from model.ids import WorkflowCode
from tests.dao.scene import Scene

LEAF = {"name": "leaf", "type": "FAKE"}


def running(*workflows: str | int, project: str | None = None) -> WorkflowSpec:
    """A workflow that runs these as sub-workflows."""
    named: dict[str, Any] = {"project": project} if project else {}
    tasks = [
        {"name": f"t{place}", "type": "SUB_PROCESS", "params": {"workflow": workflow, **named}}
        for place, workflow in enumerate(workflows)
    ]
    return WorkflowSpec.parse({"tasks": [*tasks, LEAF]})


def waiting_for(*workflows: str) -> WorkflowSpec:
    """A workflow that depends on these."""
    depends = [
        {
            "name": f"t{place}",
            "type": "DEPENDENT",
            "params": {"groups": [{"items": [{"workflow": each, "cycle": "today"}]}]},
        }
        for place, each in enumerate(workflows)
    ]
    return WorkflowSpec.parse({"tasks": [*depends, LEAF]})


async def save(
    scene: Scene,
    name: str,
    spec: WorkflowSpec,
    *,
    project: str = "default",
    state: ReleaseState = ReleaseState.ONLINE,
) -> WorkflowCode:
    async with scene.writing() as connection:
        head, _ = await definitions.save(connection, project, name, state, spec)
    return head.code


async def check(scene: Scene, name: str, spec: WorkflowSpec, *, project: str = "default") -> list[str]:
    async with scene.database.reading() as connection:
        return await references.check(connection, project, name, spec)


async def test_a_workflow_that_names_none_has_nothing_wrong_with_that(scene: Scene) -> None:
    assert await check(scene, "a", running()) == []


async def test_what_is_named_must_be_there_in_its_project(scene: Scene) -> None:
    code = await save(scene, "below", running())
    await save(scene, "theirs", running(), project="other")
    assert await check(scene, "a", running("below", code)) == []
    assert await check(scene, "a", running("theirs", project="other")) == []
    assert await check(scene, "a", running("theirs")) == [
        'task "t0": there is no workflow "theirs" in project "default"; save that one first'
    ]
    assert await check(scene, "a", running("gone", 4711)) == [
        'task "t0": there is no workflow "gone" in project "default"; save that one first',
        'task "t1": there is no workflow "4711" in project "default"; save that one first',
    ]
    assert await check(scene, "a", waiting_for("gone")) == [
        'task "t0": there is no workflow "gone" in project "default"; save that one first'
    ]


async def test_a_workflow_must_not_run_itself(scene: Scene) -> None:
    sentence = 'task "t0": workflow "a" contains itself; remove this task'
    assert await check(scene, "a", running("a")) == [sentence], "it was never saved"
    code = await save(scene, "a", running())
    assert await check(scene, "a", running("a")) == [sentence]
    assert await check(scene, "a", running(code)) == [sentence]
    assert await check(scene, "a", running("a", project="default")) == [sentence]


async def test_a_workflow_must_not_run_itself_through_others(scene: Scene) -> None:
    await save(scene, "a", running())
    await save(scene, "b", running("a"))
    await save(scene, "c", running("b"))
    assert await check(scene, "a", running("c")) == [
        'task "t0": workflow "c" runs "a" in turn; a workflow must not contain itself'
    ]
    assert await check(scene, "a", running("b"))
    assert await check(scene, "d", running("c", "a")) == []


async def test_only_the_current_version_counts(scene: Scene) -> None:
    await save(scene, "a", running())
    await save(scene, "b", running("a"))
    await save(scene, "b", running())
    assert await check(scene, "a", running("b")) == []


async def test_a_workflow_may_wait_for_itself_and_for_what_runs_it(scene: Scene) -> None:
    """For its own run of yesterday, say."""
    await save(scene, "a", running())
    await save(scene, "b", running("a"))
    assert await check(scene, "a", waiting_for("a", "b")) == []


async def test_a_definition_that_cannot_be_read_names_nobody(scene: Scene) -> None:
    code = await save(scene, "a", running())
    spec = {"tasks": [{"name": "x", "type": "SUB_PROCESS", "params": {"workflow": code}, "retry_times": "many"}]}
    await scene.sql("INSERT INTO workflow_definition (code, name, version) VALUES (7, 'broken', 1)")
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (7, 1, CAST(:spec AS jsonb))",
        spec=json.dumps(spec),
    )
    assert await check(scene, "a", running("broken")) == []


async def test_what_depends_on_a_workflow_is_found_through_others_and_only_if_it_is_online(scene: Scene) -> None:
    a = await save(scene, "a", running())
    b = await save(scene, "b", waiting_for("a"))
    c = await save(scene, "c", waiting_for("b"))
    offline = await save(scene, "off", waiting_for("a"), state=ReleaseState.OFFLINE)
    await save(scene, "behind", waiting_for("off"))
    await save(scene, "parent", running("a"))
    around = await save(scene, "a", waiting_for("c"))
    assert around == a
    async with scene.database.reading() as connection:
        assert await references.depending_on(connection, a) == {b, c}
        assert await references.depending_on(connection, c) == {a, b}
        assert offline not in await references.depending_on(connection, a)
        assert await references.depending_on(connection, WorkflowCode(4711)) == set()


async def test_the_project_of_a_dataset_that_triggers_must_be_there(scene: Scene) -> None:
    def triggered_by(project: str | None) -> WorkflowSpec:
        trigger = {"dataset": "orders", **({"project": project} if project else {})}
        return WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE"}], "triggers": [trigger]})

    await save(scene, "theirs", running(), project="other")
    for known in (None, "default", "mine", "other"):
        assert await check(scene, "a", triggered_by(known), project="mine") == []
    assert await check(scene, "a", triggered_by("ohter"), project="mine") == [
        'triggers: there is no project "ohter" whose tasks could update a dataset'
    ]
