"""Fields that several logic task types share, and the parsing of a task's `params` into one of their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainValidator, ValidationError

from model.errors import Refused
from model.fields import NAME_LENGTH_MAX, Name
from model.near import nearest
from model.parameters.parameters import is_storable

CODE_MAX = 2**63 - 1


class Relation(StrEnum):
    """How the parts of a rule are combined."""

    AND = "AND"
    OR = "OR"


def _workflow(value: Any) -> str | int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= CODE_MAX:
        return value
    if isinstance(value, str) and 0 < len(value) <= NAME_LENGTH_MAX and value.isprintable() and is_storable(value):
        return value
    raise ValueError("must be the name of a workflow or its code, a positive number")


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _all_different(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("must not name the same task twice; once is enough")
    return names


Workflow = Annotated[str | int, PlainValidator(_workflow, json_schema_input_type=str | int)]
"""Another workflow: its name (a text, digits too) or its code (a number)."""

Branch = Annotated[
    tuple[Name, ...],
    BeforeValidator(_listed, json_schema_input_type=tuple[Name, ...] | Name),
    AfterValidator(_all_different),
]
"""Names of the next tasks; a single one needs no list."""


class LogicParams(BaseModel):
    """The parameters of one logic task type. Create one with `read`, which formats the errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, params: Mapping[str, Any]) -> Self:
        """Validate and build. Raises `InvalidParams` with one sentence for each problem."""
        try:
            return cls.model_validate(dict(params))
        except ValidationError as error:
            parts = error.errors()
            # Pydantic counts only valid entries: it also reports a list with an invalid one as too short.
            inner = {part["loc"][:length] for part in parts for length in range(len(part["loc"]))}
            kept = [part for part in parts if part["type"] != "too_short" or part["loc"] not in inner]
            raise InvalidParams([_sentence(cls, part) for part in kept]) from None

    def branches(self) -> tuple[str, ...]:
        """The tasks that it may choose; each must come directly after it."""
        return ()

    def named(self) -> tuple[str, ...]:
        """The tasks whose states it uses; each must come directly before it."""
        return ()

    def problems(self) -> list[str]:
        """The problems in texts that have their own parser: one sentence each."""
        return []


class InvalidParams(Refused):
    """Parameters of a logic task that cannot be saved or run."""

    def __init__(self, sentences: list[str]) -> None:
        self.sentences = sentences
        super().__init__("; ".join(sentences[:20]))


class Part(BaseModel):
    """A mapping inside parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# Pydantic's messages, translated from Python's terms to those of a workflow's author.
_SAID = {
    "tuple_type": "must be a list, such as [a, b]",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields to values",
    "model_attributes_type": "must be a mapping of fields to values",
    "string_type": "must be a text; write it in quotes",
    "string_unicode": "must not contain an unpaired surrogate",
    "string_pattern_mismatch": "must not contain control characters",
}


def _sentence(model: type[BaseModel], part: Any) -> str:
    where = [step for step in part["loc"] if step != "[key]"]
    kind, said = part["type"], str(part["msg"]).removeprefix("Value error, ")
    said = said.replace("Tuple should have", "must have").replace("String should have", "must have")
    said = said.replace("Value should have", "must have")
    said = said.replace("Input should be", "must be").replace(" after validation", "")
    said = _SAID.get(kind, said)
    field = ".".join(str(step + 1) if isinstance(step, int) else step for step in where)
    if kind == "extra_forbidden":
        known = list(model_at(model, where[:-1]).model_fields)
        near = nearest(str(where[-1]), known)
        cure = f"did you mean {near}?" if near else f"known are {', '.join(known)}"
        return f'there is no field "{_shown(field)}"; {cure}'
    if kind == "missing":
        return f'the field "{_shown(field)}" is missing; add it'
    return f'field "{_shown(field)}": {said[:1].lower()}{said[1:]}' if where else said


def model_at(model: type[BaseModel], where: Sequence[str | int]) -> type[BaseModel]:
    """The model of the mapping at `where`, found through the annotations of the fields."""
    for step in where:
        if isinstance(step, str) and step in model.model_fields:
            model = next(iter(_models_in(model.model_fields[step].annotation)), model)
    return model


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for each in getattr(annotation, "__args__", ()) for found in _models_in(each)]


def _shown(name: str) -> str:
    short = name[:NAME_LENGTH_MAX]
    return short if short.isprintable() else ascii(short)
