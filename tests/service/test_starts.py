"""Starts of one batch: one transaction, and for each the same as if it were alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from dao.commands.commands import NewCommand
from dao.definitions import definitions
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.accounts.audits import ActorKind
from model.accounts.rights import Role
from model.definitions.workflow import WorkflowSpec
from model.errors import Forbidden, NotFound, OtherRequest, Refused, StillRunning, Unavailable
from model.ids import WorkflowCode
from model.parameters.declared import WrongParameters
from model.runs.command_moves import CommandType
from service.call import Backend, Call, Replay, Replayed, Subject
from service.callers import Caller
from service.runs.command_asked import CommandAsked
from service.runs.control import start_run
from service.runs.requests import StartRun, WaitQuery
from service.runs.start_batches import StartAsked, start_all
from service.runs.start_command import Start
from service.workflows.apply_saving import save_all
from service.workflows.workflow_file import parse_workflows
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from tests.dao.scene import Scene
from tests.sent_statements import sent_statements
from worker.tasks.catalog import TaskCatalog

ADA = Caller.of_system_user("ada")
EVE = Caller(ActorKind.TOKEN, "eve", roles={"default": Role.VIEWER})
W = """
name: w
params: {day: monday}
tasks:
  - {name: a, type: SHELL, params: {script: "echo ${day}"}}
