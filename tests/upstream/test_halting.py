"""A pause or a stop reaches what waits: for a retry, for a place at a worker."""

from __future__ import annotations

import pytest

from tests.scenarios.engine import UNTIL_STOPPED, Engine

FAILS_AND_WAITS = {"params": {"fail": True}, "retry_times": 3, "retry_interval": 10}


@pytest.mark.parametrize("command", ["STOP", "PAUSE"])
async def test_13635_what_waits_for_its_retry_can_be_halted(engine: Engine, command: str) -> None:
    """Upstream: a workflow of the serial kind was stopped between two attempts of a task; it stayed READY_STOP for
    ever, and all that stood behind it in the line waited as long.
    Here: a wait is a state of the task, which a halt ends at once; the next one in the line begins.
    """
    code = engine.define({"name": "a", **FAILS_AND_WAITS}, execution_type="SERIAL_WAIT")
    first = await engine.begin(code)
    second = await engine.begin(code)
    await engine.task_becomes(first, "a", "DELAY_EXECUTION")
    assert engine.state(second) == "SERIAL_WAIT"
    await engine.change(command, first)
    assert await engine.end(first) == command
    await engine.task_becomes(second, "a", "DELAY_EXECUTION")
    await engine.change("STOP", second)
    assert await engine.end(second) == "STOP"


async def test_18338_what_waits_for_a_place_can_be_halted(engine: Engine) -> None:
    """Upstream: a workflow was paused while its task waited for a slot of a task group; the pause was tried again and
    again, neither of them ever moved.
    Here: what waits for a place at a worker that is full is taken out of the queue at once, gives nobody's place away,
    and waits again when its run goes on. (Pools of named places do not exist yet.)
    """
    await engine.cluster.worker(SHOAL_WORKER__GROUPS="narrow", SHOAL_WORKER__CAPACITY="1")
    full = await engine.begin(engine.define({"name": "a", **UNTIL_STOPPED, "worker_group": "narrow"}))
    await engine.task_becomes(full, "a", "RUNNING_EXECUTION")
    code = engine.define({"name": "a", "worker_group": "narrow"})
    paused, stopped, waiting = [await engine.begin(code) for _ in range(3)]
    for run in (paused, stopped, waiting):
        await engine.task_becomes(run, "a", "QUEUED")
    await engine.change("PAUSE", paused)
    await engine.change("STOP", stopped)
    assert await engine.end(paused) == "PAUSE"
    assert await engine.end(stopped) == "STOP"
    assert engine.tasks(waiting) == {"a": "QUEUED"}
    await engine.change("RECOVER_SUSPENDED_PROCESS", paused)
    await engine.task_becomes(paused, "a", "QUEUED")
    assert engine.tasks(full) == {"a": "RUNNING_EXECUTION"}
    await engine.change("STOP", full)
    for run, becomes in {full: "STOP", paused: "SUCCESS", waiting: "SUCCESS"}.items():
        assert await engine.end(run) == becomes
