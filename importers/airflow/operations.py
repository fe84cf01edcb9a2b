"""Operators between the values of a DAG file, and the arrows that they draw."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from importers.airflow.literals import operated
from importers.airflow.values import Datasets, Dotted, Function, Group, Label, Operator, Unknown, link

if TYPE_CHECKING:
    from importers.airflow.reader import Reader


def result(reader: Reader, operator: ast.AST, left: Any, right: Any, node: Any) -> Any:
    """What an operator gives; `>>` and `<<` draw arrows."""
    if isinstance(operator, ast.RShift | ast.LShift):
        before, after = (left, right) if isinstance(operator, ast.RShift) else (right, left)
        note_arrows(reader, node, before, after)
        return _shifted(before, after, right)
    if isinstance(operator, ast.BitAnd | ast.BitOr) and (one := Datasets.of(left)) and (other := Datasets.of(right)):
        combined = Datasets.any_of if isinstance(operator, ast.BitOr) else Datasets.of
        return combined([one, other])
    if any(isinstance(each, Unknown | Operator | Dotted | Function | Group) for each in (left, right)):
        return Unknown(ast.unparse(node), node.lineno)
    try:
        return operated(operator, left, right)
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return Unknown(ast.unparse(node), node.lineno)


def compared(reader: Reader, operator: ast.AST, left: Any, right: Any, node: ast.Compare) -> Any:
    parts = [part for each in (left, right) for part in (each if isinstance(each, list | tuple) else [each])]
    if any(isinstance(part, Unknown) or reader.is_told(part) for part in parts):
        return reader.unknown(node)
    equals = isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
    if equals and (left is None or right is None):  # a task is never None
        return operated(operator, left, right)
    return result(reader, operator, left, right, node)


def either(reader: Reader, operator: ast.boolop, values: list[Any], node: ast.expr) -> Any:
    for value in values[:-1]:
        is_true = True if reader.is_told(value) and isinstance(operator, ast.Or) else reader.truth(value)
        if is_true is None:
            return reader.unknown(node)
        if is_true == isinstance(operator, ast.Or):
            return value
    return values[-1]


def note_arrows(reader: Reader, node: ast.expr, *ends: Any) -> None:
    """Note the ends of arrows that are not known."""
    for each in ends:
        for part in each if isinstance(each, list | tuple) else [each]:
            if isinstance(part, Unknown | Function | Dotted):
                named = part.text if isinstance(part, Unknown) else ast.unparse(node)
                reader.note(node.lineno, f"the arrows to and from {named} are left out: it is not known")


def _shifted(before: Any, after: Any, right: Any) -> Any:
    if isinstance(after, Label):
        return Label([before])
    if isinstance(before, Label):
        for each in before.before:
            link(each, after)
    else:
        link(before, after)
    return right
