"""Estimates the remaining time from progress and from earlier runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from model.runs.progress import Progress


def task_left_s(progress: Progress | None, elapsed_s: float, usual_s: float | None) -> float | None:
    """The remaining seconds of a running task; None = unknown.

    Args:
        progress: its last report; 0 says nothing.
        elapsed_s: from its start to that report, or until now.
        usual_s: its usual duration.
    """
    if progress is not None and progress.percent > 0:
        return max(0.0, elapsed_s * (100 / progress.percent - 1))
    return None if usual_s is None else max(0.0, usual_s - elapsed_s)


def run_left_s(elapsed_s: float, usual_s: float | None, tasks_left_s: Iterable[float] = ()) -> float | None:
    """The remaining seconds of a run, at least those of its running tasks; None = unknown."""
    if usual_s is None:
        return None
    return max(0.0, usual_s - elapsed_s, *tasks_left_s)


LATE_PART, LATE_MIN_S = 0.5, 60.0
"""A run is late when it exceeds its usual duration by this share, and by at least a minute."""


def late_s(elapsed_s: float, usual_s: float | None) -> float | None:
    """The seconds by which a run exceeds its usual duration; None = not late, or no usual duration."""
    if usual_s is None or (over_s := elapsed_s - usual_s) < max(LATE_MIN_S, LATE_PART * usual_s):
        return None
    return over_s
