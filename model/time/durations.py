"""Durations as people write them: `90`, `30s`, `5m`, `1h30m`, `2d`, `500ms`."""

from __future__ import annotations

import re
from datetime import timedelta

from model.errors import Refused

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds_of(text: str) -> float | None:
    """The seconds of a duration with units; None if the text is not one."""
    compact = text.replace(" ", "").lower()
    if not _WHOLE.fullmatch(compact):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))


def read_duration(text: str, where: str) -> timedelta:
    """A duration of more than zero; a bare number is seconds.

    Raises:
        Refused: the text is not a duration; the sentence begins with `where`.
    """
    try:
        seconds = seconds_of(text)
        span = timedelta(seconds=float(text) if seconds is None else seconds)
    except (ValueError, OverflowError):
        span = timedelta(0)
    if span <= timedelta(0):
        raise Refused(f'{where} "{text}" is not a time span; write it as 30s, 5m or 1h30m (a bare number is seconds)')
    return span


def said_duration(seconds: float) -> str:
    """Format a duration for a sentence: `2 s`, `1.5 min`."""
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"
