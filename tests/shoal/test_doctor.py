"""`shoal doctor`: silent on a healthy cluster, exact on a broken one, and of use when nothing answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from dao.checks import server_checks, table_checks
from dao.checks.server_checks import Server
from dao.cluster.drains import NamedDrain
from dao.cluster.node_rows import Drain, NodeRow
from dao.commands.queue_listings import GroupQueue
from model.cluster.load import WorkerLoadSettings
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.cluster.slots import Slot
from model.cluster.timing import Timing
from model.errors import Denied, Unavailable
from model.ids import Epoch
from registry.process import this_process
from service.checks.check_result import Result, Verdict, result_of, unknown
from service.checks.log_service_health import Answer, ask, log_service_results
from service.checks.node_health import drains_result, master_results, root_result, timing_result, worker_results
from service.checks.server_health import clock_result, database_result, room_for_nodes_result
from service.slots.slot_report import MasterSlot, SlotReport
from shoal.cluster.machine_health import disk_result, process_faults, process_result
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.shoal.live_cluster import live_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

SILENT = timedelta(seconds=6)
ALL_CHECKS = (
    *table_checks.BEFORE_REASONS,
    *table_checks.AFTER_REASONS,
    server_checks.STANDBY,
    server_checks.GUARDS,
    server_checks.SESSIONS,
)
SERVER = Server("15.18", 15, is_standby=False, connections=10, connections_max=97)
WORKFLOW = "name: hello\ntasks:\n  - {name: greet, type: FAKE}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The command line at a healthy cluster of one master and one worker. Who breaks something fixes it."""
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("doctor"), WORKFLOW) as made:
        yield made


@contextmanager
def hands(shoal: CommandLine) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """The database, as a careless person has it."""
    url = make_url(shoal.environment["SHOAL_DATABASE_URL"]).set(drivername="postgresql")
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
        yield connection


# ------------------------------------------------------------------------------------------------ a whole cluster


async def test_a_healthy_cluster_has_nothing_to_find(shoal: CommandLine) -> None:
    assert (await shoal("run", "hello", "--wait")).code == 0
    with hands(shoal) as by_hand:  # of alerts there has been nothing to write for an hour
        by_hand.execute("UPDATE duty SET due_at = now() - interval '1 h' WHERE name = 'alert_rules'")
    found = await shoal("doctor")
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert all(line.startswith("✓ ") for line in lines[:-1]), found.out
    assert lines[-1] == f"{len(lines) - 1} checks: {len(lines) - 1} passed."
    as_json = (await shoal("doctor", "--json")).json
    assert as_json["failed"] == []
    assert len({check["name"] for check in as_json["checks"]}) == len(lines) - 1
    assert "***@" in found.out


