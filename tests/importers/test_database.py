"""A database of DolphinScheduler, with tables as its versions make them, read and never written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Json

from importers.catalog import read_catalog
from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.convert import import_files
from model.errors import Refused, Unavailable
from shoal.import_database import read_database
from shoal.import_files import import_dolphinscheduler
from tests.importers import dolphins
from tests.importers.exports import TYPES, code_of, export, only, schedule, task
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

WORDS = {
    "flag": ("NO", "YES"), "isCache": ("NO", "YES"), "timeoutFlag": ("CLOSE", "OPEN"),
    "taskPriority": ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"), "taskExecuteType": ("BATCH", "STREAM"),
    "releaseState": ("OFFLINE", "ONLINE"), "conditionType": ("NONE",), "failureStrategy": ("END", "CONTINUE"),
    "executionType": ("PARALLEL", "SERIAL_WAIT"), "warningType": ("NONE", "SUCCESS", "FAILURE", "ALL"),
    "processInstancePriority": ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"),
}  # fmt: skip
"""Fields whose column has a number, the place of the word."""
LEFT_OUT = {
    *("globalParamList", "globalParamMap", "userName", "projectName", "scheduleReleaseState", "modifyBy", "operator"),
    *("taskParamList", "taskParamMap", "operateTime", "processDefinitionName", "definitionDescription"),
    *("environmentName", "workflowDefinitionName"),
}
"""Fields of an export that are no columns."""
NAMES = """
    CREATE TABLE t_ds_project (id int, code bigint, name text);
    CREATE TABLE t_ds_environment (code bigint, name text, config text);
    CREATE TABLE t_ds_datasource (id int, name text, type int, connection_params text);
    CREATE TABLE t_ds_alertgroup (id int, group_name text);
    CREATE TABLE t_ds_task_group (id int, name text, group_size int);
    CREATE TABLE t_ds_tenant (id int, tenant_code text);
    CREATE TABLE t_ds_project_parameter (id int, project_code bigint, param_name text, param_value text);
    INSERT INTO t_ds_project_parameter VALUES (1, 13821668364768, 'region', 'h1dden-region');
    INSERT INTO t_ds_project VALUES (1, 13821668364768, 'sales');
    INSERT INTO t_ds_environment VALUES (88, 'spark', 'export TOKEN=h1dden-env');
    INSERT INTO t_ds_datasource VALUES (7, 'shop', 0, '{"password": "h1dden-shop"}');
    INSERT INTO t_ds_task_group VALUES (4, 'proxies', 3);
"""


def column(name: str) -> str:
    return re.sub("(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def row(fields: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row for the fields of an export."""
    found = {}
    for name, value in fields.items():
        if name not in LEFT_OUT:
            number = WORDS[name].index(value) if name in WORDS and value in WORDS[name] else value
            found[column(name)] = Json(number) if isinstance(number, dict | list) else number
    return found


