"""Settings with several values, which an environment variable or a flag gives as one text: `a,b`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr
from pydantic_settings import NoDecode


def _split(given: Any) -> Any:
    if isinstance(given, SecretStr):  # from a file, which has the whole text
        return (given,)
    return tuple(part.strip() for part in given.split(",") if part.strip()) if isinstance(given, str) else given


LISTED = (NoDecode, BeforeValidator(_split))
"""The annotations of such a type: `Annotated[tuple[X, ...], *LISTED]`."""
Names = Annotated[tuple[str, ...], *LISTED]
