"""What a function of a DAG file needs of that file, as the text of statements."""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from importers.airflow.reader import Reader
from importers.airflow.values import Defined, Function

_DECORATORS = frozenset(("task", "dag", "task_group", "setup", "teardown", "asset", "apply_defaults"))
SHIMMED = frozenset({"AirflowException", "AirflowSkipException", "AirflowFailException", "PokeReturnValue", "Variable",
                     "get_current_context", "Asset", "AssetAlias", "Dataset", "DatasetAlias", "Metadata"})  # fmt: skip
"""Names of Airflow that a script has here (`shims.py`, `context.py`)."""
_CHANGES = ("append", "extend", "insert", "update", "setdefault", "add", "remove", "pop", "sort", "reverse", "clear")
"""Methods that change what a name of the file stands for."""


@dataclass
class Needs:
    """What a function needs of its file: statements in their order, names that have only a value, and the names that
    nothing binds, or two things do."""

    statements: list[ast.stmt] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def needed(reader: Reader, function: Function) -> Needs:
    """What a function needs. A name is that of the innermost function around it that binds it, else of the file; the
    value of an argument or of a loop's name is the last one that it had, as when a task runs."""
    levels = [_Level(reader.tree.body)]
    levels += [_Level(each.body, each.args) for each in _around(reader.tree, function.node)]
    found, missing = Needs(), dict[str, None]()
    whose: dict[str, _Level] = {}
    todo: list[tuple[ast.stmt, int]] = [(function.node, len(levels) - 1)]
    statements: set[ast.stmt] = set()
    while todo:
        statement, at = todo.pop()
        for name in free_names(statement):
            place = next((place for place in range(at, -1, -1) if levels[place].binds(name)), None)
            if place is None or whose.setdefault(name, levels[place]) is not levels[place]:
                missing[name] = None
                continue
            bound = levels[place].statements.get(name, [])
            if not bound and (value := _value(reader, function, name)) is not None:
                found.values[name] = value
            elif not bound or any(map(_makes_tasks, bound)):
                missing[name] = None
            for each in bound:
                if each is not function.node and each not in statements and not _makes_tasks(each):
                    statements.add(each)
                    todo.append((each, place))
    found.statements = sorted(statements, key=lambda each: each.lineno)
    found.missing = sorted(missing)
    return found


class _Level:
    """The names that the file binds, or a function that is around another one."""

    def __init__(self, body: list[ast.stmt], arguments: ast.arguments | None = None) -> None:
        self.statements: dict[str, list[ast.stmt]] = {}
        for each in _standing(body):
            for name in dict.fromkeys(_bound(each)):
                self.statements.setdefault(name, []).append(each)
        targets = [each.target for each in _loops(body)]
        self.others = {one.id for each in targets for one in ast.walk(each) if isinstance(one, ast.Name)}
        if arguments is not None:
            self.others |= {each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg)}

    def binds(self, name: str) -> bool:
        return name in self.statements or name in self.others


def _loops(body: list[ast.stmt]) -> Iterator[ast.For]:
    """The loops of a body, at any depth, and not those of its functions."""
    for each in body:
        if isinstance(each, ast.For):
            yield each
        if not isinstance(each, Defined | ast.ClassDef):
            yield from _loops([inner for inner in ast.iter_child_nodes(each) if isinstance(inner, ast.stmt)])


def _around(tree: ast.Module, node: Defined) -> list[ast.FunctionDef]:
    """The functions around one, the outermost first."""
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each is not node]
    found = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
    return sorted(found, key=lambda each: each.lineno)


def _value(reader: Reader, function: Function, name: str) -> Any:
    """What a name was at last; None if that is not known."""
    for scope in (*reversed(function.around), reader.globals):
        if name in scope:
            return scope[name]
    return None


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
        case ast.AugAssign(ast.Name(name)):
            yield name
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method))) if method in _CHANGES:
            yield name
        case ast.For(body=body):
            yield from (name for each in body for name in _bound(each))
        case ast.AnnAssign(ast.Name(name)) | ast.AsyncFunctionDef(name):
            yield name
        case ast.Try(body, handlers, orelse):
            yield from (name for each in (*body, *orelse) for name in _bound(each))
            yield from (name for handler in handlers for each in handler.body for name in _bound(each))
        case ast.If(_, body, orelse) if not any(isinstance(each, ast.Call) for each in ast.walk(node)):
            yield from (name for each in (*body, *orelse) for name in _bound(each))