def fill(connection: psycopg.Connection[Any], table: str, rows: list[dict[str, Any]]) -> None:
    """Make a table with the columns of these rows, and insert them."""
    numbers = {name for each in rows for name, value in each.items() if isinstance(value, int)}
    columns = list(dict.fromkeys(name for each in rows for name in each))
    kinds = [f"{name} {'bigint' if name in numbers else 'text'}" for name in columns]
    connection.execute(f"CREATE TABLE {table} ({', '.join(kinds)})".encode())
    for each in rows:
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, each)),
            sql.SQL(", ").join(map(sql.Placeholder, each)),
        )
        connection.execute(query, each)


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database without tables."""
    yield postgres_server.create_database("dolphins")
    postgres_server.drop_database("dolphins")


def store(server: PostgresServer, exports: list[dict[str, Any]], word: str = "process") -> None:
    with server.connect("dolphins") as connection:
        connection.execute(NAMES)
        fill(connection, f"t_ds_{word}_definition", [row(each["processDefinition"]) for each in exports])
        relations = [row(each) for one in exports for each in one["processTaskRelationList"]]
        fill(connection, f"t_ds_{word}_task_relation", relations)
        fill(connection, "t_ds_task_definition", [row(each) for one in exports for each in one["taskDefinitionList"]])
        fill(connection, "t_ds_schedules", [row(one["schedule"]) for one in exports if one["schedule"]])


def one(name: str, number: int, given: dict[str, Any], timed: dict[str, Any] | None) -> dict[str, Any]:
    """An export with codes of its own."""
    (made,) = export(given, schedule=timed)
    made["processDefinition"] |= {"name": name, "code": number, "id": number}
    for each in (*made["processTaskRelationList"], *([made["schedule"]] if timed else [])):
        each["processDefinitionCode"] = number
    for place, each in enumerate(made["taskDefinitionList"]):
        each["code"] = 1000 * number + place
    for each in made["processTaskRelationList"]:
        each["postTaskCode"] += 1000 * number - code_of(0)
    return made


@pytest.mark.parametrize("word", ["process", "workflow"])
def test_all_workflows_of_a_database_are_imported_with_their_names(
    postgres_server: PostgresServer, url: str, tmp_path: Path, word: str
) -> None:
    sql_task = task(
        "q", "SQL", {"type": "MYSQL", "datasource": 7, "sql": "SELECT 1"}, environmentCode=88, taskGroupId=4
    )
    exports = [
        one("first", 11, task("a", flag="NO", taskPriority="HIGH"), schedule(releaseState="ONLINE")),
        one("second", 12, sql_task, None),
    ]
    store(postgres_server, exports, word)
    found = import_dolphinscheduler([], url, None, tmp_path / "out", Options(online=True))
    assert not found.report.has_todo
    assert not [line for line in found.report.lines() if line.grade == "lost"]
    first, second = (found.files[f"workflows/{name}.yaml"] for name in ("first", "second"))
    assert "project: sales\n" in first
    assert "    flag: 'NO'\n    priority: HIGH\n" in first or "    priority: HIGH\n    flag: NO\n" in first
    assert "cron: 0 0 2 * * ? *" in first
    assert "datasource: shop\n" in second
    assert "environment: spark\n" in second
    assert found.files["workflows/pools.yaml"] == "kind: pool\nname: proxies\ncount: 3\n"
    assert "h1dden" not in "".join(found.files.values())


def test_two_hundred_workflows_of_all_types_are_imported_without_a_silent_loss(
    postgres_server: PostgresServer, url: str, tmp_path: Path
) -> None:
    with postgres_server.connect("dolphins") as connection:
        dolphins.fill(connection, "http://127.0.0.1/")
        connection.execute("ALTER TABLE t_ds_workflow_definition ADD invented_column text DEFAULT 'unheard of'")
    found = import_dolphinscheduler([], url, None, tmp_path / "out", Options())
    counts = found.report.counts
    assert counts.fields == counts.mapped + counts.irrelevant + counts.reported
    unknown = [line for line in found.report.lines() if "nobody knows this field" in line.sentence]
    assert {line.field for line in unknown} == {"inventedColumn"} and len(unknown) == dolphins.COUNT
    assert len({workflow for _, workflow, _ in found.report.subjects if workflow}) == dolphins.COUNT
    assert "h1dden" not in "".join(found.files.values())
    catalog = read_catalog(found.files["catalog.yaml"].encode(), "")
    assert {kind for kind, names in catalog.items() if "" in names.values()} == {"resources", "kubeconfigs"}
    assert catalog["resources"] == {"/jobs/work.jar": ""}


def test_a_workflow_has_the_versions_of_tasks_that_its_relations_name(
    postgres_server: PostgresServer, url: str, tmp_path: Path
) -> None:
    given = task("a", "SHELL", {"rawScript": "new"})
    exports = [one(name, number, given, None) for name, number in (("x", 1), ("y", 2))]
    for number, made in enumerate(exports, 1):
        made["taskDefinitionList"][0]["version"] = 3
        made["processTaskRelationList"][0]["postTaskVersion"] = 3 if number == 1 else 2
    store(postgres_server, exports)
    (current,) = exports[1]["taskDefinitionList"]
    older = [{**current, "version": version, "taskParams": {"rawScript": f"old {version}"}} for version in (1, 2, 3)]
    with postgres_server.connect("dolphins") as connection:
        fill(connection, "t_ds_task_definition_log", [row(each) for each in older])
    found = import_dolphinscheduler([], url, None, tmp_path / "out", Options())
    assert "script: new\n" in found.files["workflows/x.yaml"]
    assert "script: old 2\n" in found.files["workflows/y.yaml"]
    with postgres_server.connect("dolphins") as connection:
        connection.execute("DELETE FROM t_ds_task_definition_log")
    found = import_dolphinscheduler([], url, None, tmp_path / "other", Options())
    said_ = [line.sentence for line in found.report.lines() if line.workflow == "y"]
    assert any("the workflow runs version 2, which is not here" in each for each in said_)


def test_a_file_of_the_resource_centre_has_the_name_that_its_id_stands_for(
    postgres_server: PostgresServer, url: str, tmp_path: Path
) -> None:
    store(
        postgres_server, [one("first", 11, task("a", "SHELL", {"rawScript": "x", "resourceList": [{"id": 5}]}), None)]
    )
    with postgres_server.connect("dolphins") as connection:
        connection.execute("CREATE TABLE t_ds_resources (id int, full_name text)")
        connection.execute("INSERT INTO t_ds_resources VALUES (5, '/jobs/load.sh')")
    found = import_dolphinscheduler([], url, None, tmp_path / "out", Options())
    assert not found.report.has_todo
    assert "files:\n      - jobs/load.sh\n" in found.files["workflows/first.yaml"]


def test_nothing_of_the_database_is_written(postgres_server: PostgresServer, url: str) -> None:
    store(postgres_server, [one("first", 11, task("a"), schedule())])
    with postgres_server.connect("dolphins") as connection:
        connection.execute(
            "CREATE ROLE reader LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"
        )
    try:
        export_, names = read_database(re.sub("//[^@/]*@", "//reader:x@", url))
        assert b'"first"' in export_
        assert b'"projectParameters": ["region"]' in export_
        assert b"h1dden" not in export_
        assert names["datasources"] == {"7": "shop"}
    finally:
        with postgres_server.connect("dolphins") as connection:
            connection.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_another_database_and_one_that_is_away_are_said(url: str) -> None:
    with pytest.raises(Refused, match="no database of DolphinScheduler 3: it has no table t_ds_workflow_definition"):
        read_database(url)
    with pytest.raises(Unavailable, match="does not answer"):
        read_database("postgresql://a@127.0.0.1:1/x")


def test_a_database_of_mysql_is_read_too(mariadb_server: MariadbServer) -> None:
    name = "dolphins"
    url = mariadb_server.create_database(name)
    try:
        for statement in (
            "CREATE TABLE t_ds_process_definition (id int, code bigint, name varchar(9), project_code bigint,"
            " timeout int)",
            "INSERT INTO t_ds_process_definition VALUES (1, 11, 'first', 5, 30)",
            "CREATE TABLE t_ds_process_task_relation (id int, process_definition_code bigint, pre_task_code bigint,"
            " post_task_code bigint, create_time datetime)",
            "INSERT INTO t_ds_process_task_relation VALUES (1, 11, 0, 7, '2024-06-07 10:57:56')",
            "CREATE TABLE t_ds_task_definition (code bigint, name varchar(9), task_type varchar(9), task_params text)",
            """INSERT INTO t_ds_task_definition VALUES (7, 'a', 'SHELL', '{"rawScript": "date"}')""",
            "CREATE TABLE t_ds_schedules (id int, process_definition_code bigint)",
            "CREATE TABLE t_ds_project (id int, code bigint, name varchar(9))",
            "INSERT INTO t_ds_project VALUES (1, 5, 'sales')",
        ):
            mariadb_server.execute(statement, name)
        export_, names = read_database(url)
        document = only(import_files([("db", export_)], names, TYPES))
    finally:
        mariadb_server.drop_database(name)
    assert (document.project, document.name, document.spec.timeout_minutes) == ("sales", "first", 30)
    assert document.spec.tasks[0].params == {"script": "date"}
