"""The journal's lines are judged rightly where the tables could not tell."""

from __future__ import annotations

import pytest

from tests.chaos.journal import Line, not_alone


def _lines(*written: str) -> list[Line]:
    """Parse lines of `instance attempt what`."""
    fields = [line.split() for line in written]
    return [Line(what, f"{instance}.1", int(attempt), 7) for instance, attempt, what in fields]


@pytest.mark.parametrize(
    "written",
    [
        ("1 1 start", "1 1 end", "2 1 start", "2 1 end"),
        ("2 1 start", "2 1 end", "1 2 start", "1 2 end"),
        ("1 1 start", "2 1 start", "2 1 end"),
        ("1 1 start", "9 1 start", "1 1 end"),
    ],
)
def test_runs_that_follow_each_other_are_alone(written: tuple[str, ...]) -> None:
    """In order; an older run that went on after a newer one; one that was killed; beside a run of another workflow."""
    assert not_alone(_lines(*written), {1, 2}) == []


@pytest.mark.parametrize(
    "written",
    [
        ("1 1 start", "2 1 start", "1 1 tick"),
        ("2 1 start", "1 2 start", "2 1 end"),
        ("1 1 start", "1 1 tick", "2 1 start", "2 1 end", "1 1 end"),
    ],
)
def test_runs_that_overlap_are_not_alone_whichever_is_the_older(written: tuple[str, ...]) -> None:
    assert len(not_alone(_lines(*written), {1, 2})) == 1
