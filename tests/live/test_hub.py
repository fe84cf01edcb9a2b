"""The hub on a real PostgreSQL: commits reach the watchers who may see them, and nobody else."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Collection, Hashable, Mapping
from contextlib import ExitStack

import psycopg
import pytest
import pytest_asyncio
import structlog
from sqlalchemy import make_url

from dao.alerts import silences
from dao.definitions import schedules
from dao.postgres.database import Database
from dao.postgres.notify import CHANGED, changed
from dao.postgres.sql import Sql
from model.changes import Changes
from model.choices import ReleaseState
from model.errors import Refused, Unavailable
from model.ids import WorkflowCode
from model.time.schedules import ScheduleSpec
from service.live import listening as listening_module
from service.live.hub import Hub
from service.live.reading import RUNS_MAX
from service.live.ring import EVERYBODY
from tests.eventually import eventually
from tests.every import every
from tests.live.listening import LISTENS, heard, running

RUN = """
    INSERT INTO workflow_instance (command_id, master_id, workflow_code, workflow_version, state, failure_strategy,
                                   priority, worker_group, schedule_time)
    VALUES (:n, 0, :code, 1, 'SERIAL_WAIT', 'CONTINUE', 'MEDIUM', 'default', clock_timestamp()) RETURNING id
"""


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application_name="shoal-test-api")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def hub(database: Database) -> AsyncIterator[Hub]:
    async with running(Hub(database), database) as made:
        yield made


async def sql(database: Database, statement: str, changes: Changes | None = None, **values: object) -> int | None:
    """Run it in a transaction that says what it changed."""
    async with database.writing() as connection:
        done = await connection.execute(Sql(statement), values)
        found = done.scalar()
        await changed(connection, changes or Changes())
    return None if found is None else int(found)


async def run_of(database: Database, project: str, *, is_announced: bool = True) -> int:
    """A run of a workflow of this project, inserted; announced unless it is there before anybody listens."""
    code = await sql(
        database, "INSERT INTO workflow_definition (project, name) VALUES (:p, 'w') RETURNING code", p=project
    )
    async with database.writing() as connection:
        run = int((await connection.execute(Sql(RUN), {"n": code, "code": code})).scalar_one())
        if is_announced:
            await changed(connection, Changes(runs={run}))
    return run


async def test_a_change_of_a_run_reaches_those_who_may_see_its_project_and_nobody_else(
    hub: Hub, database: Database
) -> None:
    with (
        hub.listen(["runs"], allowed=frozenset({"mine"})) as a,
        hub.listen(["runs"]) as b,
        hub.listen(["queue"]) as c,
        heard(a) as mine,
        heard(b) as everything,
        heard(c) as queue,
    ):
        theirs_id = await run_of(database, "theirs")
        await eventually(lambda: everything.of("runs"))
        mine_id = await run_of(database, "mine")
        await eventually(lambda: mine.of("runs"))
        await eventually(lambda: len(everything.of("runs")) == 2)
        [patch] = mine.of("runs")[0]["runs"]
        assert (patch["id"], patch["project"], patch["state"]) == (str(mine_id), "mine", "SERIAL_WAIT")
        assert [each["runs"][0]["id"] for each in everything.of("runs")] == [str(theirs_id), str(mine_id)]
        assert mine.kinds == ["runs"] and "runs" not in queue.kinds
        assert mine.events[0] is everything.events[1], "an event is made once for all"


async def test_a_listener_of_one_run_gets_that_run_alone(hub: Hub, database: Database) -> None:
    run = await run_of(database, "p", is_announced=False)
    with (
        hub.listen([f"run:{run}"], allowed=frozenset({"p"})) as a,
        hub.listen([f"run:{run}"], allowed=frozenset({"q"})) as b,
        heard(a) as own,
        heard(b) as foreign,
    ):
        await run_of(database, "q")
        await sql(database, "SELECT 1", Changes(runs={run}))
        await eventually(lambda: own.of("run"))
        assert [event["run"]["id"] for event in own.of("run")] == [str(run)] and foreign.kinds == []


async def test_what_is_inserted_by_plain_sql_into_the_queue_is_an_event(hub: Hub, database_url: str) -> None:
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with hub.listen(["queue"]) as listening, heard(listening) as got:
        async with await psycopg.AsyncConnection.connect(plain, autocommit=True) as connection:
            await connection.execute("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
            await eventually(lambda: got.of("queue"))
        assert got.of("queue")[0] == {"topic": "queue", "commands": 1, "errors": 0}


async def test_alerts_are_an_event_without_what_they_say_when_they_are_written_and_when_one_is_silenced(
    hub: Hub, database: Database, database_url: str
) -> None:
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with hub.listen(["alerts"], allowed=frozenset()) as listening, heard(listening) as got:
        async with await psycopg.AsyncConnection.connect(plain, autocommit=True) as connection:
            await connection.execute("INSERT INTO alert (kind, severity, subject) VALUES ('TEST', 'INFO', 'secret')")
            await eventually(lambda: got.of("alerts"))
        before = len(got.of("alerts"))
        async with database.writing() as connection:
            silence = silences.NewSilence(None, None, 60.0, None, None, None, "")
            await silences.insert(connection, silence, "ada")
        await eventually(lambda: len(got.of("alerts")) > before)
        assert {str(event) for event in got.of("alerts")} == {"{'topic': 'alerts'}"}


async def test_definitions_and_their_schedules_are_events_and_a_deleted_one_is_a_resync(
    hub: Hub, database: Database
) -> None:
    with hub.listen(["definitions"], allowed=frozenset({"p"})) as listening, heard(listening) as got:
        code = await sql(
            database, "INSERT INTO workflow_definition (code, project, name) VALUES (7, 'p', 'w') RETURNING code"
        )
        assert code == 7
        async with database.writing() as connection:
            made = await schedules.insert(connection, WorkflowCode(7), ScheduleSpec("0 5 * * *"))
        await eventually(lambda: got.of("definitions"))
        assert got.of("definitions")[0]["definitions"] == [
            {"code": "7", "project": "p", "name": "w", "version": 1, "release_state": "ONLINE", "schedules": 1}
        ]
        async with database.writing() as connection:
            await schedules.remove(connection, made)
        await eventually(lambda: len(got.of("definitions")) == 2)
        await sql(database, "DELETE FROM workflow_definition WHERE code = 7", Changes(definitions={7}))
        await eventually(lambda: got.of("resync"))
        assert got.of("resync") == [{"topic": "definitions"}] and ReleaseState.ONLINE == "ONLINE"


async def test_more_runs_than_a_page_shows_are_a_resync_of_all_runs_alone(hub: Hub, database: Database) -> None:
    run = await run_of(database, "p", is_announced=False)
    with hub.listen(["runs", f"run:{run}"]) as listening, heard(listening) as got:
        await sql(database, "SELECT 1", Changes(runs=set(range(1, RUNS_MAX + 2))))
        await eventually(lambda: got.kinds == ["resync", "run"])
        await sql(database, "SELECT 1", Changes(many={"runs", "tasks"}))
        await eventually(lambda: got.kinds == ["resync", "run"] * 2)
        assert got.of("resync")[0] == {"topic": "runs"} and got.of("run")[1]["counts"] == {}


@pytest.mark.parametrize("payload", ["what is that", "r1,,2"])
async def test_a_notification_that_cannot_be_read_is_a_resync(hub: Hub, database: Database, payload: str) -> None:
    with hub.listen(["runs"]) as listening, heard(listening) as got:
        await sql(database, "SELECT 1 FROM pg_notify(:channel, :payload)", channel=CHANGED, payload=payload)
        await eventually(lambda: got.kinds == ["resync"])


async def test_a_listen_connection_that_ends_is_a_resync_and_events_go_on(hub: Hub, database: Database) -> None:
    with hub.listen(["runs"]) as listening, heard(listening) as got:
        await sql(database, f"SELECT pg_terminate_backend(pid) FROM ({LISTENS}) AS listens")
        await eventually(lambda: got.kinds == ["resync"])
        await run_of(database, "p")
        await eventually(lambda: got.kinds == ["resync", "runs"])


async def test_whoever_comes_back_soon_gets_what_it_missed_in_order(hub: Hub, database: Database) -> None:
    with hub.listen(["runs"]) as listening, heard(listening) as before:
        await run_of(database, "a")
        await eventually(lambda: before.of("runs"))
    with hub.listen(["runs"]) as other, heard(other) as meanwhile:
        for number, project in enumerate("bcd", 1):
            await run_of(database, project)
            await eventually(lambda number=number: len(meanwhile.of("runs")) == number)
    last = before.events[-1].id
    with hub.listen(["runs"], last, frozenset({"b", "d"})) as again, heard(again) as after:
        await eventually(lambda: len(after.events) == 2)
        assert [event["runs"][0]["project"] for event in after.of("runs")] == ["b", "d"]
        assert [event.id for event in after.events] == [meanwhile.events[0].id, meanwhile.events[2].id]


async def test_whoever_comes_back_from_another_process_or_too_late_is_told_to_read_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hub, "RING_BYTES_MAX", 1_000)
    monkeypatch.setattr(Hub, "LINGER_S", 0.0)
    async with running(Hub(database), database) as hub:
        with hub.listen(["runs"]) as listening, heard(listening) as got:
            await run_of(database, "a")
            await eventually(lambda: got.of("runs"))
        first = got.events[0].id
        with hub.listen(["runs"], first) as at_once, heard(at_once) as nothing:
            with hub.listen(["runs", "cluster"], first) as more, heard(more) as new_topic:
                await run_of(database, "b")
                await eventually(lambda: nothing.kinds == ["runs"])
                assert new_topic.kinds == ["runs"], "nothing was sent since, so it can have missed nothing"
            for project in "cdefg":
                await run_of(database, project)
                await asyncio.sleep(0)
            await eventually(lambda: sum(len(each["runs"]) for each in nothing.of("runs")) == 6)
        await eventually(lambda: not hub._watched_since)
        for last in (first, "other-1", "", "x", f"{first}0", first + "9" * 30, nothing.events[-1].id + "\x00"):
            with hub.listen(["runs"], last) as late, heard(late) as told:
                await eventually(lambda told=told: told.kinds == ["resync"])
                await eventually(lambda: hub.listeners == 1)
        with hub.listen(["runs"], nothing.events[-1].id) as late, heard(late) as told:
            await run_of(database, "h")
            await eventually(lambda: told.of("runs"))


async def test_a_listener_that_does_not_read_is_dropped_and_the_others_go_on(
    hub: Hub, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening_module, "WAITING_MAX", 3)
    with (
        structlog.testing.capture_logs() as logs,
        hub.listen(["runs"]) as slow,
        hub.listen(["runs"]) as listening,
        heard(listening) as got,
    ):
        for number in range(1, 6):
            await run_of(database, f"p{number}")
            await eventually(lambda number=number: len(got.of("runs")) == number)
        assert slow.ended == "it did not read" and listening.ended is None
        assert [event async for event in slow] == []
    assert [log["event"] for log in logs if log["event"] == "live_listener_dropped"] == ["live_listener_dropped"]


async def test_rights_that_are_taken_away_end_the_stream_and_others_narrow_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Hub.RECHECK_S + Hub.RECHECK_WITHIN_S < 5
    monkeypatch.setattr(Hub, "RECHECK_S", 0.05)
    rights: dict[Hashable, frozenset[str] | None] = {"ada": None, "bob": None}
    asked: list[Collection[Hashable]] = []
    is_away = False

    async def recheck(callers: frozenset[Hashable]) -> Mapping[Hashable, frozenset[str] | None]:
        asked.append(callers)
        if is_away:
            raise Unavailable("the database is away")
        return {caller: rights[caller] for caller in callers if caller in rights}

    async with running(Hub(database, recheck), database) as hub:
        with ExitStack() as stack:
            ada = stack.enter_context(hub.listen(["runs"], caller="ada"))
            bob = stack.enter_context(hub.listen(["runs"], caller="bob"))
            local = stack.enter_context(hub.listen(["runs"]))
            got = stack.enter_context(heard(ada))
            everything = stack.enter_context(heard(local))
            await eventually(lambda: {"ada", "bob"} in asked)
            del rights["bob"]
            rights["ada"] = frozenset({"p"})
            await eventually(lambda: bob.ended)
            await eventually(lambda: ada.allowed == frozenset({"p"}))
            await run_of(database, "q")
            await run_of(database, "p")
            await eventually(lambda: got.of("runs"))
            assert [run["project"] for event in got.of("runs") for run in event["runs"]] == ["p"]
            is_away = True
            await eventually(lambda: not hub._rights_known.is_set())
            count = len(everything.of("runs"))
            await run_of(database, "away")
            assert len(everything.of("runs")) == count, "nothing is sent while rights are unknown"
            is_away = False
            await eventually(lambda: "away" in json.dumps(everything.of("runs")))


@every("topics", [[], ["run:"], ["run:x"], ["RUNS"], ["run:" + "9" * 40], [f"run:{n}" for n in range(101)]])
def test_a_topic_that_does_not_exist_is_refused(topics: list[str]) -> None:
    with pytest.raises(Refused):
        Hub(Database("postgresql://localhost/x", application_name="x")).listen(topics).__enter__()


async def test_five_hundred_listeners_that_read_late_cost_little_memory(hub: Hub, database: Database) -> None:
    run = await run_of(database, "p", is_announced=False)
    with ExitStack() as stack:
        tracemalloc.start()
        try:
            listeners = [stack.enter_context(hub.listen(["runs", "queue", f"run:{run}"])) for _ in range(500)]
            reading = [stack.enter_context(heard(each)) for each in listeners]
            events = [hub._ring.add("runs", "runs", EVERYBODY, {"text": "x" * 2_000}) for _ in range(900)]
            for _ in range(3):  # more than fits into the memory of the last events
                hub._publish(events[:300])
                await eventually(lambda: all(not each._waiting for each in listeners))
            hub._publish(events)
            size, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert all(each.ended is None for each in listeners) and len(reading) == 500
        assert size < 60_000_000
