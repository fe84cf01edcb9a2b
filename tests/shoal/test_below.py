"""`why`, `show` and `log` lead from what stands for other runs to the task that failed, and name what chose a branch.

Child runs are told apart in `runs`.
"""

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
name: broken child
tasks:
  - {name: fine, type: FAKE}
  - {name: load it, type: SHELL, after: [fine], params: {script: "echo oh dear; exit 3"}}
---
name: middle
tasks: [{name: down, type: SUB_PROCESS, params: {workflow: broken child}}]
---
name: top
tasks: [{name: below, type: SUB_PROCESS, params: {workflow: middle}}]
---
name: fans
tasks:
  - name: fan
    type: DYNAMIC
    params:
      workflow: broken child
      lists: [{name: n, value: "1, 2"}]
---
name: patient
tasks:
  - {name: wait, type: SHELL, params: {script: 'until test -e FOLDER/go; do sleep 0.05; done'}}
  - {name: end, type: FAKE, after: [wait]}
---
name: above
tasks: [{name: below, type: SUB_PROCESS, params: {workflow: patient}}]
---
name: routes
params: {amount: 5000, country: DE}
tasks:
  - name: route
    type: SWITCH
    params:
      cases:
        - {when: "${amount} <= 1000", then: pay}
        - {when: '"${country}" in ["DE", "AT"]', then: approve}
      default: bank
  - {name: pay, type: FAKE, after: [route]}
  - {name: approve, type: FAKE, after: [route]}
  - {name: bank, type: FAKE, after: [route]}
  - {name: after bank, type: FAKE, after: [bank]}
