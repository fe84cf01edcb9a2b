"""When a figure counts as slower, and what is said of figures that only one tree has."""

from __future__ import annotations

from bench.comparison import Compared, Comparison, Run, Verdict, compare
from tests.every import every

SLOWER, FASTER, SAME = Verdict.SLOWER, Verdict.FASTER, Verdict.SAME


def run(value: float | None, unit: str = "/s", key: str = "rate", **more: object) -> Run:
    return {key: {"key": key, "what": f"the {key}", "part": "Flow", "unit": unit, "value": value, **more}}


def of(before: list[float], here: list[float], unit: str = "/s", **more: object) -> Compared:
    [figure] = compare([run(each, unit, **more) for each in before], [run(each, unit, **more) for each in here]).figures
    return figure


@every(
    ("before", "here", "unit", "verdict"),
    [
        ([100, 104, 108], [94, 90, 99], "/s", SLOWER),  # 10 less, and the spreads are 8 and 9
        ([100, 104, 108], [95, 96, 99], "/s", SAME),  # 8 less, which is the spread: not more than it
        ([100, 104, 108], [95, 95, 95], "/s", SLOWER),
        ([100, 104, 108], [60, 95, 95], "/s", SAME),  # a spread of 35 here
        ([100, 104, 108], [113, 114, 115], "/s", FASTER),
        ([9.0, 9.1, 9.2], [9.5, 9.6, 9.7], "ms", SLOWER),
        ([9.0, 9.1, 9.2], [8.5, 8.6, 8.7], "ms", FASTER),
        ([9.0, 9.6, 9.2], [8.5, 9.6, 8.7], "ms", SAME),
        ([100, 100, 100], [98.1, 98.1, 98.1], "/s", SAME),  # less than 2 per cent
        ([15, 15, 15], [16, 16, 16], "pages", SLOWER),
        ([110, 112, 111], [140, 141, 142], "MiB", SLOWER),
        ([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], "x", SLOWER),
        ([80, 80, 80], [70, 70, 70], "%", SLOWER),
        ([1.2, 1.2, 1.2], [1.5, 1.5, 1.5], "% of a core", SLOWER),
        ([0, 0, 0], [0, 0, 0], "ms", SAME),
        ([0, 0, 0], [1, 1, 1], "ms", SLOWER),
    ],
)
def test_a_figure_is_slower_when_its_medians_differ_by_more_than_its_spread(
    before: list[float], here: list[float], unit: str, verdict: Verdict
) -> None:
    assert (found := of(before, here, unit)).verdict is verdict, (found.ratio, found.spread)


def test_a_target_says_whether_more_is_better() -> None:
    target = {"limit": 2, "better": "lower"}
    assert of([1.8, 1.8, 1.8], [2.4, 2.4, 2.4], target=target).verdict is SLOWER
    assert of([1.8, 1.8, 1.8], [2.4, 2.4, 2.4], target=None).verdict is FASTER


def test_the_ratio_is_that_of_the_medians() -> None:
    found = of([90, 100, 500], [50, 10, 60])
    assert (found.before.median, found.here.median, found.ratio) == (100, 50, 0.5)
    assert (found.before.spread, found.here.spread, found.spread) == (410, 50, 410)


def test_figures_that_one_tree_lacks_or_did_not_measure_each_time_are_named() -> None:
    before = [{**run(1), **run(2, key="old"), **run(3, key="broken")}] * 3
    here: list[Run] = [{**run(1), **run(2, key="new"), **run(3, key="broken")} for _ in range(2)]
    here.append({**run(1), **run(2, key="new"), **run(None, key="broken")})
    found = compare(before, here)
    assert [each.key for each in found.figures] == ["rate"]
    assert set(found.only_before) == {"old", "broken"}
    assert found.only_here == ("new",)


def test_what_is_left_out_is_not_named_either() -> None:
    runs = [{**run(1), **run(2, key="pgbench", part="Limits")}] * 3
    found = compare(runs, runs, without=frozenset({"Limits"}))
    assert ([each.key for each in found.figures], found.only_before, found.only_here) == (["rate"], (), ())


def test_only_what_is_slower_counts_as_slower() -> None:
    before = [{**run(100), **run(10, "ms", "lag"), **run(5, "ms", "step")}] * 3
    here = [{**run(150), **run(12, "ms", "lag"), **run(5, "ms", "step")}] * 3
    found: Comparison = compare(before, here)
    assert [each.verdict for each in found.figures] == [FASTER, SLOWER, SAME]
    assert [each.key for each in found.slower] == ["lag"]
    assert found.figures[1].as_json() == {
        "key": "lag",
        "what": "the lag",
        "unit": "ms",
        "before": {"median": 10, "spread": 0, "values": [10] * 3},
        "here": {"median": 12, "spread": 0, "values": [12] * 3},
        "ratio": 1.2,
        "verdict": "slower",
    }
