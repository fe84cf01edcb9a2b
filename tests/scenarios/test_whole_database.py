"""A database of DolphinScheduler with definitions of all task types, imported, saved and started: one each, and 200."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dao.postgres.database import Database
from dao.secrets import data_sources, environments
from dao.secrets.vault import Vault, new_key
from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.types.catalog import NEVER
from importers.report import Grade
from shoal.import_files import import_dolphinscheduler
from tests.eventually import eventually
from tests.importers import dolphins
from tests.scenarios.engine import Engine
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.worker.http_server import http_server, says

WITHIN_S = 600
NAMES = """
resources: {/jobs/work.jar: /opt/jobs/work.jar}
kubeconfigs: {lab: /nonexistent/kubeconfig}
"""
PROGRAMS = ("spark-sql", "hadoop", "sqoop", "hive", "flink", "java", "seatunnel.sh", "sql-client.sh")
HOMES = ("SPARK_HOME", "HADOOP_HOME", "SEATUNNEL_HOME", "FLINK_HOME", "DATAX_HOME")
LEFT_TO_DO = {*NEVER, "REMOTESHELL"}
"""Types without a counterpart."""
SAYS = {
    "SHELL": "42 of w{0}", "PYTHON": "w{0}", "SPARK": "/bin/spark-sql", "MR": "/bin/hadoop jar", "DATAX": "datax",
    "SEATUNNEL": "/bin/seatunnel.sh --config", "WATERDROP": "/bin/seatunnel.sh --config", "SQOOP": "/bin/sqoop version",
    "HIVECLI": "/bin/hive -f query.sql", "FLINK": "/bin/flink run", "FLINK_STREAM": "/bin/sql-client.sh -f query.sql",
    "JAVA": "/bin/java",
}  # fmt: skip
"""The log texts of scripts and stand-ins; {0}: the number of the definition."""
GIVES = {"SQL": {"n": "42"}}
CHILDREN = {"SUB_PROCESS": 1, "SUB_WORKFLOW": 1, "DYNAMIC": 2}
ELSEWHERE = {"K8S"}
"""Types that need what no test machine has: a cluster of Kubernetes."""


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database without tables."""
    yield postgres_server.create_database("whole_dolphins")
    postgres_server.drop_database("whole_dolphins")


def stand_ins(folder: Path) -> str:
    """The script of an environment in which the programs of the task types are: each prints its words."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        (programs / name).write_text('#!/bin/sh\necho "$0" "$@"\n')
        (programs / name).chmod(0o755)
    (programs / "datax.py").write_text("print('datax')\n")
    return "\n".join([f"export PATH={programs}:$PATH", *(f"export {name}={folder}" for name in HOMES), ""])


async def prepared(database_url: str, key: str, script: str, source: str) -> None:
    """Save the environment and the data source that the definitions name."""
    database = Database(database_url, application_name="shoal-test")
    try:
        async with database.writing() as connection:
            await environments.put(connection, "tools", script, Vault([key]))
            await data_sources.put(connection, "shop", source, Vault([key]))
    finally:
        await database.close()


@pytest.mark.parametrize("count", [len(dolphins.TYPES), pytest.param(dolphins.COUNT, marks=pytest.mark.long)])
async def test_definitions_of_all_types_are_imported_saved_and_do_their_work(
    fresh: Engine, postgres_server: PostgresServer, url: str, tmp_path: Path, count: int
) -> None:
    async with http_server({"*": says("200 OK", "{}")}) as server:
        with postgres_server.connect("whole_dolphins") as connection:
            dolphins.fill(connection, f"{server.address}/asked", count)
            connection.execute("CREATE PROCEDURE nothing() LANGUAGE sql AS ''")
        (tmp_path / "names.yaml").write_text(NAMES)
        found = import_dolphinscheduler([], url, tmp_path / "names.yaml", tmp_path / "out", Options())
        todo = {line.workflow for line in found.report.lines() if line.grade is Grade.TODO}
        assert {dolphins.type_of(name) for name in todo} == LEFT_TO_DO
        files = sorted((tmp_path / "out" / "workflows").glob("*.yaml"))
        texts = {path: path.read_text() for path in files}
        ready = [str(path) for path, text in texts.items() if not text.startswith("todo:")]
        open_ = [str(path) for path, text in texts.items() if text.startswith("todo:")]
        assert len(open_) == len(todo)
        await started(fresh, url, ready, open_[0], tmp_path)
    assert len(server.seen) == len({name for _, name, _ in found.report.subjects if name.endswith(" HTTP")})


async def started(engine: Engine, source: str, ready: list[str], unready: str, folder: Path) -> None:
    """Save what can be saved, and run it."""
    cluster, key = engine.cluster, new_key()
    cluster.environment["SHOAL_SECRETS__KEYS"] = key
    database_url = cluster.environment["SHOAL_DATABASE_URL"]
    await prepared(database_url, key, stand_ins(folder / "tools"), source)
    await engine.start()
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEYS=key)
    refused = await shoal("workflow", "apply", unready)
    assert refused.code == 2 and "todo" in refused.err
    applied = await shoal("workflow", "apply", *ready, "--json", within_s=WITHIN_S)
    assert applied.code == 0, applied.err
    codes = {int(each["code"]): str(each["name"]) for each in applied.json if "code" in each}
    for code in codes:
        cluster.rows("UPDATE workflow_definition SET release_state = 'ONLINE' WHERE code = %s", code)
    first = next(code for code, name in codes.items() if name.startswith("0 "))
    runs = {first: await engine.run(first)}  # others wait for it
    runs |= {code: await engine.begin(code) for code in codes if code != first}
    ended = "SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL"
    await eventually(lambda: cluster.one(ended) == 0, within_s=WITHIN_S, every_s=0.5)
    wrong: dict[str, Any] = {}
    for code, run in runs.items():
        name = codes[code]
        wanted = "FAILURE" if dolphins.type_of(name) in ELSEWHERE else "SUCCESS"
        if (state := engine.state(run)) != wanted:
            wrong[name] = (state, engine.tasks(run), engine.why(run, "work"))
    assert wrong == {}
    one_of_each = {dolphins.type_of(name): (name, runs[code]) for code, name in codes.items()}
    assert one_of_each.keys() == {*dolphins.TYPES} - LEFT_TO_DO
    for type_, (name, run) in one_of_each.items():
        assert len(engine.children(run)) == CHILDREN.get(type_, 0), name
        assert GIVES.get(type_, {}).items() <= engine.printed(run, "work").items(), name
        said = (await shoal("log", f"{run}/work")).out if type_ in SAYS else ""
        assert SAYS.get(type_, "").format(name.partition(" ")[0]) in said, (name, said)
    assert cluster.one("SELECT count(*) FROM error_command") == 0
