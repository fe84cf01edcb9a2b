"""Values of SECRET parameters as they are stored and travel: sealed, `sealed:v1:<key id>:<name>:<data>`.

Whoever holds the keys seals a value where it enters, and the worker opens it for the task that uses it; all between
pass it on as it is. It names its parameter, and counts for nothing under another name: so a text that a task printed,
or that somebody gave, cannot have a secret opened in a place of its choice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from model.errors import Refused

MASK = "******"
SECRET_CHARACTERS_MIN = 6
"""A shorter one is not masked in logs: it would turn up in ordinary words, and be known from its gaps."""

_PREFIX = "sealed:v1:"
_SEALED = re.compile(f"{_PREFIX}([0-9a-f]{{12}}):([A-Za-z_][A-Za-z0-9_.]*):([A-Za-z0-9_=-]+)")


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A sealed value: which key encrypted it, whose value it is, and the encrypted data as text."""

    key_id: str
    name: str
    data: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.key_id}:{self.name}:{self.data}"


def sealed_value(text: str) -> SealedValue | None:
    """What a text says that is a sealed value as a whole; else None."""
    found = _SEALED.fullmatch(text) if text.startswith(_PREFIX) else None
    return None if found is None else SealedValue(*found.groups())


def has_sealed(text: str) -> bool:
    """Whether a text may hold a sealed value; quick."""
    return _PREFIX in text


def without_sealed(text: str) -> str:
    """The text for people: asterisks for each sealed value in it."""
    return _SEALED.sub(MASK, text) if has_sealed(text) else text


def check_sealed(secrets: Collection[str], values: Mapping[str, str]) -> None:
    """Raises `Refused` for a secret that is there in clear, without its value."""
    for name in sorted(secrets):
        if values.get(name) and sealed_value(values[name]) is None:
            raise Refused(
                f'parameter "{name}" is SECRET and was given in clear, which nobody stores; give what '
                f"`shoal secrets seal {name}` prints, or let `shoal` write it, which seals it"
            )
