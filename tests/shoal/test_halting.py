"""`shoal pause`, `stop`, `resume`, and what `show` and `why` say meanwhile, on a real cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.shoal.live_cluster import live_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKFLOWS = """
name: steps
params: {gate: /nowhere}
tasks:
  - {name: first, type: SHELL, params: {script: 'until test -e "${gate}"; do sleep 0.05; done'}}
  - {name: second, type: FAKE, after: [first]}
---
name: in_line
execution_type: SERIAL_WAIT
worker_group: nobody
tasks: [{name: only, type: FAKE}]
---
name: above
tasks:
  - {name: below, type: SUB_PROCESS, params: {workflow: stuck}}
---
name: stuck
tasks: [{name: only, type: FAKE, worker_group: nobody}]
---
name: needs
tasks:
  - name: upstream
    type: DEPENDENT
    params: {groups: [{items: [{workflow: steps, task: second, cycle: lastMonth}]}]}
---
name: chooses
params: {size: "1"}
tasks:
  - {name: ask, type: SWITCH, params: {cases: [{when: "${size} > 5", then: [big]}], default: [small]}}
  - {name: big, type: FAKE, after: [ask]}
  - {name: after_big, type: FAKE, after: [big]}
  - {name: small, type: FAKE, after: [ask]}
  - {name: never, type: FAKE, flag: "NO", after: [small]}
  - {name: end, type: FAKE, after: [never]}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("halting"), WORKFLOWS) as made:
        yield made


async def _started(shoal: CommandLine, *arguments: str, state: str = "RUNNING_EXECUTION") -> str:
    """A new run whose first task, or which itself, has come to a state."""
    asked = await shoal("run", *arguments, "--json")
    assert asked.code == 0, asked.err

    async def run() -> str | None:
        found = (await shoal("why", "command", asked.json["command_id"])).out
        if "it became run " not in found:
            return None
        id_ = found.partition("it became run ")[2].split(".")[0]
        page = (await shoal("show", id_, "--json")).json
        return id_ if page["state"] == state or state in [task["state"] for task in page["tasks"]] else None

    found = await eventually(run, within_s=20)
    assert found is not None
    return found


