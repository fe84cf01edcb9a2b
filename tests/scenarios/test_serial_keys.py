"""Lines by key: what holds for runs of one key, and that runs of others do not wait for them."""

from __future__ import annotations

import psycopg
import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine
from tests.scenarios.keyed_runs import (
    BACKFILL,
    OPEN,
    alone,
    ask,
    ask_held,
    begin,
    end_by_hand,
    finish,
    keyed,
    let_go,
    of_key,
)

BEGUN = """
    SELECT i.command_id FROM workflow_instance i
    JOIN (SELECT workflow_instance_id AS run, min(id) AS at FROM seen
          WHERE task_name IS NULL AND state = 'RUNNING_EXECUTION' GROUP BY 1) AS began ON began.run = i.id
    WHERE i.workflow_code = %s AND i.serial_key = %s ORDER BY began.at
"""


async def test_runs_of_one_key_wait_for_each_other_and_those_of_others_do_not(engine: Engine) -> None:
    code = keyed(engine)
    first, second, other = [await begin(engine, code, key) for key in ("a", "a", "b")]
    assert [engine.state(run) for run in (first, second, other)] == [
        *("RUNNING_EXECUTION", "SERIAL_WAIT", "RUNNING_EXECUTION")
    ]
    assert [of_key(engine, run) for run in (first, second, other)] == ["a", "a", "b"]
    await finish(engine, other)
    assert engine.state(second) == "SERIAL_WAIT"
    await finish(engine, first, "FAILURE")
    await finish(engine, second)


async def test_many_commands_of_all_priorities_run_in_their_order_of_each_key(engine: Engine) -> None:
    code = keyed(engine, {"name": "a", "params": {"sleep_s": 0.01}})
    engine.cluster.rows(
        "INSERT INTO command (type, workflow_code, params, priority) SELECT 'START_PROCESS', %s, "
        "json_build_object('k', 'k' || i %% 7)::text, (ARRAY['HIGHEST', 'LOWEST', 'MEDIUM'])[1 + i %% 3] "
        "FROM generate_series(1, 105) AS i",
        code,
    )
    await eventually(lambda: engine.cluster.one(OPEN, code, code), until=0, within_s=120)
    for number in range(7):
        begun = [command for (command,) in engine.cluster.rows(BEGUN, code, f"k{number}")]
        assert len(begun) == 15
        assert begun == sorted(begun)


@pytest.mark.parametrize("how", ["suspect", "locked"])
async def test_a_run_waits_for_an_older_command_of_its_key_and_runs_of_other_keys_do_not(
    engine: Engine, how: str
) -> None:
    code = keyed(engine)
    older = ask_held(engine, code, '{"k": "a"}')
    with psycopg.connect(engine.cluster.psql_url) as session:
        if how == "locked":  # as another session's lock, or a master that sleeps in its transaction
            session.execute("UPDATE command SET deaths = 0, tried_by = NULL WHERE id = %s", (older,))
        newer, other = await begin(engine, code, "a", priority="HIGHEST"), await begin(engine, code, "b")
        assert [engine.state(run) for run in (newer, other)] == ["SERIAL_WAIT", "RUNNING_EXECUTION"]
        await engine.done(engine.ask("RECOVER_SERIAL_WAIT", code))
        await engine.done(engine.ask("RECOVER_SERIAL_WAIT", code, params={"serial_key": "a"}))
        refusal = await engine.refused(engine.ask("RECOVER_SERIAL_WAIT", run=newer))
        assert 'an older command of the key "a" has not been handled yet' in refusal
        assert engine.state(newer) == "SERIAL_WAIT"
        if how == "suspect":
            let_go(engine, older)
    first = await engine.done(older)
    assert first is not None
    await engine.becomes(first, "RUNNING_EXECUTION")
    assert engine.state(newer) == "SERIAL_WAIT"
    await finish(engine, first)
    await finish(engine, newer)
    assert [run for (run,) in engine.cluster.rows(BEGUN, code, "a")] == [
        older,
        engine.cluster.one("SELECT command_id FROM workflow_instance WHERE id = %s", newer),
    ]


@pytest.mark.parametrize("halt", ["PAUSE", "STOP"])
async def test_a_run_that_was_halted_while_it_waited_does_not_overtake_an_older_command_of_its_key(
    engine: Engine, halt: str
) -> None:
    code = keyed(engine)
    older = ask_held(engine, code, '{"k": "a"}')
    newer = await begin(engine, code, "a")
    await engine.change(halt, newer)
    assert await engine.end(newer) == halt
    for again in ("RECOVER_SUSPENDED_PROCESS", "REPEAT_RUNNING"):
        refusal = await engine.refused(engine.ask(again, run=newer))
        assert 'an older command of the key "a" has not been handled yet' in refusal
    let_go(engine, older)
    first = await engine.done(older)
    assert first is not None
    await finish(engine, first)
    await engine.change("RECOVER_SUSPENDED_PROCESS", newer)
    await finish(engine, newer)