def _makes_tasks(node: ast.stmt) -> bool:
    """Whether a loop makes tasks too, so that it cannot stand in a script."""
    return isinstance(node, ast.For) and any(isinstance(each, ast.keyword) and each.arg == "task_id"
                                             for each in ast.walk(node))  # fmt: skip


def free_names(node: ast.stmt) -> set[str]:
    """The names that a statement reads from the file around it, without its annotations."""
    bare = node
    if isinstance(node, Defined):
        bare = _without_head(node)
        for each in ast.walk(bare):
            if isinstance(each, ast.AnnAssign):  # Python does not read it there
                each.annotation = ast.Constant(None)
    table = symtable.symtable(ast.unparse(ast.Module([bare], [])), "", "exec")
    own = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
    found = {each.get_name() for each in table.get_symbols() if each.is_referenced()} - own
    inner = list(table.get_children())
    while inner:
        scope = inner.pop()
        inner += scope.get_children()
        found |= {each.get_name() for each in scope.get_symbols() if each.is_global() and each.is_referenced()} - own
    return found - set(dir(builtins)) - {"__file__", "__name__", "__doc__"}


def _without_head(node: Defined) -> Defined:
    """A function without annotations, and without the decorators of Airflow."""
    bare = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(bare, Defined)
    bare.decorator_list, bare.returns = [each for each in bare.decorator_list if not _is_airflows(each)], None
    for each in (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs, bare.args.vararg, bare.args.kwarg):
        if each is not None:
            each.annotation = None
    return bare


def _is_airflows(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return not _DECORATORS.isdisjoint(ast.unparse(named).split("."))


def is_of_airflow(node: ast.stmt) -> bool:
    """Whether a statement imports Airflow, or a neighbour of the file."""
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] == "airflow" or node.level > 0
    return isinstance(node, ast.Import) and any(each.name.partition(".")[0] == "airflow" for each in node.names)


def foreign_modules(node: ast.stmt) -> Iterator[str]:
    """The modules that a statement, or one in it, imports and that Python does not bring along."""
    known = {*sys.stdlib_module_names, "airflow"}
    inner = list(ast.walk(node))
    names = [one.name for each in inner if isinstance(each, ast.Import) for one in each.names]
    names += [each.module for each in inner if isinstance(each, ast.ImportFrom) and each.module and not each.level]
    yield from (first for name in names if (first := name.partition(".")[0]) not in known)


def source(reader: Reader, node: ast.stmt) -> str:
    """The text of a statement as it is written, from the margin on, without annotations."""
    is_changed = any(map(_is_shimmed, ast.walk(node)))
    if isinstance(node, Defined):
        bare = _without_head(node)
        text = ast.get_source_segment(reader.text, node.body[0], padded=True)
        return ast.unparse(_without_shimmed(bare)) if text is None or is_changed else _with_body(bare, reader, node)
    if is_changed:
        return ast.unparse(_without_shimmed(ast.parse(ast.unparse(node))))
    if node.col_offset or getattr(node, "decorator_list", []):
        return ast.unparse(node)  # later lines would keep another margin, and decorators stand before the text
    return ast.get_source_segment(reader.text, node) or ast.unparse(node)


def _is_shimmed(node: ast.AST) -> bool:
    """Whether it imports only names that the script has anyway."""
    return isinstance(node, ast.ImportFrom) and is_of_airflow(node) and {each.name for each in node.names} <= SHIMMED


def _without_shimmed(tree: ast.AST) -> ast.AST:
    for each in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            if isinstance(inner := getattr(each, name, None), list) and any(map(_is_shimmed, inner)):
                setattr(each, name, [one for one in inner if not _is_shimmed(one)] or [ast.Pass()])
    return tree


def _with_body(bare: Defined, reader: Reader, node: Defined) -> str:
    """The head without annotations, and the body as it is written, comments included."""
    if any(isinstance(each, Defined | ast.ClassDef) for each in node.body):
        return ast.unparse(bare)
    decorators = "".join(f"@{ast.unparse(each)}\n" for each in bare.decorator_list)
    head = ast.unparse(type(bare)(bare.name, bare.args, [ast.Pass()], [], lineno=1)).partition("\n")[0]
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
