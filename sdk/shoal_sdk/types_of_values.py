"""What a Python annotation means for values that travel as text: the type of a parameter, and whether it is a text."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import Parameter, Signature
from pathlib import PurePath
from typing import Any, Literal, Union
from uuid import UUID

from pydantic import SecretStr, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from shoal_sdk.errors import NoSuchPart, WrongFlow
from shoal_sdk.in_task import _shoal_sdk

UNKNOWN: Any = Parameter.empty
"""The annotation of what has none."""

_TEXTS = (str, bytes, date, datetime, time, timedelta, UUID, Decimal, PurePath)
_NUMBERS: Mapping[Any, str] = {int: "LONG", float: "DOUBLE", bool: "BOOLEAN"}
_PARAMETERS: Mapping[Any, str] = {**_NUMBERS, date: "DATE", datetime: "TIMESTAMP"}


def is_text(annotation: Any) -> bool:
    """Whether all its values but None are texts in JSON: `str`, dates, `Literal["a", "b"]`, `str | None`."""
    if typing.get_origin(annotation) is Literal:
        return all(isinstance(each, str) for each in typing.get_args(annotation))
    if is_union(annotation):
        kinds = [each for each in typing.get_args(annotation) if each is not types.NoneType]
        return bool(kinds) and all(is_text(each) for each in kinds)
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, Enum):
        return all(isinstance(each.value, str) for each in annotation)
    return issubclass(annotation, _TEXTS)


def is_union(annotation: Any) -> bool:
    """Whether it is `A | B` or `Optional[A]`."""
    return typing.get_origin(annotation) in (Union, types.UnionType)


def out_type(annotation: Any) -> str:
    """The type of Shoal that a result has: LONG, DOUBLE, BOOLEAN, FILE if there are any in it, else JSON."""
    if has_files(annotation):
        return "FILE"
    return _NUMBERS.get(annotation, "JSON") if isinstance(annotation, type) else "JSON"


def has_files(annotation: Any) -> bool:
    """Whether a value of it may be a `File`, or have some in it."""
    seen: list[Any] = []
    left = [annotation]
    while left:
        each = left.pop()
        if hasattr(each, "is_shoal_file"):
            return True
        if each not in seen:
            seen.append(each)
            left += [*typing.get_args(each), *(_fields(each) or {}).values()]
    return False


def local_type(annotation: Any) -> str | None:
    """The type under which a value is given to SHELL and SQL; None for a text and for what is not known."""
    return _PARAMETERS.get(annotation) if isinstance(annotation, type) else None


def declared(name: str, annotation: Any, default: Any) -> Any:
    """A parameter of a flow as `params` of a workflow has it.

    Args:
        name: of the parameter, for the sentence.
        annotation: its type; `Literal` and enumerations of texts become choices, `SecretStr` a SECRET.
        default: its value if a start gives none; `UNKNOWN`: each start must give one.
    Raises:
        WrongFlow: the default is no JSON.
    """
    if isinstance(annotation, type) and issubclass(annotation, SecretStr):
        if default is not UNKNOWN:
            raise WrongFlow(f'the secret "{name}" has a default, which anyone could read; remove it')
        return {"type": "SECRET", "required": True}
    if has_files(annotation):
        raise WrongFlow(f'the parameter "{name}" is a File, which tasks alone hand on; give its path or URL as a text')
    said: dict[str, Any] = {}
    if typing.get_origin(annotation) is Literal and is_text(annotation):
        said["enum"] = list(typing.get_args(annotation))
    elif isinstance(annotation, type) and issubclass(annotation, Enum) and is_text(annotation):
        said["enum"] = [each.value for each in annotation]
    elif isinstance(annotation, type) and annotation in _PARAMETERS:
        said["type"] = _PARAMETERS[annotation]
    elif not (annotation is UNKNOWN or is_text(annotation)):
        said["type"] = "JSON"
    if default is UNKNOWN:
        return {**said, "required": True}
    value = plain(default, f'the default of parameter "{name}"')
    if value is None:
        value = ""  # an empty value counts as none, and fits every type
    return {**said, "value": value} if said else value


def plain(value: Any, what: str, *, files: bool = False) -> Any:
    """The same as JSON has it: models, dataclasses, dates and sets become plain, and so do `files` if it may have some.
    Raises `WrongFlow`, naming `what`."""
    if isinstance(value, SecretStr):
        raise WrongFlow(f"{what} is a secret, which anyone could read there; make it a SecretStr parameter of the flow")
    try:
        said = to_jsonable_python(value, fallback=_packed if files else None)
        json.dumps(said, allow_nan=False)
        return said
    except (PydanticSerializationError, ValueError, AttributeError, RecursionError):
        raise WrongFlow(f"{what} is a {type(value).__name__}, which JSON cannot say; give plain data") from None


def _packed(value: Any) -> Any:
    return value.packed()


def check_arrival(value: Any, annotation: Any, what: str) -> None:
    """Raises `WrongFlow`, naming `what`, if a task would get something else than this value: JSON has no such type, and
    the parameter is not annotated with it."""
    said = plain(value, what)
    if type(said) is type(value) and said == value:
        return
    hint = None if annotation is UNKNOWN else annotation
    try:
        arrives = _shoal_sdk().typed(said, hint)
    except (ValueError, TypeError, ArithmeticError):
        arrives = said
    if arrives != value or (type(arrives) is not type(value) and not isinstance(value, Sequence | Mapping)):
        kind = type(value).__name__
        raise WrongFlow(
            f"{what} is a {kind} and would arrive as a {type(arrives).__name__}; annotate the parameter as {kind}, or "
            "give plain data"
        )


def as_text(value: Any, annotation: Any, what: str) -> str:
    """A value of a parameter as a start sends it. Raises `WrongFlow`, naming `what`, if it is not of its type."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if annotation is not UNKNOWN and not isinstance(value, Expression):
        try:
            value = TypeAdapter(annotation).validate_python(value)
        except ValidationError as error:
            raise WrongFlow(f"{what} does not fit {shown(annotation)}: {error.errors()[0]['msg']}") from None
    said = plain(value, what)
    if said is None:
        return ""
    return said if isinstance(said, str) else TypeAdapter(Any).dump_json(said).decode()


