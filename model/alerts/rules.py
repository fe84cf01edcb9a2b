"""Rules of alerts in words: when which alert group is notified.

`any run of load fails twice in a row -> group data`. A parsed rule is a value here; only the words are stored, so
nothing can differ from them. Source: docs/guides/alerts.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import time, timedelta
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.time.durations import seconds_of
from model.time.zones import zone

FAILURES_MAX = 100
"""The most failures in a row that a rule may wait for."""
LONGEST = timedelta(days=366)
"""The longest time that a rule may allow."""
NAME_MAX = 200
"""The longest name of an alert group, the same as in commands."""
ALL_DAYS = frozenset(range(7))
FORMS = (
    "any run of NAME fails",
    "any run of NAME fails twice in a row",
    "any run of NAME succeeds",
    "any run of NAME recovers",
    "any run of NAME takes longer than 30 minutes",
    "late: NAME not ended by 06:00 Europe/Berlin",
)
"""What a rule may say before its arrow. NAME is a workflow, or `this project` for all of them."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_UNITS = {"second": "s", "minute": "m", "hour": "h", "day": "d"}
_NAME = r"""(?P<name>"[^"]*"|'[^']*'|[^"'].*?)"""
_ANY_RUN = rf"(?:any\s+run\s+of\s+)?{_NAME}"


@dataclass(frozen=True, slots=True)
class Fails:
    """A run fails, and it is the `times`th failure in a row of its workflow."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class Succeeds:
    """A run succeeds."""


@dataclass(frozen=True, slots=True)
class Recovers:
    """A run succeeds, and the one of its workflow that ended before it failed."""


@dataclass(frozen=True, slots=True)
class TakesLonger:
    """A run has run longer than this, whether it has ended or not."""

    than: timedelta


@dataclass(frozen=True, slots=True)
class Late:
    """No run has ended by a time of the day.

    Args:
        by: local time in `zone`.
        since: from when an ended run counts; on the day before unless it is earlier than `by`.
        days: the days of the week on which a run is expected, 0 = Monday.
        succeeded: whether only a success counts.
    """

    by: time
    zone: ZoneInfo = field(default_factory=lambda: zone("UTC"))
    since: time = time(0)
    days: frozenset[int] = ALL_DAYS
    succeeded: bool = False


Condition = Fails | Succeeds | Recovers | TakesLonger | Late


@dataclass(frozen=True, slots=True)
class Rule:
    """A parsed rule: `workflow` is a name in the rule's project, None = any workflow of it."""

    condition: Condition
    workflow: str | None
    group: str


def parse_rule(text: str) -> Rule:
    """Parse a rule in words. Raises `Refused` with a sentence that says how to write it."""
    what, group = _split(text)
    for pattern, make in _PATTERNS:
        if match := pattern.fullmatch(what):
            condition = make(match)
            workflow = _workflow(match["name"])
            if workflow is None and isinstance(condition, Late):
                raise Refused("a rule that begins with late: is about one workflow; name it instead of this project")
            return Rule(condition, workflow, group)
    if re.match(r"late\b", what, re.I):
        raise Refused(f'"{_shown(what)}" is not understood; write late: NAME not ended by 06:00 Europe/Berlin')
    raise Refused(f'"{_shown(what)}" is not understood; write one of: {"; ".join(FORMS)}')


def _split(text: str) -> tuple[str, str]:
    """Split a rule into its condition and the name of the group."""
    words = " ".join(text.split())
    if not words:
        raise Refused(f"the rule is empty; write one such as: {FORMS[0]} -> group data")
    what, arrow, whom = words.replace("\N{RIGHTWARDS ARROW}", "->").rpartition("->")
    if not arrow:
        raise Refused(f'"{_shown(words)}" says not who is notified; end it with -> group NAME')
    match = re.fullmatch(r"group\s+(.+)", whom.strip(), re.I)
    if match is None:
        raise Refused(f'after the arrow stands "{_shown(whom.strip())}"; write -> group NAME')
    group = _unquoted(match[1])
    if not group or not group.isprintable() or len(group) > NAME_MAX:
        raise Refused(f"the name of the alert group must have 1 to {NAME_MAX} printable characters")
    return what.strip(), group


