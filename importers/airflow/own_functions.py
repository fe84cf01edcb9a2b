"""Calls of functions of the file: those that make DAGs, groups and tasks, and those that are only followed."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from itertools import count, product
from typing import TYPE_CHECKING, Any

from importers.airflow import placing
from importers.airflow.values import (
    ITEM,
    Dag,
    Dotted,
    Function,
    Group,
    Operator,
    Output,
    Parameter,
    Unknown,
)

if TYPE_CHECKING:
    from importers.airflow.reader import Reader

_OF_RUNS = ("depends_on_past", "wait_for_downstream")
"""Arguments of tasks that are about the run before, which only a whole DAG has."""


def called(reader: Reader, node: ast.Call, function: Function, given: list[Any], named: dict[str, Any]) -> Any:
    """What a call of a function gives, and adds to the DAG."""
    arguments = _by_name(reader, function, given, {**function.partial, **named})
    if function.kind == "dag":
        dag = reader.add_dag(Dag({"dag_id": function.node.name, **function.given}, node.lineno))
        dag.doc = ast.get_docstring(function.node) or ""
        reader.current.append(dag)
        reader.inlined(function, _as_params(dag, arguments))
        reader.current.pop()
        return dag
    if function.kind == "task_group":
        group = _group(reader, function, arguments)
        return group if group.value is None else group.value
    if function.kind:
        return placing.task(
            reader, node, function, {**function.partial, **placing.positional(function, given), **named}
        )
    return reader.inlined(function, arguments)


def _group(reader: Reader, function: Function, arguments: Mapping[str, Any]) -> Group:
    """The tasks that a function makes for a group. What it returns stands for it, also where arrows are drawn."""
    name = str(function.given.get("group_id", function.node.name))
    group = placing.group(reader, name, function.given, may_repeat=True)
    reader.groups.append(group)
    group.value = reader.inlined(function, arguments)
    reader.groups.pop()
    return group


def mapped_group(reader: Reader, node: ast.Call, function: Function, over: Any) -> Any:
    """A group for each element of a list that is known."""
    elements: list[Any] | None = None
    if isinstance(over, dict):
        lists = {name: found for name, each in over.items() if (found := reader.listed(each)) is not None}
        if lists.keys() == over.keys():
            elements = [dict(zip(lists, each, strict=True)) for each in product(*lists.values())]
    elif isinstance(over, list | tuple) and all(isinstance(each, dict) for each in over):
        elements = list(over)
    if elements is None and (made := _group_of_run(reader, node, function, over)) is not None:
        return made
    if elements is None:
        sentence = "its tasks are left out: make them a workflow, and run that by a DYNAMIC task"
        reader.note(node.lineno, f"the group {function.node.name} is mapped over what only a run knows; {sentence}")
        return reader.unknown(node)
    name = str(function.given.get("group_id", function.node.name))
    whole = Group(name, value=[])
    for place, element in enumerate(elements):
        if not reader.round(node.lineno):
            break
        one = replace(function, given={**function.given, "group_id": f"{name}_{place}"})
        group = _group(reader, one, _by_name(reader, one, [], {**one.partial, **element}))
        whole.tasks += group.tasks
        whole.value.append(group.value)
    return whole if whole.value.count(None) == len(whole.value) else whole.value


def _group_of_run(reader: Reader, node: ast.Call, function: Function, over: Any) -> Group | None:
    """A group for each element of results: a DAG of its own, which a task runs. None if it is over something else."""
    whole = reader.current[-1] if reader.current else None
    lists = over if isinstance(over, dict) else {}
    if (
        whole is None
        or not whole.id
        or not lists
        or not all(isinstance(each, Operator | Output) for each in lists.values())
    ):
        return None
    written = str(function.given.get("group_id", function.node.name))
    outer = f"{reader.groups[-1].prefix}." if reader.groups and reader.groups[-1].prefix else ""
    taken = {each.id for each in whole.tasks}
    numbered = (f"{written}__{number}" if number else written for number in count())
    name = next(each for each in numbered if outer + each not in taken)
    defaults = whole.given.get("default_args")
    kept = {key: each for key, each in defaults.items() if key not in _OF_RUNS} if isinstance(defaults, dict) else {}
    params = {key: Parameter(None, {"type": ["string", "null"]}) for key in lists}
    given = {"dag_id": f"{whole.id}.{outer}{name}", "start_date": whole.given.get("start_date"), "default_args": kept}
    child = Dag({**given, "params": params}, node.lineno, is_group=True)
    reader.dags.append(child)
    arguments = _by_name(reader, function, [], {**function.partial, **{key: Output(ITEM, key) for key in lists}})
    around, reader.groups = reader.groups, []
    reader.groups = [placing.group(reader, name, {**function.given, "prefix_group_id": False})]
    reader.current.append(child)
    value = reader.inlined(function, arguments)
    reader.current.pop()
    reader.groups = around
    task = placing.operator(
        reader, node, Dotted("@mapped_group"), {"task_id": name, "subdag": child, "over": dict(lists)}
    )
    result = Unknown(f"what the group {name} returns", node.lineno) if value is not None else None
    return Group(name, [task], result)


def _as_params(dag: Dag, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function that makes a DAG are its params. Of other values than texts the default stays."""
    given = dag.given.setdefault("params", {}) if arguments else None
    found = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, str) and isinstance(given, dict):
            given.setdefault(name, value)
            found[name] = f"{{{{ params.{name} }}}}"
        elif value not in (None, (), {}):
            dag.given[f"its argument {name}"] = value
    return found


def _by_name(reader: Reader, function: Function, given: list[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function by their names, with its defaults."""
    node = function.node
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    defaults = node.args.defaults
    found = {name: reader.value(each) for name, each in zip(names[len(names) - len(defaults) :], defaults, strict=True)}
    for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            found[each.arg] = reader.value(default)
    found |= {**function.defaults, **dict(zip(names, given, strict=False)), **named}
    if node.args.vararg is not None:
        found[node.args.vararg.arg] = tuple(given[len(names) :])
    if node.args.kwarg is not None:
        own = {*names, *(each.arg for each in node.args.kwonlyargs)}
        found[node.args.kwarg.arg] = {name: value for name, value in named.items() if name not in own}
    return found
