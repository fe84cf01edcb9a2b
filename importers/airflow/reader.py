"""Reads a DAG file as Airflow would run it, without running any of its code.

Statements are followed in their order. What is literal is known: constants, f-strings, lists, loops over lists, calls
of the file's own functions. All else is `Unknown`; a loop or condition that is not known leaves its body out, and says
so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from importers.airflow import calls, definitions, operations
from importers.airflow.expressions import value_of
from importers.airflow.values import Dag, Dotted, Function, Group, Names, Operator, Output, Unknown, between

ROUNDS_MAX = 10_000
"""Of all loops of a file, and calls of its functions."""
DEPTH_MAX = 40


class Returned(Exception):
    """A function of the file returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Next(Exception):
    """A loop goes on with its next round."""


class _Ended(Exception):
    """A loop ends."""


def _spread(parts: list[ast.expr], listed: list[Any] | None) -> list[Any] | None:
    """The values for names in a row, of which one may be `*rest`; None if they are not known."""
    starred = [place for place, each in enumerate(parts) if isinstance(each, ast.Starred)]
    if listed is None or len(listed) < len(parts) - len(starred) or (not starred and len(listed) > len(parts)):
        return None
    if not starred:
        return listed
    (first, last) = (starred[0], len(listed) - (len(parts) - starred[0] - 1))
    return [*listed[:first], listed[first:last], *listed[last:]]


def _is_idle(statements: list[ast.stmt]) -> bool:
    """Whether statements make nothing: they print, change where modules are found, or refuse the whole file."""
    return all(
        isinstance(each, ast.Pass | ast.Raise) or (isinstance(each, ast.Expr) and calls.is_harmless(each.value))
        for each in statements
    )


