"""`SELECT start_workflow(code, params)` from plain SQL: the checks of the API, and the rights of database roles."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import make_url

from dao.postgres import roles
from dao.postgres.database import Database

TASKS = [{"name": "a", "type": "SHELL", "params": {"script": "echo ${day}\necho $SHOAL_PARAM_region"}}]
DEFINITIONS: dict[int, dict[str, Any]] = {
    1: {"tasks": TASKS, "params": {"day": "today"}},
    2: {"tasks": [{"name": "a", "type": "SUB_PROCESS", "params": {"workflow": "w1"}}]},
    3: {
        "tasks": [{"name": "a", "type": "FAKE", "local_params": [{"name": "pin", "type": "SECRET", "value": "x"}]}],
        "secrets": ["password"],
    },
    4: {"tasks": [{"name": "a", "type": "FAKE", "worker_group": "gpu"}]},
    5: {"tasks": [{"name": "a", "type": "FAKE"}], "tenant": "root"},
}
WITH_PARAMS = "SELECT start_workflow(%s, %s)"
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def sql(database: Database) -> Iterator[Connection]:
    """A plain connection of the owner, with workflows; those above 3 are in a project that is limited."""
    url = make_url(database.url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        for code, spec in DEFINITIONS.items():
            project = "theirs" if code > 3 else "default"
            connection.execute(
                "INSERT INTO workflow_definition (code, project, name) VALUES (%s, %s, %s)", (code, project, f"w{code}")
            )
            connection.execute(
                "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)",
                (code, json.dumps(spec)),
            )
        connection.execute("INSERT INTO workflow_definition (code, name, release_state) VALUES (6, 'w6', 'OFFLINE')")
        connection.execute("INSERT INTO workflow_definition (code, name) VALUES (7, 'w7')")
        connection.execute("""INSERT INTO project (name, params) VALUES ('default', '{"zone.of.all": "1"}')""")
        connection.execute("INSERT INTO project (name, worker_groups, tenants) VALUES ('theirs', '{cpu,etl}', '{etl}')")
        yield connection


def started(sql: Connection, statement: str, *values: object) -> tuple[Any, ...]:
    row = sql.execute(statement.encode(), values).fetchone()
    assert row is not None
    command = sql.execute(
        "SELECT type, workflow_code, params::jsonb, created_by = session_user FROM command WHERE id = %s", row
    ).fetchone()
    assert command is not None
    return command


@pytest.mark.parametrize(
    ("code", "params"),
    [
        (1, {"day": "2026-01-31", "region": "eu", "zone.of.all": "2"}),
        (1, {}),
        *((2, {"whatever": 1}), (3, {}), (7, {"left to the master": "1"})),
    ],
)
def test_it_returns_the_id_of_the_command_with_the_values(sql: Connection, code: int, params: dict[str, Any]) -> None:
    assert started(sql, WITH_PARAMS, code, json.dumps(params)) == ("START_PROCESS", code, params, True)


def test_the_values_may_be_left_out_and_named(sql: Connection) -> None:
    assert started(sql, "SELECT start_workflow(1)") == ("START_PROCESS", 1, {}, True)
    named = """SELECT start_workflow(code => 1, params => '{"day": "x"}')"""
    assert started(sql, named) == ("START_PROCESS", 1, {"day": "x"}, True)


@pytest.mark.parametrize(
    ("code", "params", "error", "said"),
    [
        (99, "{}", errors.NoDataFound, "there is no workflow with the code 99"),
        (None, "{}", errors.NoDataFound, "there is no workflow with the code null"),
        (6, "{}", errors.ObjectNotInPrerequisiteState, 'workflow "w6" is OFFLINE'),
        (1, "[1]", errors.InvalidParameterValue, "params must be a JSON object .*, not array"),
        (1, None, errors.InvalidParameterValue, "params must be a JSON object .*, not null"),
        (1, '{"dya": "x"}', errors.InvalidParameterValue, 'workflow "w1" has no parameter "dya"; it has day, zone'),
        (1, '{"da": "x"}', errors.InvalidParameterValue, 'no parameter "da"'),
        (1, '{"d.y": "x"}', errors.InvalidParameterValue, r'no parameter "d\.y"'),
        (1, '{"(": "x"}', errors.InvalidParameterValue, r'no parameter "\("'),
        (1, json.dumps({"day": "x" * 1_048_576}), errors.ProgramLimitExceeded, "params is larger than 1048576 bytes"),
        (3, '{"password": "x"}', errors.InvalidParameterValue, '"password" of workflow "w3" is SECRET'),
        (3, '{"pin": "x"}', errors.InvalidParameterValue, '"pin" of workflow "w3" is SECRET'),
        (4, "{}", errors.InsufficientPrivilege, '"theirs" may not use the worker group "gpu", only cpu, etl'),
        (5, "{}", errors.InsufficientPrivilege, '"theirs" may not use the tenant "root", only etl'),
    ],
)
def test_what_the_api_refuses_is_refused_in_a_sentence(
    sql: Connection, code: int | None, params: str | None, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        sql.execute(WITH_PARAMS, (code, params))
    assert sql.execute("SELECT count(*) FROM command").fetchone() == (0,)


def test_a_project_with_broken_parameters_is_named(sql: Connection) -> None:
    sql.execute("UPDATE project SET params = '{' WHERE name = 'default'")
    with pytest.raises(errors.ObjectNotInPrerequisiteState, match='the parameters of project "default" are not valid'):
        sql.execute(WITH_PARAMS, (1, '{"day": "x"}'))


async def test_who_has_only_the_right_to_it_can_do_nothing_else(sql: Connection, database: Database) -> None:
    name = f"t{secrets.token_hex(4)}"
    await roles.grant(database, f"{name}_")
    sql.execute(f"CREATE ROLE {name}".encode())
    try:
        sql.execute(f"SET ROLE {name}".encode())
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied for function start_workflow"):
            sql.execute("SELECT start_workflow(1)")
        sql.execute("RESET ROLE")
        sql.execute(f"GRANT EXECUTE ON FUNCTION start_workflow TO {name}".encode())
        sql.execute(f"SET ROLE {name}".encode())
        # The caller's tables with the same names do not deceive the function.
        sql.execute("CREATE TEMPORARY TABLE workflow_definition (code bigint, name text)")
        assert sql.execute("SELECT start_workflow(1)").fetchone() == (1,)
        for statement in (
            "SELECT FROM command",
            "SELECT FROM workflow_version",
            "INSERT INTO command (type) VALUES ('STOP')",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                sql.execute(statement.encode())
    finally:
        sql.execute("RESET ROLE")
        sql.execute("DROP TABLE IF EXISTS pg_temp.workflow_definition")
        for role in (name, *(f"{name}_{part}" for part in roles.PARTS)):
            sql.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
    assert sql.execute("SELECT created_by = session_user FROM command").fetchone() == (True,)
