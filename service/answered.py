"""An answer as it is sent, and kept for the same request to come: its headers and its body."""

from __future__ import annotations

from pydantic import BaseModel


def headers_of(answer: object) -> dict[str, str]:
    """The headers of an answer: the version that it shows, and what says what becomes of the request, below the base
    of the API."""
    version, location = getattr(answer, "etag", None), getattr(answer, "location", None)
    found = {} if version is None else {"ETag": f'"{version}"'}
    return found if location is None else {**found, "Location": location}


def json_of(answer: object) -> bytes:
    """The body; empty if there is none."""
    return answer.model_dump_json(exclude_none=True).encode() if isinstance(answer, BaseModel) else b""
