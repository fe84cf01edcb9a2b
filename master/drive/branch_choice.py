"""SWITCH and CONDITIONS: chooses the branch in the master, at the moment when the task may begin. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from model.definitions.plan import Plan
from model.ids import TaskCode
from model.logic import conditions, switch
from model.logic.conditions import ConditionsParams
from model.logic.switch import SwitchParams


def chosen_branch(
    plan: Plan,
    code: TaskCode,
    values: Callable[[], tuple[Mapping[str, str], Collection[str]]],
    succeeded: Callable[[TaskCode], bool],
) -> frozenset[TaskCode] | None:
    """The chosen tasks; None if the task does not choose. Raises `Refused` if it cannot decide.

    `values` returns what the task sees, and the names of JSON values.
    """
    match plan.tasks[code].logic:
        case SwitchParams() as params:
            names = switch.choose(params, *values())
        case ConditionsParams() as params:
            names = conditions.choose(params, {name: succeeded(plan.codes[name]) for name in params.named()})
        case _:
            return None
    return frozenset(plan.codes[name] for name in names)
