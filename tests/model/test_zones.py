"""Zones are read once; a file that cannot be read for a moment is no zone that does not exist."""

from __future__ import annotations

import pytest

from model.errors import Refused, Unavailable
from model.time import zones
from model.time.zones import load_zones, zone
from tests.every import every
from tests.no_descriptors import no_descriptors
from tests.zones import empty_cache


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "_loaded", {})
    monkeypatch.setattr(zones, "_names", set())
    empty_cache(monkeypatch)


def test_a_zone_that_cannot_be_read_for_want_of_descriptors_is_not_refused() -> None:
    with no_descriptors(), pytest.raises(Unavailable, match="Europe/Lisbon"):
        zone("Europe/Lisbon")
    assert zone("Europe/Lisbon").key == "Europe/Lisbon"


def test_what_was_loaded_once_needs_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    load_zones()
    empty_cache(monkeypatch)
    with no_descriptors():
        assert zone("Asia/Kathmandu").key == "Asia/Kathmandu"


@every("name", ["Mars/Olympus", "Europe", "../etc/passwd", "", "x" * 5000, "a\0b"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="there is no time zone"):
        zone(name)
