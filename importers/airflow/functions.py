"""The function of a PYTHON task: its source with all of the file that it needs, and the call, as one script."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from importers.airflow.reader import Reader
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
_TEXTS = ("ds", "ds_nodash", "ts", "ts_nodash", "data_interval_start", "data_interval_end", "logical_date",
          "execution_date", "next_ds", "yesterday_ds", "tomorrow_ds", "run_id")  # fmt: skip
_MOMENTS = ("data_interval_start", "data_interval_end", "logical_date", "execution_date")
_ALL_PARAMS = re.compile(r"\{\{\s*(?:params|dag_run\.conf)\s*\}\}")
_INSTANCES = ("ti", "task_instance")
_DECORATORS = frozenset(("task", "dag", "task_group", "setup", "teardown", "asset", "apply_defaults"))


@dataclass
class Script:
    """A script on its way; `problems` are what a person has to write."""

    text: str = ""
    modules: list[str] = field(default_factory=list)
    """What it imports besides the standard library."""
    problems: list[str] = field(default_factory=list)


def script_of(
    reader: Reader,
    function: Function,
    arguments: Mapping[str, Any],
    written: Callable[[Any], str],
    ends: Callable[[str], list[str]],
    pulled: Callable[[str, str], str | None],
) -> Script:
    """The script that calls a function.

    Args:
        arguments: by the names of its parameters.
        written: a value as an expression of Python, with what Shoal puts in. Raises `NoText`.
        ends: the lines that follow the call, for the variable that has its result.
        pulled: the result of a task with this id and key, as an expression of Python; None if there is no such task.
    """
    made = Script()
    node = function.node
    context = _Context(made, written, pulled)
    given = {name: context.expression(name, value) for name, value in arguments.items() if not name.startswith("**")}
    made.problems += [f"its arguments {name} are not known" for name in arguments if name.startswith("**")]
    given |= context.asked(node, given)
    needs, missing = _needed(reader, node)
    if missing:
        made.problems.append(f"its code uses {', '.join(missing)}, which does not stand by itself in the file")
    made.modules = sorted({name for each in needs for name in _foreign_modules(each)})
    if foreign := [ast.unparse(each) for each in needs if _is_of_airflow(each)]:
        made.problems.append(f"its code uses Airflow ({'; '.join(foreign)}), which is not here")
    body = [_source(reader, each) for each in needs if not _is_of_airflow(each)]
    call = f"{node.name}({', '.join(f'{name}={value}' for name, value in given.items())})"
    tail = ends("result")
    gives = any("_give(" in line for line in tail) or context.needs_instance
    uses_json = gives or "json.loads(" in call or "_value(" in call
    parts = ["import json\n" if uses_json else "", GIVES if gives else ""]
    parts += [VALUE] if "_value(" in call else []
    parts += [_MOMENT] if "_moment(" in call else []
    if context.needs_instance:
        entries = ", ".join(f"({task!r}, {key!r}): {text}" for (task, key), text in context.pulled.items())
        parts += [f"_PULLED = {{{entries}}}\n", _INSTANCE]
    parts += [f"{each}\n" for each in body if each != "import json" or not uses_json]
    parts += [f"{_source(reader, node)}\n"]
    parts.append("\n".join([f"result = {call}" if tail else call, *tail]) + "\n")
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
            if name not in given and (name in _TEXTS or name in _INSTANCES or name in ("params", "dag_run")):
                found[name] = self._value(name, node)
        if node.args.kwarg is not None:
            for key in _keys_of(node, node.args.kwarg.arg):
                if key is None:
                    self._made.problems.append(f"which parts of {node.args.kwarg.arg} it uses is not known")
                elif key not in found and key not in given and key not in parameters:
                    found[key] = self._value(key, node)
        needed = [*parameters[: len(parameters) - len(node.args.defaults) - len(node.args.kwonlyargs)]]
        needed += [each.arg for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                   if default is None]  # fmt: skip
        self._made.problems += [
            f"what its argument {name} is, is not known" for name in needed if name not in given and name not in found
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


def _needed(reader: Reader, node: ast.FunctionDef) -> tuple[list[ast.stmt], list[str]]:
    """The statements of the file that a function needs, in their order, and the names that none of them binds."""
    binding: dict[str, ast.stmt] = {}
    standing = list(_standing(reader.tree.body))
    for each in standing:
        for name in _bound(each):
            binding[name] = each
    needed: set[ast.stmt] = set()
    missing: dict[str, None] = {}
    todo: list[ast.stmt] = [node]
    while todo:
        for name in _free(todo.pop()):
            found = binding.get(name)
            if found is None:
                missing[name] = None
            elif found is not node and found not in needed:
                needed.add(found)
                todo.append(found)
    return [each for each in standing if each in needed], sorted(missing)


def _standing(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, with those of the blocks and functions that make DAGs."""
    for each in statements:
        match each:
            case ast.With(_, body):
                yield from _standing(body)
            case ast.FunctionDef(decorator_list=[*decorators], body=body) if any(map(_makes_dags, decorators)):
                yield each
                yield from _standing(body)
            case _:
                yield each


