"""Built-in parameters of every task: its run, and the time that the run is for.

The master adds those of the run to the run's parameters. The worker adds those of one attempt (`system.task.*`), since
an attempt has no id before it is queued. Source: docs/reference/parameters.md.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.ids import TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room, references, replace_references
from model.time.intervals import Interval, NoInterval
from model.time.run_time import RunTime

EXECUTE_PATH = "system.task.execute.path"
"""The task's private folder. It is created only if a task uses this parameter."""

INTERVAL_START, INTERVAL_END = "system.interval.start", "system.interval.end"
IS_LATEST = "system.is_latest"
"""Whether no later time of the run's schedule is due. Set when a task begins, for tasks that name it."""

FAILED_NAMED_MAX = 100
"""The most failed tasks that are named to tasks that clean up."""
_OF_THE_TASK = "${system.task."
_OF_THE_INTERVAL = "${system.interval."


def builtin_parameters(
    time: RunTime,
    *,
    workflow_name: str,
    workflow_code: WorkflowCode,
    workflow_instance_id: WorkflowInstanceId,
    project_name: str,
    project_code: int,
) -> dict[str, str]:
    """The parameters of one run.

    The previous day is that of the calendar of its zone.

    Raises:
        Refused: there is no previous day, in the year 1, or the zone moves the time out of the years 1 to 9999.
    """
    zone = time.zone
    try:
        moment = time.at.astimezone(zone)
        day_before = moment.date() - timedelta(days=1)
    except OverflowError:
        raise Refused(
            f"the schedule time {time.at.isoformat()} is at the end of the calendar; give another one"
        ) from None
    return {
        "system.biz.date": _day(day_before.year, day_before.month, day_before.day),
        "system.biz.curdate": _day(moment.year, moment.month, moment.day),
        "system.datetime": _day(moment.year, moment.month, moment.day) + moment.strftime("%H%M%S"),
        **interval_parameters(time.interval, zone),
        "system.workflow.instance.id": str(workflow_instance_id),
        "system.workflow.definition.name": workflow_name,
        "system.workflow.definition.code": str(workflow_code),
        "system.project.name": project_name,
        "system.project.code": str(project_code),
    }


def interval_parameters(interval: Interval | None, zone: ZoneInfo) -> dict[str, str]:
    """The parameters of the interval, with their offsets: the two hours of one clock time differ."""
    if interval is None:
        return {}
    times = {INTERVAL_START: interval.start, INTERVAL_END: interval.end}
    return {name: time.astimezone(zone).isoformat(timespec="seconds") for name, time in times.items()}


def check_interval_names(text: str, known: Container[str]) -> None:
    """Raises `NoInterval` if `text` names a parameter of the interval that is not `known`."""
    if _OF_THE_INTERVAL in text:
        for name in references(text):
            if name in (INTERVAL_START, INTERVAL_END) and name not in known:
                raise NoInterval(f"${{{name}}}")


def builtin_names() -> set[str]:
    workflow, run = WorkflowCode(1), WorkflowInstanceId(1)
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    of_run = builtin_parameters(
        RunTime(moment, "UTC", Interval(moment, moment)),
        workflow_name="",
        workflow_code=workflow,
        workflow_instance_id=run,
        project_name="",
        project_code=1,
    )
    of_task = task_parameters(
        task_instance_id=TaskInstanceId(1),
        attempt=1,
        task_name="",
        task_code=TaskCode(1),
        workflow_instance_id=run,
        workflow_code=workflow,
    )
    return {*of_run, *of_task, EXECUTE_PATH, IS_LATEST}


def closing_parameters(state: str, failed: Sequence[str]) -> dict[str, str]:
    """The parameters of tasks that clean up: the state in which the run ends, and a list of the failed tasks."""
    names = json.dumps(list(failed[:FAILED_NAMED_MAX]), ensure_ascii=False)
    return {"system.workflow.state": state, "system.workflow.failed_tasks": names}


def closing_names() -> set[str]:
    return set(closing_parameters("", ()))


def task_parameters(
    *,
    task_instance_id: TaskInstanceId,
    attempt: int,
    task_name: str,
    task_code: TaskCode,
    workflow_instance_id: WorkflowInstanceId,
    workflow_code: WorkflowCode,
) -> dict[str, str]:
    """The parameters of one attempt, as its worker knows them; all but `EXECUTE_PATH`."""
    return {
        "system.task.instance.id": str(task_instance_id),
        "system.task.attempt": str(attempt),
        "system.task.definition.name": task_name,
        "system.task.definition.code": str(task_code),
        "system.workflow.instance.id": str(workflow_instance_id),
        "system.workflow.definition.code": str(workflow_code),
    }


def with_task_parameters(values: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """`values` and the parameters of the attempt; entries of `values` take precedence.

    A value that refers to one of the attempt (`out: ${system.task.execute.path}/out`) can be resolved only here.
    Raises `Refused` when they become too large.
    """
    room = Room("its parameters", PARAMETERS_BYTES_MAX)
    referring = {
        name: replace_references(value, own, room.take) for name, value in values.items() if _OF_THE_TASK in value
    }
    return {**own, **values, **referring}


def _day(year: int, month: int, day: int) -> str:
    return f"{year:04d}{month:02d}{day:02d}"  # strftime does not pad the year 987