async def test_nor_does_it_overtake_one_that_the_same_batch_starts(engine: Engine) -> None:
    code = keyed(engine)
    older = ask_held(engine, code, '{"k": "a"}')
    newer = await begin(engine, code, "a")
    await engine.change("PAUSE", newer)
    assert await engine.end(newer) == "PAUSE"
    with psycopg.connect(engine.cluster.psql_url) as session:  # no master takes either before both are there
        session.execute("LOCK TABLE command IN SHARE ROW EXCLUSIVE MODE")
        session.execute("UPDATE command SET deaths = 0, tried_by = NULL WHERE id = %s", (older,))
        resume = (
            "INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_SUSPENDED_PROCESS', %s) RETURNING id"
        )
        ((asked,),) = session.execute(resume, (newer,)).fetchall()
    first = await engine.done(older)
    assert first is not None
    assert 'of the key "a"' in (await engine.refused(asked)) or "wait for its end" in engine.refusal(asked)
    await finish(engine, first)
    await engine.change("RECOVER_SUSPENDED_PROCESS", newer)
    await finish(engine, newer)


async def test_nor_does_it_overtake_a_child_that_the_same_batch_starts(fresh: Engine) -> None:
    """The key of a child is computed from what it inherits from the run above it."""
    engine = fresh
    await alone(engine)
    code = keyed(engine)
    parent = engine.define({"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": code}})
    holder = engine._worker_by_hand()
    engine.cluster.rows(f"""
        CREATE FUNCTION hold_child() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF NEW.from_above THEN NEW.deaths := 1; NEW.tried_by := {holder}; END IF; RETURN NEW; END $$""")
    engine.cluster.rows("CREATE TRIGGER hold_child BEFORE INSERT ON command FOR EACH ROW EXECUTE FUNCTION hold_child()")
    await engine.done(engine.ask("START_PROCESS", parent, params={"k": "a"}))
    child = await eventually(lambda: engine.cluster.one("SELECT max(id) FROM command WHERE from_above"))
    run = await begin(engine, code, "a")
    await engine.change("PAUSE", run)
    assert await engine.end(run) == "PAUSE"
    with psycopg.connect(engine.cluster.psql_url) as session:
        session.execute("LOCK TABLE command IN SHARE ROW EXCLUSIVE MODE")
        session.execute("UPDATE command SET deaths = 0, tried_by = NULL WHERE id = %s", (child,))
        resume = "INSERT INTO command (type, workflow_instance_id) VALUES (%s, %s) RETURNING id"
        ((asked,),) = session.execute(resume, ("RECOVER_SUSPENDED_PROCESS", run)).fetchall()
    assert "an older command of the key" in await engine.refused(asked)
    assert engine.state(await engine.done(child) or 0) == "RUNNING_EXECUTION"


@pytest.mark.parametrize("params", ["{}", "nonsense", '{"k": " "}', '{"k": "' + "x" * 201 + '"}', '{"k": "b"}'])
async def test_an_older_command_that_will_be_refused_or_has_another_key_delays_nothing(
    engine: Engine, params: str
) -> None:
    code = keyed(engine)
    ask_held(engine, code, params)
    run = await begin(engine, code, "a")
    assert engine.state(run) == "RUNNING_EXECUTION"
    await finish(engine, run)


async def test_an_older_command_whose_key_is_not_known_yet_delays_every_key_until_it_is_handled(
    engine: Engine,
) -> None:
    """The dates of a backfill are computed when its command is handled."""
    code = keyed(engine)
    older = ask_held(engine, code, BACKFILL, "COMPLEMENT_DATA")
    run = await begin(engine, code, "a")
    assert engine.state(run) == "SERIAL_WAIT"
    let_go(engine, older)
    date = await engine.done(older)
    assert date is not None
    await engine.becomes(run, "RUNNING_EXECUTION")
    assert of_key(engine, date) == "b"
    for each in (run, date):
        await finish(engine, each)


