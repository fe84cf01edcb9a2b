"""What operators of Python give for values that are known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

_OPERATIONS: Mapping[type[ast.AST], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitOr: lambda a, b: a | b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}
LARGE = 100_000
"""A text or list that is longer is not made."""


def operated(operator: ast.AST, left: Any, right: Any) -> Any:
    """The result of an operator.

    Raises `KeyError` for one that is not followed, and what the operator itself raises; `ValueError` for a result that
    would be too large.
    """
    if isinstance(operator, ast.Mult) and any(isinstance(each, int) and abs(each) > LARGE for each in (left, right)):
        raise ValueError("it would be too large")
    return _OPERATIONS[type(operator)](left, right)