def _workflow(name: str) -> str | None:
    if name.lower() == "this project":
        return None
    unquoted = _unquoted(name)
    if not unquoted:
        raise Refused('the name of the workflow is empty; write it, or "this project" without quotes for all')
    return unquoted


def _unquoted(name: str) -> str:
    if len(name) >= 2 and name[0] == name[-1] and name[0] in "\"'":
        return name[1:-1].strip()
    return name


def _shown(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."


def _fails(match: re.Match[str]) -> Condition:
    row = match["row"]
    if row is None:
        return Fails()
    word = row.split()[0].lower()
    times = 2 if word == "twice" else _NUMBERS.get(word) or (int(word) if word.isascii() and word.isdecimal() else 0)
    if not 2 <= times <= FAILURES_MAX:
        raise Refused(f'"{row}" is not a number of failures; write twice, or 2 times to {FAILURES_MAX} times in a row')
    return Fails(times)


def _takes_longer(match: re.Match[str]) -> Condition:
    written = match["span"]
    words = re.sub(r"\b(second|minute|hour|day)s?\b", lambda unit: _UNITS[unit[1].lower()], written, flags=re.I)
    seconds = seconds_of(words.replace("min", "m").replace(" and ", " "))
    if seconds is None or not 0 < seconds <= LONGEST.total_seconds():
        raise Refused(
            f'"{_shown(written)}" is not a time that a run may take; write 30 minutes, 2 hours or 1h30m, at most '
            f"{LONGEST.days} days"
        )
    return TakesLonger(timedelta(seconds=seconds))


def _late(match: re.Match[str]) -> Condition:
    where = match["zone"] or "UTC"
    since = match["since"]
    return Late(
        _time(match["by"]),
        zone(where),
        time(0) if since is None else _time(since),
        ALL_DAYS if match["days"] is None else _days(match["days"]),
        match["how"].lower() == "succeeded",
    )


def _time(written: str) -> time:
    match = re.fullmatch(r"(\d{1,2}):(\d{2})", written)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        raise Refused(f'"{_shown(written)}" is not a time of the day; write it as 06:00')
    return time(int(match[1]), int(match[2]))


def _days(written: str) -> frozenset[int]:
    days: set[int] = set()
    for word in re.split(r"\s*,\s*|\s+and\s+|\s+", written.strip().lower()):
        if word in ("weekdays", "weekday"):
            days |= {0, 1, 2, 3, 4}
        elif word in ("weekends", "weekend"):
            days |= {5, 6}
        elif len(word) >= 3 and any(full == word.removesuffix("s") or full[:3] == word for full in _DAYS):
            days |= {place for place, full in enumerate(_DAYS) if full[:3] == word[:3]}
        else:
            raise Refused(f'"{_shown(word)}" is not a day of the week; write weekdays, weekends, or monday, friday')
    return frozenset(days)


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Condition]], ...] = tuple(
    (re.compile(pattern, re.I), make)
    for pattern, make in (
        (rf"{_ANY_RUN}\s+fails(?:\s+(?P<row>twice|\S+\s+times)\s+in\s+a\s+row)?", _fails),
        (rf"{_ANY_RUN}\s+succeeds", lambda _match: Succeeds()),
        (rf"{_ANY_RUN}\s+(?:recovers|recovered)", lambda _match: Recovers()),
        (rf"{_ANY_RUN}\s+takes\s+longer\s+than\s+(?P<span>.+)", _takes_longer),
        (
            rf"late:\s*{_NAME}\s+(?:has\s+)?not\s+(?P<how>ended|succeeded)\s+by\s+(?P<by>\d\S*)"
            r"(?:\s+(?!since\b|on\b)(?P<zone>\S+))?(?:\s+since\s+(?P<since>\S+))?(?:\s+on\s+(?P<days>.+))?",
            _late,
        ),
    )
)
