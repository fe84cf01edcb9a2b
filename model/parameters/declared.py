"""What a workflow declares about its parameters: type, choices, bounds, whether a start must give them, a description.

params:
    day: {type: DATE, required: true, description: The day to load}
    size: {type: INTEGER, value: 10, min: 1, max: 100}
    region: {enum: [eu, us], value: eu}

Reading a definition puts plain values into `params` and the rest into `declared`, so users of values need not know
declarations. An object is a JSON value unless it has a field that only a declaration has (`_is_declaration`).

A value is checked twice: as given, when a start is requested, and with its references replaced, when a run is created.
No message contains a secret.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.large_values import large_value
from model.parameters.local import form_of, typed
from model.parameters.parameters import references
from model.parameters.text import ParameterValue, plain_data

CHOICES_MAX = 1_000
DESCRIPTION_MAX = 2_000
SHOWN_MAX = 20
VALUE_SHOWN_MAX = 60
NAMED_MAX = 20

_ORDERED = (
    *(ParameterType.INTEGER, ParameterType.LONG, ParameterType.FLOAT, ParameterType.DOUBLE),
    *(ParameterType.DATE, ParameterType.TIMESTAMP),
)


class Declaration(BaseModel):
    """The declaration of one parameter, without its value. `required`: no run begins without a value from any source.
    `min` and `max` are for numbers, DATE and TIMESTAMP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: ParameterType = ParameterType.VARCHAR
    enum: Annotated[tuple[ParameterValue, ...], Field(min_length=1, max_length=CHOICES_MAX)] | None = None
    min: ParameterValue | None = None
    max: ParameterValue | None = None
    required: Annotated[bool, Field(strict=True)] = False
    description: Annotated[str, Field(max_length=DESCRIPTION_MAX), AfterValidator(plain_data)] = ""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.type is ParameterType.SECRET and (self.enum, self.min, self.max) != (None, None, None):
            raise ValueError("a SECRET has no enum, min or max, which anybody can read; remove them")
        bounds = {name: bound for name, bound in (("min", self.min), ("max", self.max)) if bound is not None}
        if bounds and self.type not in _ORDERED:
            kinds = ", ".join(_ORDERED)
            raise ValueError(f"min and max are for the types {kinds}; it is {self.type}")
        for name, bound in bounds.items():
            if not bound or not _reads(self.type, bound):
                raise ValueError(f"{name} must be {form_of(self.type)}, as its type {self.type} says")
        if len(bounds) == 2 and not self._is_within(self.max or ""):
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        for choice in self.enum or ():
            if not choice:
                raise ValueError("enum must not have an empty text, which stands for no value")
            if not _reads(self.type, choice) or not self._is_within(choice):
                raise ValueError(f"enum has {shown(choice)}, which must be {self.allowed(without_enum=True)}")
        return self

    def allowed(self, *, without_enum: bool = False) -> str:
        """The allowed values, worded to follow "must be"."""
        if self.enum is not None and not without_enum:
            more = f" or {len(self.enum) - SHOWN_MAX} others" if len(self.enum) > SHOWN_MAX else ""
            return f"one of {', '.join(map(shown, self.enum[:SHOWN_MAX]))}{more}"
        said = form_of(self.type)
        if self.min is not None and self.max is not None:
            return f"{said}, from {self.min} to {self.max}"
        if self.min is not None:
            return f"{said}, at least {self.min}"
        return said if self.max is None else f"{said}, at most {self.max}"

    def allows(self, value: str) -> bool:
        """Whether the parameter may have this non-empty value."""
        if self.enum is not None:
            return value in self.enum
        return _reads(self.type, value) and self._is_within(value)

    def _is_within(self, value: str) -> bool:
        if self.min is None and self.max is None:
            return True
        number = _comparable(self.type, value)
        # In this form NaN is out of every range.
        least = self.min is None or number >= _comparable(self.type, self.min)
        return least and (self.max is None or number <= _comparable(self.type, self.max))


class LongForm(Declaration):
    """A parameter as a definition may write it."""

    value: Annotated[Any, Field(description="its default")] = None


@dataclass(frozen=True, slots=True)
class Fault:
    """The problem with the value of one parameter."""

    name: str
    sentence: str