async def test_an_older_command_that_is_refused_in_the_end_calls_who_waited_for_it(engine: Engine) -> None:
    """Its workflow could be started when the newer one came, and its parent run is gone when it is handled."""
    code = keyed(engine)
    above = engine.define({"name": "a", **BY_HAND})
    parent = await engine.begin(above)
    held = """INSERT INTO command (type, workflow_code, params, parent, from_above, deaths, tried_by)
              VALUES ('START_PROCESS', %s, '{"k": "a"}', %s || '/1/7/0', true, 1, %s) RETURNING id"""
    older = int(engine.cluster.one(held, code, str(parent), engine._worker_by_hand()))
    run = await begin(engine, code, "a")
    assert engine.state(run) == "SERIAL_WAIT"
    let_go(engine, older)
    assert await engine.done(older) is None  # no task awaits it
    await engine.becomes(run, "RUNNING_EXECUTION")
    await finish(engine, run)
    await finish(engine, parent)


async def test_who_waits_for_a_command_that_somebody_deletes_goes_on(engine: Engine) -> None:
    code = keyed(engine)
    older = ask_held(engine, code, '{"k": "a"}')
    run = await begin(engine, code, "a")
    assert engine.state(run) == "SERIAL_WAIT"
    engine.cluster.rows("DELETE FROM command WHERE id = %s", older)
    await engine.becomes(run, "RUNNING_EXECUTION")
    await finish(engine, run)


async def test_a_command_that_is_not_committed_yet_holds_nobody(engine: Engine) -> None:
    """The one that commits later may have the smaller id: neither was before the other."""
    code = keyed(engine)
    with psycopg.connect(engine.cluster.psql_url) as session:
        row = session.execute(
            "INSERT INTO command (type, workflow_code, params) VALUES ('START_PROCESS', %s, '{\"k\": \"a\"}') "
            "RETURNING id",
            (code,),
        ).fetchone()
        assert row is not None
        run = await begin(engine, code, "a")
        assert engine.state(run) == "RUNNING_EXECUTION"
    late = await engine.done(row[0])
    assert late is not None
    assert engine.state(late) == "SERIAL_WAIT"
    await finish(engine, run)
    await finish(engine, late)


@pytest.mark.parametrize(
    ("key", "params", "says"),
    [
        ("${k}", {}, "needs a value of k; give it at the start, or a default in params"),
        ("${k}-${day}", {"k": "1"}, "needs a value of day"),
        ("${k}", {"k": ""}, "is empty for this run"),
        ("${k}", {"k": "x" * 201}, "must be at most 200 printable characters"),
        ("${k}", {"k": "a\nb"}, "must be at most 200 printable characters"),
        ("${system.workflow.instance.id}", {}, "is known only when the run has begun"),
    ],
)
async def test_a_run_without_a_key_is_refused(engine: Engine, key: str, params: dict[str, str], says: str) -> None:
    code = keyed(engine, key=key)
    assert says in await engine.refused(engine.ask("START_PROCESS", code, params=params))


async def test_a_key_is_made_of_all_parameters_of_the_run(engine: Engine) -> None:
    """Parameters of the start win over those of the workflow; time expressions and built-in names use its time."""
    code = keyed(
        engine,
        {"name": "a", "params": {"sleep_s": 0}},
        key="${airline}${number}/$[yyyy]/${system.workflow.definition.name}",
        params={"airline": "LH", "number": "${n}", "n": "0"},
        time_zone="UTC",
    )
    run = await engine.run(code, params={"n": "17"}, schedule_time="2026-05-01 00:00:00+00")
    assert of_key(engine, run) == f"LH17/2026/workflow {code}"


async def test_children_of_many_keys_run_beside_each_other_and_those_of_one_in_turn(engine: Engine) -> None:
    below = keyed(engine, {"name": "a", "params": {"sleep_s": 0.02}}, params={"k": "${n}"})
    above = engine.define(
        {
            "name": "each",
            "type": "DYNAMIC",
            "params": {"workflow": below, "lists": [{"name": "n", "value": "1,2,1,3,1"}], "parallelism": 5},
        }
    )
    run = await engine.run(above)
    assert engine.state(run) == "SUCCESS"
    assert sorted(of_key(engine, child) for child in engine.children(run)) == ["1", "1", "1", "2", "3"]
    begun = [command for (command,) in engine.cluster.rows(BEGUN, below, "1")]
    assert begun == sorted(begun)


async def test_a_backfill_over_keys_of_dates_runs_all_of_them(engine: Engine) -> None:
    code = keyed(engine, {"name": "a", "params": {"sleep_s": 0.01}}, key="$[yyyy-MM]")
    dates = {"from": "2026-01-30", "to": "2026-02-03", "mode": "PARALLEL"}
    engine.ask("COMPLEMENT_DATA", code, params={"backfill": dates})
    done = (
        "SELECT serial_key, count(*) FROM workflow_instance WHERE workflow_code = %s AND state = 'SUCCESS' GROUP BY 1"
    )
    until = [("2026-01", 2), ("2026-02", 3)]
    await eventually(lambda: sorted(engine.cluster.rows(done, code)), until=until, within_s=60)


