"""Each recipe can be saved; those whose program the tests have run as they say, the others up to that program."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from examples.run import FOLDER, ROOT, Shell, running, steps
from service.workflows.workflow_file import parse_workflows
from tests.eventually import eventually
from tests.every import every
from tests.examples.recipe_servers import PROGRAMS, Servers, spark_home
from tests.servers.postgres import PostgresServer
from worker.tasks.catalog import TaskCatalog

RECIPES = FOLDER / "recipes"
RUN = ["dbt", "flink", "hive", "remote_shell", "spark_sql"]
CHECKED = {
    "datax": "/bin/datax.py",
    "seatunnel": "seatunnel.sh: command not found",
    "sqoop": "sqoop: command not found",
}
"""Examples whose program the tests lack, and the message of their task."""
ALL = sorted([*RUN, *CHECKED])
WITHIN_S = 300.0


@every("name", ALL)
def test_a_recipe_can_be_saved_and_names_files_that_are_there(name: str) -> None:
    (document,) = parse_workflows((RECIPES / f"{name}.yaml").read_bytes(), f"{name}.yaml", TaskCatalog())
    assert document.name == name
    named = [path for task in document.spec.tasks for path in task.files]
    assert all((RECIPES / path).is_dir() for path in named)
    assert all(
        f"shoal project file put {path.rstrip('/')}" in [step.typed for step in steps(f"recipes/{name}")]
        for path in named
    )


def test_the_page_lists_each_recipe_and_says_which_are_run() -> None:
    page = (ROOT / "docs" / "guides" / "recipes.md").read_text("utf-8")
    rows = re.findall(r"^\| .*`(\w+)\.yaml` \|.*\| (run|checked)[^|]*\|$", page, re.MULTILINE)
    assert sorted(rows) == sorted([*((name, "run") for name in RUN), *((name, "checked") for name in CHECKED)])
    assert sorted(path.stem for path in RECIPES.glob("*.yaml")) == ALL


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shell() -> AsyncIterator[Shell]:
    """One `shoal up` for all of them."""
    async with running() as found:
        yield found


def for_dbt(postgres: PostgresServer) -> str:
    """A database, and who dbt is there."""
    postgres.create_database("dbt")
    user = f"PGUSER=shoal PGPASSWORD={postgres.password} PGDATABASE=dbt"
    return f'export PATH="{PROGRAMS}/dbt/bin:$PATH" PGHOST=127.0.0.1 PGPORT={postgres.port} {user}'


def set_environment(shell: Shell, name: str, script: str, folder: Path) -> None:
    """Set it from a file, as a person does."""
    file = folder / f"{name}.sh"
    file.write_text(script)
    subprocess.run(["shoal", "environment", "set", name, str(file)], env=shell.environment, check=True, timeout=60)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", RUN)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_recipe_does_what_its_header_says(
    shell: Shell,
    servers: Servers,
    postgres_server: PostgresServer,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark = f'export PATH="{spark_home()}/bin:$PATH" SPARK_LOCAL_IP=127.0.0.1'
    prepare: Mapping[str, tuple[str, Callable[[], str]]] = {
        "dbt": ("dbt", partial(for_dbt, postgres_server)),
        "flink": ("flink", servers.flink),
        "hive": ("hive", servers.hive),
        "remote_shell": ("ssh", servers.ssh),
        "spark_sql": ("spark", lambda: spark),
    }
    environment, start = prepare[name]
    set_environment(shell, environment, start(), tmp_path)
    monkeypatch.setattr("examples.run.EXAMPLE_WITHIN_S", WITHIN_S)
    result = await shell.run(f"recipes/{name}")
    assert not result.fault, result.fault
    if name == "flink":
        assert servers.flink_result == "2026-01-31\n"
        await a_stopped_task_cancels_its_job(shell, servers)


async def a_stopped_task_cancels_its_job(shell: Shell, servers: Servers) -> None:
    servers.give_flink("endless")
    typed = partial(subprocess.run, env=shell.environment, check=True, timeout=60)
    typed(["shoal", "run", "flink", "--param", "day=2026-01-31"])
    await eventually(lambda: "RUNNING" in servers.flink_states(), within_s=120)
    typed(["shoal", "stop", "flink"])
    await eventually(lambda: servers.flink_states() == {"FINISHED", "CANCELED"}, within_s=60)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(CHECKED))
@pytest.mark.asyncio(loop_scope="module")
async def test_the_other_recipes_come_as_far_as_their_program(shell: Shell, name: str, tmp_path: Path) -> None:
    set_environment(shell, name, "export LANG=C", tmp_path)
    result = await shell.run(f"recipes/{name}")
    assert not result.fault, result.fault
    typed = partial(subprocess.run, env=shell.environment, capture_output=True, text=True, timeout=60, check=False)
    assert typed(["shoal", "run", name, "--param", "day=2026-01-31", "--wait"]).returncode == 1
    assert CHECKED[name] in typed(["shoal", "log", f"{name}/orders"]).stdout
