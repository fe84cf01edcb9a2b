"""OUT parameters: a successful attempt must give each a value of its type, unless it has a default value.

They travel with the attempt, beside the types of its parameters: `{"OUT rows": "strict INTEGER"}`. No parameter of a
task has such a name. One with a default value that may be any text needs no check, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from model.choices import Direct, ParameterType
from model.errors import Refused
from model.files.handed_files import has_handed
from model.parameters.large_values import large_value
from model.parameters.local import LocalParam, typed

P = ParameterType
_TEXTS = frozenset({P.TEXT, P.FILE, P.DATE, P.TIME, P.TIMESTAMP})
"""Types whose values are text, whatever they look like."""
_KEY = "OUT "
_STRICT = "strict"
_LOGGED = "logged"
_OPTIONAL = "optional"
"""Marks a parameter with a default value."""


def is_out(key: str) -> bool:
    """Whether a key among the recorded types stands for an OUT parameter."""
    return key.startswith(_KEY)


@dataclass(frozen=True, slots=True)
class OutParameters:
    """The parameters without a default value, and the types of those that are not any text.

    With `strict`, an attempt fails if a value is missing or does not fit; otherwise its log says so.
    """

    names: tuple[str, ...] = ()
    strict: bool = True
    types: Mapping[str, ParameterType] = field(default_factory=dict)

    @classmethod
    def of(cls, params: Iterable[LocalParam], *, strict: bool) -> OutParameters:
        """The OUT parameters of a task."""
        outs = [param for param in params if param.direct is Direct.OUT]
        types = {param.name: param.type for param in outs if param.type is not ParameterType.VARCHAR}
        return cls(tuple(param.name for param in outs if not param.value), strict, types)

    @classmethod
    def recorded_in(cls, recorded: str | None) -> OutParameters:
        """Read the OUT parameters from the recorded types of an attempt. Raises `ValueError` if the text is no JSON or
        names an unknown type."""
        if recorded is None or f'"{_KEY}' not in recorded:
            return _NONE
        said = {key.removeprefix(_KEY): str(mode).split() for key, mode in json.loads(recorded).items() if is_out(key)}
        words = {_STRICT, _LOGGED, _OPTIONAL}
        types = {name: ParameterType(word) for name, mode in said.items() for word in mode if word not in words}
        names = tuple(name for name, mode in said.items() if _OPTIONAL not in mode)
        return cls(names, any(_STRICT in mode for mode in said.values()), types)

    def recorded(self) -> dict[str, str]:
        """The entries to record."""
        said = {}
        for name in dict.fromkeys((*self.names, *self.types)):
            words = [_STRICT if self.strict else _LOGGED]
            words += [] if name in self.names else [_OPTIONAL]
            words += [self.types[name]] if name in self.types else []
            said[_KEY + name] = " ".join(words)
        return said

    def fault(self, given: Mapping[str, str]) -> str:
        """Describe the parameters without a value, else those whose value does not fit; empty if all are right.

        With `strict` the text says how to repair the failed attempt.
        """
        said, cure = self._missing(given), "return one, declare a default value"
        if not said:
            said, cure = self._misfits(given), "return such a value, declare another type"
        return f"{said}; {cure}, or set strict_outputs: false" if said and self.strict else said

    def _missing(self, given: Mapping[str, str]) -> str:
        names = [f'"{name}"' for name in self.names if name not in given]
        if not names:
            return ""
        return f"it ended without a value for its OUT parameter{'s' if len(names) > 1 else ''} {', '.join(names)}"

    def _misfits(self, given: Mapping[str, str]) -> str:
        said = []
        for name, type_ in self.types.items():
            if large_value(given.get(name, "")) is not None:
                continue  # its worker has checked the plain value
            try:
                typed(type_, name, given.get(name, ""))
            except Refused as error:
                said.append(f"its OUT {error}")
        return "; ".join(said)


def is_text(type_: ParameterType | None, value: str) -> bool:
    """Whether a value is text by its type, whatever it looks like."""
    return type_ in _TEXTS and not (type_ is P.FILE and has_handed(value))


_NONE = OutParameters()
