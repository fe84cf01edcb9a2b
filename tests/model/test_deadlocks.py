"""`model/runs/deadlocks.py`: which runs wait forever in the lines of serial workflows, and which only wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from model.ids import WorkflowCode, WorkflowInstanceId
from model.runs.deadlocks import Unfinished, deadlocked
from model.runs.serial_lines import Line

A, B = Line(WorkflowCode(1)), Line(WorkflowCode(2))


def run(id_: int, line: Line, above: int | None = None, *, waits: bool = False, max_active: int = 1) -> Unfinished:
    parent = None if above is None else WorkflowInstanceId(above)
    return Unfinished(WorkflowInstanceId(id_), line, parent, waits, max_active)


def test_a_child_behind_the_run_above_it_waits_for_ever() -> None:
    assert deadlocked([run(1, A), run(2, A, 1, waits=True)]) == {2: 1}


def test_a_child_behind_another_run_only_waits() -> None:
    assert deadlocked([run(1, A), run(2, B, 1, waits=True), run(3, B)]) == {}


def test_two_that_run_each_other_wait_for_ever() -> None:
    found = [run(1, A), run(2, B), run(3, B, 1, waits=True), run(4, A, 2, waits=True)]
    assert deadlocked(found) == {3: 2, 4: 1}


def test_who_stands_behind_a_deadlock_goes_on_after_it() -> None:
    found = [run(1, A), run(2, A, 1, waits=True), run(3, B), run(4, A, 3, waits=True)]
    assert deadlocked(found) == {2: 1}


def test_where_any_run_can_end_nobody_waits_for_ever() -> None:
    """Through another line too: its own run continues if the one beside it ends."""
    child = run(3, A, 1, waits=True, max_active=2)
    assert deadlocked([run(1, A), run(2, A), child]) == {}
    assert deadlocked([run(1, A), child]) == {}, "a place is free: it is about to begin"
    through = [run(1, A), run(2, B, 1, waits=True, max_active=2), run(3, B), run(4, B), run(5, A, 3, waits=True)]
    assert deadlocked(through) == {}
    assert deadlocked([*through, run(6, A, 4, waits=True)]) == {2: 4, 5: 1, 6: 1}


@given(st.integers(1, 5), st.integers(0, 5))
def test_as_many_as_may_go_on_at_once_must_all_wait(max_active: int, waiting: int) -> None:
    live = [run(number, A) for number in range(1, max_active + 1)]
    children = [
        run(100 + number, A, number, waits=True, max_active=max_active)
        for number in range(1, min(waiting, max_active) + 1)
    ]
    assert bool(deadlocked([*live, *children])) == (waiting >= max_active)
