"""What the script of a task does with its arguments and results, in an interpreter of its own."""

from __future__ import annotations

import datetime
import enum
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict

from shoal_sdk import flow, task


class Level(enum.IntEnum):
    """Of numbers."""

    LOW = 1
    HIGH = 2


class City(TypedDict):
    """A plain dict."""

    name: str
    since: datetime.date


class Sized(Protocol):
    """Something that no value is asked for."""

    def __len__(self) -> int: ...


class Point(NamedTuple):
    """In JSON, a list."""

    x: int
    on: datetime.date


@dataclass
class Trip:
    """Has all of them inside."""

    cities: list[City]
    points: dict[int, Point]
    span: tuple[datetime.date, ...]


@task
def travel(
    city: City,
    trip: Trip,
    point: Point,
    pair: tuple[int, datetime.date],
    by: dict[Level, int],
    level: Level,
    moment: datetime.datetime,
    days: Sequence[datetime.date],
    of: Mapping[str, City],
    anything: Any,
    sized: Sized,
) -> str:
    """Says what it got."""
    return repr((city, trip, point, pair, by, level, moment, days, of, anything, sized))


DAY = datetime.date(2026, 1, 31)
CITY, POINT = City(name="Łódź", since=DAY), Point(1, DAY)
TRIP = Trip([CITY], {7: POINT}, (DAY, DAY))
MOMENT = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)


@flow
def journey(level: Level = Level.HIGH) -> None:
    """Gives each kind of value."""
    travel(CITY, TRIP, POINT, (2, DAY), {Level.LOW: 3}, level, MOMENT, [DAY], {"a": CITY}, {"b": 1}, "abc")


def test_arguments_arrive_as_they_are_annotated() -> None:
    (spec,) = journey.spec()["tasks"]
    script = spec["params"]["script"]
    given = {**os.environ, "SHOAL_PARAM_arg_level": "2"}
    done = subprocess.run([sys.executable, "-c", script], env=given, capture_output=True, text=True, check=True)
    line = next(each for each in done.stdout.splitlines() if each.startswith("#{setValue(result="))
    others = ([DAY], {"a": CITY}, {"b": 1}, "abc")
    expected = repr((CITY, TRIP, POINT, (2, DAY), {Level.LOW: 3}, Level.HIGH, MOMENT, *others))
    assert json.loads(line.removeprefix("#{setValue(result=").removesuffix(")}")) == {"text": expected}
