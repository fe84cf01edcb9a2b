"""Values of SECRET parameters as they are stored and sent: sealed, `sealed:v1:<key id>:<name>:<data>`.

A value is sealed where it enters, by a process that has the keys, and opened by the worker for the task that uses it;
everything in between passes it on unchanged. It contains its parameter's name and is invalid under another name. So a
text that a task printed, or that a user supplied, cannot have a secret opened in a parameter of its choice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from model.errors import Refused

MASK = "******"
SECRET_CHARACTERS_MIN = 6
"""A shorter one is not masked in logs: it would occur in ordinary words, and the masked gaps would reveal it."""

_PREFIX = "sealed:v1:"
_SEALED = re.compile(f"{_PREFIX}([0-9a-f]{{12}}):([A-Za-z_][A-Za-z0-9_.]*):([A-Za-z0-9_=-]+)")


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A sealed value: the id of its key, its parameter's name, and the encrypted data as text."""

    key_id: str
    name: str
    data: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.key_id}:{self.name}:{self.data}"


def sealed_value(text: str) -> SealedValue | None:
    """Parse a text that consists of exactly one sealed value; else None."""
    found = _SEALED.fullmatch(text) if text.startswith(_PREFIX) else None
    return None if found is None else SealedValue(*found.groups())


def has_sealed(text: str) -> bool:
    """Whether a text may contain a sealed value; fast."""
    return _PREFIX in text


def without_sealed(text: str) -> str:
    """The text for people: each sealed value in it is replaced by asterisks."""
    return _SEALED.sub(MASK, text) if has_sealed(text) else text


def check_sealed(secrets: Collection[str], values: Mapping[str, str]) -> None:
    """Raises `Refused` for a secret that is given in clear; the message does not contain its value."""
    for name in sorted(secrets):
        if values.get(name) and sealed_value(values[name]) is None:
            raise Refused(
                f'parameter "{name}" is SECRET and was given in clear, which nobody stores; give what '
                f"`shoal secrets seal {name}` prints, or let `shoal` write it, which seals it"
            )