def _makes_dags(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(named).rpartition(".")[2] in ("dag", "task_group")


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names) | ast.ImportFrom(_, names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case ast.FunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Assign(targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(ast.Name(name)) | ast.AsyncFunctionDef(name):
            yield name
        case ast.Try(body, handlers, orelse):
            yield from (name for each in (*body, *orelse) for name in _bound(each))
            yield from (name for handler in handlers for each in handler.body for name in _bound(each))
        case ast.If(_, body, orelse) if not any(isinstance(each, ast.Call) for each in ast.walk(node)):
            yield from (name for each in (*body, *orelse) for name in _bound(each))


def _free(node: ast.stmt) -> set[str]:
    """The names that a statement reads from the file around it, without its annotations."""
    bare = _without_head(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else node
    table = symtable.symtable(ast.unparse(ast.Module([bare], [])), "", "exec")
    own = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
    found = {each.get_name() for each in table.get_symbols() if each.is_referenced()} - own
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        found |= {each.get_name() for each in scope.get_symbols() if each.is_global() and each.is_referenced()} - own
    return found - set(dir(builtins)) - {"__file__", "__name__", "__doc__"}


def _without_head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """A function without annotations, and without the decorators of Airflow."""
    bare = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(bare, ast.FunctionDef | ast.AsyncFunctionDef)
    bare.decorator_list, bare.returns = [each for each in bare.decorator_list if not _is_airflows(each)], None
    for each in (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs, bare.args.vararg, bare.args.kwarg):
        if each is not None:
            each.annotation = None
    return bare


def _is_airflows(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return not _DECORATORS.isdisjoint(ast.unparse(named).split("."))


def _is_of_airflow(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] == "airflow" or node.level > 0
    return isinstance(node, ast.Import) and any(each.name.partition(".")[0] == "airflow" for each in node.names)


def _foreign_modules(node: ast.stmt) -> Iterator[str]:
    names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
    names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
    known = {*sys.stdlib_module_names, "airflow"}
    yield from (first for name in names if (first := name.partition(".")[0]) not in known)


def _source(reader: Reader, node: ast.stmt) -> str:
    """The text of a statement as it is written, from the margin on, without annotations."""
    if isinstance(node, ast.FunctionDef):
        bare = _without_head(node)
        assert isinstance(bare, ast.FunctionDef)
        text = ast.get_source_segment(reader.text, node.body[0], padded=True)
        return ast.unparse(bare) if text is None else _with_body(bare, reader, node)
    if node.col_offset or getattr(node, "decorator_list", []):
        return ast.unparse(node)  # later lines would keep another margin, and decorators stand before the text
    return ast.get_source_segment(reader.text, node) or ast.unparse(node)


def _with_body(bare: ast.FunctionDef, reader: Reader, node: ast.FunctionDef) -> str:
    """The head without annotations, and the body as it is written, comments included."""
    if any(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for each in node.body):
        return ast.unparse(bare)
    decorators = "".join(f"@{ast.unparse(each)}\n" for each in bare.decorator_list)
    head = ast.unparse(ast.FunctionDef(bare.name, bare.args, [ast.Pass()], [], lineno=1)).partition("\n")[0]
    head = decorators + head
    first, last = node.body[0], node.body[-1]
    if first.lineno == node.lineno:
        return ast.unparse(bare)
    written = reader.text.splitlines()
    begins = first.lineno - 1
    while written[begins - 1].strip().startswith("#"):
        begins -= 1
    texts = {at for each in node.body for at in _in_texts(each)}
    margin = first.col_offset
    lines = []
    for at, line in enumerate(written[begins : last.end_lineno], begins + 1):
        lines.append(f"    {line[margin:]}" if line[:margin].isspace() and at not in texts else line)
    return "\n".join([head, *lines])


def _in_texts(node: ast.AST) -> Iterator[int]:
    """The lines that begin inside a text of several lines, which are a part of it."""
    for each in ast.walk(node):
        if isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes)):
            yield from range(each.lineno + 1, (each.end_lineno or each.lineno) + 1)


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
