"""How figures become rows of docs/internals/performance.md."""

from __future__ import annotations

from bench.figures import Figure, Target
from bench.performance_page import rows

LIMIT = Target(50, "lower")


def _list_of(what: str, value: float) -> Figure:
    return Figure(what, "API", f"list of {what}", value, "ms", LIMIT, "200 calls", family="lists")


def test_a_family_that_meets_its_target_is_one_row() -> None:
    start = Figure("starts", "API", "starts of runs", 1356.0, "/s", None, "200 calls")
    found = list(rows([_list_of("runs", 21.5), _list_of("attempts", 8.19), start]))
    assert found == [
        "| 2 lists | 8.19 to 21.5 ms | ≤ 50 | the highest: list of runs |",
        "| starts of runs | 1,356 /s |  | 200 calls |",
    ]


def test_a_family_of_which_one_is_missed_has_a_row_for_each() -> None:
    assert list(rows([_list_of("runs", 70.0), _list_of("attempts", 8.19)])) == [
        "| list of runs | **70.0 ms** | ≤ 50 | 200 calls |",
        "| list of attempts | 8.19 ms | ≤ 50 | ″ |",
    ]


def test_what_was_measured_as_in_the_row_above_is_not_said_again() -> None:
    hows = ["5 times", "5 times; 2.5 ms", "5 times; 2.5 ms", "5 times", "6 times", ""]
    found = list(rows(Figure(str(n), "", "x", 1, "/s", how=how) for n, how in enumerate(hows)))
    assert [row.split(" | ")[-1] for row in found] == ["5 times |", "″; 2.5 ms |", "″ |", "″ |", "6 times |", " |"]
