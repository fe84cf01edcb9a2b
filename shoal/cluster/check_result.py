"""What a check of `shoal doctor` found, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dao.checks.table_checks import SHOWN_MAX
from model.errors import Denied, ShoalError, Unavailable


class Verdict(StrEnum):
    """The result of a check. A NOTE is useful to know, and no fault of the cluster; UNKNOWN could not be checked."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    NOTE = "NOTE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Result:
    """One check and its result. `told` is a figure or the number of findings in words, `shown` the first findings of
    `count`, `fix` how to fix them."""

    name: str
    holds: str
    verdict: Verdict
    told: str = ""
    count: int = 0
    shown: Sequence[str] = ()
    fix: str = ""


def judged(
    name: str,
    holds: str,
    faults: Sequence[str],
    fix: str,
    told: str = "",
    *,
    count: int | None = None,
    bad: Verdict = Verdict.BROKEN,
) -> Result:
    """It holds with `told` when there are no `faults`, else it is `bad`. `count` is their number, if not all are given.

    Faults and `fix` may be parts of other sentences, and end as they like: each ends once here.
    """
    if not faults:
        return good(name, holds, told)
    many = len(faults) if count is None else count
    figure = f"{told}, {many} found" if told and bad is Verdict.NOTE else f"{many} found"
    return Result(name, holds, bad, figure, many, tuple(map(clause, faults[:SHOWN_MAX])), _sentence(fix))


def good(name: str, holds: str, told: str) -> Result:
    """It holds."""
    return Result(name, holds, Verdict.HOLDS, clause(told))


def unknown(name: str, holds: str, error: ShoalError) -> Result:
    """It could not be checked."""
    again = isinstance(error, Unavailable) and not isinstance(error, Denied)
    fix = "Try again." if again else "Fix what it says, then ask again."
    return Result(name, holds, Verdict.UNKNOWN, "could not be asked", 1, (clause(str(error)),), fix)


def clause(text: str) -> str:
    """A text without the sign at its end: it stands inside another, or on a line of its own."""
    return text.rstrip(" .;,")


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{clause(text)}."
