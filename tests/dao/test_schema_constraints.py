"""What the schema refuses: words that the model does not have, moves of states that are not listed, and the like."""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

from dao.postgres import schema
from dao.postgres.database import Database
from dao.postgres.errors import BadData
from dao.postgres.sql import Sql
from model.choices import (
    ExecutionType,
    FailureStrategy,
    Flag,
    Misfire,
    Priority,
    ReleaseState,
    TimeoutStrategy,
    WarningType,
)
from model.cluster.nodes import NodeKind, NodeState
from model.runs.states import TASK_TRANSITIONS, WORKFLOW_TRANSITIONS, TaskState, WaitReason, WorkflowState, is_legal
from tests.dao.scene import Scene
from tests.dao.transition_sql import transition_trigger

SQL = Path(schema.__file__).parents[2] / "sql"

State = WorkflowState | TaskState
CLEANS_UP = (
    """(OLD.ending_as IS NULL AND NEW.ending_as IS NOT NULL
                 AND OLD.state IN ('READY_PAUSE', 'READY_STOP') AND NEW.state = 'RUNNING_EXECUTION')""",
    """coalesce(OLD.ending_as = 'STOP' AND OLD.state IN ('RUNNING_EXECUTION', 'READY_PAUSE')
                         AND NEW.state = 'STOP', false)""",
)
"""`model.runs.states.is_legal` beside the table."""


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("workflow_instance", "state", WorkflowState),
        ("workflow_instance", "failure_strategy", FailureStrategy),
        ("workflow_instance", "execution_type", ExecutionType),
        ("workflow_instance", "warning_type", WarningType),
        ("task_instance", "state", TaskState),
        ("task_instance", "flag", Flag),
        ("task_instance", "wait_reason", WaitReason),
        ("task_instance", "timeout_strategy", TimeoutStrategy),
        ("schedule", "misfire", Misfire),
        ("node", "state", NodeState),
        ("node", "kind", NodeKind),
        ("workflow_definition", "release_state", ReleaseState),
    ],
)
async def test_a_column_takes_the_words_of_the_model_and_no_others(
    database: Database, table: str, column: str, words: type[StrEnum]
) -> None:
    [check] = await Scene(database).sql(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :name", name=f"{table}_{column}_check"
    )
    assert set(re.findall(r"'(\w+)'", check)) == set(words)


async def test_priorities_sort_as_in_the_model(database: Database) -> None:
    assert await Scene(database).sql("SELECT unnest(enum_range(NULL::priority_level))::text") == list(Priority)


def test_the_triggers_in_the_file_are_made_from_the_model() -> None:
    content = (SQL / "schema.sql").read_text()
    assert transition_trigger("workflow_instance", WORKFLOW_TRANSITIONS, *CLEANS_UP) in content
    assert transition_trigger("task_instance", TASK_TRANSITIONS) in content


async def test_a_run_moves_only_along_the_listed_transitions(scene: Scene) -> None:
    [id_] = await scene.sql(
        "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group) VALUES (1, 1, 1, 'RUNNING_EXECUTION', 1, 'END', 'LOW', 'g') "
        "RETURNING id"
    )
    for old, new in product(WorkflowState, WorkflowState):
        assert await _moves(scene, "workflow_instance", id_, old, new) == (
            old == new or new in WORKFLOW_TRANSITIONS[old]
        )


@pytest.mark.parametrize("was", [None, WorkflowState.FAILURE, WorkflowState.STOP])
@pytest.mark.parametrize("becomes", [None, WorkflowState.STOP])
async def test_a_run_that_cleans_up_moves_only_as_the_model_says(
    scene: Scene, was: WorkflowState | None, becomes: WorkflowState | None
) -> None:
    id_ = await scene.instance(await scene.master())
    unended = [state for state in WorkflowState if not state.is_final]
    for old, new in product(unended, WorkflowState):
        await scene.sql("UPDATE workflow_instance SET ending_as = :was WHERE id = :id", was=was, id=id_)
        moved = await _moves(scene, "workflow_instance", id_, old, new, becomes)
        assert moved == is_legal(old, new, was, becomes), (old, new)


async def test_a_task_moves_only_along_the_listed_transitions(scene: Scene) -> None:
    [id_] = await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority) VALUES (1, 1, 'a', 'FAKE', 'QUEUED', 'g', 'LOW', 'LOW') RETURNING id"
    )
    for old, new in product(TaskState, TaskState):
        assert await _moves(scene, "task_instance", id_, old, new) == (old == new or new in TASK_TRANSITIONS[old])


async def _moves(
    scene: Scene, table: str, id_: int, old: State, new: State, ending_as: WorkflowState | None = None
) -> bool:
    """Whether the database lets a row go from one state to another. It is put into the first past the triggers."""
    async with scene.writing() as connection:
        await connection.execute(Sql("SET LOCAL session_replication_role = replica"))
        ended = "clock_timestamp()" if old.is_final else "NULL"
        await connection.execute(Sql(f"UPDATE {table} SET state = '{old}', ended_at = {ended} WHERE id = {id_}"))
    try:
        ended = "clock_timestamp()" if new.is_final else "NULL"
        change = f"state = :new, ended_at = {ended}"
        if table == "workflow_instance":
            change += f", ending_as = {'NULL' if ending_as is None else repr(str(ending_as))}"
        await scene.sql(f"UPDATE {table} SET {change} WHERE id = :id", new=new, id=id_)
    except BadData as error:
        assert f"{table} {id_} cannot go from {old} to {new}" in str(error)
        return False
    return True


async def test_a_state_and_its_end_cannot_contradict_each_other(scene: Scene) -> None:
    """What a person may type who wants a run to stop: neither could it be driven then, nor failed over."""
    master = await scene.master()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, master=master)
    for table in ("workflow_instance", "task_instance"):
        with pytest.raises(BadData, match=f"{table}_end"):
            await scene.sql(f"UPDATE {table} SET ended_at = clock_timestamp()")
    with pytest.raises(BadData, match="workflow_instance_end"):
        await scene.sql("UPDATE workflow_instance SET state = 'FAILURE'")


async def test_a_version_never_changes_once_written(scene: Scene) -> None:
    await scene.sql("INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1001, 1, '{}')")
    with pytest.raises(BadData, match="version 1 of workflow 1001 never changes once written; save a new version"):
        await scene.sql("UPDATE workflow_version SET spec = '{\"a\": 1}'")


async def test_no_command_can_have_an_id_that_belongs_to_no_slot(scene: Scene) -> None:
    with pytest.raises(BadData):
        await scene.sql(
            "INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE VALUES (-5, 'START_PROCESS', 1)"
        )
