"""Two series of measurements compared, figure by figure. Pure.

The rule: a figure differs when its medians differ by more than its spread, and by more than 2 per cent. The spread is
the larger one of the two sides; that of a side is its highest value less its lowest. Where nothing changed, a figure
looks slower by chance in 3 of 100 comparisons of 3 pairs, in 1 of 500 of 5 pairs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

PAIRS_MIN = 3
NEGLIGIBLE = 0.02
"""A smaller share of the former median is no difference: some figures, such as pages, have no spread at all."""
_MORE_IS_BETTER = ("/s", "x", "%")
"""The unit suffixes for which more is better, without a target; for all others, such as ms, less is."""

Run = Mapping[str, Mapping[str, Any]]
"""The figures of one execution of the bench by key, as `--json` writes them."""


class Verdict(StrEnum):
    """How a figure here compares with that of the other revision."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "within its spread"


@dataclass(frozen=True, slots=True)
class Side:
    """The values of one figure in one tree."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """The highest less the lowest."""
        return max(self.values) - min(self.values)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of both trees."""

    key: str
    part: str
    what: str
    unit: str
    is_more_better: bool
    before: Side
    here: Side

    @property
    def ratio(self) -> float:
        """The median here over the former one; 1 where both are 0."""
        if not self.before.median:
            return 1.0 if not self.here.median else float("inf")
        return self.here.median / self.before.median

    @property
    def spread(self) -> float:
        """The spread that a difference must exceed."""
        return max(self.before.spread, self.here.spread)

    @property
    def verdict(self) -> Verdict:
        """Decide by the rule of this module."""
        difference = self.here.median - self.before.median
        if abs(difference) <= max(self.spread, NEGLIGIBLE * abs(self.before.median)):
            return Verdict.SAME
        return Verdict.FASTER if (difference > 0) is self.is_more_better else Verdict.SLOWER

    def as_json(self) -> dict[str, object]:
        sides = {
            name: {"median": side.median, "spread": side.spread, "values": list(side.values)}
            for name, side in (("before", self.before), ("here", self.here))
        }
        shown = {"key": self.key, "what": self.what, "unit": self.unit, **sides}
        return {**shown, "ratio": None if self.ratio == float("inf") else self.ratio, "verdict": self.verdict.value}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures that both trees measured each time, and the keys of those that only one has."""

    figures: tuple[Compared, ...]
    only_before: tuple[str, ...]
    only_here: tuple[str, ...]

    @property
    def slower(self) -> tuple[Compared, ...]:
        """The figures that are slower here by more than their spread."""
        return tuple(each for each in self.figures if each.verdict is Verdict.SLOWER)


def compare(before: Sequence[Run], here: Sequence[Run], *, without: frozenset[str] = frozenset()) -> Comparison:
    """Compare the figures of the same key, in the order of the last run here; `without` are headings to leave out.

    A figure that was not measured in one of the runs of a tree counts as one that this tree lacks.
    """
    there, ours = _measured(before, without), _measured(here, without)
    figures = tuple(_compared(here[-1][key], there[key], ours[key]) for key in ours if key in there)
    return Comparison(figures, tuple(there.keys() - ours.keys()), tuple(ours.keys() - there.keys()))


def _measured(runs: Sequence[Run], without: frozenset[str]) -> dict[str, Side]:
    values: dict[str, list[float | None]] = {
        key: [run.get(key, {}).get("value") for run in runs]
        for key, figure in runs[-1].items()
        if figure.get("part") not in without
    }
    measured = {key: Side(tuple(value for value in each if value is not None)) for key, each in values.items()}
    return {key: side for key, side in measured.items() if len(side.values) == len(runs)}


def _compared(figure: Mapping[str, Any], before: Side, here: Side) -> Compared:
    named = (figure["key"], figure["part"], figure["what"], figure["unit"])
    return Compared(*named, _is_more_better(figure), before, here)


def _is_more_better(figure: Mapping[str, Any]) -> bool:
    if figure.get("target"):
        return bool(figure["target"]["better"] == "higher")
    return str(figure["unit"]).endswith(_MORE_IS_BETTER)
