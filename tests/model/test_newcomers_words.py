"""Words of other schedulers, nicknames and units: understood, or answered with the word that is meant."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from model.cluster.timing import Timing
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.time.cron import Cron
from tests.every import every

TASK = {"name": "a", "type": "SHELL", "params": {"script": ":"}}


@every(
    ("field", "meant"),
    [
        ("depends_on", "after"),
        ("upstream", "after"),
        ("retries", "retry_times"),
        ("bash_command", "params"),
        ("queue", "worker_group"),
        ("trigger_rule", "start_when"),
        ("join", "start_when"),
    ],
)
def test_a_field_of_another_scheduler_is_answered_with_ours(field: str, meant: str) -> None:
    with pytest.raises(InvalidWorkflow, match=f'there is no field "{field}", did you mean "{meant}"'):
        WorkflowSpec.parse({"tasks": [{**TASK, field: "x"}]})


def test_all_tasks_that_do_not_exist_are_told_at_once() -> None:
    tasks = [TASK, {**TASK, "name": "b", "after": ["c", "aa"]}, {**TASK, "name": "d", "after": ["e"]}]
    with pytest.raises(InvalidWorkflow) as error:
        WorkflowSpec.parse({"tasks": tasks})
    for pair in (
        '"b" waits for "c"',
        '"b" waits for "aa", which does not exist; did you mean "a"?',
        '"d" waits for "e"',
    ):
        assert pair in str(error.value)


@every(("written", "minutes"), [("30s", 0.5), ("5m", 5), ("1h30m", 90), (5, 5), ("5", 5)])
def test_minutes_take_units(written: object, minutes: float) -> None:
    spec = WorkflowSpec.parse({"timeout_minutes": written, "tasks": [{**TASK, "timeout": written}]})
    assert spec.timeout_minutes == spec.tasks[0].timeout == minutes


def test_settings_take_units() -> None:
    timing = Timing.model_validate({"worker_fence_after": "2m", "kill_grace": "500ms"})
    assert (timing.worker_fence_after.total_seconds(), timing.kill_grace.total_seconds()) == (120, 0.5)


@every(
    ("nickname", "fields"),
    [
        ("@hourly", "0 * * * *"),
        ("@Daily", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
    ],
)
def test_a_nickname_fires_as_its_fields_do(nickname: str, fields: str) -> None:
    since, zone = datetime(2026, 1, 31, 5, tzinfo=UTC), ZoneInfo("Europe/Berlin")
    one, other = (list(islice(Cron.parse(text).after(since, zone), 5)) for text in (nickname, fields))
    assert one == other


def test_an_unknown_nickname_is_refused_with_those_there_are() -> None:
    with pytest.raises(Refused, match="there is no such nickname; known are @hourly, @daily"):
        Cron.parse("@fortnightly")