async def test_what_is_broken_is_told_with_its_rows_and_how_to_fix_it(shoal: CommandLine) -> None:
    with hands(shoal) as by_hand:
        # Else the master drops what is of no run.
        by_hand.execute("CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        by_hand.execute("CREATE TRIGGER kept BEFORE DELETE ON task_event FOR EACH ROW EXECUTE FUNCTION kept()")
        by_hand.execute(
            "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, created_at) "
            "SELECT 99, 1, 1, 'SUCCESS', now() - interval '1 h' FROM generate_series(1, 7)"
        )
        by_hand.execute("ALTER TABLE workflow_instance DISABLE TRIGGER workflow_instance_moves_legally")
        by_hand.execute("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 77)")
        await eventually(lambda: by_hand.execute("SELECT command_id FROM error_command").fetchall(), within_s=20)
        try:
            found = await shoal("doctor")
            as_json = (await shoal("doctor", "--json")).json
        finally:
            by_hand.execute("DROP FUNCTION kept CASCADE")
            by_hand.execute("DELETE FROM task_event")
            by_hand.execute("ALTER TABLE workflow_instance ENABLE TRIGGER workflow_instance_moves_legally")
            by_hand.execute("DELETE FROM error_command")
    assert found.code == 1
    assert "✗ each end of a task reaches the master of its run" in found.out
    assert "7 found" in found.out
    assert "(SUCCESS of task 1 of run 99) is unread since" in found.out
    assert "    and 2 more\n" in found.out
    assert "    trigger workflow_instance_moves_legally is missing or off\n    → Take the statement" in found.out
    assert "! no command was refused" in found.out
    assert "(START_PROCESS): there is no workflow with code 77" in found.out
    assert found.out.splitlines()[-1].endswith("passed, 2 failed, 1 note.")
    assert as_json["failed"] == ["guards_stand", "events_are_read"]
    events = next(check for check in as_json["checks"] if check["name"] == "events_are_read")
    assert (events["count"], len(events["finds"])) == (7, 5)


async def test_a_stuck_run_is_found_from_outside_too(shoal: CommandLine) -> None:
    """Without a watcher to put it right: its owner is a master that says to be alive, and is not."""
    with hands(shoal) as by_hand:
        (node,) = by_hand.execute(
            "INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started) "
            "VALUES (gen_random_uuid(), 'MASTER', 'nowhere:1', 'elsewhere', 1, 1) RETURNING id"
        ).fetchone() or (0,)
        by_hand.execute("INSERT INTO node_beat (node_id) VALUES (%s)", [node])
        (run,) = by_hand.execute(
            "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
            "failure_strategy, priority, worker_group, started_at) "
            "VALUES (5000, 1, 1, 'RUNNING_EXECUTION', %s, 'END', 'MEDIUM', 'default', now() - interval '1 h') "
            "RETURNING id",
            [node],
        ).fetchone() or (0,)
        try:
            found = await shoal("doctor")
        finally:
            by_hand.execute("DELETE FROM workflow_instance WHERE id = %s", [run])
            by_hand.execute("DELETE FROM node_beat WHERE node_id = %s", [node])
            by_hand.execute("DELETE FROM node WHERE id = %s", [node])
    assert "✗ each unfinished run has a reason to wait" in found.out
    assert f"    run {run} is RUNNING_EXECUTION for 1 h 0 min: nothing of it is queued, runs or waits" in found.out
    assert "is not in the registry, so it has no slot" in found.out


async def test_a_database_without_schema_and_one_that_does_not_answer_are_told(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("doctor_empty")
    shoal = CommandLine.at(url)
    try:
        found = await shoal("doctor")
        assert (await shoal("db", "init")).code == 0
        with postgres_server.connect("doctor_empty") as connection:
            connection.execute("INSERT INTO schema_version (version, name, program) VALUES (9999, 'later', '9.9')")
        newer = await shoal("doctor")
    finally:
        postgres_server.drop_database("doctor_empty")
    assert (found.code, newer.code) == (1, 1)
    assert "✗ its schema fits this program" in found.out
    assert "run `shoal db init`" in found.out
    assert "install Shoal 9.9 or newer" in newer.out
    assert "shoal db " not in newer.out, "no verb makes a schema older"
    gone = await CommandLine.at(url)("doctor", "--json")
    assert gone.code == 3
    assert gone.json["failed"] == ["database"]
    assert postgres_server.password not in gone.out


# ------------------------------------------------------------------------------------------------------ by its facts


def node(epoch: int, kind: NodeKind = NodeKind.MASTER, slot: Slot | None = None, **fields: object) -> NodeRow:
    beat = Heartbeat(epoch=Epoch(epoch), kind=kind, address=f"n{epoch}:1", running=3, groups=("default",))
    if slot is not None:
        beat = beat.model_copy(update={"slot_current": slot.current, "slot_total": slot.total})
    row = NodeRow(Epoch(epoch), kind, f"n{epoch}:1", NodeState.ALIVE, ProcessIdentity("b", 1, 1), None, 7, 0.5, beat)
    return replace(row, **fields)  # type: ignore[arg-type]


def masters(*slots: MasterSlot, fault: str | None = None) -> dict[str, Result]:
    return {each.name: each for each in master_results(SlotReport(slots, (), len(slots), fault), SILENT)}


def shown(result: Result) -> list[str]:
    assert (result.verdict is Verdict.PASSED) == (not result.shown)
    return list(result.shown)


FIRST, SECOND = Slot(0, 2), Slot(1, 2)


async def test_masters_that_agree_and_beat_are_well() -> None:
    found = masters(
        MasterSlot(node(1), FIRST, FIRST, in_registry=True), MasterSlot(node(2), SECOND, SECOND, in_registry=True)
    )
    assert {result.verdict for result in found.values()} == {Verdict.PASSED}
    assert (found["masters"].detail, found["slots"].detail) == ("2 masters, 6 runs", "2 slots")


async def test_what_is_wrong_with_masters_is_told_of_each() -> None:
    assert shown(masters()["masters"]) == ["no master is alive: no command is taken, no run goes on"]
    quiet = MasterSlot(node(1, beat_age_s=9.0), FIRST, FIRST, in_registry=True)
    assert shown(masters(quiet)["masters"]) == ["master n1:1 (epoch 1) has been silent for 9.0 s"]
    lagging = MasterSlot(node(1), FIRST, Slot(0, 3), in_registry=True)
    assert shown(masters(lagging)["slots"]) == ["master n1:1 (epoch 1) has slot 0/2, but assumes 0/3"]
    lost = MasterSlot(node(1), None, FIRST, in_registry=False)
    assert shown(masters(lost)["slots"]) == ["master n1:1 (epoch 1) is not in the registry, so it has no slot"]
    leaving = MasterSlot(node(1, state=NodeState.LEAVING), None, FIRST, in_registry=False)
    assert shown(masters(leaving)["slots"]) == []
    assert shown(masters(fault="no server answers")["registry"]) == ["no server answers"]


async def test_workers_and_the_groups_that_wait_for_one_are_told() -> None:
    waiting = [GroupQueue("default", 3, 90.0, 0), GroupQueue("gpu", 2, 90.0, 0), GroupQueue("new", 1, 3.0, 0)]
    alive, groups = worker_results([node(9, NodeKind.WORKER)], waiting, SILENT)
    assert shown(alive) == []
    assert shown(groups) == ["2 tasks of group gpu for up to 1 min 30 s"]
    alive, groups = worker_results([], waiting, SILENT)
    assert shown(alive) == ["no worker is alive: no task runs but those of the masters"]
    assert len(shown(groups)) == 2


async def test_a_clock_that_is_off_is_a_note_and_no_fault() -> None:
    assert clock_result(4.9).verdict is Verdict.PASSED
    late, early = clock_result(3_600.0), clock_result(-3_600.0)
    assert (late.verdict, late.detail) == (Verdict.NOTE, "1 h 0 min behind")
    assert (early.verdict, early.detail) == (Verdict.NOTE, "1 h 0 min ahead")


async def test_a_server_that_is_too_old_or_takes_no_writes_is_told() -> None:
    assert database_result(SERVER, "db", 0.002).detail == "PostgreSQL 15.18 in 2 ms, db"
    old = database_result(replace(SERVER, version="14.2", major=14), "db", 0.002)
    assert shown(old) == ["it is PostgreSQL 14.2, and Shoal needs 15 or newer"]
    standby = database_result(replace(SERVER, is_standby=True), "db", 0.002)
    assert shown(standby) == ["it takes no writes: it is a standby, or read-only"]


async def test_a_node_that_the_database_has_no_connections_for_is_a_note() -> None:
    """Ten of each node, and two more where the registry is the database too."""
    few = room_for_nodes_result(SERVER, 3, 4, by_database=True)
    assert (few.verdict, few.detail) == (Verdict.PASSED, "3 masters and 4 workers may open 84 of 97")
    assert room_for_nodes_result(SERVER, 4, 4, by_database=False).verdict is Verdict.PASSED
    many = room_for_nodes_result(SERVER, 4, 4, by_database=True)
    assert (many.verdict, shown(many)) == (
        Verdict.NOTE,
        [
            "4 masters and 4 workers may open 96 of 97, 5 are kept for people: "
            "under load some of theirs would be refused"
        ],
    )
    assert many.fix == "Raise max_connections in postgresql.conf, to 116 or more, and restart it; or run fewer nodes."


async def test_a_disk_without_room_here_or_at_a_node_is_told(tmp_path: Path) -> None:
    limits = WorkerLoadSettings().limits()
    fine = disk_result({tmp_path, tmp_path / "absent"}, limits, [node(1)])
    assert (fine.verdict, fine.detail.endswith(f" GiB free for {tmp_path}")) == (Verdict.PASSED, True)
    nowhere = disk_result({tmp_path / "absent"}, limits, [])
    assert nowhere.detail == "no folder of Shoal is on this machine; each worker watches its own"
    more = 1 << 60
    short = disk_result({tmp_path}, WorkerLoadSettings(disk_free_min=more).limits(), [])
    assert re.fullmatch(rf"{tmp_path}: free disk \d+ MiB < {more >> 20} MiB", shown(short)[0])
    busy = node(2, NodeKind.WORKER)
    assert busy.heartbeat is not None
    told = busy.heartbeat.model_copy(update={"because": "free disk 1 MiB < 256 MiB"})
    assert shown(disk_result(set(), limits, [replace(busy, heartbeat=told)])) == [
        "worker n2:1 (epoch 2) takes nothing: free disk 1 MiB < 256 MiB"
    ]


async def test_what_cannot_end_processes_is_broken_where_a_worker_runs_and_else_a_note() -> None:
    assert process_faults() == []
    assert process_result(True, ["no pidfds"]).verdict is Verdict.FAILED
    assert process_result(False, ["no pidfds"]).verdict is Verdict.NOTE


async def test_log_services_that_do_not_answer_or_are_others_are_told(unused_tcp_port: int) -> None:
    """One without an address, one where nothing listens, one where another program does."""
    other = await asyncio.start_server(_not_found, "127.0.0.1", 0)
    port = other.sockets[0].getsockname()[1]
    rows = [
        node(1, NodeKind.WORKER),
        node(2, NodeKind.WORKER, log_url=f"http://127.0.0.1:{unused_tcp_port}"),
        node(3, NodeKind.WORKER, log_url=f"http://127.0.0.1:{port}", process=this_process()),
    ]
    async with other:
        answers = await ask(rows, None)
        (with_our_worker, _), (elsewhere, _) = (
            log_service_results(len(given), given) for given in (answers, answers[:2])
        )
    assert (with_our_worker.verdict, elsewhere.verdict) == (Verdict.FAILED, Verdict.NOTE)
    first, second, third = shown(with_our_worker)
    assert first == "worker n1:1 (epoch 1): it does not say where its log service is"
    assert second.startswith(f"worker n2:1 (epoch 2): http://127.0.0.1:{unused_tcp_port} does not answer: ")
    assert third.endswith(f"http://127.0.0.1:{port} answers 404: another program serves there")


async def _not_found(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def test_a_worker_whose_clock_is_off_is_a_note() -> None:
    row = node(1, NodeKind.WORKER)
    _, fine = log_service_results(2, [Answer(row, ahead_s=4.9), Answer(row, fault="away")])
    assert (fine.verdict, fine.detail) == (Verdict.PASSED, "1 of 2 workers; masters do not publish theirs")
    _, off = log_service_results(1, [Answer(row, ahead_s=-90.0)])
    assert (off.verdict, shown(off)) == (Verdict.NOTE, ["worker n1:1 (epoch 1) is 1 min 30 s behind"])


async def test_no_sentence_of_the_doctor_ends_twice() -> None:
    """Whatever punctuation its parts end with."""
    row = node(1, beat_age_s=9.0)
    given = "it was refused."
    every = [
        *masters(MasterSlot(row, None, FIRST, in_registry=False)).values(),
        *masters(fault=given).values(),
        *worker_results([], [GroupQueue("gpu", 2, 90.0, 0)], SILENT),
        *(
            result_of(each.name, each.condition, [f"one {given}", "two;", "three"], each.fix, given)
            for each in ALL_CHECKS
        ),
        unknown("x", "it passed", Denied(given)),
        unknown("x", "it passed", Unavailable(given)),
        clock_result(99.0),
        database_result(replace(SERVER, major=14, is_standby=True), given, 0.002),
        room_for_nodes_result(SERVER, 99, 99, by_database=True),
        process_result(False, [given]),
        *log_service_results(1, [Answer(row, fault=given)]),
        timing_result([replace(row, heartbeat=row.heartbeat)], Timing()),
    ]
    said = [text for each in every for text in (each.condition, each.detail, each.fix, *each.shown)]
    assert [text for text in said if re.search(r"[.;:,?!]\s*[.;:,?!]", text)] == []
    assert [each.fix for each in every if each.fix and not each.fix.endswith((".", "?"))] == []
    assert [text for each in every for text in each.shown if text.endswith((".", ";", ","))] == []


async def test_drains_that_last_are_told_with_who_asked_and_what_is_left_there() -> None:
    def drained(name: str, age_s: float) -> NamedDrain:
        return NamedDrain(NodeKind.WORKER, name, Drain(1, age_s, "anna"))

    rows = [node(1, NodeKind.WORKER)]
    fresh = drains_result([drained("n1:1", 60)], rows)
    assert (fresh.verdict, fresh.detail) == (Verdict.PASSED, "1 node drained")
    found = drains_result([drained("n1:1", 7200), drained("w9", 7200)], rows)
    assert found.verdict is Verdict.NOTE
    assert shown(found) == [
        "worker n1:1 has been drained for 2 h 0 min, by anna; it has 3 tasks left",
        "worker w9 has been drained for 2 h 0 min, by anna; it does not run",
    ]


async def test_masters_that_are_all_drained_and_groups_whose_workers_are_take_nothing() -> None:
    idle = node(1, drain=Drain(1, 5.0, "anna"))
    assert shown(masters(MasterSlot(idle, None, None, in_registry=True))["masters"]) == [
        "all masters are drained: no command is taken, no run goes on; shoal master undrain n1:1"
    ]
    worker = node(2, NodeKind.WORKER, drain=Drain(2, 5.0, "anna"))
    found = worker_results([worker], [GroupQueue("default", 4, 60.0, 0)], SILENT)
    assert shown(found[1]) == ["4 tasks of group default for up to 1 min 0 s; its workers are drained"]


async def test_a_worker_that_runs_as_root_without_a_default_tenant_is_a_note() -> None:
    assert root_result([node(9, NodeKind.WORKER)]).verdict is Verdict.PASSED
    beat = Heartbeat(epoch=Epoch(9), kind=NodeKind.WORKER, address="n9:1", runs_as_root=True)
    as_root = node(9, NodeKind.WORKER, heartbeat=beat)
    assert (root_result([as_root]).verdict, root_result([as_root]).count) == (Verdict.NOTE, 1)
