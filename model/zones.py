"""Time zones by their IANA names, such as Europe/Berlin.

A process loads all of them once, when it starts: later a file might not be readable for a moment.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from model.errors import Refused, Unavailable
from model.means import is_passing

_loaded: dict[str, ZoneInfo] = {}
_names: set[str] = set()
"""The names of all zones, once they have been looked for."""


def load_zones() -> None:
    """Load every zone that this machine has, about 600, in a tenth of a second. What cannot be read is left out.

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
    """The zone of that name.

    Raises:
        Refused: there is none.
        Unavailable: its file cannot be read just now.
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
