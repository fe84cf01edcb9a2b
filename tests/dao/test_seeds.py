"""`sql/seed/`: what a person runs with psql does what its first lines say, again and again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dao.commands import commands
from dao.definitions import definitions
from model.choices import ReleaseState
from model.cluster.slots import Slot
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import WorkflowCode
from model.runs.commands import CommandRow, read_command
from tests.dao.scene import Scene
from tests.servers.postgres import binaries

SEED = Path(__file__).parent.parent.parent / "sql" / "seed"
DEMO = [WorkflowCode(code) for code in range(1001, 1006)]


def psql(scene: Scene, file: str) -> str:
    """Run a seed as its first lines say; what it printed."""
    url = scene.database.url.replace("+psycopg", "")
    command = [str(binaries() / "psql"), "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url, "-f", str(SEED / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def waiting(scene: Scene) -> list[CommandRow]:
    """All of them, in batches as a master takes them: to read more at once takes longer than a transaction may idle."""
    rows: list[CommandRow] = []
    while True:
        async with scene.writing() as connection:
            batch = await commands.claim(connection, Slot(0, 1), 5_000, 1)
        if not batch:
            return rows
        rows += batch


async def specs(scene: Scene, *codes: WorkflowCode) -> dict[WorkflowCode, WorkflowSpec | Refused]:
    async with scene.database.reading() as connection:
        found = {code: await definitions.spec_of(connection, code, 1) for code in codes}
    return {code: spec for code, spec in found.items() if spec is not None}


async def test_the_demo_workflows_are_five_that_can_be_started(scene: Scene) -> None:
    assert "shoal run hello" in psql(scene, "demo_workflows.sql")
    async with scene.database.reading() as connection:
        heads = await definitions.heads(connection, DEMO)
    assert {head.name for head in heads.values()} == {
        *("hello", "fan_out_fan_in", "daily_sales", "long_chain", "one_branch_fails")
    }
    assert all(head.release_state is ReleaseState.ONLINE for head in heads.values())
    found = await specs(scene, *DEMO)
    sizes = {code: len(spec.tasks) for code, spec in found.items() if isinstance(spec, WorkflowSpec)}
    assert sizes == {1001: 4, 1002: 12, 1003: 5, 1004: 30, 1005: 5}
    fan = found[WorkflowCode(1002)]
    assert isinstance(fan, WorkflowSpec)
    assert len(fan.coded().graph().roots) == 1
    assert len(fan.tasks[-1].after) == 10


async def test_the_demo_workflows_leave_what_a_person_made_of_them(scene: Scene) -> None:
    psql(scene, "demo_workflows.sql")
    await scene.sql("UPDATE workflow_definition SET version = 2, release_state = 'OFFLINE' WHERE code = 1001")
    psql(scene, "demo_workflows.sql")
    assert await scene.sql("SELECT version, release_state FROM workflow_definition WHERE code = 1001") == [
        (2, "OFFLINE")
    ]
    assert await scene.sql("SELECT count(*) FROM workflow_version") == [5]


@pytest.mark.parametrize(
    ("file", "count"), [("commands_100.sql", 100), pytest.param("commands_100k.sql", 100_000, marks=pytest.mark.soak)]
)
async def test_commands_are_added_each_time_and_all_can_be_read(scene: Scene, file: str, count: int) -> None:
    for _ in range(2):
        psql(scene, file)
    rows = await waiting(scene)
    assert len(rows) == 2 * count
    asked = {read_command(row).workflow_code for row in rows}  # type: ignore[union-attr]
    assert all(isinstance(spec, WorkflowSpec) for spec in (await specs(scene, *asked)).values())


async def test_the_poison_is_refused_with_a_sentence_each_and_the_good_is_not(scene: Scene) -> None:
    """What only the tables can tell (no such workflow, OFFLINE, no such version) the masters' tests look at."""
    for _ in range(2):
        psql(scene, "poison_commands.sql")
    told: dict[str, str] = {}
    for row in await waiting(scene):
        try:
            read_command(row)
        except Refused as error:
            told[row.created_by] = str(error)
    for kind in ("a type with a slip", "an unknown type", "no type", "names no workflow", "a negative code"):
        assert f"poison: {kind}" in told
    for kind in ("version 0", "broken JSON", "a list for an object", "nested 100,000 deep", "a NUL in a value"):
        assert f"poison: {kind}" in told
    for kind in ("absurd priority", "absurd failure strategy", "names no run"):
        assert f"poison: {kind}" in told
    assert not [created_by for created_by in told if created_by.startswith("good")]
    assert len(set(told.values())) == len(told), "two sentences are the same"
    assert "did you mean START_PROCESS?" in told["poison: a type with a slip"]
    circle = (await specs(scene, WorkflowCode(1007)))[WorkflowCode(1007)]
    assert isinstance(circle, Refused)
    assert "hen -> egg -> hen" in str(circle) or "egg -> hen -> egg" in str(circle)
