"""The three promises that are measured one by one: a killed master with 1,000 runs, a sleeping one, a lost database.

Each takes a minute or two, so they are not part of `make test`: `make chaos-promises` runs them.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chaos.limits import Limits
from tests.chaos.load import ask
from tests.chaos.site import SESSION_S, Site
from tests.eventually import eventually

pytestmark = pytest.mark.timeout(400)

RUNS = 1_000
TASKS = 500
DOWN_S = 60
LONG = 2001


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """Two masters and three workers with unlimited capacity."""
    with Site(tmp_path, masters=2, workers=3, limits=Limits(tasks=500)) as made:
        for member in made.workers:
            member.start()
        yield made


def _count(site: Site, query: str, *values: object) -> Callable[[], int]:
    return lambda: int(site.cluster.one(f"SELECT count(*) FROM {query}", *values))


_RUNNING = "task_instance WHERE state = 'RUNNING_EXECUTION'"


async def _with_runs(site: Site, seconds: float) -> int:
    """One master drives all runs, then another joins: the epoch of the first."""
    first, second = site.masters
    first.start()
    await eventually(lambda: first.epoch, within_s=20)
    site.cluster.define(LONG, "long", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": seconds}}])
    site.cluster.start(LONG, RUNS)
    await eventually(_count(site, _RUNNING), until=RUNS, within_s=60)
    second.start()
    await site.cluster.slots_become(2)
    assert first.epoch is not None
    return first.epoch


async def _owned_again(site: Site, former: int, since_s: float, within_s: float) -> float:
    """Seconds from `since_s` until the other master drives all runs; none had to be restarted."""
    mine = _count(site, "workflow_instance WHERE master_id <> %s AND state = 'RUNNING_EXECUTION'", former)
    await eventually(mine, until=RUNS, within_s=within_s + 10, every_s=0.02)
    took_s = time.monotonic() - since_s
    assert _count(site, _RUNNING)() == RUNS
    assert _count(site, "task_instance")() == RUNS, "no running task on a living worker was started again"
    return took_s


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_thousand_runs_of_a_dead_master_are_owned_again_in_time(
    site: Site, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed, which a neighbour on the same machine can prove, and frozen, which only silence tells."""
    former = await _with_runs(site, seconds=30)
    struck_s = time.monotonic()
    site.masters[0].signal(number)
    limit_s = SESSION_S + 2
    took_s = await _owned_again(site, former, struck_s, limit_s)
    with capsys.disabled():
        print(f"\n{RUNS} runs of a master that got {number.name}: owned again after {took_s:.2f} s, limit {limit_s} s")  # noqa: T201
    assert took_s <= limit_s
    site.masters[0].signal(signal.SIGCONT)
    await site.cluster.all_ends(within_s=90)
    assert site.cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", RUNS)]
    assert _count(site, "task_instance WHERE state = 'SUCCESS'")() == RUNS == _count(site, "task_instance")()


async def test_a_master_that_slept_for_three_session_timeouts_writes_nothing_and_joins_again(site: Site) -> None:
    script = site.journal.script(ticks=5)
    tasks = [
        {"name": "a", "type": "SHELL", "params": {"script": script}},
        {"name": "b", "type": "FAKE", "after": ["a"]},
    ]
    site.cluster.define(LONG, "short", tasks=tasks)
    for member in site.masters:
        member.start()
    await site.cluster.slots_become(2)
    sleeper = site.masters[0]
    former = sleeper.epoch
    assert former is not None
    assert sleeper.node is not None
    site.cluster.start(LONG, 60)
    await eventually(_count(site, _RUNNING), until=60, within_s=20)
    owned = _count(site, "workflow_instance WHERE master_id = %s AND ended_at IS NULL", former)()
    assert owned > 0
    sleeper.signal(signal.SIGSTOP)
    asleep_s = time.monotonic()
    await site.cluster.all_ends(within_s=60)  # its tasks finish meanwhile, and others drive what was its own
    await asyncio.sleep(asleep_s + 3 * SESSION_S - time.monotonic())
    wakes = site.cluster.one("SELECT clock_timestamp()")
    sleeper.signal(signal.SIGCONT)
    node = sleeper.node
    await eventually(lambda: node.events("fenced"), within_s=10)
    await eventually(lambda: sleeper.epoch != former, within_s=10)
    await site.cluster.slots_become(2)
    assert site.cluster.rows("SELECT * FROM chaos.change WHERE epoch = %s AND at >= %s", former, wakes) == []
    assert site.cluster.rows("SELECT * FROM chaos.change WHERE node_state = 'FENCED'") == []
    for what in ("start", "end"):
        assert len([line for line in site.journal.lines() if line.what == what]) == 60
    ask(site.cluster, "START_PROCESS", LONG)
    await site.cluster.all_ends()


async def test_a_minute_without_database_loses_and_repeats_none_of_500_running_tasks(site: Site) -> None:
    """Half of them end while it is away, the others later; all are SHELL, so their own journal is the judge."""
    for member in site.masters:
        member.start()
    await site.cluster.slots_become(2)
    for code, ticks in ((LONG, 5 * 45), (LONG + 1, 5 * 90)):
        tasks = [{"name": "a", "type": "SHELL", "params": {"script": _quiet(site, ticks / 5)}}]
        site.cluster.define(code, f"takes {ticks}", tasks=[*tasks, {"name": "b", "type": "FAKE", "after": ["a"]}])
        site.cluster.start(code, TASKS // 2)
    await eventually(lambda: len(site.journal.lines()), until=TASKS, within_s=60)
    await eventually(_count(site, _RUNNING), until=TASKS, within_s=10)
    site.postgres.stop()
    await asyncio.sleep(DOWN_S)
    ended = [line for line in site.journal.lines() if line.what == "end"]
    assert 0 < len(ended) < TASKS, "some ended while the database was away"
    site.postgres.start()
    await site.cluster.all_ends(within_s=120)
    assert site.cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", TASKS)]
    attempts = "SELECT task_type, state, max(attempt), count(*) FROM task_instance GROUP BY 1, 2 ORDER BY 1"
    assert site.cluster.rows(attempts) == [("FAKE", "SUCCESS", 1, TASKS), ("SHELL", "SUCCESS", 1, TASKS)]
    lines = site.journal.lines()
    for what in ("start", "end"):
        keys = [line.key for line in lines if line.what == what]
        assert len(keys) == len(set(keys)) == TASKS
    assert _count(site, "node WHERE state = 'FENCED'")() == 0, "nobody was taken for dead meanwhile"


def _quiet(site: Site, seconds: float) -> str:
    """A journaled script that sleeps instead of ticking: 500 tickers would be the load itself."""
    return site.journal.script(ticks=0, work=f"sleep {seconds:g}")
