"""Times, durations and states as text for people."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from model.runs.progress import Progress

STATES: dict[str, tuple[str, str]] = {
    "SUCCESS": ("✓", "green"),
    "FAILURE": ("✗", "red"),
    "KILL": ("■", "red"),
    "RUNNING_EXECUTION": ("●", "cyan"),
    "DISPATCH": ("◐", "cyan"),
    "QUEUED": ("○", "yellow"),
    "DELAY_EXECUTION": ("◷", "yellow"),
    "WAITING": ("·", "dim"),
    "NOT_BEGUN": ("·", "dim"),
    "FAILOVER": ("⇄", "magenta"),
    "NEED_FAULT_TOLERANCE": ("⇄", "magenta"),
    "SERIAL_WAIT": ("⋮", "yellow"),
    "READY_PAUSE": ("◑", "yellow"),
    "READY_STOP": ("◑", "red"),
    "PAUSE": ("‖", "yellow"),
    "STOP": ("■", "red"),
    "FORCED_SUCCESS": ("✓", "yellow"),
    "SKIPPED": ("↷", "dim"),
    "FORBIDDEN": ("⊘", "dim"),
    "LEFT_OUT": ("·", "dim"),
    "NORMAL": ("●", "green"),
    "BUSY": ("▲", "yellow"),
    "ALIVE": ("●", "green"),
    "LEAVING": ("◌", "yellow"),
    "DRAINING": ("◌", "yellow"),
    "FENCED": ("✝", "red"),
    "ONLINE": ("●", "green"),
    "OFFLINE": ("○", "dim"),
    "FREE": ("○", "green"),
    "TAKEN": ("●", "cyan"),
    "SET_ASIDE": ("⊘", "red"),
    "CHECKING": ("◐", "yellow"),
    "REMOVED": ("◌", "dim"),
}
"""State -> its symbol and style. A symbol besides the colour: not everyone sees colours, and pipes have none."""

MEANINGS: dict[str, str] = {
    "SERIAL_WAIT": "waits until earlier runs of its workflow have ended",
    "READY_PAUSE": "being paused: what runs may finish, nothing new begins",
    "READY_STOP": "being stopped: what runs is killed",
    "FAILOVER": "failed over to another master",
}
"""The meaning of those states of a run whose name does not explain it."""


def said_progress(progress: Progress) -> str:
    """Such as `40/100 (40 %) epoch 12`, or `40 %`."""
    percent = f"{math.floor(progress.percent)} %"
    shown = percent if progress.total is None else f"{progress.done:.15g}/{progress.total:.15g} ({percent})"
    return f"{shown} {progress.text}".rstrip()


_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def duration(seconds: float | None) -> str:
    """Such as `30 ms`, `1.2 s`, `4 min 12 s`, `3 h 5 min`, `2 d 4 h`; `-` for None."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, name, below, below_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // below} {below_name}"
    return f"{whole} s"


def period(seconds: float) -> str:
    """The same for a time that somebody chose: `15 s`, `1 min`, `1 h`, without the parts that are zero."""
    said = duration(seconds).replace(".0 s", " s")
    return said if said[0] == "0" else said.removesuffix(" 0 s").removesuffix(" 0 min").removesuffix(" 0 h")


def ago(seconds: float | None) -> str:
    """Such as `12 s ago`; less precise than a duration, since it is soon out of date."""
    if seconds is None:
        return "-"
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds // unit:.0f} {name} ago"
    return f"{max(seconds, 0):.0f} s ago"


def ahead(seconds: float) -> str:
    """Such as `in 12 s`; `now` for what is due."""
    return f"in {ago(seconds).removesuffix(' ago')}" if seconds >= 1 else "now"


def exact(time: datetime) -> str:
    """RFC 3339 in UTC to the millisecond, as in JSON."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(time: datetime) -> str:
    """Such as `2026-01-31 23:59:59 UTC`, inside a sentence."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def when(time: datetime | None, now: datetime, *, utc: bool) -> str:
    """A time relative to `now`, or exactly if `utc`; `-` for None."""
    if time is None:
        return "-"
    return exact(time) if utc else ago((now - time).total_seconds())


def past_or_ahead(time: datetime | None, now: datetime, *, utc: bool) -> str:
    """The same for a time that may be to come: `3 h ago` or `in 2 h`."""
    is_ahead = time is not None and not utc and time > now
    return ahead((time - now).total_seconds()) if time is not None and is_ahead else when(time, now, utc=utc)


def counted(number: int, thing: str) -> str:
    """Such as `1 task`, `2 tasks`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def plain(text: str) -> str:
    """`text` on one line and without terminal control characters: names and reasons come from untrusted sources."""
    return "".join(character if character.isprintable() else " " for character in text)
