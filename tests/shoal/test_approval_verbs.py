"""`shoal task answer` and what `why` says, on a real cluster, from the start of a run to its end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.shoal.live_cluster import live_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKFLOWS = """
name: publish
tasks:
  - {name: load, type: FAKE, params: {outputs: {rows: "70"}}}
  - name: release
    type: APPROVAL
    after: [load]
    params:
      text: Publish ${load.rows} prices?
      form: {rows: {type: INTEGER, value: "${load.rows}", min: 1}, comment: {required: true}}
      timeout: 8h
      on_timeout: SKIP
  - {name: tell, type: FAKE, after: [release], params: {write: "${release.rows} ${release.comment}"}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("approvals"), WORKFLOWS) as made:
        yield made


async def _asked(shoal: CommandLine) -> str:
    """A run that waits for an answer; its task."""
    assert (await shoal("run", "publish")).code == 0
    return await eventually(lambda: _first(shoal), within_s=30)


async def _first(shoal: CommandLine) -> str:
    (found,) = json.loads((await shoal("task", "approvals", "--json")).out)
    return f"{found['run_id']}/{found['task']}"


async def test_it_is_listed_explained_and_approved(shoal: CommandLine) -> None:
    task = await _asked(shoal)
    listed = await shoal("task", "approvals", "--mine")
    assert task in listed.out
    assert "Publish 70 prices?" in listed.out
    why = (await shoal("why", task)).out
    assert "release waits for an answer of an OPERATOR of the project" in why
    assert ": Publish 70 prices? It is skipped in " in why
    assert f"shoal task answer {task}" in why
    assert "waits for release" in (await shoal("why", task.split("/")[0])).out
    lacking = await shoal("task", "answer", task, "-p", "rows=0")
    assert lacking.code == 2
    assert "at least 1" in lacking.sentence
    assert '"comment" is required' in lacking.sentence
    done = await shoal("task", "answer", task, "-p", "rows=60", "-p", "comment=fine", "--reason", "as agreed")
    assert f'Task "release" of run {task.split("/")[0]} is approved.' in done.out
    again = await shoal("task", "answer", task, "-p", "comment=late")
    assert (again.code, "no longer waits for an answer: it was approved by" in again.sentence) == (2, True)
    shown = await eventually(lambda: _log(shoal, task.replace("release", "tell")), within_s=30)
    assert "60 fine" in shown
    assert "Nothing waits for an answer." in (await shoal("task", "approvals")).out
    assert "answer_approval" in (await shoal("user", "audit", "--limit", "5")).out


async def _log(shoal: CommandLine, task: str) -> str:
    answer = await shoal("log", task)
    return answer.out if answer.code == 0 else ""


async def test_a_rejection_needs_a_reason_and_fails_the_run(shoal: CommandLine) -> None:
    task = await _asked(shoal)
    assert "give one with --reason" in (await shoal("task", "answer", task, "--reject")).sentence
    done = await shoal("task", "answer", task, "--reject", "--reason", "the totals are wrong")
    assert "is rejected." in done.out
    assert ": the totals are wrong" in (await shoal("why", task)).out
