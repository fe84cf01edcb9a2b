"""Start rules: how the ends of its predecessors decide about a task. Pure.

A predecessor succeeded, was skipped (or is on another branch), or failed. One that never starts, because tasks before
it failed, counts as failed. Those outside the scope of a start or EXECUTE_TASK do not count; if none counts, the task
starts. Each rule only checks which of the three ends occurred, so the order in which tasks end affects only the time.
Source: docs/guides/workflows.md, "Start rules"; the rules are those of Apache Airflow.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import assert_never

from model.choices import StartWhen

R = StartWhen


class Decision(Enum):
    """What becomes of a task."""

    STARTS = auto()
    SKIPPED = auto()
    NEVER = auto()
    """It never starts, and counts as failed for the tasks after it."""


def decision(rule: StartWhen, *, waits: bool, succeeded: bool, skipped: bool, failed: bool) -> Decision | None:
    """Decide about a task from the ends of its predecessors; None = undecided.

    Args:
        waits: whether one of them has not ended.
        succeeded: whether one succeeded; likewise `skipped` and `failed`.
    """
    if not (waits or succeeded or skipped or failed):
        return Decision.STARTS
    match rule:
        case R.ALL_SUCCESS | R.NONE_FAILED if failed:
            return Decision.NEVER
        case R.ALL_SUCCESS | R.NONE_FAILED | R.ALL_DONE if waits:
            return None
        case R.ALL_SUCCESS:
            return Decision.STARTS if succeeded else Decision.SKIPPED
        case R.NONE_FAILED | R.ALL_DONE | R.ALWAYS:
            return Decision.STARTS
        case R.ONE_SUCCESS if succeeded:
            return Decision.STARTS
        case R.ONE_FAILED if failed:
            return Decision.STARTS
        case R.ALL_FAILED if succeeded or skipped:
            return Decision.SKIPPED
        case R.ONE_SUCCESS | R.ONE_FAILED | R.ALL_FAILED if waits:
            return None
        case R.ONE_SUCCESS:
            return Decision.NEVER if failed else Decision.SKIPPED
        case R.ONE_FAILED:
            return Decision.SKIPPED
        case R.ALL_FAILED:
            return Decision.STARTS
        case _:
            assert_never(rule)
