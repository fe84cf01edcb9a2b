"""What the expressions of a DAG file are, as a reader knows them at that place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from importers.airflow import calls, comprehensions, definitions, operations
from importers.airflow.values import Dag, Dotted, Function, Group, Names, Operator, Output, Unknown

if TYPE_CHECKING:
    from importers.airflow.reader import Reader


def value_of(reader: Reader, node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return _named(reader, node, name)
        case ast.Attribute(of, name):
            return _attribute(reader, node, value_of(reader, of), name)
        case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
            found = list(reader.parts(parts))
            return tuple(found) if isinstance(node, ast.Tuple) else found
        case ast.Dict(keys, values):
            return _dict(reader, keys, values)
        case ast.JoinedStr(parts):
            return _joined(reader, node, parts)
        case ast.BinOp(left, operator, right):
            return operations.result(reader, operator, value_of(reader, left), value_of(reader, right), node)
        case ast.NamedExpr(target, value):
            found = value_of(reader, value)
            reader.assign(target, found)
            return found
        case ast.Compare(left, [operator], [right]):
            return operations.compared(reader, operator, value_of(reader, left), value_of(reader, right), node)
        case ast.BoolOp(operator, values):
            return operations.either(reader, operator, [value_of(reader, each) for each in values], node)
        case ast.UnaryOp(ast.USub(), operand) if isinstance(found := value_of(reader, operand), int | float):
            return -found
        case ast.UnaryOp(ast.Not(), operand) if (is_true := reader.truth(value_of(reader, operand))) is not None:
            return not is_true
        case ast.IfExp(test, body, orelse) if (is_true := reader.truth(value_of(reader, test))) is not None:
            return value_of(reader, body if is_true else orelse)
        case ast.Subscript(of, index):
            return _subscript(reader, node, value_of(reader, of), index)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return comprehensions.made(reader, node)
        case ast.Call():
            return calls.call(reader, node)
        case ast.Starred(of):
            return value_of(reader, of)
        case ast.Lambda():
            if any(isinstance(each, ast.keyword) and each.arg == "task_id" for each in ast.walk(node)):
                reader.note(node.lineno, "the tasks that a lambda makes are left out")
            return definitions.of_lambda(reader, node)
    return reader.unknown(node)


def _named(reader: Reader, node: ast.Name, name: str) -> Any:
    try:
        return reader.named(name)
    except KeyError:
        return Dotted(name) if name in calls.BUILT_IN else reader.unknown(node)


def _attribute(reader: Reader, node: ast.Attribute, of: Any, name: str) -> Any:
    match of:
        case Dotted(path):
            return name.lower() if path.endswith("TriggerRule") else Dotted(f"{path}.{name}")
        case Operator() if name == "output":
            return Output(of)
        case Operator():
            return of.id if name == "task_id" else of.given.get(name, reader.unknown(node))
        case Dag():
            return of.given.get(name, reader.unknown(node))
        case Names(values) if name in values:
            return values[name]
        case str() | int() if name == "value":
            return of
    return reader.unknown(node)


def _dict(reader: Reader, keys: list[ast.expr | None], values: list[ast.expr]) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        known = value_of(reader, value)
        if key is not None:
            name = value_of(reader, key)
            found[name if isinstance(name, str | int | float | bool) else ast.unparse(key)] = known
        elif isinstance(known, dict):
            found.update(known)
        else:
            found[f"**{ast.unparse(value)}"] = known
    return found


def _joined(reader: Reader, node: ast.JoinedStr, parts: list[ast.expr]) -> Any:
    text = ""
    for part in parts:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        assert isinstance(part, ast.FormattedValue)
        value = value_of(reader, part.value)
        if isinstance(value, Operator) and value.function is not None:
            value = Output(value)
        if isinstance(value, Unknown | Operator | Dotted | Group | Dag | Function):
            return reader.unknown(node)
        if isinstance(value, Output):
            text += f"{{{{ ti.xcom_pull(task_ids='{value.of.id}', key='{value.path}') }}}}"
            continue
        try:
            text += format(value, _format(reader, part))
        except (ValueError, TypeError):
            return reader.unknown(node)
    return text


def _format(reader: Reader, part: ast.FormattedValue) -> str:
    given = value_of(reader, part.format_spec) if part.format_spec is not None else ""
    return given if isinstance(given, str) else ""


def _subscript(reader: Reader, node: ast.Subscript, of: Any, index: ast.expr) -> Any:
    key = _slice(reader, index) if isinstance(index, ast.Slice) else value_of(reader, index)
    if reader.is_told(of):
        return reader.unknown(node)
    match of:
        case Output(task, path) if isinstance(key, str | int):
            return Output(task, f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}")
        case Operator() if isinstance(key, str):
            return Output(of, f"return_value.{key}" if of.function is not None else key)
        case dict() | list() | tuple() | str():
            try:
                return of[key]
            except (KeyError, IndexError, TypeError):
                return reader.unknown(node)
        case Dotted(path) if path.endswith("os.environ") or path.endswith("var.value"):
            return calls.variable(reader, str(key), None)
    return reader.unknown(node)


def _slice(reader: Reader, node: ast.Slice) -> Any:
    bounds = [None if each is None else value_of(reader, each) for each in (node.lower, node.upper, node.step)]
    known = all(each is None or isinstance(each, int) for each in bounds)
    return slice(*bounds) if known else Unknown(ast.unparse(node), node.lineno)
