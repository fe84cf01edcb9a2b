"""Built-in parameters, by the meaning that docs/reference/parameters.md gives them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from model.errors import Refused
from model.ids import TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.parameters.builtin import (
    builtin_names,
    builtin_parameters,
    check_interval_names,
    task_parameters,
    with_task_parameters,
)
from model.time.intervals import Interval, NoInterval
from model.time.run_time import RunTime
from tests.every import every


def parameters(at: datetime, zone: str = "UTC", interval: Interval | None = None) -> dict[str, str]:
    return builtin_parameters(
        RunTime(at, zone, interval),
        workflow_name="daily sales",
        workflow_code=WorkflowCode(1001),
        workflow_instance_id=WorkflowInstanceId(8),
        project_name="shop",
        project_code=3,
    )


@every(
    ("at", "zone", "biz_date", "curdate", "now"),
    [
        (datetime(2022, 8, 26, 5, 0, 7, tzinfo=UTC), "UTC", "20220825", "20220826", "20220826050007"),
        (datetime(2022, 8, 26, 17, tzinfo=UTC), "Asia/Shanghai", "20220826", "20220827", "20220827010000"),
        (datetime(2022, 8, 26, 3, tzinfo=UTC), "America/New_York", "20220824", "20220825", "20220825230000"),
        (datetime(2024, 3, 1, tzinfo=UTC), "UTC", "20240229", "20240301", "20240301000000"),
        # The day after a day of 23 hours, shortly after midnight: 24 hours earlier it was the day before that day.
        (datetime(2026, 3, 29, 22, 30, tzinfo=UTC), "Europe/Berlin", "20260329", "20260330", "20260330003000"),
        (datetime(987, 1, 1, tzinfo=UTC), "UTC", "09861231", "09870101", "09870101000000"),
    ],
)
def test_business_date_is_the_day_before_the_schedule_time_in_the_zone(
    at: datetime, zone: str, biz_date: str, curdate: str, now: str
) -> None:
    found = parameters(at, zone)
    assert (found["system.biz.date"], found["system.biz.curdate"]) == (biz_date, curdate)
    assert found["system.datetime"] == now


def test_a_run_knows_its_names_and_numbers() -> None:
    found = parameters(datetime(2022, 8, 26, tzinfo=UTC))
    assert {name: value for name, value in found.items() if "date" not in name} == {
        "system.workflow.instance.id": "8",
        "system.workflow.definition.name": "daily sales",
        "system.workflow.definition.code": "1001",
        "system.project.name": "shop",
        "system.project.code": "3",
    }


def test_the_interval_has_its_offsets_so_that_a_repeated_hour_is_told_apart() -> None:
    hour = Interval(datetime(2026, 10, 25, 0, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC))
    found = parameters(hour.end, "Europe/Berlin", hour)
    assert found["system.interval.start"] == "2026-10-25T02:00:00+02:00"
    assert found["system.interval.end"] == "2026-10-25T02:00:00+01:00"
    assert {name for name in found if "interval" in name} <= builtin_names()


def test_without_an_interval_a_text_that_names_it_is_refused() -> None:
    text = "${system.interval.start} $${system.interval.end}"
    with pytest.raises(NoInterval, match=r"\$\{system\.interval\.start\} has no value.*add a schedule"):
        check_interval_names(text, {})
    check_interval_names(text, {"system.interval.start": "given by the start"})


@every(("at", "zone"), [(datetime(1, 1, 1, tzinfo=UTC), "UTC"), (datetime(9999, 12, 31, 23, tzinfo=UTC), "Asia/Tokyo")])
def test_the_end_of_the_calendar_is_refused_in_a_sentence(at: datetime, zone: str) -> None:
    with pytest.raises(Refused, match="end of the calendar"):
        parameters(at, zone)


def test_an_attempt_knows_its_own_and_what_is_given_goes_over_it() -> None:
    own = task_parameters(
        task_instance_id=TaskInstanceId(5),
        attempt=3,
        task_name="load",
        task_code=TaskCode(2),
        workflow_instance_id=WorkflowInstanceId(8),
        workflow_code=WorkflowCode(1001),
    )
    given = {"day": "x", "file": "${system.task.instance.id}.csv ${other}", "system.task.definition.name": "mine"}
    assert with_task_parameters(given, own) == {
        "day": "x",
        "file": "5.csv ${other}",
        "system.task.instance.id": "5",
        "system.task.attempt": "3",
        "system.task.definition.name": "mine",
        "system.task.definition.code": "2",
        "system.workflow.instance.id": "8",
        "system.workflow.definition.code": "1001",
    }