class Reader:
    """One file.

    Args:
        text: of the file.
    Raises:
        SyntaxError: it is no Python.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.dags: list[Dag] = []
        self.variables: dict[str, str | None] = {}
        """Variables that the file reads -> the default."""
        self.modules: set[str] = set()
        """What it imports."""
        self.current: list[Dag] = []
        self.groups: list[Group] = []
        self.homeless: list[Operator] = []
        doc = ast.get_docstring(self.tree, clean=False)
        self._scopes: list[dict[str, Any]] = [{"__name__": "imported", "TYPE_CHECKING": False, "__doc__": doc}]
        self._found: set[str] = set()
        """What it imports if that is there: then it counts as true."""
        self._depth = 0
        self._left = ROUNDS_MAX

    def read(self) -> list[Dag]:
        """Its DAGs. A task that names none belongs to that of the tasks before and after it."""
        self._all(self.tree.body)
        for _ in list(self.homeless):
            for task in list(self.homeless):
                if (near := next((dag for dag in self.dags if dag.is_near(task)), None)) is not None:
                    near.add(task)
                    self.homeless.remove(task)
        for task in self.homeless:
            self.note(task.line, f'the task "{task.id}" belongs to no DAG that is known')
        return self.dags

    def is_third(self, dag: Dag) -> bool:
        """Whether a DAG is written for Airflow 3."""
        if dag.is_third is not None:
            return dag.is_third
        return any(each == "airflow.sdk" or each.startswith("airflow.sdk.") for each in self.modules)

    def unreached(self) -> list[int]:
        """The lines where the file makes DAGs that were not read, such as those in a method."""
        reached = {dag.line for dag in self.dags}
        calls_ = [each for each in ast.walk(self.tree) if isinstance(each, ast.Call)]
        lines = {each.lineno for each in calls_ if ast.unparse(each.func).rpartition(".")[2] == "DAG"}
        return sorted(lines - reached)

    # ------------------------------------------------------------------------------------------- statements

    def _all(self, statements: list[ast.stmt]) -> None:
        for each in statements:
            self._execute(each)

    def _execute(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names):
                for each in names:
                    self.modules.add(each.name)
                    first = each.name.partition(".")[0]
                    self._bind(each.asname or first, Dotted(each.name if each.asname else first))
            case ast.ImportFrom(module, names):
                self.modules.add(module or "")
                for each in names:
                    self._bind(each.asname or each.name, Dotted(f"{module or ''}.{each.name}"))
            case ast.Assign(targets, value):
                found = self.value(value)
                if isinstance(found, Unknown) and (calls.takes_dag(self, value) or self._is_for_itself(targets, value)):
                    self.note(node.lineno, f"what {found.text} makes is not known")
                for target in targets:
                    self.assign(target, found)
            case ast.AnnAssign(target, _, value) if value is not None:
                self.assign(target, self.value(value))
            case ast.AugAssign(target, operator, value):
                self.assign(target, operations.result(self, operator, self.value(target), self.value(value), node))
            case ast.Expr(value):
                found = self.value(value)
                is_near = bool(self.current) or calls.takes_dag(self, value)
                if is_near and isinstance(found, Unknown) and not calls.is_harmless(value):
                    self.note(node.lineno, f"what {found.text} makes is not known")
            case ast.With(items, body):
                self._with(items, body)
            case ast.For(target, over, body, orelse):
                self._loop(target, over, body, orelse)
            case ast.Continue():
                raise _Next
            case ast.Break():
                raise _Ended
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._bind(node.name, definitions.function_of(self, node))
            case ast.ClassDef():
                self._bind(node.name, definitions.class_of(self, node))
            case ast.Return(value):
                raise Returned(None if value is None else self.value(value))
            case ast.Try(body, handlers, orelse, finalbody):
                if any("ImportError" in ast.unparse(each.type) for each in handlers if each.type is not None):
                    self._found |= {f"{each.module}.{name.name}" for each in body if isinstance(each, ast.ImportFrom)
                                    for name in each.names}  # fmt: skip
                self._all([*body, *orelse, *finalbody])
            case ast.While() | ast.Match():
                word = "while loop" if isinstance(node, ast.While) else "match"
                self.note(node.lineno, f"a {word} is not followed: what it makes is left out")

    def _is_for_itself(self, targets: list[ast.expr], value: ast.expr) -> bool:
        """Whether a call in a DAG has a result that the file never reads: it is there for what it makes."""
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if not self.current or len(names) < len(targets) or calls.is_harmless(value):
            return False
        loads = (each for each in ast.walk(self.tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
        return not any(each.id in names for each in loads)

    def _bind(self, name: str, value: Any) -> None:
        self._scopes[-1][name] = value

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give names, or places in lists and mappings, a value."""
        match target:
            case ast.Name(name):
                self._bind(name, value)
            case ast.Tuple(parts) | ast.List(parts):
                listed = self.listed(value)
                for each, found in zip(
                    parts, _spread(parts, listed) or [self.unknown(target)] * len(parts), strict=True
                ):
                    self.assign(each.value if isinstance(each, ast.Starred) else each, found)
            case ast.Subscript(ast.Call(ast.Name("globals")), index) if isinstance(name := self.value(index), str):
                self._scopes[0][name] = value
            case ast.Subscript(of, index):
                holder = self.value(of)
                if isinstance(holder, dict | list):
                    try:
                        holder[self.value(index)] = value
                    except (TypeError, IndexError):
                        self.note(target.lineno, f"{ast.unparse(target)} is not known")
            case ast.Attribute(of, name):
                holder = self.value(of)
                if isinstance(holder, Operator | Dag):
                    holder.given[name] = value

    def _with(self, items: list[ast.withitem], body: list[ast.stmt]) -> None:
        entered: list[Any] = []
        for item in items:
            value = self.value(item.context_expr)
            entered.append(value)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        for value in entered:
            if isinstance(value, Dag):
                self.current.append(value)
            elif isinstance(value, Group):
                self.groups.append(value)
        earlier = [each for dag in self.current[-1:] for each in dag.tasks]
        try:
            self._all(body)
        finally:  # also where the body returns, or ends a loop around it
            inside = Group("", [each for dag in self.current[-1:] for each in dag.tasks if each not in earlier])
            for value in reversed(entered):
                if isinstance(value, Dag):
                    self.current.pop()
                elif isinstance(value, Group):
                    self.groups.pop()
                elif isinstance(value, Operator):
                    between(value, inside, earlier)

    def _loop(self, target: ast.expr, over: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        values = self.listed(self.value(over))
        if values is None and _is_idle([*body, *orelse]):
            return
        if values is None:
            self.note(over.lineno, f"the loop over {ast.unparse(over)} is not known: what it makes is left out")
            return
        for each in values:
            if not self.round(over.lineno):
                return
            self.assign(target, each)
            try:
                self._all(body)
            except _Next:
                continue
            except _Ended:
                return
        self._all(orelse)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        is_true = self.truth(self.value(test))
        if is_true is None and not _is_idle([*body, *orelse]):
            self.note(test.lineno, f"whether {ast.unparse(test)} is not known: what depends on it is left out")
        elif is_true is not None:
            self._all(body if is_true else orelse)

    # ------------------------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> Any:
        return value_of(self, node)

    def parts(self, parts: list[ast.expr]) -> Iterator[Any]:
        """The values of expressions in their order, those of `*each` one by one."""
        for each in parts:
            if isinstance(each, ast.Starred):
                listed = self.listed(self.value(each.value))
                yield from [self.unknown(each)] if listed is None else listed
            else:
                yield self.value(each)

    def named(self, name: str) -> Any:
        """The value of a name; raises `KeyError` for one that is not bound."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise KeyError(name)

    def unknown(self, node: ast.expr) -> Unknown:
        """What is not known of an expression."""
        return Unknown(ast.unparse(node), node.lineno)

    def is_told(self, value: Any) -> bool:
        """Whether a value is a text with a variable in it, which only a run knows."""
        return isinstance(value, str) and any(f"${{{name}}}" in value for name in self.variables)

    def truth(self, value: Any) -> bool | None:
        """Whether a value counts as true; None if that is not known."""
        if value == Dotted("typing.TYPE_CHECKING"):
            return False
        if isinstance(value, Dotted) and value.path in self._found:
            return True
        return None if isinstance(value, Unknown | Output | Dotted) or self.is_told(value) else bool(value)

    def note(self, line: int, sentence: str) -> None:
        """Something could not be read; it belongs to the DAG around it, or to all of the file."""
        for dag in self.current[-1:] or self.dags:
            dag.notes.append((line, sentence))
        if not self.current and not self.dags:
            self.early.append((line, sentence))

    @property
    def early(self) -> list[tuple[int, str]]:
        """What could not be read before any DAG: line and sentence."""
        notes: list[tuple[int, str]] = self._scopes[0].setdefault(" notes", [])
        return notes

    def add_dag(self, dag: Dag) -> Dag:
        """A DAG begins; what could not be read above it is its own too."""
        dag.notes += self.early
        self.dags.append(dag)
        return dag

    def inlined(self, function: Function, given: Mapping[str, Any]) -> Any:
        """What a function of the file returns with these arguments, as its body is followed."""
        if self._depth > DEPTH_MAX or not self.round(function.node.lineno):
            return Unknown(function.node.name, function.node.lineno)
        callers, self._scopes = self._scopes, [self._scopes[0], *function.around, dict(given)]
        self._depth += 1
        try:
            self._all(function.node.body)
        except Returned as returned:
            return returned.value
        finally:
            self._scopes = callers
            self._depth -= 1
        return None

    @property
    def globals(self) -> dict[str, Any]:
        return self._scopes[0]

    @property
    def around(self) -> tuple[dict[str, Any], ...]:
        """The names of the functions that are followed now, the outermost first."""
        return tuple(self._scopes[1:])

    def round(self, line: int) -> bool:
        """Count a round of a loop; whether any is left."""
        self._left -= 1
        if self._left == 0:
            self.note(line, f"its loops have more than {ROUNDS_MAX:,} rounds: the rest is left out")
        return self._left > 0

    @contextmanager
    def inner(self) -> Iterator[None]:
        """The names that are bound in it end with it."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def listed(self, value: Any) -> list[Any] | None:
        """The elements of a value; None if they are not known."""
        if self.is_told(value):
            return None
        match value:
            case list() | tuple() | set() | range() | str():
                return list(value)
            case dict():
                return list(value)
            case Names(values):  # an Enum
                return list(values.values())
        return None
