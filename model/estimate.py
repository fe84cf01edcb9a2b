"""How much time is left, as far as that can be known from progress and from earlier runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from model.progress import Progress


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
