"""`shoal rerun` and `shoal task mark`, on a real cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.shoal.live_cluster import live_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKFLOWS = """
name: chain
params: {fixed: /nowhere}
tasks:
  - {name: extract, type: FAKE}
  - {name: load, type: SHELL, after: [extract], params: {script: 'test -e "${fixed}"'}}
  - {name: report, type: FAKE, after: [load]}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("rerun"), WORKFLOWS) as made:
        yield made


async def _failed(shoal: CommandLine, fixed: Path | str = "/nowhere") -> str:
    done = await shoal("run", "chain", "-p", f"fixed={fixed}", "--wait", "--json")
    assert (done.code, done.json["state"], done.json["tasks"]) == (1, "FAILURE", 2), done.err
    return str(done.json["run_id"])


async def _attempts(shoal: CommandLine, run: str) -> list[tuple[str, str, int, bool]]:
    tasks = (await shoal("show", run, "--json")).json["tasks"]
    return [(task["name"], task["state"], task["attempt"], task["valid"]) for task in tasks]


async def test_a_rerun_of_what_failed_keeps_the_successes(shoal: CommandLine, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    run = await _failed(shoal, fixed)
    (shown,) = await shoal.each(f"show {run}")
    assert f"Go on: shoal rerun {run} --failed" in shown.out
    fixed.touch()
    again = await shoal("rerun", "@failed", "--failed", "--wait")
    assert (again.code, f"Run {run} of chain: SUCCESS, 3 tasks in" in again.out) == (0, True)
    assert await _attempts(shoal, run) == [
        ("extract", "SUCCESS", 1, True),
        ("load", "FAILURE", 1, False),
        ("load", "SUCCESS", 2, True),
        ("report", "SUCCESS", 1, True),
    ]


async def test_a_rerun_of_all_begins_again_in_the_same_run(shoal: CommandLine) -> None:
    run = await _failed(shoal)
    again = await shoal("rerun", run, "--wait")
    assert (again.code, "FAILURE, 2 tasks in" in again.out) == (1, True)
    assert await _attempts(shoal, run) == [
        ("extract", "SUCCESS", 1, False),
        ("load", "FAILURE", 1, False),
        ("extract", "SUCCESS", 2, True),
        ("load", "FAILURE", 2, True),
    ]
    shown, fields = await shoal.each(f"show {run}", f"show {run} --json")
    assert "run 2 times from the start" in shown.out
    assert fields.json["run_times"] == 2


async def test_a_rerun_of_a_task_leaves_the_others_alone(shoal: CommandLine) -> None:
    run = await _failed(shoal)
    asked = await shoal("rerun", run, "--task", "extract", "--depend", "task_only")
    assert (asked.code, f"Run {run} of chain runs extract again." in asked.out) == (0, True)
    wrong = await shoal("rerun", run, "--task", "extrac", "--wait")
    assert wrong.code == 1
    before = await shoal("rerun", run, "--task", "load", "--depend", "task_pre", "--wait", "--json")
    assert (before.code, before.json["tasks"]) == (1, 2)
    again = [each for each in await _attempts(shoal, run) if each[3]]
    assert again == [("extract", "SUCCESS", 3, True), ("load", "FAILURE", 2, True)]


async def test_a_failed_task_that_is_marked_as_a_success_lets_its_run_go_on(shoal: CommandLine) -> None:
    run = await _failed(shoal)
    marked = await shoal("task", "mark", f"{run}/load", "--success")
    assert marked.code == 0, marked.err
    assert f"of run {run} counts as a success now; it was FAILURE." in marked.out
    assert f"Go on from it: shoal rerun {run} --failed" in marked.out
    twice, good, away, how, why, shown = await shoal.each(
        f"task mark {run}/load --success",
        f"task mark {run}/extract --success",
        f"task mark {run}/report --success",
        f"task mark {run}/load",
        f"why {run}/load",
        f"show {run}",
    )
    assert (twice.code, "is declared a success already" in twice.sentence) == (2, True)
    assert (good.code, "is SUCCESS; only one that ended as FAILURE, KILL, NEED" in good.sentence) == (2, True)
    assert (away.code, how.code) == (5, 2)
    assert "load failed and was declared a success." in why.out
    assert "✓ FORCED_SUCCESS" in shown.out
    assert "declared a success after its FAILURE: " in shown.out
    on = await shoal("rerun", run, "--failed", "--wait", "--json")
    assert (on.code, on.json["state"], on.json["tasks"]) == (0, "SUCCESS", 3), on.err


async def test_only_the_last_attempt_that_counts_can_be_marked(shoal: CommandLine) -> None:
    run = await _failed(shoal)
    first = (await shoal("show", run, "--json")).json["tasks"][-1]["id"]
    assert (await shoal("rerun", run, "--failed", "--wait")).code == 1
    last = (await shoal("show", run, "--json")).json["tasks"][-1]["id"]
    old, new = await shoal.each(f"task mark {first} --success", f"task mark {last} --success --json")
    assert (old.code, f"is not its last attempt; declare {last} a success instead" in old.sentence) == (2, True)
    assert new.json == {"task_instance_id": last, "run_id": run, "state": "FORCED_SUCCESS"}


async def test_a_rerun_that_does_not_fit_is_said(shoal: CommandLine, tmp_path: Path) -> None:
    fixed = tmp_path / "fixed"
    fixed.touch()
    done = await shoal("run", "chain", "-p", f"fixed={fixed}", "--wait", "--json")
    run = done.json["run_id"]
    good, both, alone, listed = await shoal.each(
        f"rerun {run} --failed",
        f"rerun {run} --failed --task load",
        f"rerun {run} --depend task_pre",
        "queue errors",
    )
    assert (good.code, good.sentence) == (
        1,
        f"workflow instance {run} is SUCCESS, so START_FAILURE_TASK_PROCESS cannot run its failed tasks again; "
        "it must be FAILURE",
    )
    assert (both.code, alone.code) == (2, 2)
    assert "START_FAILURE_TASK_PROCESS" in listed.out


async def _publish(shoal: CommandLine, tmp_path: Path, text: str) -> None:
    file = tmp_path / "next.yaml"
    file.write_text(text, "utf-8")
    applied = await shoal("workflow", "apply", str(file))
    assert applied.code == 0, applied.err


async def _versions(shoal: CommandLine, run: str) -> tuple[int, str]:
    shown = (await shoal("show", run, "--json")).json
    return shown["version"], shown["state"]


def _fixable(name: str, script: str, where: str = "/nowhere", extract: str = "FAKE") -> str:
    """A workflow whose second task fails until its script or its parameter is corrected."""
    return f"""
name: {name}
params: {{where: {where}, day: '$[yyyyMMdd]', given: no}}
tasks:
  - {{name: extract, type: SHELL, params: {{script: 'echo "{extract}"; echo "#{{setValue(found=7)}}"'}}}}
  - {{name: load, type: SHELL, after: [extract], params: {{script: '{script}'}}}}
  - {{name: report, type: FAKE, after: [load]}}
"""


async def test_a_rerun_says_that_it_keeps_its_version(shoal: CommandLine, tmp_path: Path) -> None:
    await _publish(shoal, tmp_path, _fixable("silent", "exit 1"))
    run = str((await shoal("run", "silent", "--wait", "--json")).json["run_id"])
    await _publish(shoal, tmp_path, _fixable("silent", "exit 0"))
    why = await shoal("why", f"{run}/load")
    assert "This run keeps v1; v2 changes load." in why.out
    assert f"With v2: shoal rerun {run} --newest" in why.out
    again = await shoal("rerun", run, "--failed", "--wait")
    assert (again.code, "it keeps v1; v2 changes load" in again.err) == (1, True), again.err
    assert await _versions(shoal, run) == (1, "FAILURE")


async def test_a_run_below_that_goes_on_says_that_it_keeps_its_version(shoal: CommandLine, tmp_path: Path) -> None:
    """Two levels down too; a new run below has the newest version, and says nothing."""
    await _publish(shoal, tmp_path, _fixable("lowest", "exit 1"))
    for name, below in (("middle", "lowest"), ("upper", "middle")):
        tasks = f"[{{name: sub, type: SUB_PROCESS, params: {{workflow: {below}}}}}]"
        await _publish(shoal, tmp_path, f"name: {name}\ntasks: {tasks}\n")
    run = str((await shoal("run", "upper", "--wait", "--json")).json["run_id"])
    await _publish(shoal, tmp_path, _fixable("lowest", "exit 0"))
    again = await shoal("rerun", run, "--failed", "--wait")
    below = int(run) + 2
    told = f"run {below} of lowest below it keeps v1; to have v2, first: shoal rerun {below} --newest"
    assert (again.code, told in again.err) == (1, True), again.err
    assert (await shoal("rerun", str(below), "--newest", "--wait")).code == 0
    again = await shoal("rerun", run, "--failed", "--wait")
    assert (again.code, "below it" in again.err) == (0, False), again.err


async def test_a_resumed_run_says_that_it_keeps_its_version_too(shoal: CommandLine, tmp_path: Path) -> None:
    await _publish(shoal, tmp_path, _fixable("held", "sleep 600"))
    await shoal("run", "held")
    stopped = await shoal("stop", "@last", "--wait", "--json")
    run = stopped.json["run_id"]
    await _publish(shoal, tmp_path, _fixable("held", "exit 0"))
    resumed = await shoal("resume", "@last")
    assert f"it keeps v1; v2 changes load; with v2: shoal rerun {run} --newest" in resumed.err
    await shoal("stop", "@last", "--wait")


async def test_a_rerun_with_the_newest_version_runs_what_failed_or_changed_and_keeps_the_rest(
    shoal: CommandLine, tmp_path: Path
) -> None:
    """The kept task's outputs are still there for the changed one, as are the date and the given parameter."""
    await _publish(shoal, tmp_path, _fixable("fixed", "exit 1"))
    run = str((await shoal("run", "fixed", "-p", "given=yes", "--wait", "--json")).json["run_id"])
    before = (await shoal("show", run, "--json")).json
    await _publish(shoal, tmp_path, _fixable("fixed", 'test "${found} ${given}" = "7 yes"'))
    done = await shoal("rerun", run, "--newest", "--wait")
    assert (done.code, "SUCCESS, 3 tasks in" in done.out) == (0, True), done.err
    assert await _attempts(shoal, run) == [
        ("extract", "SUCCESS", 1, True),
        ("load", "FAILURE", 1, False),
        ("load", "SUCCESS", 2, True),
        ("report", "SUCCESS", 1, True),
    ]
    after = (await shoal("show", run, "--json")).json
    assert (after["version"], after["schedule_time"]) == (2, before["schedule_time"])
    over = await shoal("rerun", run, "--newest")
    assert (over.code, "has version 2, which is the newest of fixed" in over.sentence) == (2, True)


async def test_a_changed_task_that_succeeded_runs_again_with_all_after_it(shoal: CommandLine, tmp_path: Path) -> None:
    """Also in a run that succeeded: what it made may have been wrong."""
    await _publish(shoal, tmp_path, _fixable("wrong", "exit 0"))
    run = str((await shoal("run", "wrong", "--wait", "--json")).json["run_id"])
    await _publish(shoal, tmp_path, _fixable("wrong", "exit 0", extract="right"))
    assert (await shoal("rerun", run, "--newest", "--wait")).code == 0
    counting = [each[:3] for each in await _attempts(shoal, run) if each[3]]
    assert counting == [("extract", "SUCCESS", 2), ("load", "SUCCESS", 2), ("report", "SUCCESS", 2)]


async def test_a_parameter_that_the_newest_version_corrects_has_its_new_value(
    shoal: CommandLine, tmp_path: Path
) -> None:
    script = 'test -d "${where}"'
    await _publish(shoal, tmp_path, _fixable("moved", script))
    run = str((await shoal("run", "moved", "--wait", "--json")).json["run_id"])
    await _publish(shoal, tmp_path, _fixable("moved", script, where="/tmp"))
    assert "v2 changes load." in (await shoal("why", run)).out
    assert (await shoal("rerun", run, "--newest", "--wait")).code == 0
    assert ("extract", "SUCCESS", 1, True) in await _attempts(shoal, run)


async def test_tasks_that_the_newest_version_adds_and_removes(shoal: CommandLine, tmp_path: Path) -> None:
    await _publish(shoal, tmp_path, _fixable("shaped", "exit 1"))
    run = str((await shoal("run", "shaped", "--wait", "--json")).json["run_id"])
    other = "name: shaped\ntasks: [{name: check, type: FAKE}, {name: report, type: FAKE, after: [check]}]\n"
    await _publish(shoal, tmp_path, other)
    assert "v2 changes check, report, extract, load." in (await shoal("why", run)).out
    assert (await shoal("rerun", run, "--newest", "--wait", "--json")).json["state"] == "SUCCESS"
    assert [each[:2] for each in await _attempts(shoal, run) if each[3]] == [
        ("check", "SUCCESS"),
        ("report", "SUCCESS"),
    ]
    assert await _versions(shoal, run) == (2, "SUCCESS")
