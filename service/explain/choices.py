"""Which branch a SWITCH or CONDITIONS chose, by which condition, and with which values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dao.postgres.pool import AsyncConnection
from dao.runs import lookups
from dao.runs.rows import TaskRun
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode, TaskInstanceId
from model.logic.conditions import ConditionsParams
from model.logic.expression import read_condition
from model.logic.switch import SwitchParams
from model.parameters.local import json_typed
from model.parameters.parameters import parse_parameters
from model.parameters.secret_values import MASK, without_sealed

VALUE_LENGTH_MAX = 60


async def read_choices(connection: AsyncConnection, plan: Plan | None, attempts: Sequence[TaskRun]) -> dict[str, str]:
    """`choices_of`, with the values of these attempts."""
    return choices_of(plan, attempts, await lookups.parameter_values(connection, attempts))


def choices_of(
    plan: Plan | None, attempts: Sequence[TaskRun], values: Mapping[TaskInstanceId, tuple[str, str | None]]
) -> dict[str, str]:
    """For each task of a run that chose a branch a clause about it, by its name; empty without a plan."""
    if plan is None:
        return {}
    valid = [attempt for attempt in attempts if attempt.valid]
    ends = {each.name: str(each.state) for each in valid}
    chose = [each for each in valid if each.branch is not None and each.code in plan.tasks]
    return {each.name: _said(plan, each, *values.get(each.id, ("{}", None)), ends) for each in chose}


def choice_behind(plan: Plan, skipped: TaskCode, choices: Mapping[str, str]) -> str | None:
    """The clause about the choice for which a task is skipped, directly or through skipped tasks before it."""
    seen, pending = {skipped}, [skipped]
    while pending:
        for before in plan.graph.predecessors[pending.pop()]:
            if (name := plan.tasks[before].name) in choices:
                return choices[name]
            if before not in seen:
                seen.add(before)
                pending.append(before)
    return None


def _said(plan: Plan, attempt: TaskRun, values: str, types: str | None, ends: Mapping[str, str]) -> str:
    logic, branch = plan.tasks[attempt.code].logic, attempt.branch or frozenset()
    names = [task.name for code, task in plan.tasks.items() if code in branch]
    chose = f"{attempt.name} chose {', '.join(names) or 'no branch'}"
    match logic:
        case SwitchParams():
            return f"{chose}: {_case(logic, _parsed(values), json_typed(types), plan, branch)}"
        case ConditionsParams():
            is_true = branch == {plan.codes[name] for name in logic.on_success}
            states = ", ".join(f"{name} = {ends.get(name, 'not run')}" for name in sorted(logic.named()))
            return f"{chose}: its condition is {'true' if is_true else 'false'}, with {states}"
        case _:
            return chose


def _case(
    params: SwitchParams,
    values: Mapping[str, str],
    json_names: frozenset[str],
    plan: Plan,
    branch: frozenset[TaskCode],
) -> str:
    """The first true case of a SWITCH, and the values of all parameters that were compared up to it."""
    used: dict[str, None] = {}
    for place, case in enumerate(params.cases, 1):
        try:
            condition = read_condition(case.when)
            used |= dict.fromkeys(name for name in condition.uses if name in values)
            is_true = condition.holds(values, json_names)
        except Refused:  # its values were not stored: an older version of Shoal decided it
            is_true = branch == {plan.codes[name] for name in case.then}
        if is_true:
            return f"case {place} is true, {case.when}{_with(used, values, plan)}"
    return f"no case is true, so the default applies{_with(used, values, plan)}"


def _with(names: Iterable[str], values: Mapping[str, str], plan: Plan) -> str:
    shown = ", ".join(f"{name} = {MASK if name in plan.secrets else _shown(values[name])}" for name in names)
    return f", with {shown}" if shown else ""


def _shown(value: str) -> str:
    clear = without_sealed(value)
    return json.dumps(clear if len(clear) <= VALUE_LENGTH_MAX else f"{clear[:VALUE_LENGTH_MAX]}…", ensure_ascii=False)


def _parsed(values: str) -> dict[str, str]:
    try:
        return parse_parameters(values, "its values")
    except Refused:
        return {}
