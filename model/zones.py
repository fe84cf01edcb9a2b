"""Time zones by their IANA names, such as Europe/Berlin."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from model.errors import Refused


def zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises `Refused` if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        shown = f'"{name[:100]}"' if name.isprintable() else ascii(name[:100])
        raise Refused(f"there is no time zone {shown}; use a name such as Europe/Berlin or UTC") from None
