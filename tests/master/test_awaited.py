"""The index of the ends that DEPENDENT tasks await, and the notifications of ends between masters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from dao.runs.dependencies import Happened, Notice, Span, checksum, payloads, read_notice
from master.drive.awaited import Awaited
from model.ids import TaskInstanceId, WorkflowCode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MIDNIGHT = NOON.replace(hour=0)


def span(code: int, begin: datetime = MIDNIGHT, lasts: timedelta = DAY, task: str | None = None) -> Span:
    return Span(WorkflowCode(code), begin, begin + lasts, task)


def ended(code: int, at: datetime = NOON, task: str | None = None) -> Notice:
    return Notice(code, int(at.timestamp()), None if task is None else checksum(task))


def index(**awaiting: Span) -> Awaited:
    """Tasks `t<id>`, each awaiting one span."""
    made = Awaited()
    for name, each in awaiting.items():
        made.put(TaskInstanceId(int(name[1:])), [each])
    return made


def test_an_end_concerns_only_those_that_await_a_run_of_that_workflow_and_time() -> None:
    made = index(t1=span(7), t2=span(8), t3=span(7, MIDNIGHT + DAY))
    assert made.by([ended(7)]) == {1}
    assert made.by([ended(7, NOON + DAY)]) == {3}
    assert made.by([ended(9)]) == set()


def test_an_hour_is_not_its_day() -> None:
    made = index(t1=span(7, NOON, timedelta(hours=1)), t2=span(7, NOON - timedelta(hours=1), timedelta(hours=1)))
    assert made.by([ended(7, NOON)]) == {1}
    assert made.by([ended(7, NOON - timedelta(seconds=1))]) == {2}


def test_the_success_of_a_task_concerns_those_that_await_it_and_the_end_of_its_run_them_too() -> None:
    made = index(t1=span(7, task="a"), t2=span(7, task="b"), t3=span(7), t4=span(7, task="ALL"), t5=span(7, task="*"))
    assert made.by([ended(7, task="a")]) == {1}
    assert made.by([ended(7)]) == {1, 2, 3, 4, 5}


def test_what_was_dropped_or_put_again_is_found_by_its_last_spans_alone() -> None:
    made = index(t1=span(7), t2=span(7))
    made.drop(TaskInstanceId(1))
    made.drop(TaskInstanceId(99))
    made.put(TaskInstanceId(2), [span(8), span(9)])
    assert made.by([ended(7)]) == set()
    assert made.by([ended(8), ended(9)]) == {2}
    made.drop(TaskInstanceId(2))
    assert len(made) == 0 and not made._spans, "nothing of them stays in memory"


def test_the_index_finds_what_a_look_at_all_spans_finds() -> None:
    random = Random(5)
    for _ in range(200):
        spans = {
            TaskInstanceId(number): [
                span(
                    random.choice((1, 2)),
                    MIDNIGHT + timedelta(hours=random.randint(-50, 50)),
                    timedelta(hours=random.choice((1, 23, 24, 25))),
                    random.choice((None, "a", "b", "*")),
                )
                for _ in range(random.randint(1, 4))
            ]
            for number in range(8)
        }
        made = Awaited()
        for id_, each in spans.items():
            made.put(id_, each)
        code, at, task = random.choice((1, 2)), NOON + timedelta(minutes=random.randint(-4000, 4000)), None
        if random.random() < 0.5:
            task = random.choice(("a", "b"))
        expected = {
            id_
            for id_, each in spans.items()
            if any(s.workflow_code == code and s.begin <= at < s.end and task in (None, s.task) for s in each)
        }
        assert made.by([ended(code, at, task)]) == expected


def test_what_is_told_is_what_happened_however_much_it_is() -> None:
    many = [
        Happened(WorkflowCode(code), NOON + timedelta(seconds=code), f"tàsk {code}" if code % 2 else None)
        for code in range(1, 2_000)
    ]
    said = list(payloads([*many, *many]))
    assert len(said) > 1 and all(len(each.encode()) < 7_950 for each in said)
    told = [each for payload in said for each in read_notice(payload) or ()]
    expected = {ended(each.workflow_code, each.schedule_time, each.task) for each in many}
    assert set(told) == expected and len(told) == len(expected), "each once"


def test_a_notification_that_nobody_understands_means_that_anything_may_have_happened() -> None:
    assert read_notice("") is None
    assert read_notice("1001") is None
    assert read_notice("a:b/c") is None
    assert list(payloads([])) == []
