"""Parameters of one task: IN values that its texts may use, OUT values that it passes to the tasks after it.

    local_params:
      day: $[yyyy-MM-dd-1]
      limit: {type: INTEGER, value: 10}
      rows: {direct: OUT, type: INTEGER}

or as the list that DolphinScheduler writes, each entry with `name`, `direct`, `type` and `value`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from model.choices import Direct, ParameterType
from model.errors import Refused
from model.parameters.text import ParameterValue

NAME = r"^[A-Za-z_][A-Za-z0-9_.]*$"
"""A name that can occur in `${name}`."""


class LocalParam(BaseModel):
    """One parameter of a task. An IN without a value gets it from previous tasks; an OUT's value is its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(max_length=200, pattern=NAME)
    direct: Direct = Direct.IN
    type: ParameterType = ParameterType.VARCHAR
    value: ParameterValue = ""


def _as_list(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    return [
        {**value, "name": name} if isinstance(value, Mapping) else {"name": name, "value": value}
        for name, value in given.items()
    ]


LocalParams = Annotated[
    tuple[LocalParam, ...], BeforeValidator(_as_list, json_schema_input_type=tuple[LocalParam, ...] | dict[str, Any])
]


def _list(text: str) -> list[Any]:
    value = json.loads(text)
    if not isinstance(value, list):
        raise ValueError("no list")  # noqa: TRY004 - the caller handles ValueError as a misfit
    return value


def _json(text: str) -> str:
    json.loads(text)
    return text


WHOLE_NUMBER = re.compile("[-+]?[0-9]+")
"""Python's `int` also accepts spaces, underscores and digits of other scripts, unlike other programs."""


def _whole(text: str) -> int:
    if not WHOLE_NUMBER.fullmatch(text):
        raise ValueError("no whole number")
    return int(text)


def _number(text: str) -> float:
    if not text.isascii() or not text.isprintable() or " " in text or "_" in text:
        raise ValueError("no number")
    return float(text)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_READ: Mapping[ParameterType, tuple[Callable[[str], object], str]] = {
    ParameterType.VARCHAR: (str, "a text"),
    ParameterType.INTEGER: (_whole, "a whole number such as 42"),
    ParameterType.LONG: (_whole, "a whole number such as 42"),
    ParameterType.FLOAT: (_number, "a number such as 1.5"),
    ParameterType.DOUBLE: (_number, "a number such as 1.5"),
    ParameterType.DATE: (date.fromisoformat, "a date such as 2026-01-31"),
    ParameterType.TIME: (time.fromisoformat, "a time such as 05:00:00"),
    ParameterType.TIMESTAMP: (datetime.fromisoformat, "a time such as 2026-01-31 05:00:00"),
    ParameterType.BOOLEAN: (_truth, "true or false"),
    ParameterType.LIST: (_list, "a JSON list such as [1, 2]"),
    ParameterType.JSON: (_json, 'JSON such as {"rows": 1}'),
    ParameterType.FILE: (str, "a file's name"),
    ParameterType.TEXT: (str, "a text"),
    ParameterType.SECRET: (str, "a text"),
}


def form_of(type_: ParameterType) -> str:
    """Describe the values of a type, with an example."""
    return _READ[type_][1]


def typed(type_: ParameterType, name: str, value: str) -> object:
    """Convert a text to its type; None for an empty one that is not a text. Raises `Refused`, naming it."""
    read, form = _READ[type_]
    if not value and type_ not in (ParameterType.VARCHAR, ParameterType.TEXT, ParameterType.FILE, ParameterType.SECRET):
        return None
    try:
        return read(value)
    except (ValueError, KeyError, RecursionError):
        raise Refused(f'parameter "{name}" is {type_} and must be {form}') from None


def json_typed(recorded: str | None) -> frozenset[str]:
    """The names of JSON parameters among the recorded types of an attempt."""
    if recorded is None or f'"{ParameterType.JSON}"' not in recorded:
        return frozenset()
    return frozenset(name for name, type_ in json.loads(recorded).items() if type_ == ParameterType.JSON)


def misfit(param: LocalParam) -> str | None:
    """The problem with a value in the definition; None while it contains a reference."""
    if param.type is ParameterType.SECRET and param.direct is Direct.OUT:
        return f'parameter "{param.name}" is SECRET and cannot be OUT: what a task gives is stored in clear'
    if "$" in param.value:
        return None
    try:
        typed(param.type, param.name, param.value)
    except Refused as error:
        return str(error)
    return None
