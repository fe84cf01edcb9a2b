"""`shoal backfill --wait` and `--skip-done`, and what a chain that stopped says."""

from __future__ import annotations

import asyncio
import signal
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
name: quick
tasks: [{name: say, type: FAKE}]
---
name: the daily one
params: {flags: ""}
tasks:
  - name: say
    type: SHELL
    params: {script: 'test "$[yyyy-MM-dd]" != 2026-01-02 || test -e FOLDER/good || { echo broken >&2; exit 3; }'}
---
name: held
tasks: [{name: hold, type: SHELL, params: {script: 'until test -e FOLDER/go; do sleep 0.05; done'}}]
---
name: refused
tasks: [{name: say, type: SHELL, params: {script: 'until test -e FOLDER/refused; do sleep 0.05; done'}}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tasks look for flags."""
    return tmp_path_factory.mktemp("flags")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    workflows = WORKFLOWS.replace("FOLDER", str(folder))
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("backfillwait"), workflows) as made:
        yield made


async def test_a_wait_tells_how_many_dates_are_done_and_ends_with_them(shoal: CommandLine) -> None:
    waited = await shoal("backfill", "quick", "--from", "2026-01-01", "--to", "2026-01-03", "--wait")
    assert waited.code == 0, waited.err
    assert "Ctrl-C ends only this wait, not the backfill. See it: shoal runs --workflow quick" in waited.err
    assert "  3 of 3 dates done" in waited.err
    assert 'Workflow "quick" is filled for 3 of 3 dates.' in waited.out
    fields = await shoal("backfill", "quick", "--date", "2026-01-09", "--wait", "--json", "--timeout", "1m")
    assert fields.json["done"] == fields.json["dates"] == 1
    assert fields.json["stopped"] == []


async def test_dates_that_are_done_are_left_out_if_asked(shoal: CommandLine) -> None:
    range_ = ("backfill", "quick", "--from", "2026-02-01", "--to", "2026-02-04")
    assert (await shoal("backfill", "quick", "--date", "2026-02-02", "--date", "2026-02-04", "--wait")).code == 0
    dry = await shoal(*range_, "--skip-done", "--dry-run", "--json", "--desc")
    assert dry.json["chains"] == [["2026-02-03T00:00:00.000Z", "2026-02-01T00:00:00.000Z"]]
    assert dry.json["skipped"] == 2
    first, second, without = (
        await shoal(*range_, "--skip-done", "--wait"),
        await shoal(*range_, "--skip-done", "--wait"),
        await shoal(*range_, "--dry-run"),
    )
    assert "filled for 2 of 2 dates. Left out, since a run for each has succeeded: 2 dates." in first.out
    assert (second.code, second.out) == (0, "Nothing to do: 4 dates left out, since a run for each has succeeded.\n")
    assert "This would fill 4 dates" in without.out


async def test_a_failed_chain_says_how_many_dates_wait_and_how_it_goes_on(shoal: CommandLine, folder: Path) -> None:
    failed = await shoal("backfill", "the daily one", "--from", "2026-01-01", "--to", "2026-01-04", "--wait")
    assert failed.code == 1
    listed = (await shoal("runs", "--workflow", "the daily one", "--state", "failure", "--json")).json
    [run] = [each["id"] for each in listed]
    assert listed[0]["dates_left"] == 2
    go_on = f"shoal rerun {run} --failed"
    assert 'Workflow "the daily one" is filled for 1 of 4 dates.' in failed.out
    assert (
        f'  the daily one for 2026-01-02 00:00:00 UTC: run {run} is FAILURE: task "say" failed; 2 dates after it wait'
    ) in failed.out
    assert f"    Go on: {go_on}" in failed.out
    assert "shoal runs --workflow 'the daily one'" in failed.out
    shown, why, runs = await shoal.each(f"show {run}", f"why {run}", "runs --workflow 'the daily one'")
    waits = "2 dates of its backfill wait for it"
    assert f"Backfill: {waits}; go on: {go_on}" in shown.out
    assert f"; {waits}; go on: {go_on}" in runs.out
    assert (waits in why.out, go_on in why.out) == (True, True)
    (folder / "good").touch()
    assert (await shoal("rerun", run, "--failed", "--wait")).code == 0
    await eventually(lambda: _succeeded(shoal, "the daily one", 4), within_s=20)
    assert waits not in (await shoal("show", run)).out


async def _succeeded(shoal: CommandLine, workflow: str, count: int) -> bool:
    return len((await shoal("runs", "--workflow", workflow, "--state", "success", "--json")).json) == count


async def _runs(shoal: CommandLine, workflow: str) -> list[str]:
    return [run["id"] for run in (await shoal("runs", "--workflow", workflow, "--json")).json]


async def test_an_interrupted_wait_says_what_goes_on_and_how_to_stop_it(
    shoal: CommandLine, folder: Path, postgres_server: PostgresServer
) -> None:
    """A restart of the database in the middle is survived; a stopped chain ends a wait."""
    process = await shoal.start("backfill", "held", "--from", "2026-01-01", "--to", "2026-01-03", "--wait")
    assert process.stderr is not None
    try:
        await eventually(lambda: _runs(shoal, "held"), within_s=30)
        [run] = await _runs(shoal, "held")
        told = await asyncio.wait_for(process.stderr.readuntil(f"run {run} for".encode()), 60)
        assert b"0 of 3 dates done" in told
        postgres_server.restart("fast")
        await asyncio.wait_for(process.stderr.readuntil(b"; the wait continues"), 60)
        process.send_signal(signal.SIGINT)
        left = (await asyncio.wait_for(process.stderr.read(), 60)).decode()
        assert await process.wait() == 130
    finally:
        if process.returncode is None:
            process.kill()
    assert "The backfill continues: 0 of 3 dates done. See it: shoal runs --workflow held" in left
    assert f"Stop it: shoal stop {run}" in left
    late = await shoal("backfill", "held", "--date", "2026-03-01", "--wait", "--timeout", "500ms")
    assert late.code == 1
    assert "not ended after 0.5 s; the backfill continues" in late.err
    assert (await shoal("stop", run, "--wait")).code == 0
    stopped, why = await shoal.each(f"show {run}", f"why {run}")
    assert f"2 dates of its backfill wait for it; go on: shoal resume {run}" in stopped.out
    assert (f"→ Let it go on: shoal resume {run}" in why.out, "2 dates of its backfill" in why.out) == (True, True)
    (folder / "go").touch()
    assert (await shoal("resume", run, "--wait")).code == 0
    await eventually(lambda: _succeeded(shoal, "held", 4), within_s=20)


async def test_a_date_whose_command_is_refused_ends_the_wait(shoal: CommandLine, folder: Path) -> None:
    """Its workflow is deleted while the date before runs."""
    process = await shoal.start("backfill", "refused", "--date", "2026-01-01", "--date", "2026-01-02", "--wait")
    try:
        await eventually(lambda: _runs(shoal, "refused"), within_s=30)
        offline = folder / "offline.yaml"
        offline.write_text("name: refused\nrelease_state: OFFLINE\ntasks: [{name: say, type: FAKE}]\n")
        assert (await shoal("workflow", "apply", str(offline))).code == 0
        (folder / "refused").touch()
        out, _ = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 1
    assert b'Workflow "refused" is filled for 1 of 2 dates.' in out
    assert b"refused for 2026-01-02 00:00:00 UTC: its command was refused: " in out
    assert b"Go on: shoal queue retry " in out
    listed, others = await shoal.each("runs --workflow refused", "runs --workflow quick")
    assert "A backfill of refused stopped: its command for 2026-01-02T00:00:00" in listed.out
    assert "; go on: shoal queue retry " in listed.out
    assert "A backfill of" not in others.out
