"""Types of the fields of requests and answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from datetime import UTC, datetime
from functools import reduce
from inspect import get_annotations
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NewType, Self, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from model.errors import Refused
from model.parameters.parameters import is_storable
from model.parameters.secret_values import SEALED_TEXT, has_sealed

ID_MAX = 2**63 - 1


def _number(given: Any) -> Any:
    written = str(given) if isinstance(given, str | bool | float) else "0"
    if not (written.isascii() and written.isdecimal() and len(written) <= 19):
        raise ValueError("an id is a whole number, written in digits")
    if isinstance(given, str):
        given = int(given)
    if isinstance(given, int) and not 0 <= given <= ID_MAX:
        raise ValueError(f"an id is between 0 and {ID_MAX}")
    return given


Id = Annotated[
    int,
    BeforeValidator(_number),
    PlainSerializer(str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,19}$", "examples": ["1042"]}),
]
"""A 64-bit id; in JSON a text, since the numbers of JavaScript have 53 bits."""

GivenId = Annotated[
    Id,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": "^[0-9]{1,19}$"},
                {"type": "integer", "minimum": 0},
            ],
            "examples": ["1042"],
        }
    ),
]
"""An id in the body of a request, where a number is as good as its text."""

WrittenId = Annotated[
    int, PlainSerializer(str, when_used="json"), WithJsonSchema({"type": "string", "pattern": "^-?[0-9]{1,19}$"})
]
"""An id in an answer that stands in a row which people insert by hand: it may be any number of 64 bits."""


_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]")


def _written(given: Any) -> Any:
    """Numbers are no times, though pydantic reads them as seconds or milliseconds, whichever is nearer."""
    if not isinstance(given, datetime) and not (isinstance(given, str) and _TIME.match(given)):
        raise ValueError("write the time as 2026-01-31T14:00:00Z")
    return given


def _utc(given: datetime) -> datetime:
    if given.tzinfo is None:
        raise ValueError("write the time with its zone, such as 2026-01-31T14:00:00Z")
    try:
        return given.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time in UTC is before the year 1 or after the year 9999; write another one") from None


def _exact(given: datetime) -> str:
    return given.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, BeforeValidator(_written), AfterValidator(_utc), PlainSerializer(_exact, when_used="json")]
"""A time in UTC; in JSON as RFC 3339 to the millisecond."""


def _storable(given: str) -> str:
    if not is_storable(given):
        raise ValueError("it contains a NUL or half a character, which cannot be stored; remove it")
    if has_sealed(given):
        raise ValueError(f"it contains {SEALED_TEXT}")
    return given


Text = Annotated[str, AfterValidator(_storable)]
"""A text that the database can store, and nobody has sealed."""


def _in_json(hint: Any) -> Any:
    """The type of a row's field as that of an answer."""
    if hint is datetime:
        return Moment
    if isinstance(hint, NewType):
        return Id if hint.__supertype__ is int else hint
    origin = get_origin(hint)
    if origin in (None, Annotated, Literal):
        return hint
    parts = tuple(map(_in_json, get_args(hint)))
    return reduce(or_, parts) if origin in (Union, UnionType) else origin[parts]


class Answer(BaseModel):
    """The base of answers: what is unknown is left out of their JSON.

    `model_validate(row)` makes one of the attributes of a row that have the names of its fields. An answer that shows
    all of a row inherits from it too, `class TokenAnswer(Answer, TokenRow)`: it has the row's fields before its own,
    ids as `Id` and times as `Moment`, all but those `without`. Such a row is a dataclass without slots.

    `etag` names the field that is its version, as in the header of that name.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)
    _without: ClassVar[frozenset[str]] = frozenset()
    _etag: ClassVar[str] = ""

    def __init_subclass__(cls, without: Collection[str] = (), etag: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._without |= frozenset(without)
        cls._etag = etag or cls._etag
        shown: dict[str, Any] = {}
        for base in cls.__bases__:
            if is_dataclass(base) and not issubclass(base, BaseModel):
                shown |= get_type_hints(base, include_extras=True)
        for name, hint in shown.items():
            if NoneType in get_args(hint) and not hasattr(cls, name):
                setattr(cls, name, None)
        own = get_annotations(cls)
        cls.__annotations__ = {**{name: _in_json(hint) for name, hint in shown.items()}, **own}

    @classmethod
    def __pydantic_init_subclass__(cls, without: object = (), **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        for name in cls._without:
            del cls.__pydantic_fields__[name]

    @property
    def etag(self) -> str | None:
        """The version that it shows; None: it has none."""
        return str(getattr(self, self._etag)) if self._etag else None

    @classmethod
    def showing(cls, row: object, **more: Any) -> Self:
        """The same with `more` fields, which the row lacks or has by another name. One that neither has is a bug."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields if name not in more}, **more)


class Asked(BaseModel):
    """The base of requests: an unknown field is an error, so that a mistyped one does not pass silently."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __deepcopy__(self, memo: object = None) -> Self:
        """The same one, since it never changes: the framework copies the default of a body for each request."""
        return self

    @model_validator(mode="after")
    def _has_nothing_sealed(self) -> Self:
        """Of the fields that are no `Text`, at any depth."""
        pending: list[object] = list(self.__dict__.values())
        while pending:
            given = pending.pop()
            if isinstance(given, str) and has_sealed(given):
                raise ValueError(f"it contains {SEALED_TEXT}")
            if isinstance(given, Mapping):
                pending += [*given, *given.values()]
            elif isinstance(given, list | tuple):
                pending += given
            elif isinstance(given, BaseModel) and not isinstance(given, Asked):
                pending += given.__dict__.values()
        return self

    @classmethod
    def read(cls, **fields: Any) -> Self:
        """A request with these fields; None = not given. Raises `Refused` for what it cannot be."""
        try:
            return cls(**{name: value for name, value in fields.items() if value is not None})
        except ValidationError as error:
            said = [
                ": ".join(filter(None, [".".join(map(str, fault["loc"])), fault_of(fault)])) for fault in error.errors()
            ]
            raise Refused("; ".join(said)) from None


def fault_of(fault: Mapping[str, Any]) -> str:
    """The sentence of one of `ValidationError.errors()`, without the value that was given: it may be a secret.

    The length of a `Text` is said in characters: pydantic speaks of items once a validator has seen a text.
    """
    limits = fault.get("ctx", {})
    if isinstance(fault["input"], str):
        if fault["type"] == "too_long":
            return f"String should have at most {_characters(limits['max_length'])}"
        if fault["type"] == "too_short":
            return f"String should have at least {_characters(limits['min_length'])}"
    return str(fault["msg"]).removeprefix("Value error, ")


def _characters(number: int) -> str:
    return f"{number} character{'' if number == 1 else 's'}"
