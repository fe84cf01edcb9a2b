"""Which dates a COMPLEMENT_DATA fills, in which chains.

A backfill makes one run for each date. The dates of a chain run one after the other: the next begins when the previous
one has succeeded, and a failed one stops its chain. SERIAL is one chain. PARALLEL is `parallelism` chains of
neighbouring dates, whose lengths differ by at most one; without that number each date is a chain by itself, as in
DolphinScheduler, whose names are accepted too. Source: docs/guides/schedules.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice, pairwise
from typing import TypeVar
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.near import nearest
from model.time.moments import TICK, begin_of, end_of, midnight

DATES_MAX = 10_000
"""The maximum number of dates of one backfill."""

FireTimes = Callable[[datetime, datetime], Iterable[datetime]]
"""Returns the fire times of a schedule after the first moment and up to the second, ascending, aware UTC."""

EXAMPLE = '{"from": "2026-01-01", "to": "2026-01-31"}'

THEIR_NAMES = {
    "complementStartDate": "from",
    "complementEndDate": "to",
    "complementScheduleDateList": "dates",
    "runMode": "mode",
    "expectedParallelismNumber": "parallelism",
    "executionOrder": "order",
    "complementDependentMode": "dependents",
}
"""DolphinScheduler's name -> ours."""
THEIR_WORDS: Mapping[str, object] = {
    "RUN_MODE_SERIAL": "SERIAL",
    "RUN_MODE_PARALLEL": "PARALLEL",
    "ASC_ORDER": "ASC",
    "DESC_ORDER": "DESC",
    "OFF_MODE": False,
    "ALL_DEPENDENT": True,
}
"""DolphinScheduler's value -> ours."""

NAMES = ("from", "to", "dates", "mode", "parallelism", "order", "dependents")


class RunMode(StrEnum):
    """Whether dates wait for each other."""

    SERIAL = "SERIAL"
    PARALLEL = "PARALLEL"


class Order(StrEnum):
    """Which date of a chain comes first."""

    ASC = "ASC"
    DESC = "DESC"


E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class BackfillSpec:
    """A backfill request. Either `dates`, or `begin` and `end`, both inclusive, as the user wrote them.

    `parallelism` 0 = a chain for each date; it is used in PARALLEL only. `dependents`: backfill the workflows that
    depend on this one as well.
    """

    begin: str | None = None
    end: str | None = None
    dates: tuple[str, ...] = ()
    mode: RunMode = RunMode.SERIAL
    parallelism: int = 0
    order: Order = Order.ASC
    dependents: bool = False

    def one_by_one(self) -> BackfillSpec:
        """The same dates in one chain from the first to the last, for a workflow whose dates wait for each other."""
        return replace(self, mode=RunMode.SERIAL, order=Order.ASC)

    @classmethod
    def parse(cls, text: str) -> BackfillSpec:
        """Read the JSON object under "backfill" in the parameters of a command. Raises `Refused`."""
        given = _named(_object(text))
        dates = _dates(given.get("dates"))
        begin, end = _text(given, "from"), _text(given, "to")
        if dates and (begin or end):
            raise Refused('backfill has both "dates" and a range; keep one of them')
        if not dates and not (begin and end):
            raise Refused(f'backfill needs "from" and "to", or "dates"; write {EXAMPLE}')
        return cls(
            begin,
            end,
            dates,
            _choice(RunMode, given.get("mode"), "mode") or RunMode.SERIAL,
            _parallelism(given.get("parallelism")),
            _choice(Order, given.get("order"), "order") or Order.ASC,
            _truth(given.get("dependents")),
        )


def chains(spec: BackfillSpec, fire_times: FireTimes | None, zone: ZoneInfo) -> list[list[datetime]]:
    """The times to fill, aware UTC, each exactly once: chains with dates in `spec.order`.

    Args:
        fire_times: of the workflow's schedule, such as `Cron.between`; None without a schedule: daily at midnight.
        zone: of the schedule or workflow; applies to dates, and to times without an offset.

    Raises:
        Refused: a date cannot be parsed, the range contains none, or there are more than `DATES_MAX`.
    """
    times = _listed(spec, zone) if spec.dates else _in_range(spec, fire_times, zone)
    if spec.order is Order.DESC:
        times.reverse()
    count = 1 if spec.mode is RunMode.SERIAL else min(spec.parallelism or len(times), len(times))
    size, longer = divmod(len(times), count)
    ends = [size * number + min(number, longer) for number in range(count + 1)]
    return [times[begin:end] for begin, end in pairwise(ends)]


