"""The processes that send: how they are started and used again; what they send to is real."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from alert import couriers
from alert.couriers import Couriers
from alert.letter import Letter, Outcome
from tests.alert.receivers import HttpReceiver, http_receiver
from tests.eventually import eventually


@pytest_asyncio.fixture
async def staff() -> AsyncIterator[Couriers]:
    made = Couriers()
    yield made
    await made.close()


def letter(url: str, within_s: float) -> Letter:
    return Letter(url, "subject", "text", "", "info", ("127.0.0.0/8",), time.monotonic() + within_s)


async def test_a_process_that_is_ready_too_late_for_its_letter_sends_the_next(
    staff: Couriers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(couriers, "GRACE_S", 0.0)
    with http_receiver() as web:
        late = await staff.deliver(letter(web.url(), 0.01))
        assert late.outcome is Outcome.FAILED
        assert "no complete answer within" in late.reason
        await eventually(lambda: staff.ready, until=1, within_s=60)
        assert (await staff.deliver(letter(web.url(), 60))).outcome is Outcome.SENT
        assert len(web.posts) == 1
        assert staff.ready == 1, "it is the same one"


async def test_a_process_that_hangs_is_killed_and_another_one_sends(
    staff: Couriers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(couriers, "GRACE_S", 0.0)
    with http_receiver() as web:
        assert (await staff.deliver(letter(web.url(), 60))).outcome is Outcome.SENT
        await _hang(staff, web)
        assert staff.ready == 0
        assert (await staff.deliver(letter(web.url(), 60))).outcome is Outcome.SENT


async def _hang(staff: Couriers, web: HttpReceiver) -> None:
    web.hangs = True
    assert (await staff.deliver(letter(web.url(), 1))).outcome is Outcome.FAILED
    web.hangs = False