async def test_a_paused_run_has_ended_and_when_it_is_resumed_it_is_one_of_its_key(engine: Engine) -> None:
    code = keyed(engine)
    first, second, other = [await begin(engine, code, key) for key in ("a", "a", "b")]
    await engine.change("PAUSE", first)
    await engine.end(first)
    await engine.becomes(second, "RUNNING_EXECUTION")
    refusal = await engine.refused(engine.ask("RECOVER_SUSPENDED_PROCESS", run=first))
    assert f'for the key "a", and instance {second} of it is RUNNING_EXECUTION; wait for its end' in refusal
    await finish(engine, second)
    await engine.change("RECOVER_SUSPENDED_PROCESS", first)
    await finish(engine, first)
    await finish(engine, other)


async def test_a_waiting_run_is_stopped_at_once_and_who_is_not_next_cannot_be_let_go_on(engine: Engine) -> None:
    code = keyed(engine)
    first, second, third = [await begin(engine, code, "a") for _ in range(3)]
    assert "wait for its end" in await engine.refused(engine.ask("RECOVER_SERIAL_WAIT", run=third))
    await engine.change("STOP", second)
    assert engine.state(second) == "STOP"
    await finish(engine, first)
    await finish(engine, third)


async def test_discard_counts_the_runs_of_its_key(engine: Engine) -> None:
    code = keyed(engine, execution_type="SERIAL_DISCARD")
    first, second, other = [await begin(engine, code, key) for key in ("a", "a", "b")]
    assert [engine.state(run) for run in (first, second, other)] == ["RUNNING_EXECUTION", "STOP", "RUNNING_EXECUTION"]
    assert engine.reason(second) == ("another run of its key had not ended, and its execution type is SERIAL_DISCARD")
    for run in (first, other):
        await finish(engine, run)


async def test_an_older_command_is_not_discarded_for_a_newer_one_that_waits_for_it(engine: Engine) -> None:
    code = keyed(engine, execution_type="SERIAL_DISCARD")
    older, second = ask_held(engine, code, '{"k": "a"}'), ask_held(engine, code, '{"k": "a"}')
    newer = await begin(engine, code, "a")
    assert engine.state(newer) == "SERIAL_WAIT"
    let_go(engine, older)
    first = await engine.done(older)
    assert first is not None
    await engine.becomes(first, "RUNNING_EXECUTION")
    assert engine.state(newer) == "SERIAL_WAIT"
    let_go(engine, second)
    discarded = await engine.done(second)
    assert discarded is not None
    assert engine.state(discarded) == "STOP"
    await finish(engine, first)
    await finish(engine, newer)


async def three_in_line(engine: Engine, code: int) -> list[int]:
    """A run that a worker has taken, one that waits, and one that was paused while it waited."""
    live, older, newer = [await begin(engine, code, "a") for _ in range(3)]
    assert [engine.state(run) for run in (live, older, newer)] == [*("RUNNING_EXECUTION", "SERIAL_WAIT", "SERIAL_WAIT")]
    await engine.change("PAUSE", newer)
    assert await engine.end(newer) == "PAUSE"
    await engine.claim(live, "a")
    return [live, older, newer]


@pytest.mark.parametrize("of_keys", [True, False])
async def test_a_run_that_was_halted_while_it_waited_does_not_overtake_an_older_one_that_waits(
    fresh: Engine, of_keys: bool
) -> None:
    """The run before them has ended, and the call of its end is handled after it, in the same batch."""
    engine = fresh
    await alone(engine)
    code = keyed(engine) if of_keys else engine.define({"name": "a", **BY_HAND}, execution_type="SERIAL_WAIT")
    live, older, newer = await three_in_line(engine, code)
    with psycopg.connect(engine.cluster.psql_url) as session:
        session.execute("LOCK TABLE command IN SHARE ROW EXCLUSIVE MODE")
        end_by_hand(session, live)
        resume = "INSERT INTO command (type, workflow_instance_id) VALUES (%s, %s) RETURNING id"
        ((asked,),) = session.execute(resume, ("RECOVER_SUSPENDED_PROCESS", newer)).fetchall()
        call = "INSERT INTO command (type, workflow_code) VALUES ('RECOVER_SERIAL_WAIT', %s)"
        session.execute(call, (code,))
    assert f"instance {older} is before it in the line of " in await engine.refused(asked)
    await engine.becomes(older, "RUNNING_EXECUTION")
    assert engine.state(newer) == "PAUSE"
    await finish(engine, older)
    await engine.change("RECOVER_SUSPENDED_PROCESS", newer)
    await finish(engine, newer)


