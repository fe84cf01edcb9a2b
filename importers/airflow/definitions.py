"""Classes and functions that a DAG file defines."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from importers.airflow.values import Defined, Dotted, Function, Names, Unknown

if TYPE_CHECKING:
    from importers.airflow.reader import Reader


def class_of(reader: Reader, node: ast.ClassDef) -> Any:
    """A class that only gives names to values, such as an Enum; others are not known."""
    values = {}
    for each in node.body:
        match each:
            case ast.Assign([ast.Name(name)], value):
                values[name] = reader.value(value)
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case _:
                return Unknown(f"class {node.name}", node.lineno)
    return Names(values)


def function_of(reader: Reader, node: Defined) -> Function:
    """A function, with what its decorators make of it."""
    made = Function(node, around=reader.around, defaults=_defaults(reader, node.args))
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        named = call.func if call is not None else decorator
        found = reader.value(named)
        steps = (found.path if isinstance(found, Dotted) else ast.unparse(named)).split(".")
        given = {each.arg: reader.value(each.value) for each in call.keywords if each.arg} if call else {}
        if steps[-1] in ("teardown", "setup"):
            made.kind = made.kind or "task"
            made.given |= {**given, "teardown": steps[-1] == "teardown"}
        elif steps[-1] in ("dag", "task_group"):
            made.kind = steps[-1]
            if call is not None and call.args:
                given["dag_id"] = reader.value(call.args[0])
            made.given |= given
        elif steps[-1] == "asset":
            reader.note(node.lineno, f"the asset {node.name} has a DAG of its own, which is left out")
        elif "task" in steps:
            made.kind = ".".join(steps[steps.index("task") :])
            made.given |= given
    return made


def of_lambda(reader: Reader, node: ast.Lambda) -> Function:
    """A lambda, as a function that is called `call`."""
    body: list[ast.stmt] = [ast.Return(node.body, lineno=node.lineno, col_offset=0)]
    made = ast.FunctionDef("call", node.args, body, [], lineno=node.lineno, col_offset=0)
    found = Function(ast.fix_missing_locations(made), around=reader.around)
    found.defaults = _defaults(reader, node.args)
    return found


def _defaults(reader: Reader, given: ast.arguments) -> dict[str, Any]:
    names = [each.arg for each in (*given.posonlyargs, *given.args)][-len(given.defaults) :]
    pairs = [*zip(names, given.defaults, strict=False)]
    pairs += [(each.arg, found) for each, found in zip(given.kwonlyargs, given.kw_defaults, strict=True) if found]
    return {
        name: reader.value(each) for name, each in pairs if any(isinstance(inner, ast.Name) for inner in ast.walk(each))
    }