"""


class Starting:
    """Starts of the workflow `w`, most by Ada."""

    def __init__(self, database: Database, backend: Backend, code: int) -> None:
        self.database, self.backend, self.code = database, backend, code
        self.sql = Scene(database).sql

    def asked(
        self,
        caller: Caller = ADA,
        *,
        code: int | None = None,
        key: str = "",
        body: str = "x",
        group: str | None = None,
        **values: str,
    ) -> StartAsked:
        """A request; `body` is all of it that its hash sees."""
        replay = Replay(key, body.encode().ljust(32)) if key else None
        call = Call(self.backend, caller, start_run, replay=replay)
        which = WorkflowCode(self.code if code is None else code)
        new = NewCommand(CommandType.START_PROCESS, which, worker_group=group, created_by=caller.name)
        return StartAsked(call, which, Start(new, values), {"params": sorted(values)})

    async def count(self, table: str) -> int:
        return int((await self.sql(f"SELECT count(*) FROM {table}"))[0])


@pytest_asyncio.fixture
async def starting(database_url: str) -> AsyncIterator[Starting]:
    database = Database(database_url, application_name="shoal-test")
    backend = backend_of(database, load_settings({"database_url": database_url}))
    async with database.writing() as connection:
        documents = parse_workflows(W.encode(), "file", TaskCatalog())
        saved = await save_all(connection, documents, backend.settings.secrets, datetime(2026, 1, 1, tzinfo=UTC))
        await connection.execute(Sql("UPDATE workflow_definition SET release_state = 'ONLINE'"))
    yield Starting(database, backend, saved[0].head.code)
    backend.passwords.close()
    await database.close()


async def test_each_start_of_a_batch_has_its_own_answer_audit_row_and_key(starting: Starting) -> None:
    asked = [
        starting.asked(day="monday"),
        starting.asked(code=999),
        starting.asked(EVE),
        starting.asked(wrong="x"),
        starting.asked(key="k1"),
        starting.asked(key="k1"),
        starting.asked(key="k2"),
        starting.asked(key=""),
    ]
    answers = await start_all(asked)
    kinds = [type(answer) for answer in answers]
    assert kinds == [
        *(CommandAsked, NotFound, Forbidden, Refused),
        *(CommandAsked, StillRunning, CommandAsked, CommandAsked),
    ]
    assert 'has no parameter "wrong"' in str(answers[3])
    assert asked[2].call.subject == Subject("workflow-definition", starting.code, "default"), "for its denial"
    done = [answer.command_id for answer in answers if isinstance(answer, CommandAsked)]
    rows = await starting.sql("SELECT id, params, created_by FROM command ORDER BY id")
    values = ['{"day": "monday"}', "{}", "{}", "{}"]
    assert rows == [(id_, params, "ada") for id_, params in zip(done, values, strict=True)]
    audited = await starting.sql("SELECT action, after FROM audit ORDER BY id")
    said = [{"params": ["day"]}, *[{"params": []}] * 3]
    assert audited == [("start_run", {"command": str(id_), **each}) for id_, each in zip(done, said, strict=True)]
    keys = await starting.sql("SELECT key, convert_from(body, 'UTF8')::jsonb->>'command_id' FROM idempotency_key")
    assert dict(keys) == {"k1": str(done[1]), "k2": str(done[2])}


async def test_a_key_that_was_answered_is_answered_again_however_often_a_batch_has_it(starting: Starting) -> None:
    (first,) = await start_all([starting.asked(key="k")])
    assert isinstance(first, CommandAsked)
    again = await start_all([starting.asked(key="k"), starting.asked(key="k"), starting.asked(key="k", body="y")])
    assert [type(each) for each in again] == [Replayed, Replayed, OtherRequest]
    assert isinstance(again[0], Replayed)
    assert f'"{first.command_id}"'.encode() in again[0].answer.body
    assert (await starting.count("command"), await starting.count("audit")) == (1, 1)


async def test_a_key_that_another_transaction_has_is_refused_and_the_rest_of_the_batch_is_not(
    starting: Starting,
) -> None:
    held = starting.asked(key="k")
    async with held.call.changing(Subject("workflow-definition", 1, "default")):
        answers = await start_all([starting.asked(key="k"), starting.asked(key="other")])
    assert [type(each) for each in answers] == [StillRunning, CommandAsked]


async def test_what_the_database_refuses_of_one_start_is_the_error_of_that_one(starting: Starting) -> None:
    """A NUL in the name of a worker group is found only when it is sent."""
    outcomes: list[Any] = []

    async def start(group: str | None = None) -> None:
        try:
            outcomes.append(await starting.backend.batches.ask(start_all, starting.asked(group=group)))
        except Exception as error:  # noqa: BLE001 - it is the outcome
            outcomes.append(error)

    with sent_statements() as sent:
        await asyncio.gather(start(), start("a\0b"), start())
    assert sum("INSERT INTO command" in each.text.split("(")[0] for each in sent) == 5, (
        "the three together, then by halves"
    )
    assert sorted(type(each).__name__ for each in outcomes) == ["BadData", "CommandAsked", "CommandAsked"]
    assert await starting.count("command") == await starting.count("audit") == 2


async def test_parameters_larger_than_a_run_may_have_are_refused_before_they_are_sent(starting: Starting) -> None:
    call = Call(starting.backend, ADA, start_run)
    with pytest.raises(Refused, match="params is larger than 1048576 bytes; pass a file's name instead"):
        await start_run(call, starting.code, StartRun(params={"day": "x" * 1_048_576}), WaitQuery())
    large = "x" * (1_048_576 - len('{"day": ""}'))
    await start_run(call, starting.code, StartRun(params={"day": large}), WaitQuery())
    assert await starting.count("command") == 1


async def test_a_batch_needs_as_many_statements_as_one_start(starting: Starting) -> None:
    with sent_statements() as sent:
        await start_all([starting.asked()])
        learned, sent[:] = len(sent), []
        await start_all([starting.asked()])
        alone, sent[:] = len(sent), []
        await start_all([starting.asked() for _ in range(50)])
    assert len(sent) == alone == 3, "find, insert, audit"
    assert learned == alone + 1, "whether its version asks for a parameter, once"


async def test_the_limits_of_its_project_hold_for_each_start(starting: Starting) -> None:
    await starting.sql("INSERT INTO project (name) VALUES ('default') ON CONFLICT DO NOTHING")
    await starting.sql("UPDATE project SET worker_groups = '{default,big}'")
    answers = await start_all([starting.asked(), starting.asked(group="small")])
    assert [type(each) for each in answers] == [CommandAsked, Refused]
    assert 'may not use the worker group "small"' in str(answers[1])


async def test_definitions_are_parsed_in_a_thread_and_outside_any_transaction(
    starting: Starting, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the database ends the transaction of a batch whose definitions take longer than it allows."""
    parsed: list[tuple[bool, int]] = []
    read_spec = definitions.read_spec
    url = database_url.replace("+psycopg", "")

    def watched(content: str) -> WorkflowSpec:
        with psycopg.connect(url) as connection:
            found = connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
                " AND backend_type = 'client backend'"
            ).fetchone()
        assert found is not None
        parsed.append((threading.current_thread() is threading.main_thread(), found[0]))
        return read_spec(content)

    monkeypatch.setattr(definitions, "read_spec", watched)
    answers = await start_all([starting.asked(day="x"), starting.asked(day="y"), starting.asked(wrong="z")])
    assert [type(each) for each in answers] == [CommandAsked, CommandAsked, Refused]
    assert parsed == [(False, 0)], "once, in another thread, while no transaction is open"


