"""DEPENDENT: when it goes on waiting, and when it has its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.logic.dependent import Asked, DependentItem, DependentParams, Outcome, Rule, State, evaluate
from tests.every import every

S, F, R = State.SUCCESS, State.FAILURE, State.RUNNING
W = Outcome.WAIT


def item(name: str) -> dict[str, Any]:
    return {"workflow": name, "cycle": "last2Days"}


def params(relation: str, *groups: tuple[str, str], **rules: Any) -> DependentParams:
    """Each group is its relation and the names of its workflows, a letter each."""
    written = [{"relation": inner, "items": [item(name) for name in names]} for inner, names in groups]
    return DependentParams.read({"relation": relation, "groups": written, **rules})


def judged(of: DependentParams, waited: float = 0, **states: State | Sequence[State | None] | None) -> Outcome:
    facts = {
        DependentItem(**item(name)): (state, state) if state is None or isinstance(state, State) else state
        for name, state in states.items()
    }
    return evaluate(of, facts, waited).outcome


def test_one_success_decides_an_or_and_one_failure_an_and() -> None:
    assert judged(params("OR", ("AND", "a"), ("AND", "b")), a=S, b=R) is Outcome.SUCCESS
    assert judged(params("AND", ("AND", "a"), ("AND", "b")), a=F, b=R) is Outcome.FAILURE
    assert judged(params("AND", ("OR", "ab"), ("AND", "c")), a=F, b=R, c=S) is W
    assert judged(params("AND", ("OR", "ab"), ("AND", "c")), a=F, b=S, c=S) is Outcome.SUCCESS
    assert judged(params("OR", ("AND", "ab"), ("AND", "c")), a=S, b=F, c=F) is Outcome.FAILURE


def test_each_span_must_succeed() -> None:
    one = params("AND", ("AND", "a"))
    assert judged(one, a=[S, R]) is W
    assert judged(one, a=[R, F]) is Outcome.FAILURE
    assert judged(one, a=[S, S]) is Outcome.SUCCESS
    assert judged(one, a=[]) is Outcome.SUCCESS, "a day that a zone left out"


@every(
    ("state", "rules", "waited", "outcome"),
    [
        (None, {}, 1e6, W), (F, {}, 0, Outcome.FAILURE), (R, {"wait_minutes": 1}, 2, W),
        (None, {"on_absence": "FAIL"}, 0, Outcome.FAILURE), (None, {"wait_minutes": 1.5}, 1.4, W),
        (None, {"wait_minutes": 1.5}, 1.5, Outcome.FAILURE), (F, {"on_failure": "WAIT"}, 1e6, W),
        (F, {"on_failure": "WAIT", "wait_minutes": 2}, 1, W),
        (F, {"on_failure": "WAIT", "wait_minutes": 2}, 2, Outcome.FAILURE),
    ],
)  # fmt: skip
def test_failure_and_absence_fail_or_wait_up_to_a_time(
    state: State | None, rules: dict[str, Any], waited: float, outcome: Outcome
) -> None:
    assert judged(params("AND", ("AND", "a"), **rules), waited, a=state) is outcome


def test_the_sentence_names_who_and_why() -> None:
    task = {"workflow": 7, "project": "dwh", "task": "load", "cycle": "today"}
    read = DependentParams.read({"groups": [{"items": [task, {**task, "task": "*"}]}], "wait_minutes": 0.5})
    one, every = read.items()
    assert every.all_tasks and not one.all_tasks
    said = evaluate(read, {one: [F], every: [S]}, 0)
    assert said.sentence == (
        'task "load" of workflow with code 7 of project "dwh" (today) has failed; '
        "repeat what is missing, then this task"
    )
    said = evaluate(read, {one: [S], every: [None]}, 0.5)
    assert said.sentence.startswith(
        'all tasks of workflow with code 7 of project "dwh" (today) is not there, after 30 s of waiting'
    )
    assert evaluate(read, {one: [R], every: [R]}, 0).sentence.endswith("(today) is running, and 1 more")


@every(
    ("state", "waited", "said"),
    [
        (R, 0, " is running (found)"), (None, 0, " is not there yet (found)"),
        (None, 0.5, " is not there, after 30 s of waiting (found); repeat what is missing, then this task"),
        (F, 0, " has failed (found); repeat what is missing, then this task"),
    ],
)  # fmt: skip
def test_the_sentence_has_the_time_asked_for_and_what_was_found(state: State | None, waited: float, said: str) -> None:
    task = {"workflow": "orders", "task": "load", "at": "-23h"}
    read = DependentParams.read({"groups": [{"items": [task]}], "wait_minutes": 0.5})
    (one,) = read.items()
    asked = {one: Asked("2026-03-03 11:30:00+01:00", "found")}
    name = 'task "load" of workflow "orders" (-23h) for 2026-03-03 11:30:00+01:00'
    assert evaluate(read, {one: [state]}, waited, (), asked).sentence == name + said
    elsewhere = evaluate(read, {one: [state]}, waited, [one], asked).sentence
    assert "2026" not in elsewhere and "found" not in elsewhere


@every(
    ("item", "said"),
    [
        ({}, 'needs either a "cycle" such as today, or "at" such as -23h'),
        ({"cycle": "today", "at": "-23h"}, 'needs either a "cycle" such as today, or "at" such as -23h'),
        ({"at": "-99d"}, 'field "groups.1.items.1.at": must be at most 62 days away'),
        ({"at": "-23h", "task": "*", "pass_outputs": True}, "cannot pass the outputs of all tasks; name one task"),
    ],
)
def test_an_item_that_cannot_be_is_refused_with_a_sentence(item: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        DependentParams.read({"groups": [{"items": [{"workflow": "w", **item}]}]})


@every(("state", "waited"), [(F, 0), (None, 0), (None, 1), (R, 0)])
def test_of_another_project_it_says_only_that_it_is_not_met(state: State | None, waited: float) -> None:
    task = {"workflow": "theirs", "project": "dwh", "cycle": "today"}
    read = DependentParams.read({"groups": [{"items": [task]}], "wait_minutes": 0.5})
    (one,) = read.items()
    said = evaluate(read, {one: [state]}, waited, [one]).sentence
    assert said.removesuffix("; repeat what is missing, then this task") == (
        'workflow "theirs" of project "dwh" (today) is not met'
    )


def test_it_says_when_time_alone_changes_the_answer() -> None:
    limited = params("AND", ("AND", "ab"), wait_minutes=5)
    a, b = limited.items()
    assert evaluate(limited, {a: [None], b: [R]}, 3).again_in_minutes == 2
    assert evaluate(limited, {a: [R], b: [R]}, 3).again_in_minutes is None
    endless = params("AND", ("AND", "ab"))
    assert evaluate(endless, {a: [None], b: [R]}, 3).again_in_minutes is None


states = st.sampled_from([S, F, R, None])
rules = st.sampled_from(list(Rule))


@given(
    st.data(), rules, rules, st.sampled_from([0, 10]), st.sampled_from(["AND", "OR"]), st.sampled_from(["AND", "OR"])
)
def test_an_answer_never_changes_when_what_runs_or_is_absent_ends(
    data: st.DataObject, on_failure: Rule, on_absence: Rule, wait: float, outer: str, inner: str
) -> None:
    """A SUCCESS or FAILURE that another end could still have turned would have been given too early, but by the rules
    that say so: absence that fails at once, and time that is over."""
    of = params(outer, (inner, "ab"), ("AND", "cd"), on_failure=on_failure, on_absence=on_absence, wait_minutes=wait)
    now = {each: [data.draw(states), data.draw(states)] for each in of.items()}
    outcome = evaluate(of, now, 0).outcome

    def ended(state: State | None) -> State | None:
        return (
            data.draw(st.sampled_from([S, F])) if state is R or (state is None and on_absence is Rule.WAIT) else state
        )

    later = {each: [ended(state) for state in spans] for each, spans in now.items()}
    if outcome is not W:
        assert evaluate(of, later, 0).outcome is outcome
    elif wait == 0 or on_failure is Rule.FAIL:
        assert on_failure is Rule.WAIT or evaluate(of, later, 0).outcome is not W
    assert (
        wait == 0
        or R in [state for spans in now.values() for state in spans]
        or evaluate(of, now, wait).outcome is not W
    )
