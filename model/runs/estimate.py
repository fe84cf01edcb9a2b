"""How much time is left, as far as that can be known from progress and from earlier runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from model.runs.progress import Progress


def task_left_s(progress: Progress | None, elapsed_s: float, usual_s: float | None) -> float | None:
    """The seconds that a running task has left; None = unknown.

    Args:
        progress: what it reported last; at 0 it says nothing.
        elapsed_s: from its start to that report, or until now.
        usual_s: what it usually takes.
    """
    if progress is not None and progress.percent > 0:
        return max(0.0, elapsed_s * (100 / progress.percent - 1))
    return None if usual_s is None else max(0.0, usual_s - elapsed_s)


def run_left_s(elapsed_s: float, usual_s: float | None, tasks_left_s: Iterable[float] = ()) -> float | None:
    """The seconds that a run has left, at least those of its running tasks; None = unknown."""
    if usual_s is None:
        return None
    return max(0.0, usual_s - elapsed_s, *tasks_left_s)


LATE_PART, LATE_MIN_S = 0.5, 60.0
"""A run is late when it takes longer than usual by this part of that, and by at least a minute."""


def late_s(elapsed_s: float, usual_s: float | None) -> float | None:
    """By how many seconds a run takes longer than usual; None = it is not late, or nothing is usual."""
    if usual_s is None or (over_s := elapsed_s - usual_s) < max(LATE_MIN_S, LATE_PART * usual_s):
        return None
    return over_s
