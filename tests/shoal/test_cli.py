"""The verbs against a real cluster: two masters and a worker over PostgreSQL, shared by the tests of this module."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from sqlalchemy import make_url

from tests.cluster.cluster import Cluster, without_haste
from tests.conftest import TEMPLATE
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import Answer, CommandLine
from tests.shoal.live_cluster import QUICK

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXAMPLE = Path(__file__).parents[2] / "examples" / "hello.yaml"
WORKFLOWS = """
name: fails
tasks:
  - {name: good, type: FAKE, params: {write: it went well}}
  - {name: bad, type: SHELL, after: [good], params: {script: "echo oh dear >&2; exit 3"}}
  - {name: after_bad, type: FAKE, after: [bad]}
---
name: slow
tasks:
  - {name: talk, type: SHELL, params: {script: "for n in 1 2 3; do echo line $n; sleep 0.3; done"}}
  - {name: end, type: FAKE, after: [talk]}
---
name: for_nobody
worker_group: gpu
tasks:
  - {name: train, type: FAKE}
  - {name: report, type: FAKE, after: [train]}
---
name: shelved
release_state: OFFLINE
tasks: [{name: a, type: FAKE}]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The database of a cluster that runs, with workflows in it."""
    made = postgres_server.create_database("test_cli", template=TEMPLATE)
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(made, made, folder) as cluster:
        cluster.environment = {**without_haste(cluster.environment), **QUICK}
        for name in ("m1", "m2"):
            await cluster.master(SHOAL_NAME=name)
        await cluster.worker(SHOAL_NAME="w1")
        await cluster.slots_become(2)
        (folder / "more.yaml").write_text(WORKFLOWS)
        applied = await CommandLine.at(made)("workflow", "apply", str(EXAMPLE), str(folder / "more.yaml"))
        assert applied.code == 0, applied.err
        yield made
    postgres_server.drop_database("test_cli")


@pytest.fixture
def shoal(url: str) -> CommandLine:
    """The command line at that cluster."""
    return CommandLine.at(url)


async def test_a_workflow_is_applied_listed_and_shown(shoal: CommandLine) -> None:
    again, listed, shown, fields = await shoal.each(
        f"workflow apply {EXAMPLE}", "workflow list", "workflow show hello", "workflow show hello --json"
    )
    assert 'Workflow "hello" (4 tasks, code ' in again.out
    assert "unchanged, version 1." in again.out
    assert "○ OFFLINE" in listed.out
    assert "goodbye" in shown.out
    assert "count_cores, tell_the_time" in shown.out
    assert [task["name"] for task in fields.json["tasks"]] == ["greet", "count_cores", "tell_the_time", "goodbye"]


async def test_a_run_is_waited_for_and_its_log_read(shoal: CommandLine) -> None:
    done = await shoal("run", "hello", "--param", "name=Ada", "--wait", "--json")
    assert done.code == 0
    assert done.json["state"] == "SUCCESS"
    run = done.json["run_id"]
    greet, shown, fields, why, last = await shoal.each(
        f"log {run}/greet", f"show {run}", f"show {run} --json", f"why {run}", "show hello --json"
    )
    assert greet.out == "Hello, Ada!\n"
    assert shown.out.count("✓ SUCCESS") == 5
    assert f"run {run}   slot " in shown.out
    assert {task["name"] for task in fields.json["tasks"]} == {"greet", "count_cores", "tell_the_time", "goodbye"}
    assert isinstance(fields.json["id"], str)
    assert f"Run {run} of hello has ended: SUCCESS" in why.out
    assert last.json["workflow"] == "hello"
    by_id = await shoal("log", fields.json["tasks"][0]["id"], "--json")
    assert by_id.json["log"] == "Hello, Ada!\n"


async def test_a_run_that_fails_ends_with_exit_code_one_and_says_where(shoal: CommandLine) -> None:
    done = await shoal("run", "fails", "--wait")
    assert done.code == 1
    assert "FAILURE, 2 tasks in" in done.out
    assert 'task "bad" failed' in done.out
    shown, log, why, listed, *longer = await shoal.each(
        *("show @failed", "log fails/bad", "why fails/after_bad"),
        *(f"runs --state failure --workflow fails --since {age}" for age in ("1h", "1h30m", "9999999d")),
    )
    assert "exit code 3: oh dear" in shown.out
    assert "· NOT_BEGUN" in shown.out
    assert "Read the log of what failed: shoal log " in shown.out
    assert log.out == "oh dear\n"
    assert "after_bad never began: its run ended as FAILURE first, because bad did not succeed." in why.out
    assert all("✗ FAILURE" in each.out for each in (listed, *longer))


async def test_a_log_is_followed_until_its_task_has_ended(shoal: CommandLine) -> None:
    started = await shoal("run", "slow", "--json")
    await eventually(lambda: _state_of(shoal, "slow"), within_s=10)
    followed = await shoal("log", "slow/talk", "--follow")
    assert started.code == 0
    assert followed.out == "line 1\nline 2\nline 3\n"


async def _state_of(shoal: CommandLine, workflow: str) -> bool:
    shown = await shoal("show", workflow, "--json")
    return shown.code == 0 and bool(shown.json["tasks"])


async def test_what_waits_for_a_worker_that_is_not_there_is_explained(shoal: CommandLine) -> None:
    await shoal("run", "for_nobody")
    await eventually(lambda: _state_of(shoal, "for_nobody"), within_s=10)
    task, run, after, queue, fields, log = await shoal.each(
        "why for_nobody/train",
        "why for_nobody",
        "why for_nobody/report --json",
        "queue",
        "queue --json",
        "log for_nobody/train",
    )
    assert "train waits for a worker in group gpu: none is alive; it waits alone." in task.out
    assert "→ Start one: shoal worker --group gpu" in task.out
    assert "waits for train." in run.out
    assert after.json["why"] == "report waits because train is queued."
    assert "Waiting for a worker: 1 task." in queue.out
    assert fields.json["worker_groups"][0]["worker_group"] == "gpu"
    assert (log.code, "has no log yet: it is QUEUED" in log.sentence) == (2, True)


async def test_slots_and_workers_are_shown_with_what_each_believes(shoal: CommandLine) -> None:
    slots, fields, workers, worker_fields = await shoal.each(
        "master list", "master list --json", "worker list", "worker list --json"
    )
    assert slots.out.startswith("total 2\n")
    assert [(master["slot"], master["believes"]) for master in fields.json["masters"]] == [(0, "0/2"), (1, "1/2")]
    assert all(master["agrees"] and master["in_registry"] for master in fields.json["masters"])
    assert "● ALIVE" in workers.out
    assert worker_fields.json[0]["groups"] == ["default"]


async def test_slots_are_told_by_the_database_when_the_registry_is_away(url: str) -> None:
    place = "zookeeper://127.0.0.1:1/shoal"
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("UPDATE cluster SET registry_place = %s", [place])
        try:
            found = await CommandLine.at(url, SHOAL_REGISTRY_URL=place)("master", "list")
        finally:
            connection.execute("UPDATE cluster SET registry_place = 'database'")
    assert found.code == 0, found.err
    assert "The registry cannot be asked: " in found.out
    assert "0/2" in found.out


async def test_error_commands_are_listed_retried_and_dropped(shoal: CommandLine, url: str) -> None:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("INSERT INTO command (type) VALUES ('STRT_PROCESS'), ('START_PROCESS')")
    await eventually(lambda: _errors(shoal), within_s=10, until=2)
    listed = await shoal("queue", "errors")
    assert "did you mean START_PROCESS?" in listed.out
    assert "workflow_code is missing; say which one is meant" in listed.out
    found = (await shoal("queue", "errors", "--json")).json
    (why,) = await shoal.each(f"why command {found[0]['id']}")
    assert why.out.startswith(f"Command {found[0]['id']} was refused: ")
    retried = await shoal("queue", "retry", "--all", "--json")
    assert len(retried.json) == 2
    new = {each["command_id"] for each in retried.json}
    await eventually(lambda: _errors(shoal), within_s=10, until=2)
    dropped = await shoal("queue", "delete", *new)
    assert dropped.out.startswith("Deleted 2 error commands.")
    nothing, again = await asyncio.gather(shoal("queue", "errors"), shoal("queue", "retry", min(new)))
    assert nothing.out.startswith("There is no error command.")
    assert again.code == 5


async def _errors(shoal: CommandLine) -> int:
    return len((await shoal("queue", "errors", "--json")).json)


WRONG_USE = [
    ("show 999", 5, "there is no run 999; `shoal runs` lists those there are"),
    ("show nix", 5, 'no run of a workflow "nix"; `shoal runs` lists the runs'),
    ("log 999", 5, "there is no task instance 999; `shoal show RUN` lists those of a run"),
    ("log greet", 5, '"greet" names no task; give its id, or RUN/name such as 12/greet'),
    ("why command 99999", 5, "there is no command 99999, and there was none"),
    ("why command x", 5, '"x" is no command; give its id, as `shoal queue` shows it'),
    ("why command", 2, "say what to explain: a run, RUN/task, or `command ID`"),
    ("run nix", 5, 'there is no workflow "nix" in project "default"; `shoal workflow list` shows what there is'),
    ("run shelved", 2, 'workflow "shelved" is OFFLINE; put it ONLINE before starting it'),
    ("run hello -p x", 2, '--param "x" has no value; write it as name=value'),
    ("run hello --version 9 --wait", 2, "has no version 9"),
    ("runs --since 5x", 2, '--since "5x" is not a time span; write it as 30s, 5m or 1h30m (a bare number is seconds)'),
    ("workflow show hello --version 9", 5, 'workflow "hello" has no version 9'),
    ("workflow apply /nix.yaml", 5, "there is no file /nix.yaml"),
    ("queue --limit 5 retry 1", 2, "give the options after the verb: shoal queue retry ..."),
    ("runs --since 1d stop --all", 2, "give the options after the verb: shoal runs stop ..."),
    ("show 1 --events --elements a", 2, "--events and --elements are two lists; keep one of them"),
    ("login --logout --link --server http://127.0.0.1:1", 2, "--logout takes neither --name nor --link"),
    ("queue retry", 2, "say which error commands to retry: their ids, or --all"),
    ("queue delete 99999", 5, "there is no error command 99999"),
]


async def test_each_wrong_use_is_one_sentence_and_its_exit_code(shoal: CommandLine) -> None:
    answers = await shoal.each(*(call for call, _, _ in WRONG_USE))
    for (call, code, sentence), answer in zip(WRONG_USE, answers, strict=True):
        assert (answer.code, sentence in answer.sentence) == (code, True), f"{call}: {answer.sentence}"


async def test_wrong_options_end_with_exit_code_two(shoal: CommandLine) -> None:
    found: list[Answer] = await shoal.each("nix", "runs --limit 0", "run hello --priority urgent")
    assert [each.code for each in found] == [2, 2, 2]
    assert all("Traceback" not in each.err for each in found)


async def test_a_database_that_is_away_is_named_without_its_password() -> None:
    away = CommandLine.at("postgresql+psycopg://me:secret@127.0.0.1:1/x", SHOAL_CONNECT_TIMEOUT_S="0.5")
    asked, checked, master, worker = await asyncio.gather(
        away("runs"), away("db", "check"), away("master"), away("worker", "--folder", "/tmp/shoal-test-away")
    )
    assert (asked.code, checked.code) == (3, 3)
    assert asked.sentence.startswith("cannot reach the database postgresql+psycopg://me:***@127.0.0.1:1/x: ")
    assert (master.code, worker.code) == (1, 1)
    for role in (master, worker):
        last = role.err.strip().splitlines()[-1]
        assert last.startswith("shoal: timed out after 0.5 s: postgresql+psycopg://me:***@127.0.0.1:1/x")
        assert "secret" not in role.err


async def test_a_schema_that_is_missing_or_newer_is_said(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("test_cli_schema")
    shoal = CommandLine.at(url)
    before = await shoal("runs")
    assert (before.code, before.sentence.endswith("run `shoal db init`")) == (2, True)
    made, again = await shoal("db", "init"), await shoal("db", "upgrade", "--json")
    assert "ran schema." in made.out
    assert again.json["ran"] == []
    assert "and this program works with it" in (await shoal("db", "check")).out
    with postgres_server.connect("test_cli_schema") as connection:
        connection.execute("INSERT INTO schema_version (version, name, program) VALUES (9999, 'later', '9.9')")
    for verb in ("runs", "master"):
        newer = await shoal(verb)
        assert newer.code == 2
        assert "the database has schema version 9999, this program knows only" in newer.err
    postgres_server.drop_database("test_cli_schema")


async def test_without_any_database_the_cure_is_said() -> None:
    found = await CommandLine.at()("runs")
    assert found.code == 78
    assert found.sentence == "no database is named; give --database-url or SHOAL_DATABASE_URL, or use `shoal up`"


async def test_two_masters_cannot_have_one_address(url: str) -> None:
    shoal = CommandLine.at(url)
    address = (await shoal("master", "list", "--json")).json["masters"][0]["address"]
    second = await shoal("master", "--port", address.rpartition(":")[2])
    assert second.code == 2
    assert f"the address {address} cannot be used (Address already in use)" in second.err


async def test_a_reader_that_goes_away_is_no_error(shoal: CommandLine) -> None:
    process = await asyncio.create_subprocess_shell(
        f"{sys.executable} -m shoal config show | head -n 1", env=dict(shoal.environment), stdout=-1, stderr=-1
    )
    out, err = await process.communicate()
    assert out.count(b"\n") == 1
    assert err == b""
