"""Applies rules to the ends of runs, and computes by when a run is expected."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from hypothesis import given
from hypothesis import strategies as st

from model.alerts.rule_ends import Mark, RunEnd, Window, at_end, failures_after, is_late, last_window, ordinal
from model.alerts.rules import Condition, Fails, Late, Recovers, Succeeds, TakesLonger
from model.ids import WorkflowCode
from model.runs.states import WorkflowState
from model.time.zones import zone
from tests.every import every

BERLIN = zone("Europe/Berlin")
S, F = WorkflowState.SUCCESS, WorkflowState.FAILURE


def _end(state: WorkflowState, took_s: float | None = 60.0) -> RunEnd:
    return RunEnd(7, WorkflowCode(1), "shop", "load", state, took_s, "1", "0", None, False)


def _raised(condition: Condition, states: str) -> str:
    """For each end in a row: `x` if the rule raised something, else `.`."""
    failures, seen = 0, ""
    for letter in states:
        state = S if letter == "S" else F
        seen += "." if at_end(condition, _end(state), failures) is None else "x"
        failures = failures_after(failures, state)
    return seen


@every(
    ("condition", "states", "raised"),
    [
        (Fails(), "SFFSF", ".xx.x"),
        (Fails(2), "FFFFSFSFF", ".x......x"),
        (Fails(3), "FFSFFF", ".....x"),
        (Succeeds(), "SFS", "x.x"),
        (Recovers(), "SFSSFFS", "..x...x"),
        (Late(time(6)), "SF", ".."),
    ],
)
def test_which_ends_raise_an_alert(condition: Condition, states: str, raised: str) -> None:
    assert _raised(condition, states) == raised


@given(states=st.text("SF", max_size=40), times=st.integers(2, 5))
def test_a_row_of_failures_is_reported_once_until_a_success(states: str, times: int) -> None:
    raised = _raised(Fails(times), states)
    assert raised.count("x") == sum(len(row) >= times for row in states.split("S"))
    assert _raised(Recovers(), states).count("x") == states.count("FS")


@every(("took_s", "is_raised"), [(1799.0, False), (1800.5, True), (None, False)])
def test_an_end_after_too_long_a_time(took_s: float | None, is_raised: bool) -> None:
    raised = at_end(TakesLonger(timedelta(minutes=30)), _end(S, took_s), 0)
    assert (raised is not None) == is_raised
    if raised is not None:
        assert raised.subject == 'run 7 of workflow "load" takes longer than 30 min'
        assert raised.mark is Mark.LENGTH


def test_what_is_said_of_failures() -> None:
    third, recovered = at_end(Fails(3), _end(F), 2), at_end(Recovers(), _end(S), 2)
    assert third is not None
    assert third.subject == 'run 7 of workflow "load" failed, the 3rd in a row'
    assert recovered is not None
    assert recovered.subject == 'run 7 of workflow "load" succeeded after 2 failures in a row'
    assert [ordinal(number) for number in (2, 3, 4, 11, 12, 13, 21, 22, 100)] == [
        *("2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "100th")
    ]


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@every(
    ("late", "now", "since", "deadline"),
    [
        (Late(time(6)), _utc(2026, 3, 4, 6), _utc(2026, 3, 4), _utc(2026, 3, 4, 6)),
        (Late(time(6)), _utc(2026, 3, 4, 5, 59), _utc(2026, 3, 3), _utc(2026, 3, 3, 6)),
        (Late(time(6), BERLIN), _utc(2026, 3, 4, 5), _utc(2026, 3, 3, 23), _utc(2026, 3, 4, 5)),
        (Late(time(6), since=time(20)), _utc(2026, 3, 4, 7), _utc(2026, 3, 3, 20), _utc(2026, 3, 4, 6)),
        # 2026-03-08 is a Sunday.
        (
            Late(time(6), days=frozenset({0, 1, 2, 3, 4})),
            _utc(2026, 3, 8, 12),
            _utc(2026, 3, 6),
            _utc(2026, 3, 6, 6),
        ),
        # On 2026-03-29 the clock of Berlin goes from 02:00 to 03:00: 02:30 is 03:30.
        (Late(time(2, 30), BERLIN), _utc(2026, 3, 29, 2), _utc(2026, 3, 28, 23), _utc(2026, 3, 29, 1, 30)),
    ],
)
def test_by_when_a_run_is_expected(late: Late, now: datetime, since: datetime, deadline: datetime) -> None:
    assert last_window(late, now) == Window(since, deadline)


@given(
    hours=st.floats(0, 500_000),
    by=st.times(),
    since=st.times(),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    where=st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"]),
)
def test_a_window_ends_before_now_and_begins_at_most_a_day_earlier(
    hours: float, by: time, since: time, days: frozenset[int], where: str
) -> None:
    now = _utc(2000, 1, 1) + timedelta(hours=hours)
    window = last_window(Late(by.replace(tzinfo=None), zone(where), since.replace(tzinfo=None), days), now)
    assert window.deadline <= now
    assert now - window.deadline <= timedelta(days=9)
    assert window.deadline - timedelta(hours=50) <= window.since <= window.deadline
    assert window.deadline.astimezone(zone(where)).weekday() in days or where != "UTC"


def test_what_is_said_of_a_late_run() -> None:
    late = Late(time(6), BERLIN, succeeded=True)
    said = is_late("load", late, last_window(late, _utc(2026, 3, 4, 12)))
    assert said.subject == 'late: no run of workflow "load" succeeded by 06:00 Europe/Berlin on 2026-03-04'