---
name: judges
tasks:
  - {name: good, type: FAKE}
  - {name: bad, type: FAKE, params: {fail: true}}
  - name: both
    type: CONDITIONS
    after: [good, bad]
    params: {when: {good: SUCCESS, bad: SUCCESS}, on_success: publish, on_failure: repair}
  - {name: publish, type: FAKE, after: [both]}
  - {name: repair, type: FAKE, after: [both]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a task looks for a flag."""
    return tmp_path_factory.mktemp("flags")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    workflows = WORKFLOWS.replace("FOLDER", str(folder))
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("below"), workflows) as made:
        yield made


async def test_a_failure_leads_down_to_the_task_of_the_lowest_run(shoal: CommandLine) -> None:
    ran = await shoal("run", "top", "--wait", "--json")
    assert ran.code == 1
    top = ran.json["run_id"]
    found = (await shoal("runs", "--children", "--json")).json
    lowest = next(run["id"] for run in found if run["workflow"] == "broken child")
    tasks = (await shoal("show", lowest, "--json")).json["tasks"]
    failed = next(task["id"] for task in tasks if task["name"] == "load it")
    run, task, shown, fields, log, log_json = await shoal.each(
        f"why {top}", f"why {top}/below", f"show {top}", f"show {top} --json", f"log {top}/below",
        f"log {top}/below --json",
    )  # fmt: skip
    for why in (run, task):
        assert f"Run {lowest} of broken child has ended as FAILURE: " in why.out
        assert "load it has ended as FAILURE: exit code 3" in why.out
        assert (
            f"→ Its log: shoal log {failed}   Then go on with the run above it: shoal rerun {top} --failed" in why.out
        )
    assert f'task "load it" ({failed}) of run {lowest} failed: exit code 3' in shown.out
    assert f"Read the log of what failed: shoal log {failed}   Go on: shoal rerun {top} --failed" in shown.out
    assert fields.json["tasks"][0]["failed_below"] == {
        **{"run_id": lowest, "task_id": failed, "task": "load it", "reason": "exit code 3: oh dear"}
    }
    assert log.out == "oh dear\n"
    assert f'its log is that of its task "load it" ({failed}, FAILURE): shoal log {failed}' in log.err
    assert log_json.json == {"task_instance_id": failed, "log": "oh dear\n"}


async def test_one_of_many_children_that_failed_is_named(shoal: CommandLine) -> None:
    ran = await shoal("run", "fans", "--wait", "--json")
    assert ran.code == 1
    why, log = await shoal.each(f"why {ran.json['run_id']}/fan", f"log {ran.json['run_id']}/fan")
    assert "fan has ended as FAILURE, since " in why.out
    assert "load it has ended as FAILURE: exit code 3" in why.out
    assert log.out == "oh dear\n"


async def test_child_runs_are_hidden_unless_they_are_asked_for(shoal: CommandLine) -> None:
    assert (await shoal("run", "top", "--wait")).code == 1
    last = (await shoal("show", "@last", "--json")).json
    failed = (await shoal("show", "@failed", "--json")).json
    assert (last["workflow"], failed["id"]) == ("top", last["id"])
    plain, all_, only = await shoal.each(
        "runs --workflow top", "runs --children --since 1h", "runs --workflow middle --state failure"
    )
    assert "not shown" not in plain.out
    assert "broken child" not in (await shoal("runs", "--limit", "1")).out
    assert "2 child runs not shown: the same with --children" in (await shoal("runs", "--limit", "1")).out
    assert f"{last['id']}/below" in all_.out
    assert "PARENT" in all_.out
    assert f"{last['id']}/below" in only.out, "who names a workflow means all its runs"


async def test_a_choice_is_told_with_its_condition_and_values(shoal: CommandLine) -> None:
    ran = await shoal("run", "routes", "--wait", "--json")
    assert ran.code == 0
    run = ran.json["run_id"]
    chose = 'route chose approve: case 2 is true, "${country}" in ["DE", "AT"], with amount = "5000", country = "DE"'
    why, skipped, later, log, shown = await shoal.each(
        f"why {run}/route", f"why {run}/pay", f"why '{run}/after bank'", f"log {run}/route", f"show {run}"
    )
    assert f"route has ended: SUCCESS in 0 ms. {chose}.\n" in why.out
    assert "shoal log" not in why.out
    for answer in (skipped, later):
        assert f"is skipped: it depends only on branches that were not chosen. {chose}." in answer.out
    assert log.out == f"{chose}\n"
    assert chose in shown.out
    other = await shoal("run", "routes", "-p", "country=FR", "--wait", "--json")
    default = await shoal("log", f"{other.json['run_id']}/route")
    assert default.out == (
        'route chose bank: no case is true, so the default applies, with amount = "5000", country = "FR"\n'
    )


async def test_conditions_tell_the_states_that_they_judged(shoal: CommandLine) -> None:
    run = (await shoal("run", "judges", "--wait", "--json")).json["run_id"]
    chose = "both chose repair: its condition is false, with bad = FAILURE, good = SUCCESS"
    answers = await shoal.each(f"why {run}/both", f"show {run}", f"log {run}/both", f"why {run}/publish")
    assert [answer.out for answer in answers if chose not in answer.out] == []


async def test_a_paused_child_is_what_its_parent_waits_for(shoal: CommandLine, folder: Path) -> None:
    """And the time for which it rests does not count."""
    assert (await shoal("run", "above")).code == 0
    await eventually(lambda: _child(shoal), within_s=20)
    child = await _child(shoal)
    assert child is not None
    parent = child["parent_id"]
    await eventually(lambda: _is_running(shoal, child["id"]), within_s=20)
    assert (await shoal("pause", child["id"])).code == 0
    (folder / "go").touch()
    await eventually(lambda: _has_paused(shoal, child["id"]), within_s=20)
    why, task, paused = await shoal.each(f"why {parent}", f"why {parent}/below", f"why {child['id']}")
    for answer in (why, task):
        assert f"run {child['id']} is paused, and goes on when somebody resumes it." in answer.out
        assert f"→ Let it go on: shoal resume {child['id']}\n" in answer.out
        assert "is about to" not in answer.out
    assert f"→ Let it go on: shoal resume {child['id']}\n" in paused.out
    before, after = [(await shoal("show", parent, "--json")).json for _ in range(2)]
    assert before["took_s"] == after["took_s"]
    assert before["elapsed_s"] < after["elapsed_s"]
    assert (await shoal("resume", child["id"], "--wait")).code == 0
    await eventually(lambda: _is_over(shoal, parent), within_s=20)


async def _child(shoal: CommandLine) -> dict[str, str] | None:
    found = (await shoal("runs", "--children", "--workflow", "patient", "--json")).json
    return found[0] if found else None


async def _is_running(shoal: CommandLine, run: str) -> bool:
    tasks = (await shoal("show", run, "--json")).json["tasks"]
    return [task["state"] for task in tasks] == ["RUNNING_EXECUTION"]


async def _has_paused(shoal: CommandLine, run: str) -> bool:
    return bool((await shoal("show", run, "--json")).json["state"] == "PAUSE")


async def _is_over(shoal: CommandLine, run: str) -> bool:
    return bool((await shoal("show", run, "--json")).json["state"] == "SUCCESS")
