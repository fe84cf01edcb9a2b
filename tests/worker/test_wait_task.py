"""The task type WAIT: one look of each kind."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from dao.tasks.task_claims import ClaimedTask
from model.errors import Refused
from model.ids import TaskInstanceId
from model.runs.states import TaskState as T
from tests.eventually import eventually
from tests.every import every
from tests.hung_folder import hung_folder
from tests.no_descriptors import no_descriptors
from tests.worker.errand import Errands, claimed
from tests.worker.http_server import HttpServer, http_server, never, says
from tests.worker.scene import Scene
from tests.worker.test_tasks import context
from worker.attempts import look_places
from worker.attempts.look_places import LookPlaces
from worker.statements.thread import threads_at_work
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskContext, TaskResult
from worker.tasks.wait import WaitTask
from worker.tasks.wait_thing import moment_of

NOT_YET = T.DELAY_EXECUTION
BERLIN = ZoneInfo("Europe/Berlin")
FIVE = datetime(2026, 1, 31, 5, 0, tzinfo=BERLIN)


async def look(
    scene: Scene, thing: dict[str, Any], values: dict[str, str] | None = None, given: TaskContext | None = None
) -> TaskResult:
    task = TaskCatalog().make("WAIT", json.dumps({"for": thing}), values or {})
    return await task.run(given or context(scene, values=values))


@pytest.mark.parametrize("thing", [{"file": "{0}/a.csv"}, {"file": "{0}/*.csv"}, {"file": "{0}"}])
async def test_a_file_is_there_by_its_path_or_a_pattern(scene: Scene, tmp_path: Path, thing: dict[str, str]) -> None:
    (tmp_path / "b.csv").touch()
    (tmp_path / "a.csv").touch()
    result = await look(scene, {"file": thing["file"].format(tmp_path)})
    assert result.state is T.SUCCESS
    assert result.outputs == {"file": str(tmp_path if thing["file"] == "{0}" else tmp_path / "a.csv")}
    assert scene.log.text.endswith("looked: SUCCESS\n")


@pytest.mark.parametrize("path", ["{0}/a.csv", "{0}/*.csv", "{0}/b/c", "{0}/file/c"])
async def test_a_file_that_is_not_there_is_looked_for_again(scene: Scene, tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    result = await look(scene, {"file": path.format(tmp_path)})
    assert (result.state, result.reason) == (NOT_YET, f"file {path.format(tmp_path)}: no such file")
    assert "Z not yet: file " in scene.log.text


async def test_a_value_in_a_path_is_no_pattern_and_is_shown(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    for path, shown in (("/${name}", "/*"), ("/${name}.*", "/*.*")):
        result = await look(scene, {"file": str(tmp_path) + path}, {"name": "*"})
        assert (result.state, result.reason) == (NOT_YET, f"file {tmp_path}{shown}: no such file")
    (tmp_path / "*.csv").touch()
    result = await look(scene, {"file": f"{tmp_path}/${{name}}.cs?"}, {"name": "*"})
    assert result.outputs == {"file": f"{tmp_path}/*.csv"}


async def test_a_file_that_cannot_be_looked_for_is_a_failure(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Refused, match="Too many levels of symbolic links"):
        await look(scene, {"file": f"{tmp_path}/loop/a"})


@pytest.mark.parametrize(("path", "why"), [("in.csv", "must begin with /"), ("${dir}/in.csv", "must begin with /")])
async def test_a_path_must_be_absolute(scene: Scene, path: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        await look(scene, {"file": path}, {"dir": "in"})


@pytest.mark.parametrize(
    ("thing", "why"),
    [({"file": "in/x.csv"}, "file: in/x.csv must begin with /"), ({"time": "25:99"}, 'time: "25:99" is no time')],
)
def test_what_can_never_come_is_refused_when_it_is_saved(thing: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        WaitTask.Params.model_validate({"for": thing})
    for fits in ({"file": "${folder}/x"}, {"time": "06:30"}, {"time": "$[yyyy-MM-dd+1] 06:30"}):
        WaitTask.Params.model_validate({"for": fits})


async def test_an_answer_is_there_when_it_is_as_expected(scene: Scene) -> None:
    answers = {"*": says("200 OK", "ready")}
    async with http_server(answers) as server:
        request = {"url": f"{server.address}/${{path}}", "body_contains": "ready"}
        found = await look(scene, {"http": request}, {"path": "a b"})
        answers["*"] = says("200 OK", "not")
        unlike = await look(scene, {"http": request}, {"path": "a b"})
        assert server.seen[0].line == "GET /a%20b HTTP/1.1"
    gone = await look(scene, {"http": request}, {"path": "a b"})
    assert (found.state, found.outputs) == (T.SUCCESS, {"status": "200", "body": "ready"})
    assert (unlike.state, gone.state) == (NOT_YET, NOT_YET)
    assert "does not contain the text of body_contains" in unlike.reason
    assert "cannot connect" in gone.reason


@pytest.mark.parametrize(
    ("select", "state"),
    [
        *(("1", T.SUCCESS), ("'a'", T.SUCCESS), ("-0.5", T.SUCCESS), ("'true'", T.SUCCESS), ("'nan'", T.SUCCESS)),
        *(("0", NOT_YET), ("'False'", NOT_YET), ("NULL", NOT_YET), ("''", NOT_YET), ("0.00", NOT_YET)),
        *(("1 WHERE 1 = 0", NOT_YET), ("0, 1", NOT_YET), ("1, 0", T.SUCCESS), ("count(*) WHERE 1 = 0", NOT_YET)),
    ],
)
async def test_a_query_says_by_its_first_column(scene: Scene, select: str, state: T) -> None:
    async def data_source(_: str) -> str:
        return "sqlite://"

    thing = {"sql": {"datasource": "here", "sql": f"SELECT {select}"}}
    result = await look(scene, thing, given=replace(context(scene), data_source=data_source))
    assert result.state is state
    if state is NOT_YET:
        assert result.reason.startswith("data source here: the query gave ")


async def test_values_are_bound_in_a_query_and_name_its_data_source(scene: Scene) -> None:
    asked = []

    async def data_source(name: str) -> str:
        asked.append(name)
        return "sqlite://"

    values = {"name": "here", "day": "'; DROP TABLE a"}
    given = replace(context(scene, values=values), data_source=data_source)
    thing = {"sql": {"datasource": "${name}", "sql": ["SELECT length(${day})"]}}
    task = TaskCatalog().make("WAIT", json.dumps({"for": thing}), values)
    assert task.data_source(values) == "here"
    result = await task.run(given)
    assert (asked, result.state, list(result.outputs.values())) == (["here"], T.SUCCESS, ["15"])


async def test_what_cannot_be_reached_is_not_there_and_a_wrong_query_fails(scene: Scene) -> None:
    async def nowhere(_: str) -> str:
        return "postgresql+psycopg://127.0.0.1:1/none"

    async def here(_: str) -> str:
        return "sqlite://"

    thing = {"sql": {"datasource": "here", "sql": "SELECT a FROM absent"}}
    result = await look(scene, thing, given=replace(context(scene), data_source=nowhere))
    assert result.state is NOT_YET
    assert "cannot reach the data source" in result.reason
    with pytest.raises(Refused, match="no such table"):
        await look(scene, thing, given=replace(context(scene), data_source=here))


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        ("exit 0", T.SUCCESS, ""),
        ("echo soon; exit 1", NOT_YET, "the script ended with exit code 1: soon"),
        ("test -e /there/is/no/such", NOT_YET, "the script ended with exit code 1"),
        ("exit 2", T.FAILURE, "exit code 2"),
        ("echo '#{setSkipped(not today)}'", T.SKIPPED, "not today"),
    ],
)
async def test_a_script_says_by_its_exit_code(scene: Scene, script: str, state: T, reason: str) -> None:
    result = await look(scene, {"script": script})
    assert (result.state, result.reason) == (state, reason)


async def test_a_value_in_a_script_is_no_code(scene: Scene) -> None:
    result = await look(scene, {"script": 'echo "${name}"'}, {"name": "$(touch a)"})
    assert (result.state, scene.log.text.splitlines()[0]) == (T.SUCCESS, "$(touch a)")
    assert not (scene.cwd / "a").exists()


async def test_a_look_that_takes_too_long_is_ended(scene: Scene) -> None:
    params = {"for": {"script": "sleep 100"}, "look_timeout": "1s"}
    result = await TaskCatalog().make("WAIT", json.dumps(params), {}).run(context(scene))
    assert (result.state, result.reason) == (T.FAILURE, "a look took longer than its look_timeout of 1 s")
    assert not scene.alive()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("06:30", datetime(2026, 1, 31, 6, 30, tzinfo=BERLIN)),
        (" 06:30:15 ", datetime(2026, 1, 31, 6, 30, 15, tzinfo=BERLIN)),
        ("2026-02-01 06:30", datetime(2026, 2, 1, 6, 30, tzinfo=BERLIN)),
        ("2026-07-01T06:30:00+00:00", datetime(2026, 7, 1, 6, 30, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 7, 1, tzinfo=BERLIN)),
    ],
)
def test_a_time_is_of_the_day_of_the_schedule_time_in_its_zone(text: str, moment: datetime) -> None:
    assert moment_of(text, FIVE).timestamp() == moment.timestamp()


@every("text", ["", "24:00", "half past six", "6:30", "2026-02-30", "0001-01-01 00:00+23:59"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Refused, match=r"is no time; write 06:30, or"):
        moment_of(text, FIVE)


async def test_a_moment_is_left_to_the_clock_of_the_database(scene: Scene) -> None:
    given = replace(context(scene), local_time=lambda: FIVE)
    task = TaskCatalog().make("WAIT", json.dumps({"for": {"time": "04:00"}}), {})
    result = await task.run(given)
    assert (result.state, result.reason) == (NOT_YET, "it is not 2026-01-31 04:00:00+01:00 yet")
    assert task.again is not None
    assert task.again.at_s == datetime(2026, 1, 31, 3, 0, tzinfo=UTC).timestamp()


@every(
    ("params", "why"),
    [
        ({}, "for: Field required"),
        ({"for": {}}, "WAIT parameters: for: must have exactly one of file, s3, http, sql, script, time"),
        ({"for": {"file": "/a", "time": "06:30"}}, "must have exactly one of"),
        ({"for": {"file": None}}, "must have exactly one of"),
        (
            {"for": {"file": "/a"}, "every": "0.5s"},
            "WAIT parameters: every must be at least 1 s; write it as 30s or 5m",
        ),
        ({"for": {"file": "/a"}, "look_timeout": 0}, "look_timeout must be at least 1 s"),
        ({"for": {"file": "/a"}, "backoff": 0.5}, "backoff: Input should be greater than or equal to 1"),
        ({"for": {"file": "/a"}, "on_timeout": "WAIT"}, "on_timeout: Input should be 'FAIL' or 'SKIP'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make("WAIT", json.dumps(params), {})
    assert why in str(refused.value)


async def test_a_whole_attempt_reports_when_it_looks_again(errands: Errands, tmp_path: Path) -> None:
    params = {"for": {"file": f"{tmp_path}/a"}, "every": "10s", "backoff": 2, "timeout": "1h", "on_timeout": "SKIP"}
    end = await errands.run(claimed("WAIT", params=params))
    assert (end.state, end.reason) == (NOT_YET, f"file {tmp_path}/a: no such file")
    assert end.again is not None
    assert (end.again.every_s, end.again.factor, end.again.within_s, end.again.late) == (10, 2, 3600, T.SKIPPED)
    (tmp_path / "a").touch()
    end = await errands.run(claimed("WAIT", params=params))
    assert (end.state, end.again, json.loads(end.outputs or "")) == (T.SUCCESS, None, {"file": f"{tmp_path}/a"})
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    "thing",
    [
        {"file": "{folder}/a"},
        {"file": "{folder}/${{name}}/*.csv"},
        {"http": {"url": "{address}/"}},
        {"http": {"url": "{address}/", "method": "HEAD", "outputs": {"a": "$.a"}}},
        {"time": "2999-01-01"},
    ],
)
async def test_a_look_that_changes_nothing_needs_no_process(
    errands: Errands, tmp_path: Path, thing: dict[str, Any]
) -> None:
    async with http_server({"*": says("503 Service Unavailable")}) as server:
        end = await errands.run(waits(thing, tmp_path, server))
    assert (end.state, errands.launcher.warm_pid) == (NOT_YET, None)
    assert "not yet: " in errands.log
    assert not (errands.folder / "work").exists()


@pytest.mark.parametrize(
    "thing",
    [
        {"file": "{folder}/*/a"},
        {"http": {"url": "{address}/", "method": "POST"}},
        {"http": {"url": "{address}/", "response_bytes_max": 2_000_000}},
    ],
)
async def test_a_look_that_may_change_or_take_much_has_a_process(
    errands: Errands, tmp_path: Path, thing: dict[str, Any]
) -> None:
    async with http_server({"*": says("503 Service Unavailable")}) as server:
        end = await errands.run(waits(thing, tmp_path, server))
    assert (end.state, errands.launcher.warm_pid is not None) == (NOT_YET, True)


def waits(thing: dict[str, Any], folder: Path, server: HttpServer, **params: Any) -> ClaimedTask:
    """A WAIT task for a thing that names a folder or a server."""
    filled = {
        kind: given.format(folder=folder)
        if isinstance(given, str)
        else {**given, "url": given["url"].format(address=server.address)}
        for kind, given in thing.items()
    }
    return claimed("WAIT", params={"for": filled, **params}, values={"name": "[*]/b"})


async def test_what_a_server_answers_to_a_look_shows_no_secret(errands: Errands) -> None:
    leases = json.dumps({"proxies": [{"name": "p1", "data": {"password": "sword fish"}}]})
    answers = {"*": says("503 Service Unavailable", "no sword fish")}
    async with http_server(answers) as server:
        task = claimed("WAIT", params={"for": {"http": {"url": server.address}}}, leases=leases)
        await errands.run(task)
        answers["*"] = says("200 OK", "sword fish")
        end = await errands.run(task)
    assert "no ******" in errands.log
    assert (end.state, json.loads(end.outputs or "")) == (T.SUCCESS, {"status": "200", "body": "******"})
    assert "sword fish" not in errands.log


async def test_a_worker_that_was_cut_off_sends_no_request_of_a_look(errands: Errands) -> None:
    errands.launcher.set_deadline(0.001)
    async with http_server({"*": says("200 OK")}) as server:
        end = await errands.run(claimed("WAIT", params={"for": {"http": {"url": server.address}}}))
    assert (end.state, server.seen) == (T.NEED_FAULT_TOLERANCE, [])


async def test_a_look_that_finds_no_descriptor_is_given_back(errands: Errands, tmp_path: Path) -> None:
    task = claimed("WAIT", params={"for": {"file": f"{tmp_path}/*.csv"}})
    await errands.run(task)
    with no_descriptors():
        end = await errands.run(task)
    assert (end.state, errands.lacked_means) == (T.PAUSE, 1)
    assert "Too many open files" in end.reason


async def test_a_server_that_does_not_answer_ends_a_look_by_its_limit_and_loses_its_connection(
    errands: Errands,
) -> None:
    async with http_server({"*": never}) as server:
        params = {"for": {"http": {"url": server.address}}, "look_timeout": "1s"}
        end = await errands.run(claimed("WAIT", params=params))
        assert (end.state, end.reason) == (T.FAILURE, "a look took longer than its look_timeout of 1 s")
        await asyncio.wait_for(server.gone.wait(), 60)
    assert len(server.seen) == 1
    await eventually(threads_at_work, until=0)


async def test_a_kill_during_a_look_closes_its_connection(errands: Errands) -> None:
    async with http_server({"*": never}) as server:
        looking = asyncio.create_task(errands.run(claimed("WAIT", params={"for": {"http": {"url": server.address}}})))
        await eventually(lambda: len(server.seen) == 1, within_s=20)
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
        await asyncio.wait_for(server.gone.wait(), 60)
    await eventually(threads_at_work, until=0)


@pytest.mark.parametrize("name", ["a", "*.csv"])
async def test_a_file_system_that_hangs_ends_a_look_by_its_limit(errands: Errands, hung: Path, name: str) -> None:
    params = {"for": {"file": f"{hung}/{name}"}, "look_timeout": "1s"}
    end = await errands.run(claimed("WAIT", params=params))
    assert (end.state, end.reason) == (T.FAILURE, "a look took longer than its look_timeout of 1 s")
    assert (threads_at_work(), errands.launcher.warm_pid) == (1, None)


async def test_a_look_that_hangs_holds_up_no_other_task_and_can_be_killed(
    errands: Errands, tmp_path: Path, hung: Path
) -> None:
    looking = asyncio.create_task(errands.run(claimed("WAIT", params={"for": {"file": f"{hung}/a"}})))
    await eventually(lambda: threads_at_work() == 1, within_s=20)
    assert (await errands.run(claimed("WAIT", params={"for": {"file": str(tmp_path)}}, id=6))).state is T.SUCCESS
    assert (await errands.run(claimed("FAKE", params={}, id=7))).state is T.SUCCESS
    assert not looking.done()
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking


async def test_many_looks_that_hang_leave_the_next_ones_to_processes(
    errands: Errands, tmp_path: Path, hung: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each hangs in a file system of its own: on a shared one, Linux kills no process that waits for another's look."""
    monkeypatch.setattr(look_places, "THREADS_MAX", 1)
    with hung_folder(tmp_path / "too") as other:
        for number, folder in enumerate((hung, other)):
            params = {"for": {"file": f"{folder}/a"}, "look_timeout": "1s"}
            end = await errands.run(claimed("WAIT", params=params, id=TaskInstanceId(10 + number)))
            assert (end.state, end.reason) == (T.FAILURE, "a look took longer than its look_timeout of 1 s")
            assert (threads_at_work(), errands.launcher.warm_pid is not None) == (1, folder is other)
        assert (await errands.run(claimed("WAIT", params={"for": {"file": str(tmp_path)}}))).state is T.SUCCESS


async def test_a_look_waits_a_moment_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_places, "PLACES", 1)
    places = LookPlaces()
    begun = asyncio.Event()

    async def look() -> bool:
        begun.set()
        async with places.one() as has_place:
            return has_place

    async with places.one() as first:
        second = asyncio.create_task(look())
        await begun.wait()
    assert (first, await second) == (True, True)
    monkeypatch.setattr(look_places, "WAITS_S_MAX", 0.05)
    async with places.one() as first:
        assert (first, await look()) == (True, False)
    assert await look()
