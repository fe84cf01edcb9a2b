"""The rules of streams: what a definition may say, when one is started again, and when it counts as ready."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import Restart
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.runs.states import TaskState
from model.streams.rolling import Restart as Rolling
from model.streams.rolling import Turn, turns
from model.streams.streams import StreamRule
from tests.every import every

T = TaskState
DONE_BEGIN = [Turn.DONE, Turn.BEGIN]


def _parsed(**task: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": [{"name": "a", "type": "SHELL", "params": {"script": ":"}, **task}]})


@every(
    ("task", "sentence"),
    [
        ({"restart": "never"}, "restart is for a stream; add stream: true, or remove it"),
        ({"readiness": {"port": 80}}, "readiness is for a stream"),
        ({"stream": True, "timeout": "5m"}, "a stream has no timeout, since it runs until it is stopped"),
        ({"stream": True, "cache": True}, "a stream has no cache"),
        ({"stream": True, "retry_times": 3}, "restart says when it is started again"),
        ({"stream": True, "dispatch_timeout": 1}, "a stream has no dispatch_timeout"),
        ({"stream": True, "restart_pause": 0}, "restart_pause must be at least 0.1 s"),
        ({"stream": True, "restart_pause": "10m"}, "restart_pause_max is shorter than restart_pause"),
        ({"stream": True, "restart": "sometimes"}, "'always', 'on_failure' or 'never'"),
        ({"stream": True, "readiness": {}}, "must have exactly one of command, url and port"),
        ({"stream": True, "readiness": {"port": 1, "command": "true"}}, "must have exactly one of command, url"),
        ({"stream": True, "readiness": {"url": "ftp://x"}}, "must be a web address, such as http://127.0.0.1:8080"),
        ({"stream": True, "readiness": {"port": 80, "every": 0}}, "a time of at least 0.1 s in every"),
        ({"stream": True, "readiness": {"prt": 80}}, 'no field "prt" in "readiness", did you mean "port"?'),
        ({"stream": True, "type": "SWITCH"}, "a SWITCH task runs in the master and has no stream; remove it"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_in_a_sentence(task: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        _parsed(**task)
    assert sentence in str(refused.value)


@every("field", ["restart_pause", "restart_pause_max", "healthy_after", "every", "timeout"])
@every(
    ("given", "sentence"),
    [
        ("367d", "must be 0s to 366d; a bare number is minutes"),
        (527_041, "must be 0s to 366d; a bare number is minutes"),
        ("nan", "must be 0s to 366d; a bare number is minutes"),
        ("-1s", "must be a duration with its unit, such as 10s or 1m; a bare number is minutes"),
        ("1x", "must be a duration with its unit, such as 10s or 1m; a bare number is minutes"),
    ],
)
def test_a_duration_that_is_none_or_too_long_is_refused_with_its_unit(field: str, given: Any, sentence: str) -> None:
    of_probe = field in ("every", "timeout")
    task = {"readiness": {"port": 80, field: given}} if of_probe else {field: given}
    with pytest.raises(Refused) as raised:
        _parsed(stream=True, **task)
    assert str(raised.value).endswith(f'{field}": {sentence}')


def test_a_definition_that_was_stored_with_all_its_fields_is_read_again() -> None:
    for spec in (_parsed(), _parsed(stream=True, readiness={"port": 80}, resources={"proxies": 1})):
        assert WorkflowSpec.parse(spec.model_dump(mode="json")) == spec


def _rule(restart: Restart = Restart.ALWAYS, *, on_loss: bool = True) -> StreamRule:
    return StreamRule(restart, 1.0, 60.0, 30.0, on_loss)


def test_the_policy_says_which_ends_are_followed_by_another_attempt() -> None:
    again = {policy: [end for end in T if _rule(policy).starts_again(end)] for policy in Restart}
    assert again == {
        Restart.ALWAYS: [T.SUCCESS, T.FAILURE, T.NEED_FAULT_TOLERANCE, T.SKIPPED],
        Restart.ON_FAILURE: [T.FAILURE, T.NEED_FAULT_TOLERANCE],
        Restart.NEVER: [T.NEED_FAULT_TOLERANCE],
    }
    assert not _rule(on_loss=False).starts_again(T.NEED_FAULT_TOLERANCE)


def test_pauses_double_up_to_the_longest_and_are_short_again_after_a_healthy_time() -> None:
    rule, failures, pauses = _rule(), 0, []
    for _ in range(9):
        failures = rule.failures_after(failures, ran_s=2)
        pauses.append(rule.pause_after(failures, share=0))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert rule.failures_after(failures, ran_s=30) == 1


@given(failures=st.integers(1, 2_000), share=st.floats(0, 1, exclude_max=True))
def test_jitter_shortens_a_pause_by_at_most_a_half(failures: int, share: float) -> None:
    whole = _rule().pause_after(failures, 0)
    assert whole / 2 <= _rule().pause_after(failures, share) <= whole


def _restart(code: int, **changed: Any) -> Rolling:
    values: dict[str, Any] = {
        **{"run": 1, "code": code, "goes_on": True, "state": T.RUNNING_EXECUTION, "attempt": 1, "is_ready": True},
        **{"begun_s": None, "ended_attempt": 0, "within_s": 60.0, **changed},
    }
    return Rolling(**values)


@every(
    ("first", "expected"),
    [
        ({}, [Turn.BEGIN, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 2, "is_ready": False}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 2, "state": T.QUEUED}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 2}, DONE_BEGIN),
        ({"begun_s": 60.0, "ended_attempt": 1, "attempt": 2, "is_ready": False}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1e9, "ended_attempt": 1, "attempt": 2}, DONE_BEGIN),
        ({"begun_s": 60.0, "ended_attempt": 1}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 60.0, "ended_attempt": 1, "attempt": 2, "state": T.QUEUED}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 60.0, "ended_attempt": 1, "attempt": 2, "state": T.DISPATCH}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 2, "state": T.DELAY_EXECUTION}, [Turn.START, Turn.WAIT]),
        ({"begun_s": 60.0, "ended_attempt": 1, "attempt": 2, "state": T.DELAY_EXECUTION}, [Turn.START, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 3, "state": T.DELAY_EXECUTION}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 1.0, "ended_attempt": 0, "attempt": 1, "state": T.DELAY_EXECUTION}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 60.0, "ended_attempt": 1, "attempt": 3, "state": T.DELAY_EXECUTION}, [Turn.WAIT, Turn.WAIT]),
        ({"begun_s": 60.0, "ended_attempt": 1, "state": T.FAILURE}, DONE_BEGIN),
        ({"begun_s": 60.0, "ended_attempt": 0, "state": T.QUEUED}, DONE_BEGIN),
        ({"begun_s": 1.0, "ended_attempt": 1, "attempt": 2, "state": T.QUEUED, "waits_for_pool": True}, DONE_BEGIN),
        ({"state": T.QUEUED, "waits_for_pool": True}, DONE_BEGIN),
        ({"another_moves": True}, [Turn.WAIT, Turn.WAIT]),
        ({"state": None}, DONE_BEGIN),
        ({"goes_on": False}, DONE_BEGIN),
    ],
)
def test_of_a_run_one_stream_restarts_at_a_time(first: dict[str, Any], expected: list[Turn]) -> None:
    restarts = [_restart(1, **first), _restart(2)]
    found = {restart.code: turn for restart, turn in turns(restarts)}
    assert [found[1], found[2]] == expected  # type: ignore[index]


def test_one_that_does_not_become_ready_stops_the_others_until_somebody_asks_for_one_of_them_again() -> None:
    stands = _restart(2, begun_s=90.0, asked_s=95.0, ended_attempt=1, attempt=2, is_ready=False)
    before, after = _restart(1, asked_s=95.0), _restart(3, asked_s=95.0)
    again = [replace(each, asked_s=5.0) for each in (before, after)]

    def found(*restarts: Rolling) -> list[Turn]:
        return [turn for _, turn in sorted(turns(restarts), key=lambda each: each[0].code)]

    assert found(before, stands, after) == [Turn.WAIT] * 3
    assert found(before, stands, again[1]) == [Turn.WAIT, Turn.WAIT, Turn.BEGIN]
    assert found(again[0], stands, again[1]) == [Turn.BEGIN, Turn.WAIT, Turn.WAIT]
    assert found(again[0], replace(stands, begun_s=59.0), again[1]) == [Turn.WAIT] * 3, "its time is not over"
    goes_on = replace(again[0], begun_s=1.0, ended_attempt=1)
    assert found(goes_on, stands, again[1]) == [Turn.WAIT] * 3, "one at a time"


def test_runs_do_not_wait_for_each_other() -> None:
    found = turns([_restart(1, run=1), _restart(1, run=2)])
    assert [turn for _, turn in found] == [Turn.BEGIN, Turn.BEGIN]
