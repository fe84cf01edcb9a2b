"""Stored values of SECRET parameters: `sealed:v2:<key id>:<project mark>:<name>:<data>`.

A process with the keys seals a value where it enters; the worker opens it for the task that uses it, and everything in
between passes it on unchanged. The value is bound to its project and its parameter's name, both encrypted with it, and
is invalid elsewhere. Only Shoal writes it: it is refused in what people give, and masked in what they get. So nobody
can have a sealed text that he read or printed opened where he may read the result.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from model.errors import Refused

MASK = "******"
SECRET_CHARACTERS_MIN = 6
"""A shorter one is not masked in logs: it would occur in ordinary words, and the masked gaps would reveal it."""
SEALED_TEXT = (
    "a sealed value, which only Shoal writes: give the secret itself, or ****** for the one that is stored there"
)

_PREFIX = "sealed:v2:"
SEALED = re.compile(f"{_PREFIX}([0-9a-f]{{12}}):([0-9a-f]{{12}}):([A-Za-z_][A-Za-z0-9_.]*):([A-Za-z0-9_=-]+)")
_SHOWN = re.compile(f"{_PREFIX}[A-Za-z0-9_.:=-]*")
"""Matches truncated values too."""


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A sealed value: key id, mark of its project, parameter name, and the encrypted data as text."""

    key_id: str
    project: str
    name: str
    data: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.key_id}:{self.project}:{self.name}:{self.data}"

    def is_of(self, project: str) -> bool:
        """Whether its text says that it was sealed for this project. Only the encrypted data proves it."""
        return self.project == mark_of(project)


@lru_cache
def mark_of(project: str) -> str:
    """Hash a project's name, which may have any characters, for sealed values."""
    return hashlib.sha256(f"shoal project {project}".encode()).hexdigest()[:12]


def sealed_value(text: str) -> SealedValue | None:
    """Parse a text that consists of exactly one sealed value; else None."""
    found = SEALED.fullmatch(text) if text.startswith(_PREFIX) else None
    return None if found is None else SealedValue(*found.groups())


def has_sealed(text: str) -> bool:
    """Whether a text may contain a sealed value; fast."""
    return _PREFIX in text


def without_sealed(text: str) -> str:
    """Mask each sealed value in a text for people."""
    return _SHOWN.sub(MASK, text) if has_sealed(text) else text


def without_foreign(project: str, values: Mapping[str, str]) -> Mapping[str, str]:
    """Drop the values that are sealed for another project."""
    if not any(has_sealed(value) for value in values.values()):
        return values
    return {
        name: value for name, value in values.items() if (found := sealed_value(value)) is None or found.is_of(project)
    }


def check_sealed(project: str, secrets: Collection[str], values: Mapping[str, str]) -> None:
    """Raises `Refused` for a secret that is given in clear, and for a sealed value that is not its parameter's own.

    The message contains neither.
    """
    for name in sorted(secrets):
        if values.get(name) and not has_sealed(values[name]):
            raise Refused(
                f'parameter "{name}" is SECRET and was given in clear, which nobody stores; give what '
                f"`shoal project seal {name}` prints, or let `shoal` write it, which seals it"
            )
    for name, value in values.items():
        if has_sealed(value):
            found = sealed_value(value)
            if found is None or found.name != name or not found.is_of(project):
                raise Refused(
                    f'parameter "{name[:100]}" has a value that was sealed for another parameter or project than '
                    f'"{project}", or has one in it; give the secret itself'
                )
