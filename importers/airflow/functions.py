"""The function of a PYTHON task: its source with all of the file that it needs, and the call, as one script."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from importers.airflow.reader import Reader
from importers.airflow.shims import shims_of
from importers.airflow.sources import foreign_modules, is_of_airflow, needed, source
from importers.airflow.templates import NoText, is_path
from importers.airflow.values import Function, Group, Operator, Output, Unknown

GIVES = '''\
def _give(name, value):
    """Give a value to later tasks: as text, and as JSON to those in Python."""
    written = json.dumps(value)
    print("#{setValue(" + name + "=" + (value if isinstance(value, str) else written) + ")}")
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
_MOMENT = '''\
def _moment(text):
    """A time of Airflow's context."""
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00"))
'''
_INSTANCE = '''\
class _Instance:
    """What the function asks of its task instance."""

    def xcom_push(self, key, value):
        _give(key, value)

    def xcom_pull(self, task_ids=None, key="return_value"):
        if isinstance(task_ids, (list, tuple)):
            return [_PULLED[each, key] for each in task_ids]
        return _PULLED[task_ids, key]
'''
SKIP = 99
"""The exit code of a script whose function skips its task."""
_SKIPPING = f"""\
try:
    {{}}
except AirflowSkipException as skip:
    print(skip)
    raise SystemExit({SKIP}) from None"""
_TEXTS = ("ds", "ds_nodash", "ts", "ts_nodash", "data_interval_start", "data_interval_end", "logical_date",
          "execution_date", "next_ds", "yesterday_ds", "tomorrow_ds", "run_id")  # fmt: skip
_MOMENTS = ("data_interval_start", "data_interval_end", "logical_date", "execution_date")
_ALL_PARAMS = re.compile(r"\{\{\s*(?:params|dag_run\.conf)\s*\}\}")
_INSTANCES = ("ti", "task_instance")
_OBJECTS = ("dag_run", "dag", "task", "conf", "macros", "var", "conn", "inlets", "outlets", "inlet_events",
            "outlet_events", "prev_ds", "prev_execution_date", "next_execution_date", "prev_start_date_success",
            "prev_data_interval_start_success", "prev_data_interval_end_success", "triggering_asset_events",
            "triggering_dataset_events", "test_mode")  # fmt: skip
"""What Airflow's context has besides, and nothing here."""


@dataclass
class Script:
    """A script on its way; `problems` are what a person has to write."""

    text: str = ""
    modules: list[str] = field(default_factory=list)
    """What it imports besides the standard library."""
    problems: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    """The names of Airflow that it has shims for."""


def script_of(
    reader: Reader,
    function: Function,
    arguments: Mapping[str, Any],
    written: Callable[[Any], str],
    ends: Callable[[str], list[str]],
    pulled: Callable[[str, str], str | None],
    variable: Callable[[str, bool], str],
) -> Script:
    """The script that calls a function.

    Args:
        arguments: by the names of its parameters.
        written: a value as an expression of Python, with what Shoal puts in. Raises `NoText`.
        ends: the lines that follow the call, for the variable that has its result.
        pulled: the result of a task with this id and key, as an expression of Python; None if there is no such task.
        variable: a variable of Airflow as an expression of Python; whether its code says what it is without one.
    """
    made = Script()
    node = function.node
    context = _Context(made, written, pulled)
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
    shims = shims_of([*needs, node], variable)
    made.problems += shims.problems
    made.uses = shims.names
    made.modules = sorted({name for each in (*needs, node) for name in foreign_modules(each)})
    body = [source(reader, each) for each in needs if not is_of_airflow(each)]
    call = f"{node.name}({', '.join(f'{name}={value}' for name, value in given.items())})"
    tail = ends("result")
    call = f"result = {call}" if tail else call
    if "AirflowSkipException" in shims.names:
        call = _SKIPPING.format(call)
    gives = any("_give(" in line for line in tail) or context.needs_instance
    uses_json = gives or "json.loads(" in call or "_value(" in call or "Variable" in shims.names
    parts = ["import json\n" if uses_json else "", GIVES if gives else ""]
    parts += [VALUE] if "_value(" in call else []
    parts += [_MOMENT] if "_moment(" in call else []
    if context.needs_instance:
        entries = ", ".join(f"({task!r}, {key!r}): {text}" for (task, key), text in context.pulled.items())
        parts += [f"_PULLED = {{{entries}}}\n", _INSTANCE]
    parts += shims.texts
    parts += ["".join(f"{name} = {value}\n" for name, value in values.items() if value is not None)]
    parts += [f"{each}\n" for each in body if each != "import json" or not uses_json]
    parts += [f"{source(reader, node)}\n"]
    parts.append("\n".join([call, *tail]) + "\n")
    made.text = "\n".join(filter(None, parts))
    return made


class _Context:
    """What a function asks of Airflow's context."""

    def __init__(self, made: Script, written: Callable[[Any], str], pulled: Callable[[str, str], str | None]) -> None:
        self._made = made
        self._written = written
        self._pulled = pulled
        self.needs_instance = False
        self.pulled: dict[tuple[str, str], str] = {}

    def expression(self, name: str, value: Any) -> str:
        """An argument as Python."""
        try:
            return self._written(value)
        except NoText as error:
            self._made.problems.append(f"its argument {name}: {error}")
            return "None"

    def asked(self, node: ast.FunctionDef, given: Mapping[str, str]) -> dict[str, str]:
        """The arguments that Airflow gives by itself: those that a function names, or takes from its `**context`."""
        found: dict[str, str] = {}
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for name in parameters:
            if name not in given and (name in (*_TEXTS, *_INSTANCES, *_OBJECTS) or name == "params"):
                found[name] = self._value(name, node)
        if node.args.kwarg is not None:
            for key in _keys_of(node, node.args.kwarg.arg):
                if key is None:
                    self._made.problems.append(f"which parts of {node.args.kwarg.arg} it uses is not known")
                elif key not in found and key not in given and key not in parameters:
                    found[key] = self._value(key, node)
        wanted = [*parameters[: len(parameters) - len(node.args.defaults) - len(node.args.kwonlyargs)]]
        wanted += [each.arg for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                   if default is None]  # fmt: skip
        self._made.problems += [
            f"what its argument {name} is, is not known" for name in wanted if name not in given and name not in found
        ]
        if any(isinstance(each, ast.Name) and each.id == "get_current_context" for each in ast.walk(node)):
            self._made.problems.append("it asks get_current_context(), which is not here")
        return found

    def _value(self, name: str, node: ast.FunctionDef) -> str:
        if name in _INSTANCES:
            self._instance(node)
            return "_Instance()"
        if name in _TEXTS:
            text = self.expression(name, f"{{{{ {name} }}}}")
            if name not in _MOMENTS:
                return text
            if foreign := sorted(_attributes_of(node, name) - set(dir(datetime))):
                self._made.problems.append(f"it uses {name}.{foreign[0]}, and here {name} is a datetime of Python")
            return f"_moment({text})"
        if name == "params":
            return self.expression(name, "{{ params }}")
        self._made.problems.append(f"it uses {name} of Airflow's context")
        return "None"

    def _instance(self, node: ast.FunctionDef) -> None:
        self.needs_instance = True
        self._pushed(node)
        asked = {each for name in _INSTANCES for each in _attributes_of(node, name)} - {"xcom_push", "xcom_pull"}
        self._made.problems += [f"it uses {each} of its task instance" for each in sorted(asked)]
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "xcom_pull":
                given = {one.arg: one.value for one in each.keywords}
                if each.args:
                    given.setdefault("task_ids", each.args[0])
                tasks, key = given.get("task_ids"), _text_of(given.get("key"))
                listed = tasks.elts if isinstance(tasks, ast.List | ast.Tuple) else [tasks]
                is_own = given.keys() <= {"task_ids", "key"} and len(each.args) < 2
                for task in map(_text_of, listed):
                    found = None
                    if task is not None and is_own and ("key" not in given or key is not None):
                        found = self._pulled(task, key or "return_value")
                    if task is None or found is None:
                        self._made.problems.append(f"which result {ast.unparse(each)} asks for is not known")
                        break
                    self.pulled[task, key or "return_value"] = found

    def _pushed(self, node: ast.FunctionDef) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "xcom_push":
                given = {one.arg: one.value for one in each.keywords}
                key = _text_of(given.get("key", each.args[0] if each.args else None))
                if key is None or not is_path(key):
                    said = ast.unparse(each) if key is None else f'"{key}"'
                    self._made.problems.append(f"{said} is no name for a value: letters, digits and _ are")


def _text_of(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _keys_of(node: ast.FunctionDef, holder: str) -> Iterator[str | None]:
    """The keys that a function takes from a mapping; None for a use that is none of those."""
    known: set[ast.AST] = set()
    for each in ast.walk(node):
        match each:
            case ast.Subscript(ast.Name(name) as of, index) if name == holder:
                known.add(of)
                yield _text_of(index)
            case ast.Call(ast.Attribute(ast.Name(name) as of, "get"), [first, *_]) if name == holder:
                known.add(of)
                yield _text_of(first)
    if any(isinstance(each, ast.Name) and each.id == holder and each not in known for each in ast.walk(node)):
        yield None


def _attributes_of(node: ast.FunctionDef, name: str) -> set[str]:
    """What a function asks of an argument, or of the entry of this name in its context."""
    found = set()
    for each in ast.walk(node):
        match each:
            case ast.Attribute(ast.Name(of), attribute) if of == name:
                found.add(attribute)
            case ast.Attribute(ast.Subscript(_, ast.Constant(of)), attribute) if of == name:
                found.add(attribute)
    return found


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


def as_python(
    value: Any, filled: Callable[[str], str], output: Callable[[Output], str], params: Mapping[str, bool]
) -> str:
    """A value as an expression of Python.

    Args:
        filled: what a template becomes. Raises `NoText`.
        output: the reference to a result.
        params: the names of the parameters, and whether each is a text.
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
            texts = {True: "'${{{}}}'", False: "${{{}}}"}
            return "{" + ", ".join(f"{name!r}: {texts[is_text].format(name)}" for name, is_text in params.items()) + "}"
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
    raise NoText(f"{type(value).__name__.lower()} {getattr(value, 'name', '')}".strip() + " cannot be written here")