async def test_a_run_goes_on_when_the_same_batch_stops_the_one_before_it(fresh: Engine) -> None:
    engine = fresh
    await alone(engine)
    live, older, newer = await three_in_line(engine, keyed(engine))
    with psycopg.connect(engine.cluster.psql_url) as session:
        session.execute("LOCK TABLE command IN SHARE ROW EXCLUSIVE MODE")
        end_by_hand(session, live)
        ask_for = "INSERT INTO command (type, workflow_instance_id) VALUES (%s, %s)"
        session.execute(ask_for, ("STOP", older))
        session.execute(ask_for, ("RECOVER_SUSPENDED_PROCESS", newer))
    assert await engine.end(older) == "STOP"
    await finish(engine, newer)


async def test_priority_stops_the_runs_of_its_key(engine: Engine) -> None:
    code = keyed(engine, execution_type="SERIAL_PRIORITY")
    first, other = await begin(engine, code, "a"), await begin(engine, code, "b")
    await engine.claim(first, "a")
    second = await begin(engine, code, "a")
    await engine.becomes(first, "READY_STOP")
    assert engine.state(other) == "RUNNING_EXECUTION"
    third = await begin(engine, code, "a")
    assert engine.state(second) == "STOP"
    engine.report(first, "a", "KILL")
    assert await engine.end(first) == "STOP"
    for run in (third, other):
        await finish(engine, run)


async def test_an_older_command_with_priority_gives_way_to_a_newer_one_that_waits(engine: Engine) -> None:
    code = keyed(engine, execution_type="SERIAL_PRIORITY")
    older = ask_held(engine, code, '{"k": "a"}')
    newer = await begin(engine, code, "a")
    assert engine.state(newer) == "SERIAL_WAIT"
    let_go(engine, older)
    first = await engine.done(older)
    assert first is not None
    assert await engine.end(first) == "STOP"
    assert engine.reason(first) == "a newer run of this workflow has priority"
    await finish(engine, newer)


async def test_the_key_is_of_the_version_and_runs_without_one_are_a_line_of_their_own(engine: Engine) -> None:
    task = {"name": "a", **BY_HAND}
    code = engine.define(task, execution_type="SERIAL_WAIT")
    without, waits = await begin(engine, code, "a"), await begin(engine, code, "a")
    engine.revise(code, task, execution_type="SERIAL_WAIT", serial_key="${k}")
    of_k = await begin(engine, code, "a")
    engine.revise(code, task, execution_type="SERIAL_WAIT", serial_key="x${k}")
    of_x, same = await begin(engine, code, "a"), await begin(engine, code, "xa", workflow_version=2)
    assert [of_key(engine, run) for run in (without, waits, of_k, of_x, same)] == ["", "", "a", "xa", "xa"]
    assert [engine.state(run) for run in (without, waits, of_k, of_x, same)] == [
        *("RUNNING_EXECUTION", "SERIAL_WAIT", "RUNNING_EXECUTION", "RUNNING_EXECUTION", "SERIAL_WAIT")
    ]
    for run in (without, waits, of_k, of_x, same):
        await finish(engine, run)


async def test_a_parallel_version_has_no_key(engine: Engine) -> None:
    """Written by SQL: a save refuses it, and so does a start."""
    code = keyed(engine, execution_type="PARALLEL")
    assert "serial_key makes lines of runs, and PARALLEL runs wait for none" in await engine.refused(
        ask(engine, code, "a")
    )


async def test_two_workflows_of_keys_that_run_each_other_deadlock_only_within_a_key(engine: Engine) -> None:
    codes = [engine.next_code(), engine.next_code() + 1]
    for code, other in (codes, codes[::-1]):
        task = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": other}}
        fields = {"execution_type": "SERIAL_WAIT", "serial_key": "${k}"}
        engine.cluster.define(code, f"keyed each other {code}", tasks=[task], params={"k": ""}, **fields)
    runs = [await begin(engine, code, "a") for code in codes]
    for run in runs:
        await engine.end(run)
    below = "SELECT count(*) FROM workflow_instance WHERE workflow_code = ANY(%s) AND ended_at IS NULL"
    await eventually(lambda: engine.cluster.one(below, codes), until=0, within_s=60)
