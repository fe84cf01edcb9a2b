"""Events are rows until somebody has acted upon them: neither an error nor a lost call makes them forgotten."""

from __future__ import annotations

import signal

from tests.cluster.cluster import Cluster
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

STUMBLE = """
    CREATE SEQUENCE stumbles;
    CREATE FUNCTION stumble() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_ARGV[1] = 'for ever' OR nextval('stumbles') <= 3 THEN
            RAISE EXCEPTION 'it stumbles' USING ERRCODE = TG_ARGV[0];
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER some_stumble BEFORE INSERT ON task_instance FOR EACH ROW WHEN (NEW.task_name = 'stumbles')
        EXECUTE FUNCTION stumble('XX000', 'three times');
    CREATE TRIGGER others_fall BEFORE INSERT ON task_instance FOR EACH ROW WHEN (NEW.task_name = 'falls')
        EXECUTE FUNCTION stumble('22012', 'for ever');
"""
"""The process that handles the end of what is before such a task meets an error in the middle of it."""
UNTOLD = """
    WITH ended AS (
        UPDATE task_instance SET state = 'SUCCESS', ended_at = clock_timestamp()
        WHERE workflow_instance_id = %s AND task_name = 'a' RETURNING workflow_instance_id, task_code, attempt, state
    )
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) SELECT * FROM ended
"""


async def test_17758_a_task_that_cannot_be_prepared_fails_with_its_reason_and_the_run_can_be_stopped(
    engine: Engine,
) -> None:
    """Upstream: a task of an imported definition could not be initialised; the exception ended the event, the task was
    neither dispatched nor failed, and its workflow could not even be stopped.
    Here: it fails with a sentence, what hangs on it does not begin, what does not goes on, and a stop ends the run.
    """
    growing = {name: f"${{{before}}}" * 100 for before, name in zip("abcdef", "bcdefg", strict=True)}
    bad = {"name": "bad", "local_params": {"a": "x" * 100, **growing}}
    alone = await engine.run(engine.define(bad, {"name": "next", "after": ["bad"]}, {"name": "other"}))
    assert engine.state(alone) == "FAILURE"
    assert engine.tasks(alone) == {"bad": "FAILURE", "other": "SUCCESS"}
    assert engine.why(alone, "bad")
    run = await engine.begin(engine.define(bad, {"name": "long", **UNTIL_STOPPED}))
    await engine.task_becomes(run, "bad", "FAILURE")
    await engine.task_becomes(run, "long", "RUNNING_EXECUTION")
    await engine.change("STOP", run)
    assert await engine.end(run) == "STOP"
    assert engine.tasks(run) == {"bad": "FAILURE", "long": "KILL"}


async def test_18131_18406_an_event_whose_handling_fails_is_handled_again(engine: Engine) -> None:
    """Upstream: events were only in memory. When a handler met an exception its event was gone, and the workflow stayed
    RUNNING for ever.
    Here: the event leaves its table in the transaction that acts upon it. One that fails for a reason that may pass is
    tried again; one whose own data is to blame ends its run with the reason; runs beside it do not suffer.
    """
    engine.cluster.rows(STUMBLE)
    stumbles = engine.define({"name": "a"}, {"name": "stumbles", "after": ["a"]})
    falls = engine.define({"name": "a"}, {"name": "falls", "after": ["a"]})
    good = engine.define({"name": "a"}, {"name": "b", "after": ["a"]})
    runs = {code: [await engine.begin(code) for _ in range(4)] for code in (stumbles, falls, good)}
    for code, becomes in {stumbles: "SUCCESS", falls: "FAILURE", good: "SUCCESS"}.items():
        assert {await engine.end(run) for run in runs[code]} == {becomes}
    assert engine.cluster.one("SELECT last_value FROM stumbles") >= 3
    assert {engine.reason(run) for run in runs[falls]} == {"it could not be driven: it stumbles (22012)"}
    for run in runs[stumbles] + runs[good]:
        assert all(states == [("SUCCESS", "YES")] for states in (engine.attempts(run, task) for task in "a"))
    assert engine.cluster.one("SELECT count(*) FROM task_event") == 0


async def test_18131_18406_an_event_that_wakes_nobody_is_found(engine: Engine) -> None:
    """Upstream: a wake-up that was lost between two threads was never made good.
    Here: a notification only says "look now"; masters look by themselves, too, and act on the row that they find.
    """
    runs = [await engine.begin(engine.define({"name": "a", **BY_HAND}, {"name": "b", "after": ["a"]})) for _ in "12"]
    for run in runs:
        await engine.claim(run, "a")
        engine.cluster.rows(UNTOLD, run)
    for run in runs:
        assert await engine.end(run) == "SUCCESS"
        assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS"}


async def test_18131_18406_an_event_without_a_living_owner_waits_for_the_next(laptop: Cluster) -> None:
    """Upstream: what a worker told while no master listened was lost.
    Here: it is a row like any other, written with the state of its task: whoever comes next acts upon it.
    """
    engine = Engine(laptop)
    laptop.define(1, "by hand", tasks=[{"name": "a", **BY_HAND}, {"name": "b", "after": ["a"], **BY_HAND}])
    former = await laptop.master()
    run = await engine.begin(1)
    await engine.claim(run, "a")
    former.signal(signal.SIGKILL)
    await former.ended()
    engine.report(run, "a", "SUCCESS", x="1")
    await laptop.master()
    await engine.claim(run, "b")
    engine.report(run, "b", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"
    assert engine.values(run, "b") == {"x": "1"}
    assert laptop.rows("SELECT task_name, attempt, state FROM task_instance ORDER BY 1") == [
        ("a", 1, "SUCCESS"),
        ("b", 1, "SUCCESS"),
    ]
