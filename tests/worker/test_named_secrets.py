"""Data sources and environments as a worker uses them: decrypted for one attempt, never in its log or its reason."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.secrets import data_sources, environments
from dao.secrets.vault import Vault, key_id_of, new_key
from dao.tasks.task_claims import ClaimedTask, Report
from model.cluster.nodes import NodeKind
from model.definitions.task_data_sources import recorded
from model.ids import Epoch
from model.runs.states import TaskState
from node.overload import Overload
from tests.dao.scene import Scene as Rows
from tests.worker.scene import Scene
from worker.attempts.executor import Executor
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

PASSWORD = "hunter22-and-more"


@dataclass
class Bench:
    """A worker's executor on a real database, and its logs."""

    database: Database
    executor: Executor
    claimed: ClaimedTask
    folder: Path
    vault: Vault

    async def environment(self, name: str, script: str) -> None:
        """Save an environment."""
        async with self.database.writing() as connection:
            await environments.put(connection, name, script, self.vault)

    async def run(
        self, type_: str, environment: str | None = None, values: dict[str, str] | None = None, **params: Any
    ) -> tuple[Report, str]:
        """Run a task; the report, and its log."""
        given = {"parameter_values": json.dumps(values or {}), "environment": environment}
        task = self.claimed._replace(type=type_, params=json.dumps(params), **given)
        report = await self.executor.run(task)
        logs = list((self.folder / "logs").rglob("*.log"))
        text = logs[0].read_text() if logs else ""
        for log in logs:
            log.unlink()
        return report, text


@pytest_asyncio.fixture
async def bench(scene: Scene, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    database = Database(database_url, application_name="shoal-test")
    rows = Rows(database)
    master, worker = await rows.node(NodeKind.MASTER), await rows.node(NodeKind.WORKER, "10.0.0.2:1")
    await rows.queue(await rows.instance(master), 1, master=master)
    await rows.sql("UPDATE task_instance SET environment = 'from_the_row'")
    (claimed,) = await rows.claim(worker)
    assert claimed.environment == "from_the_row"
    vault = Vault([new_key()])
    settings = WorkerSettings(folder=tmp_path / "worker")
    secrets, overload = NamedSecrets(database, vault), Overload(settings.load, so="")
    executor = Executor(settings, scene.launcher, Epoch(7), secrets, overload)
    yield Bench(database, executor, claimed, tmp_path / "worker", vault)
    await database.close()


async def test_a_shell_script_runs_with_the_exports_of_its_environment(bench: Bench) -> None:
    await bench.environment(
        "spark", f"export TOKEN={PASSWORD}\nexport PATH=/opt/mine:$PATH\nnot_exported=1\nset -eux\n"
    )
    script = 'echo "${#TOKEN} $PATH $- [$not_exported]"; ls -A; false; tr "\\0" " " < /proc/$$/cmdline'
    report, log = await bench.run("SHELL", "spark", script=script)
    assert report.state is TaskState.SUCCESS, report
    first, *files = log.splitlines()
    assert first == f"{len(PASSWORD)} /opt/mine:{os.environ['PATH']} hB []"
    assert files[0] == "script.sh", "the environment's file is gone"
    assert PASSWORD not in log


async def test_an_environment_from_windows_exports_all_of_it(bench: Bench) -> None:
    await bench.environment("win", "\ufeffexport A=1\r\nexport B=2\r\n")
    _, log = await bench.run("SHELL", "win", script='echo "<$A$B>"')
    assert log == "<12>\n"


async def test_a_python_script_takes_its_interpreter_from_the_path_of_its_environment(
    bench: Bench, tmp_path: Path
) -> None:
    fake = tmp_path / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\necho "mine: $A"\n')
    fake.chmod(0o700)
    await bench.environment("mine", f"export PATH={fake.parent}:$PATH A=1")
    report, log = await bench.run("PYTHON", "mine", script="print(1)")
    assert (report.state, log) == (TaskState.SUCCESS, "mine: 1\n")
    report, _ = await bench.run("PYTHON", "mine", script="print(1)", interpreter="python9")
    assert report.reason.startswith("exit code 127")


@pytest.mark.parametrize(
    ("script", "code"),
    [("false", 1), ("export A=1; exit 3", 3), ("nonsense hunter22-and-more", 127), ("if", 2), ("exit 0", 0)],
)
async def test_an_environment_that_fails_fails_the_task_and_is_not_logged(bench: Bench, script: str, code: int) -> None:
    await bench.environment("broken", f"echo {PASSWORD}; echo {PASSWORD} >&2\n{script}\n")
    report, log = await bench.run("SHELL", "broken", script="echo the task")
    assert (report.state, report.exit_code) == (TaskState.FAILURE, code or None)
    assert report.reason.startswith(f"the task's environment failed with exit code {code}, so the task itself did not")
    assert log == ""


async def test_a_data_source_that_the_project_may_not_use_is_not_opened(bench: Bench) -> None:
    """Its name may contain parameters, so that no master knows it."""
    async with bench.database.writing() as connection:
        await data_sources.put(connection, "hr", "sqlite:////tmp/hr.db", bench.vault)
        await connection.execute(Sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'w')"))
        await connection.execute(Sql("INSERT INTO project (name, data_sources) VALUES ('default', '{shop}')"))
    report, _ = await bench.run("SQL", datasource="${name}", sql="SELECT 1", values={"name": "hr"})
    assert report.reason.startswith('project "default" may not use the data source "hr", only shop')


@pytest.mark.parametrize(
    ("type_", "script"),
    [
        ("SHELL", 'echo "$SHOAL_DATA_SOURCE_CRM_2 ${SHOAL_DATA_SOURCE_CRM_2%%:*}"; env | grep -c SHOAL_DATA_SOURCE'),
        (
            "PYTHON",
            "import os\nfound = [url for name, url in os.environ.items() if name.startswith('SHOAL_DATA_SOURCE')]\n"
            "print(found[0], found[0].split(':')[0])\nprint(len(found))\n"
            "assert found == ['postgresql://ada:hunter22-and-more@db.example/crm']",
        ),
    ],
)
async def test_a_task_finds_the_urls_of_its_data_sources_and_its_log_no_password(
    bench: Bench, type_: str, script: str
) -> None:
    async with bench.database.writing() as connection:
        for name in ("crm-2", "other"):
            await data_sources.put(connection, name, f"postgresql://ada:{PASSWORD}@db.example/crm", bench.vault)
        await connection.execute(Sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'w')"))
    bench.claimed = bench.claimed._replace(parameter_types=json.dumps(recorded(["crm-2"])))
    report, log = await bench.run(type_, script=script)
    assert report.state is TaskState.SUCCESS, (report, log)
    assert log == "postgresql://ada:******@db.example/crm postgresql\n1\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hr", 'project "default" may not use the data source "hr", only shop'),
        ("shop", 'there is no data source "shop"'),
    ],
)
async def test_a_task_without_its_data_sources_does_not_begin(bench: Bench, name: str, said: str) -> None:
    async with bench.database.writing() as connection:
        await data_sources.put(connection, "hr", "sqlite:////tmp/hr.db", bench.vault)
        await connection.execute(Sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'w')"))
        await connection.execute(Sql("INSERT INTO project (name, data_sources) VALUES ('default', '{shop}')"))
    bench.claimed = bench.claimed._replace(parameter_types=json.dumps(recorded([name])))
    report, log = await bench.run("SHELL", script="echo it began")
    assert (report.state, said in report.reason) == (TaskState.FAILURE, True), report.reason
    assert "it began" not in log