async def test_a_definition_is_made_a_text_once_however_many_parameters_and_starts_there_are(
    starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    dump = WorkflowSpec.model_dump_json

    def counted(spec: WorkflowSpec, **how: Any) -> str:
        made.append(spec)
        return dump(spec, **how)

    monkeypatch.setattr(WorkflowSpec, "model_dump_json", counted)
    answers = await start_all([starting.asked(day="x", monday="y", echo="z")])
    assert [type(each) for each in answers] == [CommandAsked]
    await start_all([starting.asked(day=str(day)) for day in range(20)])
    assert len(made) == 2, "one for each batch"


async def test_a_workflow_that_changes_while_its_start_is_checked_is_checked_again(
    starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    read_spec = definitions.read_spec

    def changing(content: str) -> WorkflowSpec:
        read.append(content)
        if len(read) == 1:
            with psycopg.connect(starting.database.url.replace("+psycopg", "")) as connection:
                connection.execute("""
                    INSERT INTO workflow_version (workflow_code, version, spec, created_by)
                    SELECT workflow_code, 2, replace(spec::text, 'day', 'week')::jsonb, created_by FROM workflow_version
                """)
                connection.execute("UPDATE workflow_definition SET version = 2")
        return read_spec(content)

    monkeypatch.setattr(definitions, "read_spec", changing)
    answers = await start_all([starting.asked(day="x"), starting.asked(week="y"), starting.asked()])
    assert [type(each) for each in answers] == [Refused, CommandAsked, CommandAsked]
    assert (len(read), await starting.count("command")) == (2, 2)


async def test_a_workflow_that_changes_all_the_time_is_refused_alone(
    starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_spec = definitions.read_spec

    def changing(content: str) -> WorkflowSpec:
        with psycopg.connect(starting.database.url.replace("+psycopg", "")) as connection:
            connection.execute("UPDATE workflow_definition SET name = name || 'x'")
        return read_spec(content)

    monkeypatch.setattr(definitions, "read_spec", changing)
    answers = await start_all([starting.asked(day="x"), starting.asked()])
    assert [type(each) for each in answers] == [Unavailable, CommandAsked]
    assert "is being changed all the time" in str(answers[0])
    assert await starting.count("command") == await starting.count("audit") == 1


DECLARED = """
name: declared
params:
  day: {type: DATE, required: true}
  size: {type: INTEGER, value: 10, max: 100}
tasks:
  - {name: a, type: SHELL, params: {script: "echo ${day} ${size}"}}
"""


async def declared(starting: Starting) -> int:
    """The code of a workflow that asks for a day."""
    async with starting.database.writing() as connection:
        documents = parse_workflows(DECLARED.encode(), "file", TaskCatalog())
        secrets = starting.backend.settings.secrets
        return (await save_all(connection, documents, secrets, datetime(2026, 1, 1, tzinfo=UTC)))[0].head.code


async def test_a_start_must_be_as_its_workflow_declares_also_without_any_values(starting: Starting) -> None:
    code = await declared(starting)
    none, wrong, large, right, open_ = await start_all(
        [
            starting.asked(code=code),
            starting.asked(code=code, day="yesterday"),
            starting.asked(code=code, day="2026-01-31", size="101"),
            starting.asked(code=code, day="2026-01-31"),
            starting.asked(code=code, day="$[yyyy-MM-dd]"),
        ]
    )
    assert isinstance(none, WrongParameters)
    assert [fault.name for fault in none.faults] == ["day"]
    assert 'must be a date such as 2026-01-31; it is "yesterday"' in str(wrong)
    assert 'at most 100; it is "101"' in str(large)
    assert isinstance(right, CommandAsked)
    assert isinstance(open_, CommandAsked)
    (again,) = await start_all([starting.asked(code=code)])
    assert isinstance(again, WrongParameters), "it is remembered that the version asks"


async def test_a_project_may_give_what_a_start_must(starting: Starting) -> None:
    code = await declared(starting)
    await starting.sql("INSERT INTO project (name) VALUES ('default') ON CONFLICT DO NOTHING")
    await starting.sql('UPDATE project SET params = \'{"day": "2026-01-31"}\'')
    (asked,) = await start_all([starting.asked(code=code)])
    assert isinstance(asked, CommandAsked)
