"""Arguments arrive with the types that they had, or are refused when the flow is built."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from shoal_sdk import WrongFlow, flow, task


class Color(Enum):
    """Of texts."""

    RED = "red"


@dataclass
class Pair:
    """Has one inside."""

    wait: timedelta
    raw: bytes


class Model(BaseModel):
    """As well."""

    at: datetime


VALUES: list[Any] = [
    *(timedelta(days=-1, seconds=30.25), timedelta(days=800, hours=5), timedelta(0), timedelta(microseconds=1)),
    *(b"it's \xc3\xa9\n", datetime(2026, 1, 31, 5, 0, 0, 7, UTC), date(2026, 1, 31), time(5, 30), Decimal("1.10")),
    *(UUID(int=7), Color.RED, Pair(timedelta(minutes=5), b"x"), Model(at=datetime(2026, 1, 1, tzinfo=UTC))),
]


def take(given: Any) -> str:
    """The function of a task; each test annotates it."""
    return repr(given)


def placed(value: Any, annotation: Any) -> None:
    """Build a flow with a task that gets this value."""
    take.__annotations__ = {"return": str} if annotation is None else {"given": annotation, "return": str}

    @flow
    def one() -> None:
        task(take)(value)

    one.spec()


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_arrives_as_annotated_also_within_a_list_or_union(value: Any) -> None:
    from shoal_sdk.in_task import _shoal_sdk
    from shoal_sdk.types_of_values import plain

    kind = type(value)
    for given, hint in ((value, kind), ([value], list[kind]), ({"k": value}, dict[str, kind]), (value, kind | None)):  # type: ignore[valid-type]
        placed(given, hint)
        arrived = _shoal_sdk().typed(plain(given, "it"), hint)
        assert arrived == given
        assert type(arrived) is type(given)


@pytest.mark.parametrize(
    ("value", "annotation", "becomes"),
    [
        (timedelta(minutes=5), None, "timedelta and would arrive as a str"),
        (timedelta(minutes=5), Any, "timedelta and would arrive as a str"),
        (b"x", str, "bytes and would arrive as a str"),
        (date(2026, 1, 31), str, "date and would arrive as a str"),
        (IPv4Address("10.0.0.1"), IPv4Address, "IPv4Address and would arrive as a str"),
        ([Decimal(1)], list, "list and would arrive as a list"),
    ],
)
def test_a_value_that_would_arrive_as_another_is_refused(value: Any, annotation: Any, becomes: str) -> None:
    with pytest.raises(WrongFlow) as refused:
        placed(value, annotation)
    assert str(refused.value).startswith(f'task "take": the argument "given" is a {becomes}; annotate')


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(WrongFlow, match="bytes"):
        placed(b"\xff", bytes)


def test_results_of_these_types_are_typed_for_the_next_task_and_may_be_large() -> None:
    script = """
import datetime, json, os
from shoal_sdk.in_task import _shoal_sdk
_shoal = _shoal_sdk()
def gives_span(): return datetime.timedelta(days=1, microseconds=5)
_shoal.gives("result", text=True)(gives_span)
gives_span.__annotations__ = {}
assert _shoal.typed("PT86400.000005S", datetime.timedelta) == gives_span()
def large(): return ["x" * 1000] * 100
os.environ["SHOAL_VALUE_BYTES_MAX"] = "200000"
_shoal.gives("rows")(large)
del os.environ["SHOAL_VALUE_BYTES_MAX"]
try:
    _shoal.gives("rows")(large)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[0] == '#{setValue(result={"text": "PT86400.000005S"})}'
    assert lines[1].startswith('#{setValue(rows=["xxx')
    assert lines[2].startswith(
        "the result of large has 0.1 MB, and a result has at most 64 KiB, with a log store more;"
    )
