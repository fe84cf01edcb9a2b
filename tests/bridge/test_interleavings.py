"""All orders in which the calls of two transactions can follow each other, on the real server and on the model.

SHOAL_BRIDGE_ORDERS=all python -m pytest tests/bridge/test_interleavings.py     # also those left out in CI; `make soak`
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest

from dao.cluster.fencing import OUT_OF_REACH
from dao.postgres.database import Database
from model.runs.states import TaskState, WorkflowState
from tests.bridge import scenes
from tests.bridge.interleaving import Script, orders
from tests.bridge.rows import Rows, Told
from tests.bridge.scenes import M1, M2, M3, W1, W2
from tests.bridge.scripts.commands import (
    edits,
    fires,
    joins,
    marks_suspects,
    starts,
    steals,
    takes,
    takes_one_of_key,
    tries,
)
from tests.bridge.scripts.nodes import beats, claims_failover, fails_over, fences_and, judges, marks_lost
from tests.bridge.scripts.runs import (
    advances,
    asks_for_a_stop,
    claims,
    closes,
    consumes,
    finishes,
    gives_back,
    looks_in_vain,
    marks_running,
    pauses,
    queues_due,
    reports,
    revives,
    starts_a_child,
    stops,
    stops_below,
    waits_for_its_writes,
)
from tests.bridge.stage import stage
from tests.bridge.test_same_program import begin
from tests.bridge.two_stores import TwoStores

T, W = TaskState, WorkflowState
ORDERS_MAX = None if os.environ.get("SHOAL_BRIDGE_ORDERS") == "all" else 15
"""The orders played for each pair; orders with the same course are played once."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two scripts in a scene. `holds` raises AssertionError for what must not be, given the rows in the end and what
    happened."""

    scene: Callable[[TwoStores], Awaitable[None]]
    one: Script
    other: Script
    holds: Callable[[Rows, list[str]], None]


def _all(rows: Rows, table: str) -> list[Told]:
    return [row for (name, _), row in sorted(rows.items()) if name == table]


# ------------------------------------------------------------------------------------------------ what must hold


def handled_once(rows: Rows, _: list[str]) -> None:
    """Each command is still there, or recorded."""
    left = [row["id"] for row in _all(rows, "command") if row["type"] == "START_PROCESS"]
    assert sorted([*left, *(row["id"] for row in _all(rows, "command_history"))]) == [1, 2, 3]


def owned_by_the_living(rows: Rows, told: list[str]) -> None:
    """Or asked for, once B has failed over what was left."""
    gone = {row["id"] for row in _all(rows, "node") if row["state"] in ("FENCED", "LEFT")}
    asked = {row["workflow_instance_id"] for row in _all(rows, "command") if row["type"].startswith("RECOVER_T")}
    if "B COMMIT" in told and gone:
        assert all(row["master_id"] not in gone or row["id"] in asked for row in _all(rows, "workflow_instance"))


def one_end(rows: Rows, told: list[str]) -> None:
    """Each ended attempt has one event, and no other has one."""
    ended = [row["task_code"] for row in _all(rows, "task_instance") if row["ended_at"] is not None]
    consumed = "\n".join(line for line in told if " consume = " in line)
    events = [row["task_code"] for row in _all(rows, "task_event")]
    rolled_back = any(line in ("A rolls back",) for line in told)
    heard = [] if rolled_back else [code for code in (1, 2, 3, 4) if f"'code': {code}," in consumed]
    assert sorted(events + heard) == sorted(ended)


def nothing_goes_on(rows: Rows, told: list[str]) -> None:
    """In a run that must stop nothing waits, and running tasks must be killed."""
    if "B COMMIT" in told:
        for row in _all(rows, "task_instance"):
            assert row["ended_at"] is not None or (row["state"] != "QUEUED" and row["kill_requested"]), row


def nothing_begins(rows: Rows, told: list[str]) -> None:
    """In a run that must pause nothing waits, and its master has learned or will learn what was held back."""
    if "B COMMIT" in told:
        assert not [row for row in _all(rows, "task_instance") if row["state"] in ("QUEUED", "DELAY_EXECUTION")]
        heard = "\n".join(line for line in told if line.startswith("B halt ="))
        events = [row["task_code"] for row in _all(rows, "task_event")]
        for row in _all(rows, "task_instance"):
            if row["state"] == "PAUSE":
                assert (f"'code': {row['task_code']}," in heard) != (row["task_code"] in events), row


def nothing_waits(rows: Rows, told: list[str]) -> None:
    """In a run that must halt nothing waits for its next look; running looks are killed, or end as waiting."""
    if "B COMMIT" in told:
        assert not [row for row in _all(rows, "task_instance") if row["state"] in ("QUEUED", "DELAY_EXECUTION")]


def claimed_once(rows: Rows, _: list[str]) -> None:
    for row in _all(rows, "task_instance"):
        assert (row["state"] == "QUEUED") == (row["worker_id"] is None)


def one_owner(rows: Rows, told: list[str]) -> None:
    """The first to commit owns the run, and it was failed over once."""
    (run,) = _all(rows, "workflow_instance")
    if any(line.endswith("COMMIT") for line in told):
        assert (run["takeovers"], run["master_id"] in (M2.epoch, M3.epoch)) == (1, True)


def one_recover(rows: Rows, told: list[str]) -> None:
    failed_over = any(f"{side} fail_over = 1" in told and f"{side} COMMIT" in told for side in "AB")
    assert len(_all(rows, "command")) == failed_over
    assert (_all(rows, "workflow_instance")[0]["state"] == "FAILOVER") == failed_over


def tried_once(rows: Rows, told: list[str]) -> None:
    """Whichever side commits has tried it once."""
    by = {row["tried_by"] for row in _all(rows, "command")}
    tried = [line[0] for line in told if " try_next = [{" in line and f"{line[0]} COMMIT" in told]
    assert by == {{"A": M1.epoch, "B": M2.epoch}[tried[0]] if tried else None}


def revived_once(rows: Rows, _: list[str]) -> None:
    (run,) = _all(rows, "workflow_instance")
    assert (run["run_times"], run["state"]) == (2, "RUNNING_EXECUTION")


def one_runs(rows: Rows, told: list[str]) -> None:
    """One run of a serial workflow is live; a waiting one is waited for, or called."""
    states = [row["state"] for row in _all(rows, "workflow_instance")]
    assert states.count("RUNNING_EXECUTION") <= 1
    if "SERIAL_WAIT" in states and "RUNNING_EXECUTION" not in states:
        assert _all(rows, "command")


def in_order(rows: Rows, told: list[str]) -> None:
    """The run of the newer command does not begin: that of the older one has, or its command is in the table."""
    one_runs(rows, told)
    runs = {row["command_id"]: row["state"] for row in _all(rows, "workflow_instance")}
    assert runs.get(2, "SERIAL_WAIT") == "SERIAL_WAIT"
    assert runs.get(1) == "RUNNING_EXECUTION" or _all(rows, "command")


def fired_once(rows: Rows, _: list[str]) -> None:
    (schedule,) = _all(rows, "schedule")
    assert len(_all(rows, "command")) == (schedule["last_fire_at"] is not None)


def computed_again(rows: Rows, told: list[str]) -> None:
    """Whichever side is first, nobody has fired by the edited schedule yet."""
    fired_once(rows, told)
    fired = next((place for place, line in enumerate(told) if line == "A fire = {1: 1}"), None)
    if fired is not None and "B COMMIT" in told[:fired]:
        assert any("0 30 * * * ?" in line for line in told[:fired] if line.startswith("A due"))
    elif "B COMMIT" in told:
        assert _all(rows, "schedule")[0]["next_fire_at"] is None


def beaten_or_fenced(rows: Rows, told: list[str]) -> None:
    node = next(row for row in _all(rows, "node") if row["id"] == M1.epoch)
    beat = next(row for row in _all(rows, "node_beat") if row["id"] == M1.epoch)
    assert not (node["state"] == "FENCED" and beat["beat_no"] % OUT_OF_REACH)


def child_is_told(rows: Rows, told: list[str]) -> None:
    """A child of a run that is to stop is not made, or is asked to stop."""
    under = [row for row in _all(rows, "workflow_instance") if row["parent"] is not None]
    if under and "B COMMIT" in told:
        assert [row["workflow_instance_id"] for row in _all(rows, "command")] == [under[0]["id"]]


def stop_is_heard(rows: Rows, _: list[str]) -> None:
    (run,) = _all(rows, "workflow_instance")
    if run["requested_state"] is not None:
        assert _all(rows, "task_event")


def stop_came_first_or_is_heard(rows: Rows, told: list[str]) -> None:
    """A stop requested before the cleanup began is forgotten; a later one is obeyed."""
    (run,) = _all(rows, "workflow_instance")
    assert (run["requested_state"] is not None) == bool(_all(rows, "task_event"))
    if "A COMMIT" not in told:
        assert run["requested_state"] is None


def halts_somewhere(rows: Rows, told: list[str]) -> None:
    """The request is in the row of the present owner, or on its way to it."""
    (run,) = _all(rows, "workflow_instance")
    if "B COMMIT" in told:
        assert run["requested_state"] == "READY_STOP"
        assert run["state"] == "READY_STOP" or _all(rows, "task_event")


def none_on_the_dead(rows: Rows, told: list[str]) -> None:
    """Nothing runs on a worker that is gone, once B has looked after it."""
    gone = {row["id"] for row in _all(rows, "node") if row["state"] == "FENCED"}
    if "B COMMIT" in told:
        assert not [row for row in _all(rows, "task_instance") if row["worker_id"] in gone and row["ended_at"] is None]


def sees_its_writes(rows: Rows, told: list[str]) -> None:
    """What is seen behind the barrier is final, unless it was begun later."""
    seen = next((line for line in told if line.startswith("B owned")), None)
    begun = [place for place, line in enumerate(told) if line.startswith("A hold_alive")]
    if seen is not None and begun and not told[begun[0]].endswith("waits"):
        there = len(_all(rows, "workflow_instance"))
        assert seen == f"B owned = {list(range(1, there + 1))}" or told.index(seen) < begun[0]


def one_drives(rows: Rows, told: list[str]) -> None:
    """What A wrote about the run is in the rows that B read at its takeover; or B owns it and A wrote nothing."""
    (run,) = _all(rows, "workflow_instance")
    if any(line.startswith("A finish") for line in told):
        assert (run["state"] == "SUCCESS") == ("A COMMIT" in told)
    taken = any(line.startswith("B claim_failover = {1:") for line in told) and "B COMMIT" in told
    assert (run["master_id"] == M2.epoch) == taken
    if taken:
        assert not _all(rows, "task_event")


def nothing(_: Rows, __: list[str]) -> None:
    """Only that the model does the same."""


PAIRS = {
    "claim, claim": Pair(scenes.three_commands, takes(M1, 2), takes(M2, 2), handled_once),
    "claim, steal": Pair(scenes.three_commands, takes(M1, 2), steals(M2, 2), handled_once),
    "claim, marked as suspect": Pair(scenes.three_commands, takes(M1, 2), marks_suspects(M3), handled_once),
    "try, try": Pair(scenes.suspect, tries(M1), tries(M2), tried_once),
    "start, fence": Pair(scenes.three_commands, starts(M1), fences_and(M2, M1, fails_over), owned_by_the_living),
    "advance, fence": Pair(scenes.an_end, advances(M1), fences_and(M2, M1, fails_over), owned_by_the_living),
    "advance, report": Pair(scenes.an_end, advances(M1), reports(W1, 2), one_end),
    "consume, fail over": Pair(scenes.an_end, consumes(M1), fences_and(M2, M1, claims_failover), one_drives),
    "finish, fail over": Pair(scenes.a_run, finishes(M1), fences_and(M2, M1, claims_failover), one_drives),
    "task claim, task claim": Pair(scenes.a_queue, claims(W1, 2), claims(W2, 2), claimed_once),
    "task claim, stop": Pair(scenes.a_queue, claims(W1, 2), stops(M1), nothing_goes_on),
    "mark running, stop": Pair(scenes.tasks_that_run, marks_running(W1), stops(M1), nothing_goes_on),
    "due, stop": Pair(scenes.a_timer, queues_due(M2), stops(M1), nothing_goes_on),
    "lose, stop": Pair(scenes.a_dead_worker, marks_lost(M2), stops(M1), nothing_goes_on),
    "due, pause": Pair(scenes.a_timer, queues_due(M2), pauses(M1), nothing_begins),
    "lose, pause": Pair(scenes.a_dead_worker, marks_lost(M2), pauses(M1), nothing_begins),
    "give back, pause": Pair(scenes.tasks_that_run, gives_back(W1), pauses(M1), nothing_begins),
    "give back, stop": Pair(scenes.tasks_that_run, gives_back(W1), stops(M1), nothing_goes_on),
    "lose, ask to stop": Pair(scenes.a_dead_worker, marks_lost(M2), asks_for_a_stop(M3), nothing),
    "report, stop": Pair(scenes.tasks_that_run, reports(W1, 1, 2), stops(M1), nothing_goes_on),
    "lose, lose": Pair(scenes.a_dead_worker, marks_lost(M2), marks_lost(M3), nothing),
    "look, pause": Pair(scenes.tasks_that_run, looks_in_vain(W1, 1, 2), pauses(M1), nothing_waits),
    "look, stop": Pair(scenes.tasks_that_run, looks_in_vain(W1, 1, 2), stops(M1), nothing_waits),
    "look, fence": Pair(scenes.tasks_that_run, looks_in_vain(W1, 1, 2), fences_and(M2, W1, marks_lost), one_end),
    "report, fence": Pair(scenes.tasks_that_run, reports(W1, 1, 2), fences_and(M2, W1, marks_lost), one_end),
    "task claim, fence": Pair(scenes.a_queue, claims(W1, 2), fences_and(M2, W1, marks_lost), none_on_the_dead),
    "mark running, fence": Pair(
        scenes.tasks_that_run, marks_running(W1), fences_and(M2, W1, marks_lost), none_on_the_dead
    ),
    "report, report": Pair(scenes.tasks_that_run, reports(W1, 1, 2), reports(W1, 2, 1), one_end),
    "fire, fire": Pair(scenes.a_due_schedule, fires(M1), fires(M2), fired_once),
    "fire, edit": Pair(scenes.a_due_schedule, fires(M1), edits(), computed_again),
    "serial start, serial start": Pair(scenes.lives, joins(M1, 1001), joins(M2, 1002), one_runs),
    "start of a key, newer start of it": Pair(
        scenes.three_commands, takes_one_of_key(M1, 1), takes_one_of_key(M2, 2), in_order
    ),
    "serial start, serial end": Pair(scenes.a_serial_run, joins(M2, 1002), finishes(M1), one_runs),
    "beat, fence": Pair(scenes.lives, beats(M1), fences_and(M2, M1, fails_over), beaten_or_fenced),
    "recover, recover": Pair(scenes.a_dead_master, claims_failover(M2), claims_failover(M3), one_owner),
    "recover, ask to stop": Pair(scenes.a_dead_master, claims_failover(M2), asks_for_a_stop(M3), halts_somewhere),
    "fail over, fail over": Pair(scenes.a_dead_master, fails_over(M2), fails_over(M3), one_recover),
    "fail over, recover": Pair(scenes.a_dead_master, fails_over(M2), claims_failover(M3), nothing),
    "revive, revive": Pair(scenes.a_run_that_failed, revives(M1), revives(M2), revived_once),
    "ask to stop, finish": Pair(scenes.a_run, asks_for_a_stop(M2), finishes(M1), stop_is_heard),
    "ask to stop, close": Pair(scenes.a_run, asks_for_a_stop(M2), closes(M1), stop_came_first_or_is_heard),
    "child, stop": Pair(scenes.a_run, starts_a_child(M2), stops_below(M1), child_is_told),
    "start, barrier": Pair(scenes.three_commands, starts(M1), waits_for_its_writes(M1), sees_its_writes),
}


@pytest.mark.parametrize("name", PAIRS)
async def test_it_does_not_matter_who_is_first(database: Database, name: str) -> None:
    """Goal: what must hold does in every order, and if either rolls back. Method: play each, on both stores."""
    pair = PAIRS[name]
    scripts = (pair.one, pair.other)
    async with stage(database, await begin(database), pair.scene) as scene:
        found = list(orders(*[await scene.steps(script) for script in scripts]))
        if ORDERS_MAX is not None and len(found) > ORDERS_MAX:
            found = Random(name).sample(found, ORDERS_MAX)
        seen: set[tuple[str, ...]] = set()
        for aborts, order in product((None, 0, 1), found):
            told = await scene.play(order, scripts, aborts)
            if tuple(told) in seen:
                continue
            seen.add(tuple(told))
            real = await scene.play_for_real(order, scripts, aborts)
            assert real == told, f"{name}: the order {order}\n  real:  {real}\n  model: {told}"
            try:
                pair.holds(await scene.rows(), told)
            except AssertionError as broken:
                raise AssertionError("\n".join([f"{name}: the order {order}: {broken}", *told])) from None


async def test_of_two_masters_that_fence_each_other_one_is_told_to_try_again(database: Database) -> None:
    """Each holds its own licence and wants the other's: the one deadlock that is known, and the server ends it."""
    async with stage(database, await begin(database), scenes.lives) as scene:
        told = await scene.play_for_real((0, 1, 0, 1), (judges(M1, M2), judges(M2, M1)), may_deadlock=True)
        refused = [line for line in told if line.endswith("raises LockTaken")]
        fenced = [line for line in told if line.endswith("fence_within = True")]
        assert (len(refused), len(fenced)) == (1, 1), told
