"""The function of a PYTHON task: its source with all of the file that it needs, and the call, as one script."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from importers.airflow.context import Context, pushed_keys
from importers.airflow.dates import NoText
from importers.airflow.reader import Reader
from importers.airflow.shims import shims_of
from importers.airflow.sources import foreign_modules, is_of_airflow, needed, source
from importers.airflow.values import Defined, Dotted, Function, Group, Operator, Output, Unknown

GIVES = '''\
def _give(name, value):
    """Give a value to later tasks: as text, and as JSON to those in Python."""
    written = json.dumps(value)
    text = written if isinstance(value, (dict, list, tuple)) else str(value)
    print("#{setValue(" + name + "=" + text + ")}")
    print("#{setValue(" + name + "_json=" + written + ")}")
'''
VALUE = '''\
def _value(text):
    """An element of a list: JSON, or a text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
'''
THROUGH = '''\
def _through(made):
    """What a function that yields returns at its end."""
    while True:
        try:
            next(made)
        except StopIteration as end:
            return end.value
'''
_CONTAINERS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
SKIP = 99
"""The exit code of a script whose function skips its task."""
_SKIPPING = f"""\
try:
    {{}}
except AirflowSkipException as skip:
    print(skip)
    raise SystemExit({SKIP}) from None"""
_ALL_PARAMS = re.compile(r"\{\{\s*(?:params|dag_run\.conf)\s*\}\}")


@dataclass
class Script:
    """A script on its way; `problems` are what a person has to write."""

    text: str = ""
    modules: list[str] = field(default_factory=list)
    """What it imports besides the standard library."""
    problems: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    """The names of Airflow that it has shims for."""
    notes: list[str] = field(default_factory=list)
    """What differs, and works."""


def script_of(
    reader: Reader,
    function: Function,
    arguments: Mapping[str, Any],
    written: Callable[[Any], str],
    ends: Callable[[str], list[str]],
    pulled: Callable[[str | None, str], str | None],
    variable: Callable[[str, bool], str],
) -> Script:
    """The script that calls a function.

    Args:
        arguments: by the names of its parameters.
        written: a value as an expression of Python, with what Shoal puts in. Raises `NoText`.
        ends: the lines that follow the call, for the variable that has its result.
        pulled: the result of a task with this id (None: of any) and key, as an expression of Python; None if there is
            no such task.
        variable: a variable of Airflow as an expression of Python; whether its code says what it is without one.
    """
    made = Script()
    node = function.node
    context = Context(written, pulled)
    given = {name: found for name, value in function.defaults.items() if (found := _literal(value)) is not None}
    given |= {name: context.expression(name, value) for name, value in arguments.items() if not name.startswith("**")}
    made.problems += [f"its arguments {name} are not known" for name in arguments if name.startswith("**")]
    given |= context.asked(node, given)
    wanted = needed(reader, function)
    needs = wanted.statements
    values = {name: _literal(value) for name, value in wanted.values.items()}
    if missing := sorted([*wanted.missing, *(name for name, value in values.items() if value is None)]):
        made.problems.append(f"its code uses {', '.join(missing)}, which does not stand by itself in the file")
    for each in needs:
        if any(isinstance(one, ast.Attribute) and one.attr in ("xcom_pull", "xcom_push") for one in ast.walk(each)):
            made.problems.append(f"{getattr(each, 'name', 'its code')} asks for results too, which only it may do")
        if isinstance(each, Defined):
            context.enter(each, {})
        elif any(isinstance(one, ast.Name) and one.id == "get_current_context" for one in ast.walk(each)):
            made.problems.append(f"{getattr(each, 'name', 'its code')} asks for the context outside of a function")
    made.problems += context.problems
    made.notes = context.notes
    shims = shims_of([*needs, node], variable)
    made.problems += shims.problems
    made.uses = shims.names
    made.modules = sorted({name for each in (*needs, node) for name in foreign_modules(each)})
    body = [source(reader, each) for each in needs if not is_of_airflow(each)]
    by_place = [each.arg for each in node.args.posonlyargs if each.arg in given]
    named = [f"{name}={value}" for name, value in given.items() if name not in by_place]
    call = f"{node.name}({', '.join([*(given[name] for name in by_place), *named])})"
    tail = ends("result")
    is_async = isinstance(node, ast.AsyncFunctionDef)
    call = f"asyncio.run({call})" if is_async else call
    if is_generator := not is_async and yields(node):
        call = f"_through({call})"
        made.notes += ["what it yields reaches nobody here"]
    call = f"result = {call}" if tail else call
    if "AirflowSkipException" in shims.names:
        call = _SKIPPING.format(call)
    gives = any("_give(" in line for line in tail) or context.gives
    stated = "".join([call, *context.texts()])
    uses_json = gives or "json.loads(" in stated or "_value(" in stated or "Variable" in shims.names
    parts = ["import asyncio\n"] if is_async and "import asyncio" not in body else []
    parts += ["import json\n" if uses_json else "", GIVES if gives else ""]
    parts += [VALUE] if "_value(" in stated else []
    parts += [THROUGH] if is_generator else []
    parts += [*context.texts(), *shims.texts]
    parts += ["".join(f"{name} = {value}\n" for name, value in values.items() if value is not None)]
    parts += [f"{each}\n" for each in body if each != "import json" or not uses_json]
    parts += [f"{source(reader, node)}\n"]
    parts.append("\n".join([call, *tail]) + "\n")
    made.text = "\n".join(filter(None, parts))
    return made


def yields(node: ast.AST) -> bool:
    """Whether a function is a generator, which Airflow runs to its end."""
    inner = [each for each in ast.iter_child_nodes(node) if not isinstance(each, Defined | ast.Lambda)]
    return any(isinstance(each, ast.Yield | ast.YieldFrom) or yields(each) for each in inner)


def gives_container(operator: Operator) -> bool:
    """Whether its function is seen to return a list or mapping."""
    given = operator.given.get("python_callable")
    function = given if isinstance(given, Function) else operator.function
    if function is None:
        return False
    returned = [each.value for each in ast.walk(function.node) if isinstance(each, ast.Return)]
    named = re.match(r"(?:typing\.)?(list|dict|tuple|set)\b", ast.unparse(function.node.returns).lower()) if (
        function.node.returns is not None
    ) else None  # fmt: skip
    return named is not None or any(isinstance(each, _CONTAINERS) for each in returned)


def _literal(value: Any) -> str | None:
    """A value as an expression of Python; None for one that only a run knows, or that is no plain data."""
    try:
        return as_python(value, str, _no_output, {})
    except NoText:
        return None


def _no_output(output: Output) -> str:
    raise NoText(f"the result of {output.of.id} is known only to its arguments")


def pushes(operator: Operator) -> bool:
    """Whether its function gives values by itself, by `xcom_push`."""
    node = operator.function.node if operator.function is not None else None
    return node is not None and any(
        isinstance(each, ast.Attribute) and each.attr == "xcom_push" for each in ast.walk(node)
    )


def pushed(operator: Operator) -> set[str]:
    """The keys of results that its function gives by `xcom_push`."""
    callable_ = operator.given.get("python_callable")
    function = callable_ if isinstance(callable_, Function) else operator.function
    return set(filter(None, pushed_keys(function.node).values())) if function is not None else set()


def as_python(
    value: Any, filled: Callable[[str], str], output: Callable[[Output], str], params: Mapping[str, str]
) -> str:
    """A value as an expression of Python.

    Args:
        filled: what a template becomes. Raises `NoText`.
        output: the reference to a result.
        params: the names of the parameters, and the expression for each.
    Raises:
        NoText: it is not known.
    """

    def written(each: Any) -> str:
        return as_python(each, filled, output, params)

    match value:
        case Output():
            return output(value)
        case Operator():
            return output(Output(value))
        case Group() if value.value is not None:
            return written(value.value)
        case str() if _ALL_PARAMS.fullmatch(value):
            return "{" + ", ".join(f"{name!r}: {text}" for name, text in params.items()) + "}"
        case str():
            return repr(filled(value))
        case None | bool() | int() | float():
            return repr(value)
        case dict():
            inner = ", ".join(f"{written(key)}: {written(each)}" for key, each in value.items())
            return "{" + inner + "}"
        case list() | tuple() | set():
            inner = ", ".join(map(written, value))
            return f"({inner},)" if isinstance(value, tuple) else f"[{inner}]"
        case Unknown(named):
            raise NoText(f"{named} is not known before it runs")
        case Dotted(path):
            raise NoText(f"{path} is in another file")
    raise NoText(f"{type(value).__name__.lower()} {getattr(value, 'name', '')}".strip() + " cannot be written here")