class WrongParameters(Refused):
    """The values of a run do not fit what its workflow declares."""

    def __init__(self, faults: Collection[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(dict.fromkeys(fault.sentence for fault in self.faults)))


def declared_apart(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition with plain values in `params`, and the rest of each declaration in `declared`.

    The model reports faulty declarations. A SECRET keeps its type beside the value, for `secrets_apart`.
    """
    params, declared = content.get("params"), content.get("declared", {})
    if not isinstance(params, Mapping) or not isinstance(declared, Mapping):
        return content
    written = {name: value for name, value in params.items() if _is_declaration(value)}
    if not written:
        return content
    plain: dict[Any, Any] = {}
    for name, value in params.items():
        if name not in written:
            plain[name] = value
        elif value.get("type") == ParameterType.SECRET:
            plain[name] = {key: each for key, each in value.items() if key in ("type", "value")}
        elif value.get("value") is not None:
            plain[name] = value["value"]
    rest = {name: {key: each for key, each in value.items() if key != "value"} for name, value in written.items()}
    return {**content, "params": plain, "declared": {**declared, **rest}}


def together(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse of `declared_apart`."""
    declared = fields.get("declared")
    if not declared:
        return dict(fields)
    params = dict(fields.get("params", {}))
    for name, each in declared.items():
        value = {"value": params[name]} if name in params else {}
        params[name] = {"type": str(ParameterType.VARCHAR), **value, **each}
    return {**{name: value for name, value in fields.items() if name != "declared"}, "params": params}


def lacking(declared: Mapping[str, Declaration], values: Mapping[str, str]) -> list[str]:
    """The required parameters without a value."""
    return [name for name, each in declared.items() if each.required and not values.get(name)]


def check_declared(
    declared: Mapping[str, Declaration],
    values: Mapping[str, str],
    secrets: Collection[str] = (),
    *,
    given: bool = False,
) -> None:
    """Check the values of a run, existing or planned, against the declarations.

    Args:
        secrets: names whose values no message may contain.
        given: the values are as written; a value with a reference is checked later, by the run.
    Raises:
        WrongParameters: some do not fit.
    """
    faults = []
    for name, each in declared.items():
        value = values.get(name, "")
        if value and not is_open(value, given=given) and (sentence := misfit_of(name, each, value, secrets)):
            faults.append(Fault(name, sentence))
    missing = lacking(declared, values)
    if missing:
        sentence = needs(missing, declared)
        faults += [Fault(name, sentence) for name in missing]
    if faults:
        raise WrongParameters(faults)


def misfit_of(name: str, declared: Declaration, value: str, secrets: Collection[str] = ()) -> str | None:
    """What is wrong with a value that is not empty; None if it fits."""
    if declared.type is ParameterType.SECRET or declared.allows(value):
        return None
    type_ = "" if declared.enum is not None else f"is {declared.type} and "
    it_is = "" if name in secrets else f"; it is {shown(value)}"
    return f'parameter "{name}" {type_}must be {declared.allowed()}{it_is}'


def needs(names: Iterable[str], declared: Mapping[str, Declaration]) -> str:
    """The message about required parameters without a value."""
    said = [f'"{name}" ({declared[name].allowed()})' for name in names]
    if len(said) == 1:
        return f"the required parameter {said[0]} has no value; give it one with the start"
    more = f" and {len(said) - NAMED_MAX} others" if len(said) > NAMED_MAX else ""
    return f"the required parameters {', '.join(said[:NAMED_MAX])}{more} have no values; give them with the start"


def is_open(value: str, *, given: bool) -> bool:
    """Whether the final value is not known yet.

    A `given` value may have references that the run replaces. Those left afterwards are data, except built-in ones that
    only a run or an attempt has. Large values are not read for this.
    """
    if large_value(value) is not None:
        return True
    return "$" in value and (given or any(name.startswith("system.") for name in references(value)))


def shown(value: str) -> str:
    """Format a value for a sentence."""
    return json.dumps(value if len(value) <= VALUE_SHOWN_MAX else f"{value[:VALUE_SHOWN_MAX]}...", ensure_ascii=False)


def _is_declaration(value: Any) -> bool:
    """Whether an object in `params` declares a parameter: it names a type, or has only fields of a declaration,
    including one that data hardly has."""
    if not isinstance(value, Mapping):
        return False
    type_ = value.get("type")
    if isinstance(type_, str) and type_ in ParameterType.__members__:
        return type_ != ParameterType.SECRET or not value.keys() <= {"type", "value"}
    if not value.keys() <= LongForm.model_fields.keys() or type_ is not None:
        return False
    return (
        isinstance(value.get("enum"), list | tuple) or "required" in value or {"value", "description"} <= value.keys()
    )


def _reads(type_: ParameterType, value: str) -> bool:
    try:
        typed(type_, "", value)
    except Refused:
        return False
    return True


def _comparable(type_: ParameterType, value: str) -> Any:
    found = typed(type_, "", value)
    return found.replace(tzinfo=UTC) if isinstance(found, datetime) and found.tzinfo is None else found
