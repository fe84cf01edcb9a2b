"""Zones are read once; a file that cannot be read for a moment is no zone that does not exist."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator

import pytest

from model import zones
from model.errors import Refused, Unavailable
from model.zones import load_zones, zone
from tests.no_descriptors import no_descriptors


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(zones, "_loaded", {})
    monkeypatch.setattr(zones, "_names", set())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.ZoneInfo.clear_cache()


def test_a_zone_that_cannot_be_read_for_want_of_descriptors_is_not_refused() -> None:
    with no_descriptors(), pytest.raises(Unavailable, match="Europe/Lisbon"):
        zone("Europe/Lisbon")
    assert zone("Europe/Lisbon").key == "Europe/Lisbon"


def test_what_was_loaded_once_needs_no_file_any_more() -> None:
    load_zones()
    zoneinfo.ZoneInfo.clear_cache()
    with no_descriptors():
        assert zone("Asia/Kathmandu").key == "Asia/Kathmandu"


@pytest.mark.parametrize("name", ["Mars/Olympus", "Europe", "../etc/passwd", "", "x" * 5000, "a\0b"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="there is no time zone"):
        zone(name)
