"""Long-lived work on real processes: spread evenly, moved, restarted, never two living copies of one."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

STREAMS = """
    SELECT worker_id, count(*) FROM task_instance
    WHERE stream IS NOT NULL AND state = 'RUNNING_EXECUTION' GROUP BY 1
"""


class Witness:
    """The streams' own witness: a lock that only one copy of each can hold, and everything that it prints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def script(self, last: str = "exit 0") -> str:
        """Prints lines until it is ended, and a few more then; each line is also written to a file of its attempt."""
        return f"""
            exec 9>>{self.folder}/lock.$SHOAL_TASK_KEY
            flock -n 9 || echo "$SHOAL_TASK_KEY $SHOAL_ATTEMPT" >> {self.folder}/twice
            say() {{ echo "line $1"; echo "line $1" >> {self.folder}/said.$SHOAL_TASK_INSTANCE; }}
            trap 'for n in 1 2 3 4 5 6 7 8; do say "last $n"; done; {last}' TERM
            n=0
            while true; do n=$((n + 1)); say $n; sleep 0.1; done
        """

    @property
    def twice(self) -> list[str]:
        """The attempts that began while another copy lived."""
        path = self.folder / "twice"
        return path.read_text().splitlines() if path.exists() else []

    def said(self) -> dict[int, list[str]]:
        """All lines of each attempt."""
        return {int(path.suffix[1:]): path.read_text().splitlines() for path in self.folder.glob("said.*")}


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness")


def _define(cluster: Cluster, count: int, script: str, **task: Any) -> None:
    cluster.define(
        1,
        "crawl",
        tasks=[
            {"name": f"s{n}", "type": "SHELL", "params": {"script": script}, "stream": True, **task}
            for n in range(count)
        ],
    )


def _spread(cluster: Cluster) -> list[int]:
    return sorted(count for _, count in cluster.rows(STREAMS))


async def _shoal(cluster: Cluster, *words: str) -> Any:
    return json.loads(await asyncio.to_thread(cluster.shoal, *words, "--json"))


async def _says(cluster: Cluster, *words: str) -> str:
    said = await CommandLine.at(**cluster.environment)(*words)
    return said.out + said.err


def _log_of(cluster: Cluster, id_: int) -> list[str]:
    [log] = cluster.folder.glob(f"worker-*/logs/**/{id_}.log")
    return [line for line in log.read_text().splitlines() if line.startswith("line ")]


