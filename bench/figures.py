"""A measured figure: its name, its value, its target, and how it was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a figure."""

    limit: float
    better: Literal["higher", "lower"]

    def is_met_by(self, value: float) -> bool:
        """Whether `value` meets the target."""
        return value >= self.limit if self.better == "higher" else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.better == 'higher' else '≤'} {self.limit:,g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    Args:
        key: its name for programs; never changes.
        what: the same in words.
        how: counts and the CPU use meanwhile, for verification; empty = nothing to add.
        part: the heading under which it is shown.
        family: many figures of one kind; while all of them meet their target, the page shows one row of them.
    """

    key: str
    part: str
    what: str
    value: float
    unit: str
    target: Target | None = None
    how: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    family: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether its target is met; None = it has none."""
        return None if self.target is None else self.target.is_met_by(self.value)

    @property
    def shown(self) -> str:
        """The value for display."""
        return f"{shown(self.value)} {self.unit}"

    def as_json(self) -> dict[str, object]:
        return {
            "key": self.key,
            "part": self.part,
            "what": self.what,
            "value": round(self.value, 4),
            "unit": self.unit,
            "target": None if self.target is None else {"limit": self.target.limit, "better": self.target.better},
            "met": self.is_met,
            "how": self.how,
            **self.details,
        }


def shown(value: float) -> str:
    """Three significant digits, with thousands separators."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
