"""What calls of a DAG file add to the DAG around them: tasks, groups of tasks, and the arrows between them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from importers.airflow.operations import note_arrows
from importers.airflow.values import Dag, Dotted, Function, Group, Label, Operator, Unknown, link, operators_in

if TYPE_CHECKING:
    from importers.airflow.reader import Reader

ROUNDS_MAX = 100
_NO_TASK = ("BaseHook", "Connection", "Config", "conf")


def group(reader: Reader, name: str, given: Mapping[str, Any], *, may_repeat: bool = False) -> Group:
    """A group, inside of the one around it; `may_repeat`: one more of its name has a number, as in Airflow. One without
    a prefix hides those around it."""
    outer = reader.groups[-1].prefix if reader.groups else ""
    prefix = name if given.get("prefix_group_id", True) is not False else ""
    if prefix and (may_repeat or given.get("add_suffix_on_collision") is True):
        taken = [f"{each.group}." for dag in reader.current[-1:] for each in dag.tasks]
        numbered = (f"{name}__{number}" if number else name for number in count())
        prefix = next(
            each for each in numbered if not any(other.startswith(_within(outer, each) + ".") for other in taken)
        )
    own = given.get("default_args")
    defaults = {**(reader.groups[-1].defaults if reader.groups else {}), **(own if isinstance(own, dict) else {})}
    if isinstance(own, Unknown):
        reader.note(own.line, f"default_args {own.text} of the group {name} are not known")
    return Group(_within(outer, prefix) if prefix else "", defaults=defaults)


def _within(outer: str, name: str) -> str:
    return ".".join(filter(None, (outer, name)))


def chained(reader: Reader, node: ast.Call, given: list[Any], *, is_linear: bool) -> None:
    """Draw the arrows of a chain; those between two lists are in pairs, unless it is linear."""
    for before, after in pairwise([each for each in given if not isinstance(each, Label)]):
        if not is_linear and isinstance(before, list | tuple) and isinstance(after, list | tuple):
            if len(before) != len(after):
                reader.note(node.lineno, "a chain of lists that are not equally long has no meaning in Airflow")
            for one, other in zip(before, after, strict=False):
                linked(reader, node, one, other)
        else:
            linked(reader, node, before, after)


def linked(reader: Reader, node: ast.Call, before: Any, after: Any) -> None:
    """Draw the arrows that a call draws."""
    note_arrows(reader, node, before, after)
    link(before, after)


def positional(function: Function, given: list[Any]) -> dict[str, Any]:
    """Arguments of a function that are given by their place."""
    names = [each.arg for each in (*function.node.args.posonlyargs, *function.node.args.args)]
    return dict(zip(names, given, strict=False))


def task(
    reader: Reader, node: ast.Call, function: Function, arguments: dict[str, Any], over: Mapping[str, Any] | None = None
) -> Operator:
    """Add a task that calls a function of the file."""
    given = {"task_id": function.node.name, **function.given, "op_kwargs": arguments}
    return _placed(
        reader, Operator("", f"@{function.kind}", given, node.lineno, function, dict(over or {})), [arguments, over]
    )


def operator(
    reader: Reader, node: ast.Call, of: Dotted, given: dict[str, Any], over: Mapping[str, Any] | None = None
) -> Operator:
    given.setdefault("task_id", of.name)
    return _placed(reader, Operator("", of.name, given, node.lineno, None, dict(over or {})), [given, over])


def rounds(given: Mapping[str, Any], over: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """What an operator gets for each element of a list that the file says; None if only a run knows it."""
    (name, elements) = next(iter(over.items())) if len(over) == 1 else ("", None)
    if not isinstance(elements, list | tuple) or not isinstance(task_id := given.get("task_id"), str):
        return None
    of_each = [each if name == "" else {name: each} for each in elements]
    if not 0 < len(of_each) <= ROUNDS_MAX or not all(
        isinstance(each, dict) and "task_id" not in each for each in of_each
    ):
        return None
    return [{**given, **each, "task_id": f"{task_id}_{place}"} for place, each in enumerate(of_each)]


def _placed(reader: Reader, operator: Operator, uses: Any) -> Operator:
    """Add a task to its DAG and group, after the tasks whose results it uses."""
    dag = operator.given.pop("dag", None)
    group = operator.given.pop("task_group", None)
    groups = [group] if isinstance(group, Group) else reader.groups
    operator.given = {**(groups[-1].defaults if groups else {}), **operator.given}
    operator.is_teardown = operator.given.pop("teardown", False) is True
    named = operator.given.pop("task_id", None)
    if not isinstance(named, str) or reader.is_told(named):
        said = {Unknown: "text", Dotted: "path"}.get(type(named))
        reader.note(operator.line, f"the task_id {getattr(named, said) if said else named} is not known")
        named = f"task_{operator.line}"
    wanted = _within(groups[-1].prefix if groups else "", named)
    of = dag if isinstance(dag, Dag) else reader.current[-1] if reader.current else None
    operator.id = wanted
    if of is None:
        reader.homeless.append(operator)
        link(list(dict.fromkeys(operators_in(uses))), operator)
        return operator
    of.add(operator)
    if operator.id != wanted and operator.function is None:
        reader.note(operator.line, f'there is another task "{wanted}", which Airflow refuses; this one has a new name')
    operator.group = groups[-1].prefix if groups else ""
    for each in groups:
        each.tasks.append(operator)
    link(list(dict.fromkeys(operators_in(uses))), operator)
    return operator


def is_class(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name[:1].isupper() and name not in _NO_TASK and name.endswith(("Operator", "Sensor", "Async", "Task"))
