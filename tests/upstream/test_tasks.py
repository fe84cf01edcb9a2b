"""The processes of tasks: killed ones are dead, others live, and tasks that no worker can run say so."""

from __future__ import annotations

import signal

from tests.eventually import eventually
from tests.scenarios.engine import Engine
from tests.shoal.command_line import CommandLine
from tests.upstream.processes import runs

STUBBORN = """
    trap '' TERM INT HUP
    (trap '' TERM; sleep 300 & echo $! >> {pids}.part; wait) &
    echo $! >> {pids}.part
    setsid sh -c 'trap "" TERM; echo $$ >> {pids}.part; sleep 300' &
    (setsid sleep 300 & echo $! >> {pids}.part)
    echo $$ >> {pids}.part
    while [ "$(wc -l < {pids}.part)" -lt 5 ]; do sleep 0.05; done
    mv {pids}.part {pids}
    wait
"""
"""A shell that minds no signal, with a child, a grandchild, and two that went into sessions of their own."""


async def test_17316_a_task_that_is_shown_as_killed_has_no_process_left(engine: Engine) -> None:
    """Upstream: a stopped task was shown as KILL, its workflow as STOP, while its processes went on.
    Here: when the tables say so all of them are gone, whatever they ignore and wherever they hide.
    """
    pids = engine.cluster.folder / "stubborn"
    script = STUBBORN.format(pids=pids)
    run = await engine.begin(engine.define({"name": "a", "type": "SHELL", "params": {"script": script}}))
    await eventually(pids.exists, within_s=20)
    tree = [int(line) for line in pids.read_text().split()]
    assert len(tree) == 5
    assert all(map(runs, tree))
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"a": "KILL"}
    assert not any(map(runs, tree))


async def test_17162_stopping_a_worker_fails_none_of_its_tasks(engine: Engine) -> None:
    """Upstream: a worker that was stopped, to be updated, killed what it ran, and the workflows failed.
    Here: what ends soon ends there; what does not is given on, and runs at the next worker as a new attempt that costs
    no retry.
    """
    short_gate, long_gate = (engine.cluster.folder / name for name in ("short-gate", "long-gate"))
    group = {"SHOAL_WORKER__GROUPS": "leaving", "SHOAL_WORKER__DRAIN": "4"}
    leaving = await engine.cluster.worker(**group)
    codes = [
        engine.define(
            {"name": "a", "type": "SHELL", "params": {"script": f"until [ -e {gate} ]; do sleep 0.1; done"}},
            {"name": "after", "after": ["a"], "worker_group": "default"},
            worker_group="leaving",
            failure_strategy="END",
        )
        for gate in (short_gate, long_gate)
    ]
    short, long = [[await engine.begin(code) for _ in range(3)] for code in codes]
    for run in short + long:
        await engine.task_becomes(run, "a", "RUNNING_EXECUTION")
    leaving.signal(signal.SIGTERM)
    await eventually(lambda: leaving.events("leaving"), within_s=20)
    short_gate.touch()
    await engine.cluster.worker(**group)
    for run in short:
        assert await engine.end(run) == "SUCCESS"
        assert engine.attempts(run, "a") == [("SUCCESS", "YES")]
    assert await leaving.ended() == 0
    long_gate.touch()
    for run in long:
        assert await engine.end(run) == "SUCCESS"
        assert [state for state, _ in engine.attempts(run, "a")] == ["NEED_FAULT_TOLERANCE", "SUCCESS"]
    retries = "SELECT max(retries) FROM task_instance WHERE workflow_instance_id = ANY(%s)"
    assert engine.cluster.one(retries, short + long) == 0


async def test_17795_a_task_of_a_worker_group_that_nobody_serves_says_what_it_waits_for(engine: Engine) -> None:
    """Upstream: a task of a worker group that does not exist waited for ever, and only a log file said why.
    Here: `shoal why` says it in a sentence, with what to do; tasks of other groups do not wait behind it; and as soon
    as there is a worker of that group it runs.
    """
    code = engine.define({"name": "lost", "worker_group": "no-such-group"}, {"name": "other"})
    run = await engine.begin(code)
    await engine.task_becomes(run, "lost", "QUEUED")
    await engine.task_becomes(run, "other", "SUCCESS")
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    task, whole = await shoal.each(f"why {run}/lost", f"why {run}")
    sentence = "lost waits for a worker in group no-such-group: none is alive; it waits alone."
    assert sentence in task.out
    assert sentence in whole.out
    assert "shoal worker --group no-such-group" in task.out
    await engine.claim(run, "lost")  # as a worker that serves the group does
    engine.report(run, "lost", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
