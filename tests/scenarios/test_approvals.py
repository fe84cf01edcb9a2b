"""Scenarios of APPROVAL: what ends it, exactly once, and what follows."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import psycopg
import pytest

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, UNTIL_STOPPED, Engine

FORM = {"rows": {"type": "INTEGER", "value": "${count}"}, "comment": ""}
COUNTS = {"name": "load", "params": {"outputs": {"count": "7"}}}
RECEIVES = {"name": "use", "after": ["ask"], "local_params": {"got": "${ask.comment}/${ask.answered_by}"}}


def asks(**params: Any) -> dict[str, Any]:
    return {"name": "ask", "type": "APPROVAL", "params": {"text": "go on?", **params}}


async def _waiting(engine: Engine, *tasks: dict[str, Any], **fields: Any) -> int:
    run = await engine.begin(engine.define(*tasks, **fields))
    await engine.task_becomes(run, "ask", "RUNNING_EXECUTION")
    return run


def _attempt(engine: Engine, run: int) -> int:
    query = "SELECT max(id) FROM task_instance WHERE workflow_instance_id = %s AND task_name = 'ask'"
    return int(engine.cluster.one(query, run))


def _answer(engine: Engine, run: int, *, approve: bool, by: str = "ada", **results: str) -> None:
    query = "SELECT answer_approval(%s, %s, %s, %s, %s)::text"
    engine.cluster.one(query, _attempt(engine, run), approve, json.dumps(results), "since it is so", by)


async def test_an_approval_gives_its_values_to_what_follows(engine: Engine) -> None:
    run = await _waiting(engine, COUNTS, {**asks(form=FORM), "after": ["load"]}, RECEIVES)
    assert engine.state(run) == "RUNNING_EXECUTION"
    _answer(engine, run, approve=True, comment="fine; rm -rf")
    assert await engine.end(run) == "SUCCESS"
    assert engine.why(run, "ask") == "approved by ada: since it is so"
    assert engine.values(run, "use")["got"] == "fine; rm -rf/ada"
    assert engine.path(run, "ask") == ["RUNNING_EXECUTION", "SUCCESS"]


async def test_a_rejection_is_a_failure_that_conditions_and_start_rules_see(engine: Engine) -> None:
    run = await _waiting(
        engine,
        asks(form=FORM),
        {"name": "tell", "after": ["ask"], "start_when": "one_failed"},
        {"name": "chosen", "type": "CONDITIONS", "after": ["ask"],
         "params": {"when": {"ask": "SUCCESS"}, "on_success": "publish", "on_failure": "undo"}},
        {"name": "publish", "after": ["chosen"]},
        {"name": "undo", "after": ["chosen"]},
    )  # fmt: skip
    _answer(engine, run, approve=False, comment="lost")
    assert await engine.end(run) == "SUCCESS"
    assert engine.why(run, "ask") == "rejected by ada: since it is so"
    assert engine.printed(run, "ask") == {}
    assert engine.tasks(run) == {"ask": "FAILURE", "tell": "SUCCESS", "chosen": "SUCCESS", "undo": "SUCCESS"}


@pytest.mark.parametrize(
    ("on_timeout", "state", "said"),
    [
        ("FAIL", "FAILURE", "nobody answered within its timeout of 0.01 min; it waited for an OPERATOR of the project"),
        ("SKIP", "SKIPPED", "nobody answered within its timeout of 0.01 min"),
        ("APPROVE", "SUCCESS", "approved by its timeout: nobody answered within its timeout of 0.01 min"),
    ],
)
async def test_nobody_answers_in_time(engine: Engine, on_timeout: str, state: str, said: str) -> None:
    ask = {**asks(form=FORM, timeout=0.01, on_timeout=on_timeout), "after": ["load"]}
    run = await engine.run(engine.define(COUNTS, ask))
    assert engine.tasks(run)["ask"] == state
    assert engine.why(run, "ask") == said
    if state == "SUCCESS":
        assert engine.printed(run, "ask") == {"rows": "7", "comment": ""}


async def test_a_default_that_does_not_fit_is_not_approved_by_the_timeout(engine: Engine) -> None:
    ask = asks(form={"rows": {"type": "INTEGER", "value": "${words}"}}, timeout=0.01, on_timeout="APPROVE")
    run = await engine.run(engine.define(ask, params={"words": "many"}))
    assert engine.tasks(run)["ask"] == "FAILURE"
    assert 'parameter "rows" is INTEGER and must be a whole number' in engine.why(run, "ask")


async def test_a_text_that_names_what_is_not_there_fails_at_once(engine: Engine) -> None:
    run = await engine.run(engine.define(COUNTS, {**asks(text="${load.rows} rows"), "after": ["load"]}))
    assert engine.tasks(run)["ask"] == "FAILURE"
    assert engine.why(run, "ask").startswith("${load.rows} has no value")


async def test_a_text_about_an_interval_that_there_is_not_fails_at_once(engine: Engine) -> None:
    run = await engine.run(engine.define(asks(text="since $[interval_start(yyyy)]")))
    assert engine.tasks(run)["ask"] == "FAILURE"


async def test_those_who_may_answer_are_notified_once(engine: Engine) -> None:
    run = await _waiting(
        engine, COUNTS, {**asks(text="${count}?", users=["ada"], alert_group="ops"), "after": ["load"]}
    )
    query = "SELECT kind, alert_group, facts FROM alert WHERE workflow_instance_id = %s"
    ((kind, group, facts),) = engine.cluster.rows(query, run)
    assert (kind, group, facts["asks"], facts["who"], facts["task"]) == ("APPROVAL", "ops", "7?", "ada", "ask")
    await engine.change("STOP", run)


async def test_pause_holds_it_back_and_resume_asks_anew(engine: Engine) -> None:
    run = await _waiting(engine, asks(timeout=60), RECEIVES)
    await engine.change("PAUSE", run)
    await engine.becomes(run, "PAUSE")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="no longer waits for an answer: it is PAUSE"):
        _answer(engine, run, approve=True)
    await engine.change("RECOVER_SUSPENDED_PROCESS", run)
    await engine.task_becomes(run, "ask", "RUNNING_EXECUTION")
    _answer(engine, run, approve=True, comment="now")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "ask") == [("PAUSE", "NO"), ("SUCCESS", "YES")]


async def test_a_stop_and_the_timeout_of_the_run_end_it(engine: Engine) -> None:
    stopped = await _waiting(engine, asks())
    await engine.change("STOP", stopped)
    assert await engine.end(stopped) == "STOP"
    late = await _waiting(engine, asks(), timeout_minutes=0.02, timeout_strategy="FAILED")
    assert await engine.end(late) == "FAILURE"
    assert engine.tasks(stopped) == engine.tasks(late) == {"ask": "KILL"}


async def test_after_a_failure_elsewhere_with_end_it_is_killed(engine: Engine) -> None:
    run = await _waiting(engine, asks(), {"name": "a", **BY_HAND}, failure_strategy="END")
    await engine.claim(run, "a")
    engine.report(run, "a", "FAILURE")
    assert await engine.end(run) == "FAILURE"
    assert engine.tasks(run)["ask"] == "KILL"


async def test_a_rerun_asks_again_and_a_rejected_one_can_be_forced(engine: Engine) -> None:
    run = await _waiting(engine, asks(), RECEIVES)
    _answer(engine, run, approve=False)
    assert await engine.end(run) == "FAILURE"
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    await engine.task_becomes(run, "ask", "RUNNING_EXECUTION")
    _answer(engine, run, approve=True, comment="now")
    assert await engine.end(run) == "SUCCESS"
    assert engine.attempts(run, "ask") == [("FAILURE", "NO"), ("SUCCESS", "YES")]


async def test_a_dry_run_asks_nobody(engine: Engine) -> None:
    run = await engine.run(engine.define(asks()), dry_run=True)
    assert engine.tasks(run) == {"ask": "SUCCESS"}


async def test_it_waits_without_a_worker_until_the_time_in_its_row(engine: Engine) -> None:
    run = await _waiting(engine, asks(timeout=60), {"name": "a", **UNTIL_STOPPED})
    assert engine.cluster.one("SELECT worker_id FROM task_instance WHERE id = %s", _attempt(engine, run)) is None
    (seen,) = engine.cluster.rows("SELECT due_at - started_at FROM task_instance WHERE id = %s", _attempt(engine, run))
    assert 3590 < seen[0].total_seconds() < 3660
    await engine.change("STOP", run)


async def test_of_many_answers_at_once_one_counts(engine: Engine) -> None:
    runs = [await _waiting(engine, asks(), RECEIVES) for _ in range(5)]

    def answer(attempt: int, by: int) -> bool:
        query = "SELECT answer_approval(%s, %s, %s, NULL, %s)"
        with psycopg.connect(engine.cluster.psql_url) as connection:
            try:
                connection.execute(query, (attempt, by % 2 == 0, json.dumps({"comment": str(by)}), f"person {by}"))
            except psycopg.errors.ObjectNotInPrerequisiteState:
                return False
        return True

    for run in runs:
        attempt = _attempt(engine, run)
        done = await asyncio.gather(*(asyncio.to_thread(answer, attempt, by) for by in range(6)))
        assert done.count(True) == 1, done
        by = done.index(True)
        assert await engine.end(run) == ("SUCCESS" if by % 2 == 0 else "FAILURE")
        assert engine.why(run, "ask").endswith(f"ed by person {by}")
        assert engine.attempts(run, "ask") == [("SUCCESS" if by % 2 == 0 else "FAILURE", "YES")]


async def test_no_answer_is_lost_or_applied_twice_when_masters_are_killed(fresh: Engine) -> None:
    cluster = fresh.cluster
    victims = [await cluster.master() for _ in range(3)][:2]
    await cluster.worker()
    await cluster.slots_become(3)
    code = fresh.define(asks(form=FORM, timeout=600), RECEIVES, params={"count": "1"})
    cluster.start(code, 30)
    waits = """SELECT array_agg(workflow_instance_id ORDER BY id) FROM task_instance
               WHERE task_name = 'ask' AND state = 'RUNNING_EXECUTION'"""
    await eventually(lambda: len(cluster.one(waits)), until=30, within_s=60)
    runs = cluster.one(waits)
    for place, run in enumerate(runs):
        if place in (7, 19):
            victims.pop().signal(signal.SIGKILL)
        _answer(fresh, run, approve=place % 3 != 0, comment=str(place))
    ended = "SELECT count(*) FROM workflow_instance WHERE ended_at IS NOT NULL"
    await eventually(lambda: cluster.one(ended), until=30, within_s=90)
    for place, run in enumerate(runs):
        state = "SUCCESS" if place % 3 != 0 else "FAILURE"
        assert fresh.state(run) == state
        assert fresh.attempts(run, "ask") == [(state, "YES")]
        if state == "SUCCESS":
            assert fresh.values(run, "use")["got"] == f"{place}/ada"
            assert fresh.attempts(run, "use") == [("SUCCESS", "YES")]
    assert cluster.one("SELECT count(*) FROM task_event") == 0
