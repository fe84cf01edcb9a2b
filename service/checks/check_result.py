"""What a check of `shoal doctor` found, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dao.checks.table_checks import SHOWN_MAX, Finds
from model.errors import Denied, ShoalError, Unavailable


class Verdict(StrEnum):
    """The result of a check. A NOTE is useful to know, and no fault of the cluster; UNKNOWN could not be checked."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOTE = "NOTE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Result:
    """One check and its result. `condition` is what is true if it passed, `detail` a figure or the number of
    findings in words, `shown` the first findings of `count`, `fix` how to fix them."""

    name: str
    condition: str
    verdict: Verdict
    detail: str = ""
    count: int = 0
    shown: Sequence[str] = ()
    fix: str = ""


def result_of(
    name: str,
    condition: str,
    faults: Sequence[str] | Finds,
    fix: str,
    detail: str = "",
    *,
    bad: Verdict = Verdict.FAILED,
) -> Result:
    """It passed, with `detail`, when there are no `faults`, else it is `bad`.

    Faults and `fix` may be parts of other sentences, and end as they like: each ends once here.
    """
    many, shown = (faults.count, faults.shown) if isinstance(faults, Finds) else (len(faults), faults)
    if not shown:
        return passed(name, condition, detail)
    figure = f"{detail}, {many} found" if detail and bad is Verdict.NOTE else f"{many} found"
    return Result(name, condition, bad, figure, many, tuple(map(clause, shown[:SHOWN_MAX])), _sentence(fix))


def passed(name: str, condition: str, detail: str) -> Result:
    return Result(name, condition, Verdict.PASSED, clause(detail))


def unknown(name: str, condition: str, error: ShoalError) -> Result:
    again = isinstance(error, Unavailable) and not isinstance(error, Denied)
    fix = "Try again." if again else "Fix what it says, then ask again."
    return Result(name, condition, Verdict.UNKNOWN, "could not be asked", 1, (clause(str(error)),), fix)


def clause(text: str) -> str:
    """A text without the sign at its end: it stands inside another, or on a line of its own."""
    return text.rstrip(" .;,")


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{clause(text)}."
