"""A moment formatted by a Java date pattern, as `SimpleDateFormat` formats it in English.

Letters are fields (`yyyy`, `HH`, `EEE` ...), text between quotes is literal (`'T'`), two quotes are one, and every
other character is literal too. Weeks (`Y`, `w`, `W`) are ISO's: they begin on Monday, and the first has at least four
days. Java uses the machine's locale there, so that the same pattern gives different weeks on different machines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""Not strftime's names, which depend on the machine's locale."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "F": lambda moment: (moment.day - 1) // 7 + 1,
    "u": lambda moment: moment.isoweekday(),
    "w": lambda moment: moment.isocalendar().week,
    "W": lambda moment: _week_of_month(moment),
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
}
"""Letter -> its number, padded with zeros to the number of letters."""

_TEXTS: dict[str, Callable[[datetime, int], str | None]] = {
    "G": lambda _moment, _letters: "AD",
    "y": lambda moment, letters: _year(moment.year, letters),
    "Y": lambda moment, letters: _year(moment.isocalendar().year, letters),
    "M": lambda moment, letters: _month(moment, letters),
    "L": lambda moment, letters: _month(moment, letters),
    "E": lambda moment, letters: _short(_WEEKDAYS[moment.weekday()], letters),
    "a": lambda moment, _letters: "AM" if moment.hour < 12 else "PM",
    "z": lambda moment, letters: _zone(moment, letters),
    "Z": lambda moment, _letters: _offset(moment, hours_only=False, colon=""),
    "X": lambda moment, letters: _iso_offset(moment, letters),
}


def java_date(pattern: str, moment: datetime) -> str | None:
    """`moment` formatted by `pattern`, or None if that is invalid: no letter, an unknown one, an open quote.

    Args:
        pattern: as for Java's `SimpleDateFormat`, letters G y Y M L w W D d F E u a H k K h m s S z Z X. Different:
            weeks are ISO's, and four or more z give the zone's own name (Asia/Tokyo), as there is no longer one.
        moment: aware, in the zone in which it is formatted.
    """
    written: list[str] = []
    place, letters_seen = 0, False
    for token in _TOKEN.finditer(pattern):
        if token.start() != place:
            return None
        place = token.end()
        quoted, letter = token.groups()
        if letter:
            field = _field(letter, len(token[0]), moment)
            if field is None:
                return None
            written.append(field)
            letters_seen = True
        elif quoted is None:
            written.append(token[0])
        else:
            written.append(quoted.replace("''", "'") or "'")
    return "".join(written) if letters_seen and place == len(pattern) else None


def _field(letter: str, letters: int, moment: datetime) -> str | None:
    if letter in _NUMBERS:
        return str(_NUMBERS[letter](moment)).zfill(letters)
    return _TEXTS[letter](moment, letters) if letter in _TEXTS else None


def _year(year: int, letters: int) -> str:
    return f"{year % 100:02}" if letters == 2 else str(year).zfill(letters)


def _month(moment: datetime, letters: int) -> str:
    return str(moment.month).zfill(letters) if letters < 3 else _short(_MONTHS[moment.month - 1], letters)


def _short(name: str, letters: int) -> str:
    return name if letters > 3 else name[:3]


def _week_of_month(moment: datetime) -> int:
    """Days before the month's first week of at least four days are in week 0."""
    first_weekday = moment.replace(day=1).weekday()
    weeks_begun = (moment.day - 1 + first_weekday) // 7
    return weeks_begun + (1 if first_weekday <= 3 else 0)


def _zone(moment: datetime, letters: int) -> str | None:
    if letters > 3 and isinstance(moment.tzinfo, ZoneInfo) and moment.tzinfo.key:
        return moment.tzinfo.key
    return moment.tzname()


def _iso_offset(moment: datetime, letters: int) -> str | None:
    if letters > 3:
        return None
    if not moment.utcoffset():
        return "Z"
    return _offset(moment, hours_only=letters == 1, colon=":" if letters == 3 else "")


def _offset(moment: datetime, hours_only: bool, colon: str) -> str:
    offset = moment.utcoffset() or timedelta(0)
    hours, minutes = divmod(abs(offset) // timedelta(minutes=1), 60)
    sign = "-" if offset < timedelta(0) else "+"
    return f"{sign}{hours:02}" if hours_only else f"{sign}{hours:02}{colon}{minutes:02}"
