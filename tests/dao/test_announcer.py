"""`dao/postgres/announcer.py`: changes are sent together, and none is dropped while the node lives."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
import structlog

from dao.postgres.announcer import EVERYTHING, Announcer
from dao.postgres.session_settings import STATEMENT_S_MAX
from dao.runs.live import RECENT_S
from model.changes import Changes, read_changes
from model.errors import Unavailable
from tests.eventually import eventually


class Sent:
    """What an announcer has sent; it fails while `is_away`, and does not end while `hangs`."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.failed = 0
        self.is_away = False
        self.error: Exception = Unavailable("the database is away")
        self.hangs = False

    async def send(self, payloads: Sequence[str]) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_away:
            self.failed += 1
            raise self.error
        self.batches.append(list(payloads))

    def runs(self) -> set[int]:
        return {run for batch in self.batches for payload in batch for run in read_changes(payload).runs}


def test_what_waits_in_doubt_or_fails_is_still_read_as_recent() -> None:
    assert Announcer.DOUBT_S > STATEMENT_S_MAX
    assert STATEMENT_S_MAX + Announcer.LATE_S + Announcer.DOUBT_S < RECENT_S


async def test_changes_of_many_transactions_are_sent_together_and_nothing_is_sent_while_nothing_changes() -> None:
    sent = Sent()
    announcer = Announcer(sent.send)
    announcer.committed(Changes())
    assert announcer._timer is None
    for run in range(1, 501):
        announcer.committed(Changes(runs={run}))
    await eventually(lambda: sent.batches)
    assert len(sent.batches) == 1 and sent.runs() == set(range(1, 501))
    await eventually(lambda: announcer._sending is None)
    assert announcer._timer is None and not announcer.unannounced
    announcer.committed(Changes(queue=True))
    await eventually(lambda: sent.batches[1:] == [["q"]])


async def test_what_changes_while_it_sends_is_sent_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "EVERY_S", 0.02)
    sent = Sent()
    announcer = Announcer(sent.send)
    for run in range(1, 21):
        announcer.committed(Changes(runs={run}))
        await asyncio.sleep(0.01)
    await eventually(lambda: sent.runs() == set(range(1, 21)))
    assert 2 <= len(sent.batches) <= 12


@pytest.mark.parametrize("error", [Unavailable("away"), PermissionError("ca.pem")], ids=["foreseen", "another"])
async def test_what_cannot_be_sent_waits_and_is_logged_once(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(Announcer, "EVERY_S", 0.01)
    sent = Sent()
    sent.error = error
    announcer, sent.is_away = Announcer(sent.send), True
    with structlog.testing.capture_logs() as logs:
        announcer.committed(Changes(runs={1}))
        await eventually(lambda: sent.failed > 3)
        announcer.committed(Changes(runs={2}))
        assert announcer.unannounced.runs == {1, 2}
        sent.is_away = False
        await eventually(lambda: sent.runs() == {1, 2})
    level = "warning" if isinstance(error, Unavailable) else "error"
    assert [(log["event"], log["log_level"]) for log in logs] == [("announcement_waits", level)]
    assert str(error) in logs[0]["error"]


async def test_after_a_long_wait_everything_may_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "EVERY_S", 0.01)
    monkeypatch.setattr(Announcer, "LATE_S", 0.1)
    sent = Sent()
    announcer, sent.is_away = Announcer(sent.send), True
    announcer.committed(Changes(runs={1}))
    await eventually(lambda: sent.failed > 20)
    sent.is_away = False
    await eventually(lambda: sent.batches == [[EVERYTHING]])


async def test_what_is_in_doubt_is_sent_at_once_and_when_the_doubt_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "DOUBT_S", 0.5)
    sent = Sent()
    announcer = Announcer(sent.send)
    announcer.in_doubt(Changes(runs={1}))
    await eventually(lambda: sent.batches == [["r1"]])
    assert announcer.unannounced.runs == {1}
    announcer.committed(Changes(runs={2}))
    await eventually(lambda: sent.batches[1:] in ([["r2"], ["r1"]], [["r1,1"]]))
    assert not announcer.unannounced


async def test_what_is_in_doubt_later_keeps_nothing_waiting_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "DOUBT_S", 0.5)
    monkeypatch.setattr(Announcer, "EVERY_S", 0.01)
    sent = Sent()
    announcer = Announcer(sent.send)
    announcer.in_doubt(Changes(runs={1}))
    count = 0

    def one_more() -> bool:
        nonlocal count
        count += 1
        announcer.in_doubt(Changes(runs={1_000 + count}))
        return sum(1 in read_changes(payload).runs for batch in sent.batches for payload in batch) == 2

    await eventually(one_more)
    assert 1 not in announcer.unannounced.runs and 1_000 + count in announcer.unannounced.runs
    await eventually(lambda: not announcer.unannounced)


async def test_a_closed_one_sends_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "EVERY_S", 0.0)
    monkeypatch.setattr(Announcer, "DOUBT_S", 0.0)
    sent = Sent()
    announcer = Announcer(sent.send)
    await announcer.close()
    announcer.committed(Changes(runs={1}))
    announcer.in_doubt(Changes(runs={2}))
    assert announcer._timer is None and announcer._sending is None and not announcer._doubts
    assert sent.batches == []


async def test_closing_sends_what_is_left_and_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Announcer, "CLOSE_S_MAX", 0.1)
    sent = Sent()
    announcer = Announcer(sent.send)
    announcer.committed(Changes(runs={1}))
    announcer.in_doubt(Changes(runs={2}))
    await announcer.close()
    assert sent.batches == [["r1,1"]] and announcer._timer is not None and announcer._timer.cancelled()
    sent.hangs = True
    announcer = Announcer(sent.send)
    announcer.committed(Changes(runs={1}))
    with structlog.testing.capture_logs() as logs:
        await announcer.close()
    assert [log["event"] for log in logs] == ["changes_not_announced"]
