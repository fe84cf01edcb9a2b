"""What means something else in Shoal: said once for a file, or for the tasks that it concerns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from importers.dolphinscheduler.context import Context
from importers.report import About
from model.choices import Direct
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.parameters.builtin import builtin_names
from model.parameters.parameters import references

_SET_VALUE = re.compile(r"[#$]\{setValue\(([A-Za-z_][\w.]*)=")
HABITS: Mapping[str, tuple[str, str]] = {
    "offline": (
        "releaseState",
        "workflows are OFFLINE, as after an import into DolphinScheduler: `shoal workflow online` lets them start, or "
        "an import with --online keeps what is ONLINE",
    ),
    "misfire": (
        "schedule",
        "a schedule fires each time that was missed (misfire: FIRE_ALL), as DolphinScheduler's does; FIRE_ONCE and "
        "SKIP are the other choices",
    ),
    "python": (
        "rawScript",
        "in PYTHON a ${name} outside of quotes becomes a literal of its type, and not a piece of code; the interpreter "
        "is python3 of the environment, not PYTHON_LAUNCHER",
    ),
    "values": (
        "localParams",
        "a value is never code: SHELL gets it as a variable, SQL bound; a task sees the OUT values of those before it, "
        "not those of all",
    ),
    "set_value": (
        "rawScript",
        "a task that declares no OUT parameter hands on all values that it prints by setValue; in DolphinScheduler "
        "none",
    ),
    "sql_outputs": (
        "localParams",
        "an SQL query that declares no OUT parameter hands on the columns of its first row; in DolphinScheduler none",
    ),
    "sql_first_row": (
        "localParams",
        "of several rows an OUT parameter of a query gets the first; in DolphinScheduler it keeps its own value",
    ),
    "sql_transaction": (
        "preStatements",
        "the statements of a SQL task are one transaction, unless transaction is false; DolphinScheduler commits each",
    ),
    "typed_globals": (
        "globalParams",
        "a global parameter with a type is checked: a start with another value is refused",
    ),
    "http": (
        "taskParams",
        "HTTP follows no redirect unless follow_redirects is true, and gives status and body instead of NAME.response",
    ),
    "last_24_hours": (
        "dateValue",
        "last24Hours are the 24 hours before the current one; in DolphinScheduler from 01:00 of the day before",
    ),
    "legacy_dependent": (
        "dependence",
        "runs that a DEPENDENT task waits for are found by their schedule time, and were by the time when they ran",
    ),
    "year_week": ("rawScript", "$[year_week(...)] gives the year that the week belongs to, also around New Year"),
    "datetime": (
        "rawScript",
        "${system.datetime} is the schedule time, which for a start by hand is the moment of the start",
    ),
}
"""What a file uses -> the field and the sentence."""


def of_file(habits: Collection[str], about: About) -> None:
    """Report what means something else, once for the file."""
    for habit, (field, sentence) in HABITS.items():
        if habit in habits:
            about.changed(field, sentence)


def of_workflow(spec: WorkflowSpec, context: Context) -> None:
    """Report what a workflow reads and does not get, and note what its file uses."""
    content = spec.model_dump_json()
    for word, habit in (("$[year_week(", "year_week"), ("${system.datetime}", "datetime"), ("${", "values")):
        if word in content:
            context.habits.add(habit)
    before = _ancestors(spec)
    writers: dict[str, list[str]] = {}
    for task in spec.tasks:
        declared = {param.name for param in task.local_params if param.direct is Direct.OUT}
        printed = set(_SET_VALUE.findall(str(task.params.get("script", ""))))
        if printed and not declared:
            context.habits.add("set_value")
        for name in declared or printed:
            writers.setdefault(name, []).append(task.name)
    for task in spec.tasks:
        for name, sentence in _unread(task, writers, before[task.name]):
            context.about.of_task(task.name).changed(name, sentence)


def same_names(contexts: Sequence[Context]) -> Iterator[Context]:
    """The workflows whose project has another of their name before them."""
    seen: set[tuple[str, str]] = set()
    for context in contexts:
        key = (context.project, context.name)
        if key in seen:
            yield context
        seen.add(key)


def _unread(task: TaskSpec, writers: Mapping[str, Sequence[str]], before: Collection[str]) -> Iterator[tuple[str, str]]:
    given = {param.name for param in task.local_params if param.direct is Direct.IN and param.value}
    texts = [json.dumps(task.params, ensure_ascii=False), *(param.value for param in task.local_params)]
    wanted = {name for text in texts for name in references(text)}
    wanted |= {param.name for param in task.local_params if param.direct is Direct.IN and not param.value}
    for name in sorted(wanted - given):
        others = [each for each in writers.get(name, ()) if each != task.name]
        if others and not set(others) & set(before):
            sentence = f'it reads "{name}", which "{others[0]}" gives, and does not come after that; add it to after'
            yield name, sentence
        if name.startswith("system.") and name not in builtin_names():
            yield name, f"there is no built-in parameter ${{{name}}}; it stays as it is"


def _ancestors(spec: WorkflowSpec) -> dict[str, set[str]]:
    after = {task.name: task.after for task in spec.tasks}
    found: dict[str, set[str]] = {}
    for name in after:
        pending, seen = [*after[name]], set[str]()
        while pending:
            if (each := pending.pop()) not in seen:
                seen.add(each)
                pending += after[each]
        found[name] = seen
    return found
