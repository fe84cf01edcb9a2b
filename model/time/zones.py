"""Time zones by their IANA names, such as Europe/Berlin.

A process loads all of them once, at its start: later a file might be temporarily unreadable.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from model.cluster.means import is_passing
from model.errors import Refused, Unavailable

_loaded: dict[str, ZoneInfo] = {}
_names: set[str] = set()
"""The names of all zones, once they are loaded."""


def load_zones() -> None:
    """Load every zone of this machine, about 600, in a tenth of a second. Unreadable ones are left out.

    A second call does nothing.
    """
    if _names:
        return
    _names.update(available_timezones())
    for name in _names:
        try:
            _loaded[name] = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue


def zone(name: str) -> ZoneInfo:
    """The zone with that name.

    Raises:
        Refused: there is none.
        Unavailable: its file cannot be read at the moment.
    """
    if name in _loaded:
        return _loaded[name]
    shown = f'"{name[:100]}"' if name.isprintable() else ascii(name[:100])
    try:
        _loaded[name] = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if is_passing(error):
            raise Unavailable(f"the time zone {shown} cannot be read now: {error}") from error
        raise Refused(f"there is no time zone {shown}; use a name such as Europe/Berlin or UTC") from None
    return _loaded[name]