async def test_a_paused_run_lets_what_runs_finish_and_goes_on_when_it_is_resumed(
    shoal: CommandLine, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run = await _started(shoal, "steps", "-p", f"gate={gate}")
    await _task_runs(shoal, run, "first")
    (asked,) = await shoal.each(f"pause {run}")
    assert (asked.code, f"Run {run} of steps is being paused." in asked.out) == (0, True)
    await eventually(lambda: _is(shoal, run, "READY_PAUSE"), within_s=10)
    why, shown, twice = await shoal.each(f"why {run}", f"show {run}", f"pause {run}")
    assert f"Run {run} of steps is being paused: first still runs. first runs on " in why.out
    assert f"→ Kill them: shoal stop {run}" in why.out
    assert "READY_PAUSE" in shown.out
    assert "what runs may finish, nothing new begins" in shown.out
    assert (twice.code, "it is being paused already" in twice.sentence) == (1, True)
    gate.touch()
    await eventually(lambda: _is(shoal, run, "PAUSE"), within_s=10)
    why, shown, stopped = await shoal.each(f"why {run}", f"show {run}", f"stop {run}")
    assert "has ended as PAUSE: it was paused; it goes on when it is resumed; second would run then." in why.out
    assert f"→ Let it go on: shoal resume {run}" in why.out
    assert "‖ PAUSE" in shown.out
    assert f"Let it go on: shoal resume {run}" in shown.out
    assert (stopped.code, "it has ended, and nothing of it runs" in stopped.sentence) == (1, True)
    resumed = await shoal("resume", run, "--wait", "--json")
    assert (resumed.code, resumed.json["state"], resumed.json["tasks"]) == (0, "SUCCESS", 2)


async def test_a_stopped_run_kills_what_runs_and_goes_on_when_it_is_resumed(shoal: CommandLine, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run = await _started(shoal, "steps", "-p", f"gate={gate}")
    await _task_runs(shoal, run, "first")
    (early,) = await shoal.each(f"task mark {run}/first --success")
    assert (early.code, "while its run is RUNNING_EXECUTION; wait for its end" in early.sentence) == (2, True)
    stopped = await shoal("stop", run, "--wait", "--json")
    assert (stopped.code, stopped.json["state"], stopped.json["run_id"]) == (0, "STOP", run)
    why, shown, task = await shoal.each(f"why {run}", f"show {run}", f"why {run}/first")
    assert "has ended as STOP: it was stopped; it goes on when it is resumed; first, second would run then." in why.out
    assert "■ KILL" in shown.out
    assert "first has ended as KILL" in task.out
    gate.touch()
    resumed = await shoal("resume", run, "--wait")
    assert resumed.code == 0, resumed.out
    (page,) = await shoal.each(f"show {run} --json")
    assert [(each["name"], each["state"], each["valid"]) for each in page.json["tasks"]] == [
        ("first", "KILL", False),
        ("first", "SUCCESS", True),
        ("second", "SUCCESS", True),
    ]
    short, whole = await shoal.each(f"show {run}", f"show {run} --all")
    assert f"Not shown: 1 earlier attempt. See all: shoal show {run} --all" in short.out
    assert "no longer counts" in whole.out


async def test_what_waits_for_its_turn_says_behind_whom_and_can_be_stopped_at_once(shoal: CommandLine) -> None:
    first = await _started(shoal, "in_line", state="QUEUED")
    second = await _started(shoal, "in_line", state="SERIAL_WAIT")
    third = await _started(shoal, "in_line", state="SERIAL_WAIT")
    why, last, shown, listed = await shoal.each(
        f"why {second}", f"why {third}", f"show {second}", "runs --state serial_wait"
    )
    assert f"waits for its turn, since its workflow runs one at a time: run {first} is RUNNING_EXECUTION." in why.out
    assert f"→ Ask about that one: shoal why {first}" in why.out
    assert f"run {first} is RUNNING_EXECUTION, and 1 more is before it." in last.out
    assert "⋮ SERIAL_WAIT" in shown.out
    assert "waits until earlier runs of its workflow have ended" in shown.out
    assert listed.out.count("⋮ SERIAL_WAIT") == 2
    for run in (third, second, first):
        done = await shoal("stop", run, "--wait", "--json")
        assert (done.code, done.json["state"]) == (0, "STOP"), done.err


async def test_a_task_that_stands_for_a_run_is_explained_by_that_run(shoal: CommandLine) -> None:
    above = await _started(shoal, "above")
    child = await _started_child(shoal, above)
    why, task, shown, below = await shoal.each(f"why {above}", f"why {above}/below", f"show {above}", f"show {child}")
    sentence = f"below stands for 1 run and waits for run {child}. Run {child} of stuck waits for only."
    assert sentence in why.out
    assert sentence in task.out
    assert "→ Start one: shoal worker --group nobody" in task.out
    assert f"run {child} (RUNNING_EXECUTION)" in shown.out
    assert f"Child of: run {above}" in below.out
    stopped = await shoal("stop", above, "--wait")
    assert stopped.code == 0
    assert await _is(shoal, child, "STOP")


async def _started_child(shoal: CommandLine, above: str) -> str:
    async def child() -> str | None:
        page = (await shoal("show", above, "--json")).json
        return page["children"][0]["id"] if page["children"] else None

    found = await eventually(child, within_s=10)
    assert found is not None
    await eventually(lambda: _is_queued(shoal, found), within_s=10)
    return found


async def test_a_task_that_depends_on_others_names_them(shoal: CommandLine) -> None:
    run = await _started(shoal, "needs")
    task, whole = await shoal.each(f"why {run}/upstream", f"why {run}")
    awaited = 'task "second" of workflow "steps" (lastMonth)'
    assert f"upstream depends on {awaited}, and waits for that: {awaited} is not there yet." in task.out
    assert "waits for upstream." in whole.out
    assert (await shoal("stop", run, "--wait")).code == 0


async def test_skipped_and_forbidden_tasks_are_shown_as_such(shoal: CommandLine) -> None:
    done = await shoal("run", "chooses", "--wait", "--json")
    assert done.code == 0, done.out
    run = done.json["run_id"]
    shown, fields, big, never = await shoal.each(
        f"show {run}", f"show {run} --json", f"why {run}/after_big", f"why {run}/never"
    )
    assert shown.out.count("↷ SKIPPED") == 2
    assert shown.out.count("⊘ FORBIDDEN") == 1
    assert {each["name"]: each["state"] for each in fields.json["not_begun"]} == {
        "big": "SKIPPED",
        "after_big": "SKIPPED",
        "never": "FORBIDDEN",
    }
    assert "after_big is skipped: it depends only on branches that were not chosen." in big.out
    assert "never does not run: its definition forbids it (flag: NO)." in never.out


async def test_a_run_that_is_limited_to_a_task_leaves_the_others_out(shoal: CommandLine) -> None:
    done = await shoal("run", "chooses", "--task", "small", "--depend", "task_only", "--wait", "--json")
    assert (done.code, done.json["tasks"]) == (0, 1), done.err
    run = done.json["run_id"]
    dry = await shoal("run", "steps", "--dry-run", "--wait", "--json")
    assert (dry.code, dry.json["tasks"]) == (0, 2), "its gate is nowhere, but nothing waits for it"
    shown, why, alone, unknown, lost = await shoal.each(
        f"show {run}",
        f"why {run}/big",
        "run chooses --depend task_only",
        "run chooses --task smal --wait",
        "run steps --environment nix --wait",
    )
    assert shown.out.count("· LEFT_OUT") == 4
    assert "big does not run: the run was started, or run again, for other tasks only." in why.out
    assert (alone.code, "--depend needs --task" in alone.sentence) == (2, True)
    assert (unknown.code, 'has no task "smal"; did you mean "small"?' in unknown.sentence) == (2, True)
    assert lost.code == 1, "there is no such environment"


async def test_what_cannot_be_halted_is_said(shoal: CommandLine) -> None:
    away, nobody, wrong = await shoal.each("pause 99999", "stop nix", "resume @nix")
    assert (away.code, away.sentence) == (5, "there is no run 99999; `shoal runs` lists those there are")
    assert (nobody.code, wrong.code) == (5, 5)


async def _is(shoal: CommandLine, run: str, state: str) -> bool:
    return bool((await shoal("show", run, "--json")).json["state"] == state)


async def _is_queued(shoal: CommandLine, run: str) -> bool:
    return "QUEUED" in [task["state"] for task in (await shoal("show", run, "--json")).json["tasks"]]


async def _task_runs(shoal: CommandLine, run: str, task: str) -> None:
    async def runs() -> bool:
        page = (await shoal("show", run, "--json")).json
        return any(each["name"] == task and each["state"] == "RUNNING_EXECUTION" for each in page["tasks"])

    await eventually(runs, within_s=10)
