"""Lines of many keys behind commands that are not handled for long: who is called when they are, and at what cost."""

from __future__ import annotations

import json

import psycopg

from master.claim.control_commands import READ_MAX
from master.claim.line_keys import OLDER_MAX
from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine
from tests.scenarios.keyed_runs import BACKFILL, OPEN, alone, ask, ask_held, begin, keyed, let_go

HELD = """
    INSERT INTO command (type, workflow_code, params, deaths, tried_by)
    SELECT 'START_PROCESS', %s, json_build_object('k', format('a%%s', n))::text, 1, %s FROM generate_series(1, %s) AS n
"""
LET_ALL_GO = "UPDATE command SET deaths = 0, tried_by = NULL WHERE workflow_code = %s"


async def test_who_waited_for_a_backfill_is_called_by_its_master(fresh: Engine) -> None:
    await alone(fresh)
    code = keyed(fresh)
    older = ask_held(fresh, code, BACKFILL, "COMPLEMENT_DATA")
    run = await begin(fresh, code, "a")
    assert fresh.state(run) == "SERIAL_WAIT"
    let_go(fresh, older)
    await fresh.becomes(run, "RUNNING_EXECUTION")


async def test_a_hundred_lines_that_wait_for_older_commands_do_not_hold_up_the_line_after_them(fresh: Engine) -> None:
    """Nor are they called for as long as they wait: each call that finds them comes to an end."""
    await alone(fresh)
    code = keyed(fresh, {"name": "a", "params": {"sleep_s": 0}})
    engine, keys = fresh, [f"a{number:03}" for number in range(110)]
    older = [ask_held(engine, code, json.dumps({"k": key})) for key in keys]
    parent = await engine.begin(engine.define({"name": "a", **BY_HAND}))
    held = """INSERT INTO command (type, workflow_code, params, parent, from_above, deaths, tried_by)
              VALUES ('START_PROCESS', %s, '{"k": "z"}', %s || '/1/7/0', true, 1, %s) RETURNING id"""
    last = int(engine.cluster.one(held, code, str(parent), engine._worker_by_hand()))
    runs = [await begin(engine, code, key) for key in (*keys, "z")]
    assert {engine.state(run) for run in runs} == {"SERIAL_WAIT"}
    calls = "SELECT count(*) FROM command_history WHERE type = 'RECOVER_SERIAL_WAIT'"
    before = engine.cluster.one(calls)
    let_go(engine, last)  # no task awaits it, so all lines are called
    assert await engine.end(runs[-1]) == "SUCCESS"
    calm = "SELECT count(*) FROM command WHERE type = 'RECOVER_SERIAL_WAIT'"
    await eventually(lambda: engine.cluster.one(calm), until=0)
    assert engine.cluster.one(calls) - before <= 3, "one for all lines, another for the rest, and that of the end"
    for command in older:
        let_go(engine, command)
    await eventually(lambda: engine.cluster.one(OPEN, code, code), until=0, within_s=120)


async def test_behind_more_older_commands_than_are_read_a_run_is_called_as_soon_as_they_are_fewer(
    fresh: Engine,
) -> None:
    """No older command has its key, so none of them calls its line alone."""
    await alone(fresh)
    code = keyed(fresh, {"name": "a", "params": {"sleep_s": 0}})
    fresh.cluster.rows(HELD, code, fresh._worker_by_hand(), OLDER_MAX)
    runs = [await begin(fresh, code, key) for key in ("y", "z")]
    assert {fresh.state(run) for run in runs} == {"SERIAL_WAIT"}
    fresh.cluster.rows(LET_ALL_GO, code)
    for run in runs:
        assert await fresh.end(run) == "SUCCESS"
    await eventually(lambda: fresh.cluster.one(OPEN, code, code), until=0, within_s=120)


async def test_what_waits_behind_more_than_are_read_does_not_go_on_beside_a_start_of_its_batch(fresh: Engine) -> None:
    await alone(fresh)
    code = keyed(fresh)
    fresh.cluster.rows(HELD, code, fresh._worker_by_hand(), OLDER_MAX)
    beyond, other = [ask_held(fresh, code, json.dumps({"k": key})) for key in ("z", "y")]
    run = await begin(fresh, code, "z")
    await fresh.change("PAUSE", run)
    assert await fresh.end(run) == "PAUSE"
    with psycopg.connect(fresh.cluster.psql_url) as session:
        session.execute("LOCK TABLE command IN SHARE ROW EXCLUSIVE MODE")
        session.execute("UPDATE command SET deaths = 0, tried_by = NULL WHERE id = %s", (other,))
        resume = "INSERT INTO command (type, workflow_instance_id) VALUES (%s, %s) RETURNING id"
        ((asked,),) = session.execute(resume, ("RECOVER_SUSPENDED_PROCESS", run)).fetchall()
    assert await fresh.done(other) is not None
    assert "an older command of the key" in await fresh.refused(asked)
    assert fresh.cluster.one("SELECT count(*) FROM command WHERE id = %s", beyond) == 1


async def test_lines_that_wait_for_long_cost_a_command_for_each_thousand_each_time_they_are_checked(
    fresh: Engine,
) -> None:
    """And the line after them whose call is missing goes on."""
    await fresh.cluster.master(SHOAL_MASTER__SWEEP_EVERY="1s")
    await fresh.cluster.worker()
    code = keyed(fresh, {"name": "a", "params": {"sleep_s": 0}})
    older = ask_held(fresh, code, '{"k": "z"}')
    fresh.cluster.rows(HELD, code, fresh._worker_by_hand(), READ_MAX)
    newer = fresh.cluster.one("SELECT max(id) FROM command")
    fresh.cluster.rows(HELD, code, fresh._worker_by_hand(), READ_MAX)
    last = ask(fresh, code, "z")
    fresh.cluster.rows("UPDATE command SET deaths = 0, tried_by = NULL WHERE id > %s", newer)
    waits = "SELECT count(*) FROM workflow_instance WHERE state = 'SERIAL_WAIT'"
    await eventually(lambda: fresh.cluster.one(waits), until=READ_MAX + 1, within_s=60)
    calls = "SELECT count(*) FROM command_history WHERE type = 'RECOVER_SERIAL_WAIT'"
    before = fresh.cluster.one(calls)
    await eventually(lambda: fresh.cluster.one(calls) > before + 3, within_s=30)
    assert fresh.cluster.one(calls) < before + 10
    # With one that is before all, so that the others are not more than are read.
    fresh.cluster.rows("DELETE FROM command WHERE id IN (%s, %s)", older, older + 1)
    run = await fresh.done(last)
    assert run is not None
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.cluster.one(waits) >= READ_MAX - 1
