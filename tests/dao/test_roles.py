"""What each role may do, and what it may not, on a real server; `docs/reference/roles.md` says the same."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from dao.postgres import rights, roles
from dao.postgres.database import Database
from dao.streams import streams
from model.errors import Denied, Refused
from model.ids import TaskCode, WorkflowInstanceId

ROOT = Path(__file__).parents[2]
DEFINED = """
    INSERT INTO workflow_definition (code, name) VALUES (1, 'w');
    INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1, 1, '{"tasks": []}');
    INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1);
    INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started)
    VALUES (gen_random_uuid(), 'MASTER', 'a', 'b', 1, 1);
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group)
    VALUES (1, 1, 1, 'RUNNING_EXECUTION', 1, 'CONTINUE', 'MEDIUM', 'default');
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority)
    VALUES (1, 1, 'a', 'SHELL', 'QUEUED', 'default', 'MEDIUM', 'MEDIUM');
    INSERT INTO data_source (name, url, shown_url, key_id) VALUES ('d', 'x', 'y', 'k');
    INSERT INTO environment (name, script, key_id) VALUES ('e', 'x', 'k');
    INSERT INTO error_command (command_id, reason, master_id) VALUES (7, 'r', 1);
"""
ASK = "INSERT INTO command (type, workflow_code{}) VALUES ('START_PROCESS', 1{})"
AUDIT = "INSERT INTO audit (actor_kind, actor, action, object_kind, outcome) VALUES ('NODE', 'm', 'x', 'run', 'DONE')"
OF_USERS = (
    *("account", "login_link", "login_session", "token", "project_member", "login_attempt"),
    *("audit", "idempotency_key", "saved_view", "bulk_operation"),
)
RESULT = (
    "INSERT INTO alert (kind, severity, workflow_instance_id, task_instance_id, project, alert_group, subject, "
    "unique_key) VALUES ('{}', 'INFO', 1, 1, 'default', 'g', 's', '{}') "
    "ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING"
)
NODE = (
    "INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started) "
    "VALUES (gen_random_uuid(), '{}', 'a', 'b', 1, 1)"
)
END = "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = 1, started_at = now() WHERE id = 1"

ALLOWED = {
    "owner": [
        "SELECT url FROM data_source",
        "UPDATE environment SET script = 'y', key_id = 'z'",
        "DELETE FROM command",
    ],
    "master": [
        "SELECT id FROM node WHERE id = 1 FOR SHARE",
        "DELETE FROM command WHERE id = 1 RETURNING *",
        ASK.format(", parent, from_above", ", '1/1/1/0', true"),
        "UPDATE command SET deaths = 1, tried_by = 1",
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now()",
        "SELECT code FROM workflow_definition FOR NO KEY UPDATE",
        "SELECT pg_terminate_backend(0)",
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "VALUES (1, 'x', 'DONE', 1, now())",
        "UPDATE schedule SET next_fire_at = now()",
        AUDIT,
    ],
    "worker": [
        END,
        "SELECT id FROM task_instance WHERE state = 'QUEUED' FOR UPDATE SKIP LOCKED",
        "SELECT id FROM node WHERE id = 1 FOR SHARE",
        "SELECT script FROM environment",
        "SELECT url FROM data_source",
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (1, 1, 1, 'SUCCESS')",
        "INSERT INTO task_cache (key) VALUES ('a') ON CONFLICT DO NOTHING",
        "INSERT INTO log_key SELECT id, 'k' FROM node WHERE kind = 'WORKER' ON CONFLICT (node_id) DO NOTHING",
        "INSERT INTO registry_lease VALUES ('WORKER', 1, '{}', now())",
        RESULT.format("SQL_RESULT", "sql-result:1"),
        NODE.format("WORKER"),
    ],
    "api": [
        ASK.format(", created_by", ", 'anna'"),
        "SELECT * FROM workflow_instance",
        "SELECT name, shown_url FROM data_source",
        "SELECT key FROM log_key",
        "INSERT INTO data_source (name, url, shown_url, key_id) VALUES ('f', 'x', 'y', 'k') "
        "ON CONFLICT (name) DO UPDATE SET url = excluded.url",
        "UPDATE workflow_definition SET release_state = 'OFFLINE'",
        "INSERT INTO schedule (workflow_code, crontab) VALUES (1, '0 0 * * *')",
        "DELETE FROM error_command",
        "SELECT nextval(pg_get_serial_sequence('workflow_definition', 'code'))",
        "INSERT INTO account (name) VALUES ('berta')",
        "SELECT password_hash FROM account FOR UPDATE",
        "UPDATE account SET version = version + 1",
        "UPDATE token SET revoked_at = now()",
        "DELETE FROM login_session",
        "DELETE FROM project_member",
        "DELETE FROM login_attempt",
        "DELETE FROM idempotency_key",
        AUDIT,
        "SELECT * FROM audit",
        "SELECT pg_advisory_xact_lock(1)",
        "UPDATE project SET tenants = '{etl}'",
    ],
    "submitter": [
        ASK.format("", ""),
        ASK.format(", params, priority, start_tasks", ", '{}', 'HIGH', 'a'") + " RETURNING id",
        "INSERT INTO command (type, workflow_instance_id) VALUES ('STOP', 1)",
        "SELECT start_workflow(1)",
        "SELECT code, name FROM workflow_definition",
        "SELECT id, state, reason_of_run(id) FROM workflow_instance",
        "SELECT command_id, reason FROM error_command",
    ],
}
REFUSED = {
    "owner": ["DROP TABLE command", "ALTER TABLE command ADD COLUMN x int"],
    "master": [
        "SELECT url FROM data_source",
        "SELECT script FROM environment",
        "SELECT name FROM environment",
        "SELECT key FROM log_key",
        "SELECT content FROM workflow_draft",
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1, 2, '{}')",
        "UPDATE workflow_definition SET version = 2",
        "DELETE FROM project",
        "UPDATE schema_version SET version = 99",
        "DROP TABLE command",
    ],
    "worker": [
        ASK.format("", ""),
        "DELETE FROM command",
        "SELECT start_workflow(1)",
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now()",
        "UPDATE task_instance SET params = '{}'",
        "UPDATE task_instance SET tenant = 'root'",
        "INSERT INTO task_instance (workflow_instance_id) VALUES (1)",
        "DELETE FROM task_event",
        "UPDATE data_source SET url = 'z'",
        "DELETE FROM node",
        "SELECT key FROM log_key",
        "UPDATE log_key SET key = 'mine'",
        "DELETE FROM log_key",
        "DELETE FROM log_copying",
        "UPDATE node SET log_url = 'http://mine'",
        "UPDATE node SET kind = 'WORKER'",
        "UPDATE node SET name = 'x', address = 'y', incarnation = gen_random_uuid()",
        "UPDATE node_beat SET node_id = 7",
        NODE.format("MASTER"),
        "INSERT INTO registry_lease VALUES ('MASTER', 1, '{}', now())",
        RESULT.format("FAILOVER", "sql-result:1"),
        RESULT.format("SQL_RESULT", "sql-result:2"),
        "SELECT subject FROM alert",
        "SELECT url FROM alert_channel",
        "SELECT content FROM workflow_draft",
        "SELECT spec FROM workflow_version",
        "SELECT params FROM command",
        "SELECT crontab FROM schedule",
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1, 2, '{}')",
    ],
    "api": [
        ASK.format(", from_above", ", true"),
        ASK.format(", deaths", ", 1"),
        "DELETE FROM command",
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now()",
        "UPDATE node SET state = 'FENCED'",
        "UPDATE task_instance SET worker_id = 3",
        "DROP TABLE command",
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "DELETE FROM account",
        "DELETE FROM token",
    ],
    "submitter": [
        ASK.format(", parent", ", '1/1/1/0'"),
        ASK.format(", from_above", ", true"),
        ASK.format(", deaths", ", 1"),
        ASK.format(", tried_by", ", 1"),
        ASK.format(", created_by", ", 'sub-workflow'"),
        ASK.format(", created_at", ", 'epoch'"),
        ASK.format(", schedule_id", ", 1"),
        "INSERT INTO command (id, type) OVERRIDING SYSTEM VALUE VALUES (99, 'STOP')",
        "SELECT params FROM command",
        "SELECT params FROM workflow_instance",
        "SELECT reason FROM workflow_instance",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_try_advisory_xact_lock(1)",
        "SELECT pg_advisory_xact_lock_shared(1, 2)",
        "UPDATE command SET priority = 'HIGHEST'",
        "DELETE FROM command",
        "SELECT spec FROM workflow_version",
        "SELECT name FROM data_source",
        "SELECT id FROM task_instance",
        "SELECT id FROM node",
        "INSERT INTO workflow_definition (name) VALUES ('x')",
    ],
}


for _part in ("master", "worker", "submitter"):
    REFUSED[_part] += [f"SELECT FROM {table}" for table in OF_USERS] + ["UPDATE account SET is_admin = true"]


@dataclass
class Users:
    """A user in each role."""

    database: Database
    prefix: str

    def connect(self, part: str) -> psycopg.Connection[tuple[object, ...]]:
        url = make_url(self.database.url).set(drivername="postgresql")
        connection = psycopg.connect(url.render_as_string(hide_password=False))
        connection.execute(f"SET ROLE {self.prefix}{part}")
        return connection


@pytest_asyncio.fixture
async def users(database: Database) -> AsyncIterator[Users]:
    prefix = f"t{secrets.token_hex(4)}_"
    await roles.grant(database, prefix)
    await roles.grant(database, prefix)  # again is no harm
    found = Users(database, prefix)
    with _owner(found) as connection:
        connection.execute(DEFINED)
    yield found
    with _owner(found) as connection:
        for part in roles.PARTS:
            connection.execute(f"DROP OWNED BY {prefix}{part}; DROP ROLE {prefix}{part}")


@contextmanager
def _logged_in(users: Users, part: str) -> Iterator[str]:
    """The URL of a user in that role."""
    name = f"{users.prefix}{part}_1"
    with _owner(users) as connection:
        connection.execute(f"CREATE USER {name} PASSWORD 'secret' IN ROLE {users.prefix}{part}".encode())
    yield make_url(users.database.url).set(username=name, password="secret").render_as_string(hide_password=False)
    with _owner(users) as connection:
        connection.execute(f"DROP ROLE {name}".encode())


def _owner(users: Users) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(_owner_url(users))


def _owner_url(users: Users) -> str:
    return make_url(users.database.url).set(drivername="postgresql").render_as_string(hide_password=False)


def _each(given: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((part, statement) for part, statements in given.items() for statement in statements)


async def test_each_role_may_do_what_it_is_for(users: Users) -> None:
    for part, statement in _each(ALLOWED):
        with users.connect(part) as connection:
            connection.execute(statement)
            connection.rollback()


async def test_no_role_may_do_what_is_for_another(users: Users) -> None:
    for part, statement in _each(REFUSED):
        with users.connect(part) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
                raise AssertionError(f"{part} may: {statement}")
            connection.rollback()


async def test_a_worker_fences_workers_and_no_master(users: Users) -> None:
    """What it may not do to a row is done to none."""
    with _owner(users) as owner:
        owner.execute(NODE.format("WORKER").encode())
        owner.execute("INSERT INTO node_beat (node_id) VALUES (1), (2)")
        owner.execute("INSERT INTO registry_lease VALUES ('MASTER', 1, '{}', now()), ('WORKER', 2, '{}', now())")
    for statement in (
        "UPDATE node SET state = 'FENCED', ended_at = now() RETURNING id",
        "UPDATE node_beat SET beat_no = 99 RETURNING node_id",
        "SELECT id FROM node FOR SHARE",
        "UPDATE registry_lease SET expires_at = 'epoch' RETURNING epoch",
        "DELETE FROM registry_lease RETURNING epoch",
    ):
        with users.connect("worker") as connection:
            assert connection.execute(statement.encode()).fetchall() == [(2,)], statement
            connection.rollback()


async def test_a_worker_changes_nothing_that_nodes_have_agreed_on_and_gives_no_master_a_key(users: Users) -> None:
    """Otherwise no node would start."""
    with _owner(users) as owner:
        owner.execute(NODE.format("WORKER").encode())
    agreed = "UPDATE cluster SET timing = '{}', registry_mark = 'a', registry_place = 'b'"
    with users.connect("worker") as connection:
        connection.execute(agreed.encode())  # the first node
        connection.commit()
    for statement in (
        """UPDATE cluster SET timing = '{"session_timeout": 7}'""",
        "UPDATE cluster SET registry_mark = NULL",
        "UPDATE cluster SET registry_place = 'elsewhere'",
        "INSERT INTO log_key (node_id, key) VALUES (1, 'x')",
    ):
        with users.connect("worker") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
    with users.connect("worker") as connection:
        connection.execute(agreed.encode())
        connection.execute("INSERT INTO log_key (node_id, key) VALUES (2, 'x')")
        connection.rollback()
    with _owner(users) as owner:
        owner.execute("UPDATE cluster SET registry_mark = 'c'")


async def test_a_node_starts_only_with_each_right_that_it_needs(users: Users) -> None:
    for part, needs in rights.NEEDS.items():
        with _logged_in(users, part) as own, _owner(users) as owner:
            database = Database(own, application_name="shoal-test")
            try:
                await rights.check(database, part)
                for table, actions in needs.items():
                    for action in actions.split():
                        owner.execute(f"REVOKE {action} ON {table} FROM {users.prefix}{part}".encode())
                        owner.commit()
                        assert await rights.missing(database, needs) == [f"{action} on {table}"]
                        owner.execute(f"GRANT {action} ON {table} TO {users.prefix}{part}".encode())
                        owner.commit()
            finally:
                await database.close()


@pytest.mark.parametrize(("part", "of", "said"), [
    ("worker", "master", "rights that a master needs: UPDATE on node, DELETE on node, UPDATE on node_beat, "),
    ("master", "worker", "rights that a worker needs: SELECT.node_id. on log_key, INSERT on log_key, "),
    ("api", "worker", "rights that a worker needs: INSERT on cluster, "),
    ("worker", "api", "rights that the API needs: SELECT on command, INSERT.type. on command, "),
    ("submitter", "master", "SELECT on schema_version, .* and [0-9]+ more; grant it .docs/reference/roles"),
])  # fmt: skip
async def test_a_node_does_not_start_with_the_rights_of_another_part(
    users: Users, part: str, of: str, said: str
) -> None:
    with _logged_in(users, part) as own:
        database = Database(own, application_name="shoal-test")
        try:
            with pytest.raises(Denied, match=said):
                await rights.check(database, of)
        finally:
            await database.close()


async def test_the_api_asks_for_restarts_of_streams_once_more_and_for_moves(users: Users) -> None:
    """By the statements themselves: one that updates on a conflict needs the right to do so without any."""
    run = WorkflowInstanceId(1)
    with _logged_in(users, "api") as own:
        database = Database(own, application_name="shoal-test")
        try:
            for _ in range(2):
                async with database.writing() as connection:
                    assert await streams.ask_restart(connection, run, [TaskCode(1)], "anna") == 1
                    await streams.ask_rebalance(connection, ["default"], "anna")
        finally:
            await database.close()


async def test_a_submitter_is_named_by_the_database_and_not_by_itself(users: Users) -> None:
    with users.connect("submitter") as connection:
        connection.execute(ASK.format("", ""))
    with _owner(users) as connection:
        (row,) = connection.execute("SELECT created_by = session_user FROM command ORDER BY id DESC LIMIT 1").fetchall()
        assert row == (True,)


REASONS = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at, reason)
    SELECT n, 1, 1, 'FAILURE', 1, 'CONTINUE', 'MEDIUM', 'default', now(), 'reason ' || n FROM generate_series(11, 13) n;
    INSERT INTO command_history (command_id, type, outcome, master_id, created_at, created_by)
    VALUES (11, 'START_PROCESS', 'DONE', 1, now(), '{0}'), (12, 'START_PROCESS', 'DONE', 1, now(), 'somebody else');
    INSERT INTO error_command (command_id, reason, master_id, created_by)
    VALUES (21, 'reason 21', 1, '{0}'), (22, 'reason 22', 1, 'somebody else')
"""


