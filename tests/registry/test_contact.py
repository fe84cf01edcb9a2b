"""The connection state is computed from a clock, so that waking up late is seen at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from registry import contact
from registry.contact import Contact
from registry.protocol import ConnectionState


def test_who_slept_through_the_session_reads_lost_on_waking(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(contact, "boottime_s", lambda: now_s)
    seen = Contact(timedelta(seconds=10))
    states = [seen.state]  # no proof yet
    seen.proved(sent_s=99.0)
    states.append(seen.state)
    now_s = 109.1
    states.append(seen.state)  # nobody has told us, the clock did
    seen.proved(sent_s=109.0)
    seen.up = False
    states.append(seen.state)
    seen.over()
    states.append(seen.state)
    assert [state.value for state in states] == ["LOST", "CONNECTED", "LOST", "SUSPENDED", "LOST"]
    seen.proved(sent_s=108.0)
    assert (seen.state, seen.last_s) == (ConnectionState.CONNECTED, 109.0)


def test_the_line_of_proofs_breaks_when_the_session_is_or_may_be_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 100.0
    monkeypatch.setattr(contact, "boottime_s", lambda: now_s)
    seen = Contact(timedelta(seconds=10))
    since_s = [seen.unbroken_since_s]

    def proved() -> None:
        seen.proved(sent_s=now_s)
        since_s.append(seen.unbroken_since_s)

    proved()
    now_s = 109.0
    seen.up = False  # suspended
    proved()
    now_s = 119.5  # its own clock says so
    proved()
    now_s = 121.0
    seen.over()  # a server said so
    proved()
    assert since_s == [0.0, 100.0, 100.0, 119.5, 121.0]
