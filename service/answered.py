"""An answer as it is sent, and kept for the same request to come: its headers and its body, without sealed values."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel
from pydantic.main import IncEx

from model.parameters.secret_values import has_sealed, without_sealed

R = TypeVar("R")


def headers_of(answer: object) -> dict[str, str]:
    """The headers of an answer: the version that it shows, and what says what becomes of the request, below the base
    of the API."""
    version, location = getattr(answer, "etag", None), getattr(answer, "location", None)
    found = {} if version is None else {"ETag": f'"{version}"'}
    return found if location is None else {**found, "Location": location}


def json_of(answer: object, include: IncEx | None = None) -> bytes:
    """The body, with asterisks for each sealed value; empty if there is none."""
    if not isinstance(answer, BaseModel):
        return b""
    return without_sealed(answer.model_dump_json(exclude_none=True, include=include)).encode()


def masked(answer: R) -> R:
    """The same answer with asterisks for each sealed value, for those who get it without a body."""
    if isinstance(answer, BaseModel) and has_sealed(text := answer.model_dump_json()):
        return type(answer).model_validate_json(without_sealed(text))
    return answer