async def test_a_submitter_reads_reasons_only_of_what_it_asked_for(users: Users) -> None:
    """A reason may name what belongs to a project, and hold the last line of a log."""
    with _logged_in(users, "submitter") as url:
        with _owner(users) as owner:
            owner.execute(REASONS.format(f"{users.prefix}submitter_1").encode())
        as_user = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(as_user) as connection:
            runs = "SELECT reason_of_run(id) FROM workflow_instance WHERE command_id > 10 ORDER BY command_id"
            assert connection.execute(runs).fetchall() == [("reason 11",), (None,), (None,)]
            refused = "SELECT reason FROM error_command ORDER BY command_id"
            assert connection.execute(refused).fetchall() == [("reason 21",)]
    for part in ("owner", "master", "api"):
        with users.connect(part) as connection:
            assert len(connection.execute("SELECT reason FROM error_command").fetchall()) == 3, part


def test_the_page_on_roles_names_every_table_and_granted_function() -> None:
    page = (ROOT / "docs" / "reference" / "roles.md").read_text("utf-8")
    schema, granted = ((ROOT / "sql" / name).read_text("utf-8") for name in ("schema.sql", "roles.sql"))
    tables = re.findall(r"(?m)^CREATE (?:UNLOGGED )?TABLE (\w+)", schema)
    functions = re.findall(r"GRANT EXECUTE ON FUNCTION %s\.(\w+)", granted)
    assert tables
    assert functions
    assert not [name for name in tables + functions if f"`{name}`" not in page]


@pytest.mark.parametrize("prefix", ["", "A", "x; DROP TABLE command", "1a", "a-b"])
async def test_a_prefix_is_a_name(database: Database, prefix: str) -> None:
    with pytest.raises(Refused, match="cannot begin the name of a role"):
        await roles.grant(database, prefix)


async def test_rights_are_given_while_others_lock_the_tables_in_another_order(users: Users) -> None:
    reader = await psycopg.AsyncConnection.connect(_owner_url(users))
    async with reader:
        await reader.execute("SET deadlock_timeout = '1min'")  # so that the other side is the one that gives up
        await reader.execute("SELECT FROM node_beat")
        granting = asyncio.create_task(roles.grant(users.database, users.prefix))
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
        while (await (await reader.execute(blocked)).fetchone()) == (0,):
            assert not granting.done()
        await reader.execute("SELECT FROM node")
    await granting