def rest(spec: BackfillSpec, left: Sequence[datetime]) -> str:
    """The rest of a chain, as the text of a backfill for the next command. `left` is not empty."""
    dates = [time.astimezone(UTC).isoformat().replace("+00:00", "Z") for time in left]
    return json.dumps({"dates": dates, "mode": "SERIAL", "order": spec.order, "dependents": spec.dependents})


def _listed(spec: BackfillSpec, zone: ZoneInfo) -> list[datetime]:
    return sorted({begin_of(date, "backfill: date", zone) for date in spec.dates})


def _in_range(spec: BackfillSpec, fire_times: FireTimes | None, zone: ZoneInfo) -> list[datetime]:
    begin = begin_of(spec.begin or "", "backfill: from", zone)
    end = end_of(spec.end or "", "backfill: to", zone)
    if begin > end:
        raise Refused(f'backfill ends before it begins: from "{spec.begin}" to "{spec.end}"; exchange them')
    found = _midnights(begin, end, zone) if fire_times is None else fire_times(begin - TICK, end)
    times = list(islice(found, DATES_MAX + 1))
    if len(times) > DATES_MAX:
        raise Refused(
            f'backfill from "{spec.begin}" to "{spec.end}" has more than {DATES_MAX} times; split it into parts'
        )
    if not times:
        what = "midnight" if fire_times is None else "fire time of the workflow's schedule"
        raise Refused(f'backfill has nothing to do: no {what} lies from "{spec.begin}" to "{spec.end}"; widen it')
    return sorted(set(times))


def _midnights(begin: datetime, end: datetime, zone: ZoneInfo) -> Iterable[datetime]:
    day = begin.astimezone(zone).date()
    while (time := midnight(day, zone)) <= end:
        if time >= begin:
            yield time
        day += timedelta(days=1)


def _object(text: str) -> dict[str, object]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refused(f"backfill must be a JSON object; write {EXAMPLE}")
    return given


def _named(given: Mapping[str, object]) -> dict[str, object]:
    """The fields under our names; a null field counts as absent."""
    named: dict[str, object] = {}
    for name, value in given.items():
        ours = THEIR_NAMES.get(name, name)
        if ours not in NAMES:
            near = nearest(name, [*NAMES, *THEIR_NAMES])
            cure = f'did you mean "{near}"?' if near else f"known are {', '.join(NAMES)}"
            raise Refused(f'backfill has no field "{name[:100]}"; {cure}')
        if value is None:
            continue
        if ours in named:
            raise Refused(f'backfill says "{ours}" twice; keep one of them')
        named[ours] = THEIR_WORDS.get(value, value) if isinstance(value, str) else value
    return named


def _text(given: Mapping[str, object], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise Refused(f'backfill: {name} must be a text such as "2026-01-31"')
    return value or None


def _dates(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(date, str) for date in value):
        raise Refused('backfill: dates must be a list such as ["2026-01-31", "2026-02-28"]')
    if len(value) > DATES_MAX:
        raise Refused(f"backfill has more than {DATES_MAX} dates; split it into parts")
    return tuple(value)


def _choice(kind: type[E], value: object, name: str) -> E | None:
    if value is None:
        return None
    try:
        return kind(str(value).upper())
    except ValueError:
        raise Refused(f'backfill: {name} "{str(value)[:40]}" is unknown; use {" or ".join(kind)}') from None


def _parallelism(value: object) -> int:
    if value is None:
        return 0
    text = "" if isinstance(value, bool) else str(value)
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= DATES_MAX):
        raise Refused(f"backfill: parallelism must be a whole number from 0 to {DATES_MAX}, not {str(value)[:40]}")
    return int(text)


def _truth(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise Refused("backfill: dependents must be true or false")
