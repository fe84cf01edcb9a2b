"""Zones that a test reads from their files, as a process that has just started does."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest


def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read zones into a separate cache until the test ends.

    Emptying the interpreter's cache would make zones that other tests hold differ from those read later: they are the
    same only while that cache has them.
    """

    class Unread(ZoneInfo):
        """Each subclass has a cache of its own."""

    monkeypatch.setattr("model.time.zones.ZoneInfo", Unread)
