"""Applies alert rules to the time and to ended runs. Pure: observations and the time are arguments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from model.alerts.alerts import AlertKind, Severity
from model.alerts.rules import Condition, Fails, Late, Recovers, Succeeds, TakesLonger
from model.ids import WorkflowCode
from model.runs.states import WorkflowState
from model.time.durations import said_duration
from model.time.moments import local_time


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: SUCCESS or FAILURE. `took_s` is None if its row has no finite times, `project` if its workflow
    is gone.

    `ended_mark` and `running_mark` are texts that name its end, and since when it ran, for keys.
    """

    run: int
    workflow_code: WorkflowCode
    project: str | None
    workflow: str
    state: WorkflowState
    took_s: float | None
    ended_mark: str
    running_mark: str
    reason: str | None
    is_child: bool


class Mark(StrEnum):
    """What part of a run a rule is applied to once."""

    END = "end"
    LENGTH = "long"


@dataclass(frozen=True, slots=True)
class Raised:
    """An alert that a rule raises."""

    kind: AlertKind
    severity: Severity
    subject: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Window:
    """The time by which a run is expected, and from when an ended one counts; aware, UTC."""

    since: datetime
    deadline: datetime


def failures_after(failures: int, state: WorkflowState) -> int:
    """The number of failures in a row after one more run has ended."""
    return failures + 1 if state is WorkflowState.FAILURE else 0


def at_end(condition: Condition, end: RunEnd, failures: int) -> Raised | None:
    """The alert that a rule raises when a run of its workflow has ended, after `failures` in a row."""
    run = f'run {end.run} of workflow "{end.workflow}"'
    is_failure = end.state is WorkflowState.FAILURE
    match condition:
        case Fails(1) if is_failure:
            return Raised(AlertKind.RULE, Severity.CRITICAL, f"{run} failed", Mark.END)
        case Fails(times) if is_failure and failures + 1 == times:
            return Raised(AlertKind.RULE, Severity.CRITICAL, f"{run} failed, the {ordinal(times)} in a row", Mark.END)
        case Succeeds() if not is_failure:
            return Raised(AlertKind.RULE, Severity.INFO, f"{run} succeeded", Mark.END)
        case Recovers() if not is_failure and failures:
            row = "one failure" if failures == 1 else f"{failures} failures in a row"
            return Raised(AlertKind.RECOVERED, Severity.INFO, f"{run} succeeded after {row}", Mark.END)
        case TakesLonger(than) if end.took_s is not None and end.took_s > than.total_seconds():
            return too_long(end.run, end.workflow, than)
    return None


def too_long(run: int, workflow: str, than: timedelta) -> Raised:
    """The alert for a run that takes longer than allowed, ended or not."""
    subject = f'run {run} of workflow "{workflow}" takes longer than {said_duration(than.total_seconds())}'
    return Raised(AlertKind.RULE, Severity.WARNING, subject, Mark.LENGTH)


def is_late(workflow: str, late: Late, window: Window) -> Raised:
    """The alert for a window in which no run has ended."""
    how = "succeeded" if late.succeeded else "ended"
    local = window.deadline.astimezone(late.zone)
    subject = f'late: no run of workflow "{workflow}" {how} by {local:%H:%M} {late.zone} on {local:%Y-%m-%d}'
    return Raised(AlertKind.RULE, Severity.CRITICAL, subject, Mark.END)


def last_window(late: Late, now: datetime) -> Window:
    """The last window whose deadline is not after `now`, an aware time."""
    day = now.astimezone(late.zone).date()
    while (deadline := local_time(day, late.by, late.zone)) > now or day.weekday() not in late.days:
        day -= timedelta(days=1)
    begin = day if late.since < late.by else day - timedelta(days=1)
    return Window(local_time(begin, late.since, late.zone), deadline)


def ordinal(number: int) -> str:
    """The ordinal as text, such as 2nd or 11th."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