def field_of(annotation: Any, step: str | int) -> Any:
    """The annotation of what a path leads to; `UNKNOWN` if that cannot be told. Raises `NoSuchPart`."""
    if isinstance(step, int):
        arguments = typing.get_args(annotation)
        origin = typing.get_origin(annotation)
        return arguments[0] if origin in (list, set, frozenset) and arguments else UNKNOWN
    fields = _fields(annotation)
    if fields is None:
        arguments = typing.get_args(annotation)
        return arguments[1] if typing.get_origin(annotation) is dict and len(arguments) == 2 else UNKNOWN
    if step not in fields:
        raise NoSuchPart(f'{shown(annotation)} has no field "{step}"; it has {", ".join(fields) or "none"}')
    return fields[step]


def _fields(annotation: Any) -> Mapping[str, Any] | None:
    if not isinstance(annotation, type):
        return None
    if hasattr(annotation, "is_shoal_file"):
        return {"name": str, "content_type": str, "size": int, "sha256": str}
    if dataclasses.is_dataclass(annotation) or typing.is_typeddict(annotation) or hasattr(annotation, "_fields"):
        return hints_of(annotation)
    models: Mapping[str, Any] | None = getattr(annotation, "model_fields", None)
    return None if models is None else {name: each.annotation for name, each in models.items()}


def hints_of(thing: Any) -> dict[str, Any]:
    """The annotations of a function or class; none of one that names what is not there."""
    try:
        return typing.get_type_hints(thing)
    except (NameError, TypeError):
        return {}


def check_names(whose: str, signature: Signature) -> None:
    """Raises `WrongFlow` for a parameter that cannot be given by name."""
    for each in signature.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise WrongFlow(f'{whose}: its parameter "{each.name}" cannot be given by name; change it')


def shown(annotation: Any) -> str:
    """An annotation as a person writes it."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


class Expression(str):
    """A text that Shoal computes when a run begins, such as `$[yyyy-MM-dd-1]`."""

    __slots__ = ()
