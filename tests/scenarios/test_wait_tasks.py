"""WAIT tasks: what they wait for, how they end, and that between two looks they hold nothing."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import obstore
import pytest

from tests.cluster.cluster import Node
from tests.cluster.own_work import OwnWork
from tests.eventually import eventually
from tests.scenarios.engine import WITHIN_S, Engine
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.shoal.command_line import CommandLine
from tests.worker.http_server import Answer, http_server, never, says

A_SECOND = "1s"


def waits(name: str = "wait", task: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    """A WAIT task that looks each second; `params` has one kind of thing, and overrides."""
    kinds = {"file", "s3", "http", "sql", "script", "time"}
    thing = {kind: given for kind, given in params.items() if kind in kinds}
    others = {field: given for field, given in params.items() if field not in kinds}
    return {"name": name, "type": "WAIT", "params": {"for": thing, "every": A_SECOND, **others}, **(task or {})}


def looks(engine: Engine, run: int, task: str = "wait") -> int:
    query = """SELECT coalesce((looks ->> 'count')::int, 0) FROM task_instance
               WHERE workflow_instance_id = %s AND task_name = %s ORDER BY attempt DESC LIMIT 1"""
    return int(engine.cluster.one(query, run, task))


async def looked(engine: Engine, run: int, times: int = 1, task: str = "wait") -> None:
    await eventually(lambda: looks(engine, run, task) >= times, within_s=WITHIN_S)


async def shoal(engine: Engine, *words: str) -> str:
    return (await CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])(*words)).out


async def test_a_file_that_appears_ends_the_wait_and_its_path_is_given_on(engine: Engine, tmp_path: Path) -> None:
    after = {
        "name": "load",
        "type": "SHELL",
        "params": {"script": 'echo "#{setValue(got=${file})}"'},
        "after": ["wait"],
    }
    run = await engine.begin(engine.define(waits(file=f"{tmp_path}/in_*.csv"), after))
    await looked(engine, run, 2)
    assert engine.tasks(run).keys() == {"wait"}
    (tmp_path / "in_1.csv").touch()
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "load")["got"] == f"{tmp_path}/in_1.csv"
    assert engine.attempts(run, "wait") == [("SUCCESS", "YES")]
    assert engine.path(run, "wait")[:4] == ["QUEUED", "RUNNING_EXECUTION", "DELAY_EXECUTION", "QUEUED"]


async def test_why_and_the_log_say_what_its_looks_saw(engine: Engine, tmp_path: Path) -> None:
    run = await engine.begin(engine.define(waits(file=f"{tmp_path}/in.csv", every="1h")))
    await looked(engine, run)
    said = await shoal(engine, "why", f"{run}/wait")
    assert f"wait waits: file {tmp_path}/in.csv: no such file. It looked 1 time, last " in said
    assert "; it looks again in " in said
    assert f"not yet: file {tmp_path}/in.csv: no such file" in await shoal(engine, "log", f"{run}/wait")
    assert f"waits, looked 1x: file {tmp_path}/in.csv" in await shoal(engine, "show", str(run))
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert "no such file" in await shoal(engine, "log", f"{run}/wait")


async def test_an_answer_that_turns_200_ends_the_wait(engine: Engine) -> None:
    answers = {"*": says("503 Service Unavailable", "soon")}
    async with http_server(answers) as server:
        run = await engine.begin(engine.define(waits(http={"url": server.address})))
        await looked(engine, run, 2)
        answers["*"] = says("200 OK", "ready")
        assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "wait") == {"status": "200", "body": "ready"}


async def test_a_row_that_appears_ends_the_wait(fresh: Engine, tmp_path: Path) -> None:
    work = OwnWork(fresh.cluster)
    await work.data_source("here", fresh.cluster.environment["SHOAL_DATABASE_URL"])
    fresh.cluster.rows("CREATE TABLE arrived (name text)")
    await fresh.cluster.master()
    await fresh.cluster.worker()
    query = {"datasource": "here", "sql": "SELECT count(*) AS rows FROM arrived"}
    run = await fresh.begin(fresh.define(waits(sql=query)))
    await looked(fresh, run)

    async def is_said() -> bool:  # not while it looks
        return "here: the query gave 0" in await shoal(fresh, "why", f"{run}/wait")

    await eventually(is_said)
    fresh.cluster.rows("INSERT INTO arrived VALUES ('a')")
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.printed(run, "wait") == {"rows": "1"}


async def test_an_object_that_appears_ends_the_wait(fresh: Engine, s3_server: S3Server, bucket: str) -> None:
    work = OwnWork(fresh.cluster)
    await work.data_source("lake", f"s3://{KEY}:{SECRET}@127.0.0.1:{s3_server.port}/{bucket}?tls=off")
    await fresh.cluster.master()
    await fresh.cluster.worker()
    thing = {"datasource": "lake", "key": "in/orders_*.csv"}
    run = await fresh.begin(fresh.define(waits(s3=thing)))
    await looked(fresh, run)

    async def is_said() -> bool:  # not while it looks
        return f"s3://{bucket}/in/orders_*.csv: no such object" in await shoal(fresh, "why", f"{run}/wait")

    await eventually(is_said)
    obstore.put(s3_server.store(bucket), "in/orders_1.csv", b"1")
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.printed(run, "wait") == {"file": f"s3://{bucket}/in/orders_1.csv"}


async def test_a_script_says_by_its_exit_code_whether_it_is_there(engine: Engine, tmp_path: Path) -> None:
    script = f"echo looking; test -e {tmp_path}/there || exit 1; echo '#{{setValue(rows=5)}}'"
    run = await engine.begin(engine.define(waits(script=script)))
    await looked(engine, run)
    (tmp_path / "there").touch()
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "wait") == {"rows": "5"}


async def test_a_script_that_breaks_fails_the_task_at_once(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(script="exit 2")))
    assert (engine.state(run), engine.why(run, "wait")) == ("FAILURE", "exit code 2")
    assert looks(engine, run) == 0


async def test_a_moment_that_comes_ends_the_wait_by_the_clock_of_the_database(engine: Engine) -> None:
    at = engine.cluster.one("SELECT to_char((now() + interval '3 s') AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')")
    run = await engine.run(engine.define(waits(time=str(at))))
    assert engine.state(run) == "SUCCESS"
    ended = "SELECT ended_at >= (%s || '+00')::timestamptz FROM task_instance WHERE workflow_instance_id = %s"
    assert engine.cluster.one(ended, at, run)
    assert looks(engine, run) in (1, 2), "one before that moment, unless the machine is slow, and one then"


async def test_a_moment_that_is_over_ends_the_wait_at_once(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(time="00:00")), schedule_time="2026-01-31 05:00+00")
    assert (engine.state(run), looks(engine, run)) == ("SUCCESS", 1)


@pytest.mark.parametrize(
    ("on_timeout", "state", "end"), [("FAIL", "FAILURE", "FAILURE"), ("SKIP", "SKIPPED", "SUCCESS")]
)
async def test_at_its_timeout_it_fails_or_is_skipped(
    engine: Engine, tmp_path: Path, on_timeout: str, state: str, end: str
) -> None:
    task = waits(file=f"{tmp_path}/no", timeout="3s", on_timeout=on_timeout)
    run = await engine.run(engine.define(task, {"name": "load", "after": ["wait"]}))
    assert (engine.state(run), engine.tasks(run)) == (end, {"wait": state})
    said = f"it waited for its timeout of 3 s; its last look: file {tmp_path}/no: no such file"
    assert engine.why(run, "wait") == said
    took = "SELECT extract(epoch FROM ended_at - queued_at) FROM task_instance WHERE workflow_instance_id = %s"
    assert engine.cluster.one(took, run) >= 3


async def test_a_retry_after_the_timeout_waits_anew(engine: Engine, tmp_path: Path) -> None:
    task = waits(file=f"{tmp_path}/no", timeout="2s", task={"retry_times": 1})
    run = await engine.run(engine.define(task))
    assert engine.attempts(run, "wait") == [("FAILURE", "NO"), ("FAILURE", "YES")]


@pytest.mark.parametrize(("command", "state"), [("STOP", "KILL"), ("PAUSE", "PAUSE")])
async def test_a_halt_ends_it_at_once_between_two_looks(
    engine: Engine, tmp_path: Path, command: str, state: str
) -> None:
    run = await engine.begin(engine.define(waits(file=f"{tmp_path}/in", every="1h")))
    await looked(engine, run)
    await engine.change(command, run)
    assert (await engine.end(run), engine.tasks(run)) == (command, {"wait": state})
    (tmp_path / "in").touch()
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    assert (await engine.end(run), engine.attempts(run, "wait")) == ("SUCCESS", [(state, "NO"), ("SUCCESS", "YES")])


@pytest.mark.parametrize(("command", "state"), [("STOP", "KILL"), ("PAUSE", "PAUSE")])
async def test_a_halt_during_a_look_ends_it_after_that(
    engine: Engine, tmp_path: Path, command: str, state: str
) -> None:
    script = f"touch {tmp_path}/looks; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; exit 1"
    run = await engine.begin(engine.define(waits(script=script)))
    await eventually((tmp_path / "looks").exists, within_s=WITHIN_S)
    await engine.change(command, run)
    (tmp_path / "go").touch()
    assert (await engine.end(run), engine.tasks(run)) == (command, {"wait": state})


async def test_a_look_that_takes_too_long_fails_the_task(engine: Engine) -> None:
    run = await engine.run(engine.define(waits(script="sleep 60", look_timeout="1s")))
    assert engine.state(run) == "FAILURE"
    assert engine.why(run, "wait") == "a look took longer than its look_timeout of 1 s"


async def test_another_master_goes_on_with_the_wait_of_one_that_was_killed(fresh: Engine, tmp_path: Path) -> None:
    master = await fresh.cluster.master()
    await fresh.cluster.worker()
    run = await fresh.begin(fresh.define(waits(file=f"{tmp_path}/in")))
    await looked(fresh, run)
    master.signal(signal.SIGKILL)
    await fresh.cluster.master()
    await looked(fresh, run, looks(fresh, run) + 2)
    (tmp_path / "in").touch()
    assert (await fresh.end(run), fresh.attempts(run, "wait")) == ("SUCCESS", [("SUCCESS", "YES")])


async def test_a_worker_that_is_killed_between_two_looks_costs_nothing(fresh: Engine, tmp_path: Path) -> None:
    await fresh.cluster.master()
    worker = await fresh.cluster.worker()
    run = await fresh.begin(fresh.define(waits(file=f"{tmp_path}/in", every="3s")))
    await looked(fresh, run)
    await fresh.task_becomes(run, "wait", "DELAY_EXECUTION")
    worker.signal(signal.SIGKILL)
    (tmp_path / "in").touch()
    await fresh.cluster.worker()
    assert (await fresh.end(run), fresh.attempts(run, "wait")) == ("SUCCESS", [("SUCCESS", "YES")])


async def test_a_look_that_is_lost_with_its_worker_is_repeated_and_the_timeout_goes_on(
    fresh: Engine, tmp_path: Path
) -> None:
    await fresh.cluster.master()
    worker = await fresh.cluster.worker()
    script = f"[ -e {tmp_path}/go ] && exit 1; touch {tmp_path}/looks; sleep 60"
    run = await fresh.begin(fresh.define(waits(script=script, timeout="2s", on_timeout="SKIP")))
    await eventually((tmp_path / "looks").exists, within_s=WITHIN_S)
    worker.signal(signal.SIGKILL)
    (tmp_path / "go").touch()
    over = "SELECT now() > min(queued_at) + interval '2 s' FROM task_instance WHERE workflow_instance_id = %s"
    await eventually(lambda: fresh.cluster.one(over, run), within_s=WITHIN_S)
    await fresh.cluster.worker()
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.attempts(run, "wait") == [("NEED_FAULT_TOLERANCE", "NO"), ("SKIPPED", "YES")]
    assert looks(fresh, run) == 1, "it had waited for longer than its timeout when the worker was lost"


async def test_a_request_of_a_look_that_is_lost_with_its_worker_is_repeated(fresh: Engine) -> None:
    await fresh.cluster.master()
    worker = await fresh.cluster.worker()
    answers: dict[str, Answer] = {"*": never}
    async with http_server(answers) as server:
        run = await fresh.begin(fresh.define(waits(http={"url": server.address})))
        await eventually(lambda: len(server.seen) == 1, within_s=WITHIN_S)
        worker.signal(signal.SIGKILL)
        answers["*"] = says("200 OK", "ready")
        await fresh.cluster.worker()
        assert await fresh.end(run) == "SUCCESS"
    assert fresh.attempts(run, "wait") == [("NEED_FAULT_TOLERANCE", "NO"), ("SUCCESS", "YES")]


async def test_a_worker_ends_though_looks_hang_in_a_file_system_and_the_next_one_takes_over(
    fresh: Engine, tmp_path: Path, hung: Path
) -> None:
    await fresh.cluster.master()
    where = {"SHOAL_WORKER__FOLDER": f"{tmp_path}/worker", "SHOAL_WORKER__DRAIN": "1s"}
    worker = await fresh.cluster.worker(**where)
    names = ("a", "b")
    run = await fresh.begin(fresh.define(*(waits(name, file=f"{hung}/{name}") for name in names)))
    await eventually(lambda: fresh.tasks(run), until=dict.fromkeys(names, "RUNNING_EXECUTION"), within_s=WITHIN_S)
    assert await fresh.end(await fresh.begin(fresh.define({"name": "beside"}))) == "SUCCESS"
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
    await fresh.cluster.worker(**where)
    assert await fresh.end(await fresh.begin(fresh.define({"name": "after"}))) == "SUCCESS"
    await fresh.change("STOP", run)
    assert await fresh.end(run) == "STOP"
    assert [fresh.attempts(run, name)[0] for name in names] == [("NEED_FAULT_TOLERANCE", "NO")] * 2


async def test_no_place_is_taken_by_many_that_wait(fresh: Engine, tmp_path: Path) -> None:
    """Two places, and a thousand that wait: others run as if they were alone, and all end when their file comes."""
    await fresh.cluster.master()
    worker: Node = await fresh.cluster.worker(SHOAL_WORKER__CAPACITY="2")
    tasks = [waits(f"wait {number}", file=f"{tmp_path}/in", every="20s") for number in range(1_000)]
    run = await fresh.begin(fresh.define(*tasks))
    waiting = "SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s AND state = 'DELAY_EXECUTION'"
    await eventually(lambda: fresh.cluster.one(waiting, run), until=1_000, within_s=WITHIN_S)
    held = "SELECT count(*) FROM task_instance WHERE workflow_instance_id = %s AND worker_id IS NOT NULL"
    assert fresh.cluster.one(held, run) == 0
    assert await fresh.end(await fresh.begin(fresh.define({"name": "a"}, {"name": "b"}, {"name": "c"}))) == "SUCCESS"
    (tmp_path / "in").touch()
    assert await fresh.end(run) == "SUCCESS"
    assert worker.is_alive
