"""References to values of tasks, `${load.rows}`, that cannot be meant: to what is unknown, not before, or ambiguous."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from model.choices import Direct
from model.definitions.each import is_of_element
from model.definitions.problems import Problem
from model.definitions.result_references import before, names_in
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.ids import TaskCode
from model.logic.approval import ANSWERED_BY, APPROVAL
from model.logic.catalog import LOGIC_TYPES
from model.logic.dynamic import OUTPUT, own_output
from model.near import cure_of, nearest
from model.parameters.parameters import references
from model.parameters.results import SHORT_NAME, bases, may_be_more, named_task, names_task_by_quotes, quoted, written

_GIVE_NOTHING = {*LOGIC_TYPES} - {"SUB_PROCESS", "DYNAMIC", APPROVAL}


def wrong_results(spec: WorkflowSpec) -> Iterator[Problem]:
    """The references that no run could replace, or that have two meanings."""
    found = [(place, each) for place, task in enumerate(spec.tasks) for each in names_in(task)]
    if not found:
        return
    coded = spec.coded()
    tasks = {task.name: task for task in coded.tasks}
    codes = {name: TaskCode(task.code or 0) for name, task in tasks.items()}
    is_before = before(coded, codes, coded.graph(), (name for _, (_, name, _) in found))
    declared = _declared(spec)
    for place, (where, name, _) in found:
        task, (giver, rest) = coded.tasks[place], named_task(name) or ("", "")
        if name in declared or name.startswith(OUTPUT) or (names_task_by_quotes(name) and "tasks" in declared):
            continue
        if task.each is not None and is_of_element(name):
            continue
        if giver not in tasks:
            said = f"there is no such task; {cure_of(giver, list(tasks), '')}" if names_task_by_quotes(name) else None
        elif not rest:
            said = f"it names a task and none of its values; write {written(giver, 'rows')} for the value rows"
        elif giver in declared and not names_task_by_quotes(name):
            said = (
                f'it may be the value "{rest}" of the task "{giver}" or a part of the parameter "{giver}"; '
                f"write {quoted(giver, rest)} for that of the task"
            )
        elif giver == task.name:
            said = "a task does not have its own values when it starts; remove it"
        elif not is_before(codes[giver], codes[task.name]):
            said = f'task "{giver}" is not before it; add "{giver}" to its "after", or write $${{{name}}} for this text'
        else:
            said = _without(tasks[giver], rest)
        if said is not None:
            yield Problem(where=("tasks", place, *where), sentence=f'task "{task.name}", ${{{name}}}: {said}')


def doubtful_results(spec: WorkflowSpec) -> Iterator[str]:
    """References that are probably meant for a value of a task."""
    tasks, declared = {task.name for task in spec.tasks}, _declared(spec)
    for task in spec.tasks:
        for _, name, _ in names_in(task):
            giver, rest = named_task(name) or ("", "")
            if not rest or giver in tasks or giver in declared or name in declared:
                continue
            if task.each is not None and is_of_element(name):
                continue
            if (meant := _meant(name, giver, rest, tasks - {task.name})) is not None:
                yield f'task "{task.name}": ${{{name}}} is no parameter and no value of a task; did you mean {meant}?'
    for parameter, value in spec.params.items():
        for name in references(value):
            giver, rest = named_task(name) or ("", "")
            if may_be_more(name) and rest and giver in tasks and name not in declared and giver not in declared:
                yield (
                    f'parameter "{parameter}": ${{{name}}} has no value yet when a run begins; write it in the params '
                    f'or local_params of a task after "{giver}"'
                )


def _meant(name: str, giver: str, rest: str, tasks: set[str]) -> str | None:
    """The reference to a task with a name like that, as one writes it."""
    for task in sorted(tasks, key=len, reverse=True):
        if not SHORT_NAME.fullmatch(task) and name.startswith(f"{task}."):
            return written(task, name.removeprefix(f"{task}."))
    near = nearest(giver, sorted(tasks), cutoff=0.7)
    return None if near is None else written(near, rest)


def _without(giver: TaskSpec, rest: str) -> str | None:
    """Why a task never gives such a value; None if it may."""
    if giver.type in _GIVE_NOTHING:
        return f"a {giver.type} task gives no values; remove it"
    outs = [param.name for param in giver.local_params if param.direct is Direct.OUT]
    if not outs and giver.type == "DYNAMIC":
        outs = [OUTPUT, own_output(giver.name)]
    if not outs and giver.type == APPROVAL:
        outs = [*giver.params.get("form", ()), ANSWERED_BY]
    if not outs or any(base in outs for base, _ in bases(rest)):
        return None
    near = nearest(rest, outs)
    cure = f"did you mean {written(giver.name, near)}?" if near else f"it passes on {', '.join(outs)}"
    what = "field in its form" if giver.type == APPROVAL else "OUT parameter"
    return f'task "{giver.name}" has no such {what}; {cure}'


def _declared(spec: WorkflowSpec) -> Mapping[str, None]:
    local = (param.name for task in spec.tasks for param in task.local_params)
    return dict.fromkeys((*spec.params, *spec.declared, *spec.secrets, *local))
