"""What a request of Airflow gives to other tasks: a value in the JSON of its response, by the path of its filter."""

from __future__ import annotations

import ast
import json

from importers.airflow.values import Function, Operator

REQUESTS = ("HttpOperator", "SimpleHttpOperator")


def path_of(operator: Operator) -> str | None:
    """The path to the value that its `response_filter` takes; None if it is no request, or gives something else."""
    function = operator.given.get("response_filter")
    if operator.kind not in REQUESTS or operator.over or not isinstance(function, Function):
        return None
    match function.node.args.args, function.node.body:
        case [argument], [ast.Return(ast.expr() as value)]:
            return _path(value, argument.arg)
    return None


def _path(node: ast.expr, response: str) -> str | None:
    match node:
        case ast.Call(ast.Attribute(ast.Name(name), "json"), [], []) if name == response:
            return "$"
        case ast.Call(loads, [ast.Attribute(ast.Name(name), "text" | "content")], []) if (
            name == response and ast.unparse(loads) in ("json.loads", "loads")
        ):
            return "$"
        case ast.Subscript(of, ast.Constant(str() | int() as key)) if (path := _path(of, response)) is not None:
            return f"{path}[{json.dumps(key)}]"
    return None
