"""OUT parameters without a default value: an attempt that succeeds must give each of them one.

They travel with the attempt, beside the types of its parameters: `{"OUT rows": "strict"}`. No parameter of a task has
such a name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_KEY = "OUT "
_STRICT = "strict"
_LOGGED = "logged"


def is_out(key: str) -> bool:
    """Whether a key among the recorded types stands for an OUT parameter."""
    return key.startswith(_KEY)


@dataclass(frozen=True, slots=True)
class OutParameters:
    """Their names; with `strict` an attempt that leaves one without a value fails, else its log says so."""

    names: tuple[str, ...] = ()
    strict: bool = True

    @classmethod
    def of(cls, defaults: Mapping[str, str], *, strict: bool) -> OutParameters:
        """Those of a task, by the default values of all that it declares."""
        return cls(tuple(name for name, default in defaults.items() if not default), strict)

    @classmethod
    def recorded_in(cls, recorded: str | None) -> OutParameters:
        """Those among the recorded types of an attempt's parameters. Raises `ValueError` for a text that is no JSON."""
        if recorded is None or f'"{_KEY}' not in recorded:
            return _NONE
        modes = {key.removeprefix(_KEY): mode for key, mode in json.loads(recorded).items() if is_out(key)}
        return cls(tuple(modes), _STRICT in modes.values())

    def recorded(self) -> dict[str, str]:
        """What is recorded of them."""
        return dict.fromkeys((_KEY + name for name in self.names), _STRICT if self.strict else _LOGGED)

    def missing(self, given: Collection[str]) -> str:
        """A sentence that names those that got no value; empty if all have one."""
        names = [f'"{name}"' for name in self.names if name not in given]
        if not names:
            return ""
        return f"it ended without a value for its OUT parameter{'s' if len(names) > 1 else ''} {', '.join(names)}"


_NONE = OutParameters()
CURE = "return one, declare a default value, or set strict_outputs: false"
"""How to repair an attempt that failed for it."""