@pytest.mark.parametrize("count", [12, pytest.param(30, marks=pytest.mark.soak)])
async def test_streams_are_spread_evenly_after_a_start_a_death_a_return_and_a_drain(
    cluster: Cluster, witness: Witness, count: int
) -> None:
    """Goal: even shares, one living copy, no line lost. Judge: the streams' own lock files and lines."""
    _define(cluster, count, witness.script())
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="1")
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="1")
    workers = [await cluster.worker(SHOAL_NAME=f"w{n}") for n in range(3)]
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[count // 3] * 3)
    workers[0].kill()
    await eventually(lambda: _spread(cluster), within_s=5 + 5, until=[count // 2] * 2)
    again = await cluster.worker(SHOAL_NAME="w3")
    await eventually(lambda: _spread(cluster), within_s=60, until=[count // 3] * 3)
    await _shoal(cluster, "worker", "drain", "w1", "--wait")
    await eventually(lambda: _spread(cluster), within_s=20, until=[count // 2] * 2)
    assert again.epoch in dict(cluster.rows(STREAMS))
    drained = cluster.rows("SELECT id FROM task_instance WHERE worker_id = %s", workers[1].epoch)
    said = witness.said()
    for (id_,) in drained:
        assert _log_of(cluster, id_) == said[id_]
        assert "line last 8" in said[id_]
    assert witness.twice == []
    assert cluster.rows("SELECT reason FROM task_instance WHERE state = 'FAILURE'") == []


async def test_a_worker_on_which_streams_fail_at_once_takes_none_from_the_others(
    cluster: Cluster, witness: Witness
) -> None:
    """It lacks what they need; here they find by their folder that they run on the one that is `worker-3`."""
    script = f'case "$PWD" in *worker-3*) exit 3;; esac; {witness.script()}'
    _define(cluster, 8, script, restart_pause="0.2s")
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="1")
    for n in range(2):
        await cluster.worker(SHOAL_NAME=f"w{n}")
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[4, 4])
    bad = await cluster.worker(SHOAL_NAME="bad")
    failed = "SELECT count(*) FROM task_instance WHERE state = 'FAILURE' AND worker_id = %s"
    await eventually(lambda: cluster.one(failed, bad.epoch) >= 2, within_s=20)
    await eventually(lambda: _spread(cluster), within_s=20, until=[4, 4])
    attempts = "SELECT count(*) FROM task_instance"
    before, beats = cluster.one(attempts), "SELECT sum(beat_no) FROM node_beat"
    seen = cluster.one(beats)
    await eventually(lambda: cluster.one(beats) > seen + 60, within_s=60)  # the master has looked several times
    assert (_spread(cluster), cluster.one(attempts)) == ([4, 4], before)
    assert before <= 8 + 3 * 4, "two were moved to it, and went back"
    assert witness.twice == []


async def test_a_worker_that_is_stopped_gives_its_streams_to_others_at_once(cluster: Cluster, witness: Witness) -> None:
    _define(cluster, 4, witness.script())
    await cluster.master()
    first, second = [await cluster.worker(SHOAL_NAME=f"w{n}") for n in range(2)]
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[2, 2])
    first.signal(signal.SIGTERM)
    assert await first.ended() == 0
    await eventually(lambda: dict(cluster.rows(STREAMS)), within_s=20, until={second.epoch: 4})
    moved = "SELECT DISTINCT state, reason, retries FROM task_instance WHERE ended_at IS NOT NULL"
    assert cluster.rows(moved) == [("PAUSE", "it moves: its worker takes nothing new", 0)]
    assert witness.twice == []


async def test_restarts_follow_the_policy_with_growing_pauses_and_old_attempts_are_deleted(cluster: Cluster) -> None:
    quick = {"restart_pause": "100ms", "restart_pause_max": "100ms"}
    tasks = [
        {"name": "always", "params": {"script": "exit 0"}, "stream": True, **quick},
        {"name": "failing", "params": {"script": "exit 3"}, "stream": True, "restart_pause": "1m"},
        {"name": "once", "params": {"script": "exit 0"}, "stream": True, "restart": "on_failure"},
        {"name": "after", "params": {"script": ":"}, "after": ["once"]},
    ]
    cluster.define(1, "policies", tasks=[{"type": "SHELL", **task} for task in tasks])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    attempts = "SELECT attempt FROM task_instance WHERE task_name = 'always' ORDER BY attempt"
    await eventually(lambda: max(row[0] for row in cluster.rows(attempts)) > 25, within_s=60)
    kept = [row[0] for row in cluster.rows(attempts)]
    assert len(kept) <= 21
    assert kept == list(range(kept[0], kept[-1] + 1))
    ended = "SELECT state FROM task_instance WHERE task_name = %s ORDER BY attempt"
    assert cluster.rows(ended, "once") == [("SUCCESS",)]
    await eventually(lambda: cluster.rows(ended, "after"), within_s=20, until=[("SUCCESS",)])
    assert cluster.rows(ended, "failing") == [("FAILURE",), ("DELAY_EXECUTION",)]
    assert cluster.rows("SELECT state FROM workflow_instance") == [("RUNNING_EXECUTION",)]
    why = await _says(cluster, "why", "1/failing")
    assert "failing starts again in" in why, why
    assert "it ended once" in why
    assert "exit code 3" in why


async def test_pause_ends_streams_and_resume_starts_them_and_stop_ends_the_run(
    cluster: Cluster, witness: Witness
) -> None:
    _define(cluster, 2, witness.script())
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    await asyncio.to_thread(cluster.shoal, "pause", "1", "--wait")
    assert cluster.rows("SELECT state FROM workflow_instance") == [("PAUSE",)]
    assert cluster.rows("SELECT DISTINCT state FROM task_instance") == [("PAUSE",)]
    await asyncio.to_thread(cluster.shoal, "resume", "1")
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    await asyncio.to_thread(cluster.shoal, "stop", "1", "--wait")
    assert cluster.rows("SELECT state FROM workflow_instance") == [("STOP",)]
    assert _spread(cluster) == []
    assert witness.twice == []


class Restarted:
    """Streams of one run that are ready half a second after they began, while a restart takes them.

    Judge of what is away at a time: how many are ready, read without a pause until the restart has ended.
    """

    def __init__(self, cluster: Cluster, count: int) -> None:
        self.least_ready = count
        self._cluster = cluster
        self._count = count

    @classmethod
    async def ready(cls, cluster: Cluster, witness: Witness, folder: Path, count: int, **settings: str) -> Restarted:
        """`count` streams on one worker, all ready."""
        ready = f"test -e {folder}/ready.$SHOAL_TASK_INSTANCE"
        script = f"(sleep 0.5; touch {folder}/ready.$SHOAL_TASK_INSTANCE) &\n{witness.script()}"
        _define(cluster, count, script, readiness={"command": ready, "every": "200ms"})
        await cluster.master(SHOAL_MASTER__LOOK_EVERY="0.2", **settings)
        await cluster.worker()
        cluster.start(1)
        streams = cls(cluster, count)
        await eventually(streams._ready, within_s=20, until=count)
        return streams

    def have_all(self) -> bool:
        """Whether each was restarted, and is ready again."""
        self.least_ready = min(self.least_ready, self._ready())
        return self._ready("AND attempt > 1") == self._count

    def _ready(self, those: str = "") -> int:
        ready = f"SELECT count(*) FROM task_instance WHERE ready_at IS NOT NULL AND ended_at IS NULL {those}"
        return int(self._cluster.one(ready))


async def test_a_restart_takes_the_streams_of_a_run_one_by_one_and_waits_until_each_is_ready(
    cluster: Cluster, witness: Witness, tmp_path: Path
) -> None:
    streams = await Restarted.ready(cluster, witness, tmp_path, 3)
    await asyncio.to_thread(cluster.shoal, "task", "restart", "1")
    await eventually(streams.have_all, within_s=60)
    assert streams.least_ready == 2
    await eventually(lambda: cluster.one("SELECT count(*) FROM stream_restart"), within_s=20, until=0)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 2
    assert witness.twice == []


async def test_a_restart_stops_at_the_stream_that_does_not_become_ready_and_goes_on_when_it_is(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Goal: a fault of new attempts does not reach all streams; a stream that is named is still restarted."""
    probe = {"command": f"[ $SHOAL_ATTEMPT = 1 ] || test -e {tmp_path}/fixed", "every": "200ms", "within": "1s"}
    _define(cluster, 3, "exec sleep 600", readiness=probe)
    await cluster.master(SHOAL_MASTER__LOOK_EVERY="0.2")
    await cluster.worker()
    cluster.start(1)
    ready = "SELECT count(*) FROM task_instance WHERE ready_at IS NOT NULL AND ended_at IS NULL"
    await eventually(lambda: cluster.one(ready), within_s=20, until=3)
    await asyncio.to_thread(cluster.shoal, "task", "restart", "1")
    began = "SELECT started_at < now() - interval '3 s' FROM task_instance WHERE task_name = 's0' AND attempt = 2"
    await eventually(lambda: cluster.one(began), within_s=30)
    attempts = "SELECT attempt FROM task_instance WHERE flag = 'YES' ORDER BY task_code"
    assert cluster.rows(attempts) == [(2,), (1,), (1,)]
    why = await _says(cluster, "why", "1")
    assert "waits for s0." in why, why
    assert "when it is ready again: s1, s2." in why
    assert "restarts it when s0 is ready again." in await _says(cluster, "why", "1/s2")
    await asyncio.to_thread(cluster.shoal, "task", "restart", "1", "--task", "s2")
    await eventually(lambda: cluster.rows(attempts), within_s=30, until=[(2,), (1,), (2,)])
    (tmp_path / "fixed").touch()
    await eventually(lambda: cluster.one("SELECT count(*) FROM stream_restart"), within_s=30, until=0)
    assert cluster.rows(attempts) == [(2,), (2,), (2,)]
    assert cluster.one(ready) == 3


async def test_of_a_run_that_is_restarted_while_a_worker_joins_one_stream_is_away_at_a_time(
    cluster: Cluster, witness: Witness, tmp_path: Path
) -> None:
    streams = await Restarted.ready(cluster, witness, tmp_path, 6, SHOAL_MASTER__REBALANCE_AFTER="0.1")
    await asyncio.to_thread(cluster.shoal, "task", "restart", "1")
    await cluster.worker()
    await eventually(streams.have_all, within_s=60)
    await eventually(lambda: cluster.one("SELECT count(*) FROM stream_restart"), within_s=20, until=0)
    assert streams.least_ready == 5
    await eventually(lambda: _spread(cluster), within_s=30, until=[3, 3])
    assert witness.twice == []


async def test_rebalance_moves_the_surplus_where_masters_do_not_do_it_by_themselves(
    cluster: Cluster, witness: Witness
) -> None:
    _define(cluster, 6, witness.script())
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="0", SHOAL_MASTER__LOOK_EVERY="0.2")
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[6])
    await cluster.worker()
    await asyncio.to_thread(cluster.shoal, "worker", "rebalance")
    await eventually(lambda: _spread(cluster), within_s=60, until=[3, 3])
    await eventually(lambda: cluster.one("SELECT count(*) FROM rebalance"), within_s=20, until=0)
    assert cluster.one("SELECT count(*) FROM task_instance") == 9, "each that moved did so once"
    assert witness.twice == []


async def test_more_streams_than_an_even_share_run_where_other_workers_are_full(
    cluster: Cluster, witness: Witness
) -> None:
    _define(cluster, 10, witness.script())
    await cluster.master()
    await cluster.worker(SHOAL_WORKER__CAPACITY="2")
    await cluster.worker(SHOAL_WORKER__CAPACITY="8")
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=30, until=[2, 8])


async def test_a_worker_that_sleeps_holds_up_nobody(cluster: Cluster, witness: Witness) -> None:
    _define(cluster, 4, witness.script())
    await cluster.master()
    first, second = [await cluster.worker() for _ in range(2)]
    with first.stopped():
        cluster.start(1)
        await eventually(lambda: dict(cluster.rows(STREAMS)), within_s=20, until={second.epoch: 4})
    assert witness.twice == []


async def test_streams_go_on_while_their_master_dies_and_the_next_one_restarts_them(
    cluster: Cluster, witness: Witness
) -> None:
    _define(cluster, 2, witness.script("exit 3"))
    first = await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    await cluster.master()
    first.kill()
    driven = "SELECT count(*) FROM workflow_instance WHERE master_id <> %s AND state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.one(driven, first.epoch), within_s=20, until=1)
    assert cluster.rows("SELECT DISTINCT attempt, state FROM task_instance") == [(1, "RUNNING_EXECUTION")]
    await asyncio.to_thread(cluster.shoal, "task", "restart", "1")
    again = "SELECT count(*) FROM task_instance WHERE attempt = 2 AND state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.one(again), within_s=30, until=2)
    assert witness.twice == []


async def test_a_stream_that_may_not_run_again_is_over_when_its_worker_is_lost_and_others_go_on(
    cluster: Cluster,
) -> None:
    stream = {"type": "SHELL", "stream": True, "params": {"script": "exec sleep 600"}}
    cluster.define(1, "crawl", tasks=[{"name": "once", **stream, "on_worker_loss": "fail"}, {"name": "more", **stream}])
    await cluster.master()
    lost = await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    lost.kill()
    await cluster.worker()
    last = "SELECT attempt, state FROM task_instance WHERE flag = 'YES' ORDER BY task_code"
    await eventually(
        lambda: cluster.rows(last), within_s=30, until=[(1, "NEED_FAULT_TOLERANCE"), (2, "RUNNING_EXECUTION")]
    )
    assert cluster.one("SELECT state FROM workflow_instance") == "RUNNING_EXECUTION"
    why = await _says(cluster, "why", "1/once")
    assert "and may not run again (on_worker_loss: fail); the other tasks of its run go on." in why, why


async def test_a_backfill_of_a_workflow_with_streams_is_refused(cluster: Cluster) -> None:
    _define(cluster, 1, "sleep 60")
    await cluster.master()
    params = json.dumps({"backfill": {"dates": ["2026-01-01", "2026-01-02"]}})
    cluster.rows("INSERT INTO command (type, workflow_code, params) VALUES ('COMPLEMENT_DATA', 1, %s)", params)
    reason = "SELECT reason FROM error_command"
    [(said,)] = await eventually(lambda: cluster.rows(reason), within_s=20)
    assert 'workflow "crawl" has streams, which run until they are stopped' in said, said


async def test_streams_below_another_run_are_paused_resumed_and_stopped_with_it(
    cluster: Cluster, witness: Witness
) -> None:
    _define(cluster, 2, witness.script())
    cluster.define(2, "above", tasks=[{"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": 1}}])
    await cluster.master()
    await cluster.worker()
    cluster.start(2)
    states = "SELECT state FROM workflow_instance ORDER BY id"
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    assert "its child runs have streams, and it has none itself; shoal task restart 2" in await _says(
        cluster, "task", "restart", "1"
    )
    await asyncio.to_thread(cluster.shoal, "pause", "1", "--wait")
    assert cluster.rows(states) == [("PAUSE",), ("PAUSE",)]
    await asyncio.to_thread(cluster.shoal, "resume", "1")
    await eventually(lambda: _spread(cluster), within_s=20, until=[2])
    await asyncio.to_thread(cluster.shoal, "task", "restart", "2")
    await eventually(lambda: cluster.one("SELECT count(*) FROM stream_restart"), within_s=30, until=0)
    attempts = "SELECT DISTINCT attempt FROM task_instance WHERE stream IS NOT NULL AND state = 'RUNNING_EXECUTION'"
    assert cluster.rows(attempts) == [(3,)]
    await asyncio.to_thread(cluster.shoal, "stop", "1", "--wait")
    assert cluster.rows(states) == [("STOP",), ("STOP",)]
    assert witness.twice == []