async def test_an_alert_group_that_the_project_may_not_use_hears_nothing(bench: Bench) -> None:
    async with bench.database.writing() as connection:
        await data_sources.put(connection, "shop", "sqlite:////tmp/shop.db", bench.vault)
        await connection.execute(Sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'w')"))
        await connection.execute(Sql("INSERT INTO project (name, alert_groups) VALUES ('default', '{data}')"))
    params = {"datasource": "shop", "sql": "SELECT 1", "alert_group": "${name}"}
    report, _ = await bench.run("SQL", **params, values={"name": "ops"})
    assert report.reason.startswith('project "default" may not use the alert group "ops", only data')
    assert report.alert is None


async def test_an_unknown_environment_fails_the_task_with_its_name(bench: Bench) -> None:
    report, log = await bench.run("SHELL", "nix", script="echo the task")
    assert report.reason == 'there is no environment "nix"; `shoal environment list` lists those there are'
    assert log == f"{report.reason}\n"


async def test_an_environment_under_a_key_that_the_worker_lacks_fails_the_task(bench: Bench) -> None:
    other = new_key()
    async with bench.database.writing() as connection:
        await environments.put(connection, "x", "export A=1", Vault([other]))
    report, _ = await bench.run("SHELL", "x", script="echo the task")
    assert f"the environment x is encrypted with key {key_id_of(other)}, which this process lacks" in report.reason


async def test_a_task_without_an_environment_asks_for_none(bench: Bench) -> None:
    assert (await bench.run("SHELL", script="echo $-"))[1] == "hB\n"


async def test_the_password_of_a_data_source_is_masked_in_log_and_reason(bench: Bench, database_url: str) -> None:
    password = database_url.partition("shoal:")[2].partition("@")[0]
    async with bench.database.writing() as connection:
        await data_sources.put(connection, "shop", database_url, bench.vault)
    report, log = await bench.run("SQL", datasource="shop", sql=f"SELECT '{password}' AS x, 1 AS y")
    assert (report.state, password in log, "******" in log) == (TaskState.SUCCESS, False, True)
    report, log = await bench.run("SQL", datasource="shop", sql=f'SELECT * FROM "{password}"')
    assert (report.state, password in log + report.reason) == (TaskState.FAILURE, False)
    assert "does not exist (42P01)" in report.reason


async def test_an_unknown_data_source_fails_the_task_with_its_name(bench: Bench) -> None:
    report, _ = await bench.run("SQL", datasource="nix", sql="SELECT 1")
    assert report.reason == 'there is no data source "nix"; `shoal datasource list` lists those there are'


async def test_a_url_in_a_definition_is_no_name_of_a_data_source(bench: Bench) -> None:
    report, log = await bench.run("SQL", datasource=f"postgresql://ada:{PASSWORD}@db/x", sql="SELECT 1")
    assert "is not a name of a data source" in report.reason
    assert PASSWORD not in report.reason + log
