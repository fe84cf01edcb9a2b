"""`fields`: a list answers of each item only the fields that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from service.fields import Answer


@dataclass(frozen=True)
class FieldOf:
    """Says of a text that it is the name of a field of these answers."""

    answer: type[Answer]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.answer.model_fields)}

    def _check(self, name: str) -> str:
        if name not in self.answer.model_fields:
            raise ValueError(f'there is no field "{name}"; there are: {", ".join(self.answer.model_fields)}')
        return name


def _split(given: Any) -> Any:
    """`id,state` is as good as the parameter twice."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(each, str) for each in texts):
        return given
    return [name for each in texts for name in each.split(",")]


Fields = (
    BeforeValidator(_split),
    Field(max_length=100, description="of each item only these fields: repeated, or separated by commas"),
)
"""What is said of the parameter itself: `Annotated[Sequence[Annotated[str, FieldOf(X)]], *Fields]`."""


def included(query: object, answer: BaseModel) -> Mapping[str, Any] | None:
    """Which fields of a list and its items are sent, as pydantic wants it; None: all."""
    fields = getattr(query, "fields", ())
    if not fields:
        return None
    return {name: {"__all__": set(fields)} if name == "items" else True for name in type(answer).model_fields}
