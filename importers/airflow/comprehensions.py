"""Comprehensions of a DAG file: lists and mappings that are made from lists that are known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importers.airflow.reader import Reader

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class _NotKnown(Exception):
    """A list or a condition is not known."""


def made(reader: Reader, node: Comprehension) -> Any:
    """What a comprehension gives; unknown if one of its lists or conditions is. Tasks that it leaves out are noted."""
    found: list[Any] = []
    try:
        with reader.inner():
            if isinstance(node, ast.DictComp):
                key, value = node.key, node.value
                _rounds(reader, node.generators, lambda: found.append((reader.value(key), reader.value(value))))
            else:
                element = node.elt
                _rounds(reader, node.generators, lambda: found.append(reader.value(element)))
    except _NotKnown as error:
        if any(isinstance(each, ast.keyword) and each.arg == "task_id" for each in ast.walk(node)):
            reader.note(node.lineno, f"{error} is not known: the tasks that are made by it are left out")
        return reader.unknown(node)
    return dict(found) if isinstance(node, ast.DictComp) else found


def _rounds(reader: Reader, generators: list[ast.comprehension], then: Callable[[], None]) -> None:
    if not generators:
        then()
        return
    first, *others = generators
    values = reader.listed(reader.value(first.iter))
    if values is None:
        raise _NotKnown(ast.unparse(first.iter))
    for each in values:
        if not reader.round(first.iter.lineno):
            return
        reader.assign(first.target, each)
        tests = [reader.truth(reader.value(test)) for test in first.ifs]
        if None in tests:
            raise _NotKnown(ast.unparse(first.ifs[tests.index(None)]))
        if all(tests):
            _rounds(reader, others, then)
