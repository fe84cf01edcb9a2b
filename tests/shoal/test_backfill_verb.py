"""`shoal backfill`: the dates that it tells are those that the master makes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine
from tests.shoal.live_cluster import live_cluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORKFLOWS = """
name: daily
time_zone: Europe/Berlin
tasks: [{name: say, type: SHELL, params: {script: 'echo "${region} $[yyyy-MM-dd]"'}}]
---
name: follows
tasks:
  - name: wait
    type: DEPENDENT
    params: {groups: [{items: [{workflow: daily, cycle: today}]}]}
---
name: shelved
release_state: OFFLINE
tasks: [{name: a, type: FAKE}]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shoal(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CommandLine]:
    """The command line at a cluster."""
    async with live_cluster(postgres_server, tmp_path_factory.mktemp("backfill"), WORKFLOWS) as made:
        yield made


async def test_a_dry_run_tells_the_dates_and_asks_for_nothing(shoal: CommandLine) -> None:
    told, fields, queue = await shoal.each(
        "backfill daily --from 2026-03-28 --to 2026-03-30 --dry-run",
        "backfill daily --date 2026-03-30 --date 2026-03-28 --date '2026-03-29 05:00' --parallel 2 --desc "
        "--dependents --dry-run --json",
        "runs --workflow daily",
    )
    assert told.code == 0, told.err
    assert "2026-03-30 00:00:00 CEST" in told.out
    assert "This would fill 3 dates one after the other (time zone Europe/Berlin)." in told.out
    assert fields.json == {
        "workflow": "daily",
        "time_zone": "Europe/Berlin",
        "chains": [["2026-03-29T22:00:00.000Z", "2026-03-29T03:00:00.000Z"], ["2026-03-27T23:00:00.000Z"]],
        "dependents": ["follows"],
    }
    assert queue.out.startswith("No run matches.")


async def test_each_date_gets_its_run(shoal: CommandLine) -> None:
    asked = await shoal("backfill", "daily", "--from", "2026-01-01", "--to", "2026-01-03", "-p", "region=eu")
    assert asked.code == 0, asked.err
    assert 'Workflow "daily" is filled for 3 dates one after the other, by command ' in asked.out
    await eventually(lambda: _ended(shoal, 3), within_s=20)
    listed, log = await shoal.each("runs --workflow daily", "log daily/say")
    for day in (1, 2, 3):
        assert f"2026-01-0{day} 00:00:00 CET" in listed.out
    assert log.out == "eu 2026-01-03\n"


async def _ended(shoal: CommandLine, count: int) -> bool:
    runs = (await shoal("runs", "--workflow", "daily", "--json")).json
    return [run["state"] for run in runs] == ["SUCCESS"] * count


async def test_what_cannot_be_filled_is_said(shoal: CommandLine) -> None:
    answers = await shoal.each(
        "backfill daily",
        "backfill daily --from 2026-01-01",
        "backfill daily --from 2026-01-01 --to 2026-01-03 --date 2026-01-01",
        "backfill daily --from 2026-01-03 --to 2026-01-01",
        "backfill daily --date tomorrow",
        "backfill daily --date 2026-01-01 -p backfill=1",
        "backfill shelved --date 2026-01-01",
        "backfill nix --date 2026-01-01",
    )
    assert [answer.code for answer in answers] == [2, 2, 2, 2, 2, 2, 2, 5]
    assert all(answer.sentence for answer in answers)
    assert "exchange them" in answers[3].sentence
    assert "is OFFLINE" in answers[6].sentence
