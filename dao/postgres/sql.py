"""The text of a statement, with its parameters by name: `:name`. A cast is `CAST(... AS type)` or `::type`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+(?:\.\w+)*)(?!:)")
_ARRAY = re.compile(r"CAST\(:([\w.]+) AS ([\w ]+)\[\]\)")
_KEPT_COLON = re.compile(r"\\(:\w*)(?![:\w])")


class Sql:
    """One statement. `query` is its text as psycopg takes it; `values` are those of parameters that are known already.

    A colon before a word that names no parameter is written `\\:`.
    """

    __slots__ = ("query", "text", "values")

    def __init__(self, text: str, values: Mapping[str, object] | None = None) -> None:
        self.text = text
        self.values: Mapping[str, object] = values or {}
        named = _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
        self.query = _KEPT_COLON.sub(r"\1", named).encode()

    def __repr__(self) -> str:
        return f"Sql({self.text!r})"


def filtered(statement: str, condition: str, values: Mapping[str, object]) -> Sql:
    """A statement with a condition in place of its `{condition}`: both are put together of constants of our own."""
    return Sql(statement.format(condition=condition), values)


def parameters_of(text: str) -> dict[str, str]:
    """The names of a text's parameters, each with the type of its elements if it is an array, else an empty text."""
    return dict.fromkeys(_PARAMETER.findall(text), "") | dict(_ARRAY.findall(text))
