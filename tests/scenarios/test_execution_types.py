"""One scenario for each row of the table of execution types, and what holds for all serial ones."""

from __future__ import annotations

import json

import pytest

from master.claim.serial import OVERTAKEN_MAX
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

STARTS = 20
SERIAL = ("SERIAL_WAIT", "SERIAL_DISCARD", "SERIAL_PRIORITY")


async def test_parallel_runs_beside_it(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND})
    runs = [await engine.begin(code) for _ in range(2)]
    for run in runs:
        await engine.claim(run, "a")
    assert [engine.state(run) for run in runs] == ["RUNNING_EXECUTION", "RUNNING_EXECUTION"]
    for run in runs:
        engine.report(run, "a", "SUCCESS")
        assert await engine.end(run) == "SUCCESS"


async def test_serial_wait_waits_and_then_the_oldest_goes_on(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    runs = [await engine.begin(code) for _ in range(3)]
    for place, run in enumerate(runs):
        await engine.becomes(run, "RUNNING_EXECUTION")
        assert [engine.state(later) for later in runs[place + 1 :]] == ["SERIAL_WAIT"] * (2 - place)
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
    assert [await engine.end(run) for run in runs] == ["SUCCESS"] * 3
    assert engine.path(runs[2]) == ["SERIAL_WAIT", "RUNNING_EXECUTION", "SUCCESS"]


async def test_who_waits_goes_on_one_by_one_though_somebody_deleted_the_definition(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    runs = [await engine.begin(code) for _ in range(3)]
    assert engine.cluster.one("DELETE FROM workflow_definition WHERE code = %s RETURNING code", code) == code
    for place, run in enumerate(runs):
        await engine.claim(run, "a")
        assert [engine.state(later) for later in runs[place + 1 :]] == ["SERIAL_WAIT"] * (2 - place)
        engine.report(run, "a", "SUCCESS")
        assert await engine.end(run) == "SUCCESS"


@pytest.mark.parametrize("how", ["FAILURE", "STOP", "PAUSE"])
async def test_serial_wait_goes_on_however_the_one_before_has_ended(engine: Engine, how: str) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    first, second = await engine.begin(code), await engine.begin(code)
    if how == "FAILURE":
        await engine.claim(first, "a")
        engine.report(first, "a", how)
    else:
        await engine.change(how, first)
    assert await engine.end(first) == how
    await engine.claim(second, "a")
    engine.report(second, "a", "SUCCESS")
    assert await engine.end(second) == "SUCCESS"


async def test_serial_wait_can_be_paused_and_stopped_at_once(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, execution_type="SERIAL_WAIT")
    first, paused, stopped, last = [await engine.begin(code) for _ in range(4)]
    await engine.change("PAUSE", paused)
    await engine.change("STOP", stopped)
    assert [engine.state(run) for run in (paused, stopped)] == ["PAUSE", "STOP"]
    assert engine.reason(paused) == "it was paused before it had begun to run"
    assert "wait for its end" in await engine.refused(engine.ask("RECOVER_SUSPENDED_PROCESS", run=paused))
    assert engine.state(last) == "SERIAL_WAIT"
    await engine.change("STOP", first)
    await engine.becomes(last, "RUNNING_EXECUTION")
    await engine.change("STOP", last)
    await engine.end(last)
    await engine.change("RECOVER_SUSPENDED_PROCESS", paused)
    await engine.task_becomes(paused, "a", "RUNNING_EXECUTION")
    await engine.change("STOP", paused)
    await engine.end(paused)


async def test_serial_discard_ends_at_once_as_stop_with_the_reason(engine: Engine) -> None:
    code = engine.define({"name": "a", **UNTIL_STOPPED}, execution_type="SERIAL_DISCARD")
    first, second = await engine.begin(code), await engine.begin(code)
    assert engine.path(second) == ["STOP"]
    assert engine.tasks(second) == {}
    assert engine.reason(second) == (
        "another run of this workflow had not ended, and its execution type is SERIAL_DISCARD"
    )
    assert engine.state(first) == "RUNNING_EXECUTION"
    await engine.change("STOP", first)
    await engine.end(first)
    third = await engine.begin(code)
    assert engine.state(third) == "RUNNING_EXECUTION"
    await engine.change("STOP", third)


async def test_serial_priority_stops_what_runs_and_what_waits_and_then_the_new_one_runs(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_PRIORITY")
    first = await engine.begin(code)
    await engine.claim(first, "a")
    second = await engine.begin(code)
    await engine.becomes(first, "READY_STOP")
    assert engine.state(second) == "SERIAL_WAIT"
    third = await engine.begin(code)
    assert engine.state(second) == "STOP"
    assert engine.reason(second) == "a newer run of this workflow has priority"
    assert engine.state(third) == "SERIAL_WAIT", "what runs has not ended yet"
    engine.report(first, "a", "KILL")
    assert await engine.end(first) == "STOP"
    await engine.claim(third, "a")
    engine.report(third, "a", "SUCCESS")
    assert await engine.end(third) == "SUCCESS"


async def test_all_versions_stand_in_one_line(engine: Engine) -> None:
    task = {"name": "a", **BY_HAND}
    code = engine.define(task, execution_type="SERIAL_WAIT")
    first = await engine.begin(code)
    engine.revise(code, task, {"name": "b"}, execution_type="SERIAL_WAIT")
    second = await engine.begin(code)
    third = await engine.begin(code, workflow_version=1)
    assert [engine.state(run) for run in (second, third)] == ["SERIAL_WAIT", "SERIAL_WAIT"]
    for run in (first, second, third):
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
        assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(second) == {"a": "SUCCESS", "b": "SUCCESS"}
    assert engine.tasks(third) == {"a": "SUCCESS"}


@pytest.mark.parametrize("type_", SERIAL)
async def test_two_masters_with_many_starts_at_once_never_let_two_run(engine: Engine, type_: str) -> None:
    code = engine.define({"name": "a", "params": {"sleep_s": 0.05}}, execution_type=type_)
    engine.cluster.start(code, STARTS)
    query = "SELECT id, state FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL ORDER BY id"
    await eventually(lambda: len(engine.cluster.rows(query, code)), until=STARTS, within_s=30)
    states = [state for _, state in engine.cluster.rows(query, code)]
    shared = """SELECT count(DISTINCT h.master_id) FROM command_history h
                JOIN workflow_instance i ON i.command_id = h.command_id WHERE i.workflow_code = %s"""
    assert engine.cluster.one(shared, code) == 2
    overlaps = """SELECT count(*) FROM task_instance a JOIN task_instance b ON b.id > a.id
                  JOIN workflow_instance i ON i.id = a.workflow_instance_id
                  JOIN workflow_instance j ON j.id = b.workflow_instance_id
                  WHERE i.workflow_code = %s AND j.workflow_code = i.workflow_code
                    AND b.started_at < a.ended_at AND a.started_at < b.ended_at"""
    assert engine.cluster.one(overlaps, code) == 0
    running = 0
    seen = """SELECT s.workflow_instance_id, s.state FROM seen s
              JOIN workflow_instance i ON i.id = s.workflow_instance_id
              WHERE i.workflow_code = %s AND s.task_name IS NULL ORDER BY s.id"""
    begun: set[int] = set()
    for run, state in engine.cluster.rows(seen, code):
        if state == "RUNNING_EXECUTION":
            begun.add(run)
        elif state in ("SUCCESS", "STOP"):
            begun.discard(run)
        running = max(running, len(begun))
    assert running == 1
    if type_ == "SERIAL_WAIT":
        assert states == ["SUCCESS"] * STARTS
    if type_ == "SERIAL_PRIORITY":
        assert states[-1] == "SUCCESS", "the newest wins"
    assert "SUCCESS" in states
    assert set(states) <= {"SUCCESS", "STOP"}


@pytest.mark.parametrize("type_", SERIAL)
async def test_what_would_run_beside_another_is_not_revived(engine: Engine, type_: str) -> None:
    code = engine.define({"name": "a", "params": {"sleep_s": 300}}, execution_type=type_)
    ended = await engine.begin(code)
    await engine.change("STOP", ended)
    await engine.end(ended)
    running = await engine.begin(code)
    for command in ("RECOVER_SUSPENDED_PROCESS", "REPEAT_RUNNING"):
        sentence = await engine.refused(engine.ask(command, run=ended))
        assert f"its workflow is {type_}" in sentence
        assert f"instance {running} of it is RUNNING_EXECUTION; wait for its end" in sentence
    assert engine.state(ended) == "STOP"
    await engine.change("STOP", running)
    await engine.end(running)


LIVE = ("RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "FAILOVER")
AFTER = {"START_FAILURE_TASK_PROCESS": "FAILURE"}
"""How the runs ended that a command resumes; the others were stopped."""


def most_at_once(engine: Engine, workflow: int) -> int:
    """How many runs of a workflow were ever live at the same time."""
    seen = """SELECT s.workflow_instance_id, s.state FROM seen s
              JOIN workflow_instance i ON i.id = s.workflow_instance_id
              WHERE i.workflow_code = %s AND s.task_name IS NULL ORDER BY s.id"""
    live: set[int] = set()
    most = 0
    for run, state in engine.cluster.rows(seen, workflow):
        if state in LIVE:
            live.add(run)
        else:
            live.discard(run)
        most = max(most, len(live))
    return most


async def two_that_ended(engine: Engine, workflow: int, command: str) -> list[int]:
    """Runs that a command of that type may let go on."""
    runs = []
    for _ in range(2):
        run = await engine.begin(workflow)
        if AFTER.get(command) == "FAILURE":
            await engine.claim(run, "a")
            engine.report(run, "a", "FAILURE")
        else:
            await engine.change("STOP", run)
        await engine.end(run)
        runs.append(run)
    return runs


async def ask_at_once(engine: Engine, *asked: tuple[str, int | None, int | None, list[str] | None]) -> None:
    """Commands (type, workflow, run, start_tasks) in one statement, and wait until all are handled."""
    query = """INSERT INTO command (type, workflow_code, workflow_instance_id, start_tasks)
               SELECT type, workflow, run, start_tasks
               FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[]) AS a (type, workflow, run, start_tasks)
               RETURNING id"""
    types, workflows, runs, tasks = zip(*asked, strict=True)
    written = [None if names is None else json.dumps(names) for names in tasks]
    ids = [id_ for (id_,) in engine.cluster.rows(query, list(types), list(workflows), list(runs), written)]
    handled = "SELECT count(*) FROM command_history WHERE command_id = ANY(%s)"
    await eventually(lambda: engine.cluster.one(handled, ids), until=len(ids), within_s=30)


@pytest.mark.parametrize("type_", SERIAL)
@pytest.mark.parametrize(
    "command", ["EXECUTE_TASK", "START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING", "RECOVER_SUSPENDED_PROCESS"]
)
async def test_of_two_that_are_asked_to_go_on_in_one_batch_one_does(engine: Engine, type_: str, command: str) -> None:
    """Each of two masters gets one command for either run."""
    code = engine.define({"name": "a", **BY_HAND}, execution_type=type_)
    one, other = await two_that_ended(engine, code, command)
    tasks = ["a"] if command == "EXECUTE_TASK" else None
    await ask_at_once(engine, *((command, None, run, tasks) for run in (one, one, other, other)))
    assert most_at_once(engine, code) == 1
    assert [engine.state(run) for run in (one, other)].count("RUNNING_EXECUTION") == 1
    for run in (one, other):
        if engine.state(run) == "RUNNING_EXECUTION":
            await engine.change("STOP", run)
            await engine.end(run)


@pytest.mark.parametrize("type_", SERIAL)
async def test_whatever_makes_runs_live_in_one_batch_one_is_live(engine: Engine, type_: str) -> None:
    code = engine.define({"name": "a", "params": {"sleep_s": 0.05}}, execution_type=type_)
    one, other = [await engine.run(code) for _ in range(2)]
    again = [("REPEAT_RUNNING", None, run, None) for run in (one, one, other, other)]
    begin: list[tuple[str, int | None, int | None, list[str] | None]] = [
        *(("START_PROCESS", code, None, None), ("RECOVER_SERIAL_WAIT", code, None, None)) * 4,
    ]
    await ask_at_once(engine, *again, *begin, *again)
    over = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NULL"
    await eventually(lambda: engine.cluster.one(over, code), until=0, within_s=30)
    assert most_at_once(engine, code) == 1


async def test_one_that_cannot_be_driven_does_not_hold_up_its_line(engine: Engine) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    first, broken, last = [await engine.begin(code) for _ in range(3)]
    changed = "UPDATE workflow_instance SET workflow_version = 99 WHERE id = %s RETURNING id"
    assert engine.cluster.rows(changed, broken)
    await engine.change("STOP", first)
    assert await engine.end(broken) == "FAILURE"
    assert "99" in (engine.reason(broken) or "")
    await engine.becomes(last, "RUNNING_EXECUTION")
    await engine.change("STOP", last)


async def test_a_line_that_one_with_priority_overtakes_ends_in_portions(engine: Engine) -> None:
    """More than one transaction ends wait when a version that has priority is started."""
    task = {"name": "a", **BY_HAND}
    code = engine.define(task, execution_type="SERIAL_WAIT")
    first = await engine.begin(code)
    count = 2 * OVERTAKEN_MAX + 10
    engine.cluster.start(code, count)
    waiting = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SERIAL_WAIT'"
    await eventually(lambda: engine.cluster.one(waiting, code), until=count, within_s=30)
    engine.revise(code, task, execution_type="SERIAL_PRIORITY")
    winner = await engine.begin(code)
    assert await engine.end(first) == "STOP"
    await engine.becomes(winner, "RUNNING_EXECUTION")
    stopped = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'STOP'"
    assert engine.cluster.one(stopped, code) == count + 1
    assert most_at_once(engine, code) == 1
    await engine.change("STOP", winner)


@pytest.mark.parametrize("lengths", [1, 2, 3])
async def test_a_serial_workflow_that_runs_itself_fails_instead_of_waiting_for_itself(
    engine: Engine, lengths: int
) -> None:
    """Written by SQL, since a save refuses it; directly, and through others that are serial too."""
    codes = [engine.next_code() + place for place in range(lengths)]
    for place, code in enumerate(codes):
        task = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": codes[(place + 1) % lengths]}}
        engine.cluster.define(code, f"round {code}", tasks=[task], execution_type="SERIAL_WAIT")
    run = await engine.begin(codes[0])
    assert await engine.end(run) != "SUCCESS"
    said = "SELECT reason FROM workflow_instance WHERE workflow_code = ANY(%s) AND reason LIKE 'it would wait %%'"
    ((reason,),) = engine.cluster.rows(said, codes)
    assert f"its turn comes when run {run} of this serial workflow has ended, and that run waits for this" in reason


async def test_two_serial_workflows_that_run_each_other_end_though_both_began(engine: Engine) -> None:
    """Each child waits behind the other's parent: neither stands above its own kind."""
    codes = [engine.next_code(), engine.next_code() + 1]
    for code, other in (codes, codes[::-1]):
        task = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": other}}
        engine.cluster.define(code, f"each other {code}", tasks=[task], execution_type="SERIAL_WAIT")
    runs = [await engine.begin(code) for code in codes]
    for run in runs:
        await engine.end(run)
    below = "SELECT count(*) FROM workflow_instance WHERE workflow_code = ANY(%s) AND ended_at IS NULL"
    await eventually(lambda: engine.cluster.one(below, codes), until=0, within_s=60)


@pytest.mark.parametrize("column", ["scope", "executing"])
@pytest.mark.parametrize("value", ["nonsense", '["a"]', "7"])
async def test_a_waiting_run_whose_row_cannot_be_read_does_not_hold_its_line(
    engine: Engine, column: str, value: str
) -> None:
    code = engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    first, broken, last = [await engine.begin(code) for _ in range(3)]
    engine.cluster.rows(f"UPDATE workflow_instance SET {column} = %s WHERE id = %s", value, broken)
    await engine.claim(first, "a")
    engine.report(first, "a", "SUCCESS")
    assert await engine.end(broken) == "FAILURE"
    assert "is not a JSON list of task codes" in (engine.reason(broken) or "")
    await engine.claim(last, "a")
    engine.report(last, "a", "SUCCESS")
    assert await engine.end(last) == "SUCCESS"
