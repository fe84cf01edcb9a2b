"""The operation that says where a SWITCH goes with sample values, by the rules of the masters."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import Field

from model import fields
from model.accounts.rights import Right
from model.errors import Refused
from model.logic.expression import read_condition
from model.logic.switch import SwitchParams, check, true_case
from model.parameters.json_values import is_container
from service.call import Call
from service.fields import Answer, Asked, Text
from service.operation import operation


class ChooseBranch(Asked):
    """The `params` of a SWITCH as in a file, and sample values; one that is a JSON list or object counts as JSON."""

    project: fields.Name = "default"
    params: Annotated[
        dict[str, Any], Field(examples=[{"cases": [{"when": "${amount} <= 1000", "then": "pay"}], "default": "bank"}])
    ]
    values: Annotated[dict[Text, Text], Field(max_length=1000, default_factory=dict, examples=[{"amount": "30"}])]


class BranchChosen(Answer):
    """Where it goes, or in `fault` why nowhere."""

    names: Annotated[list[str], Field(description="the parameters that its conditions use")]
    case: Annotated[int | None, Field(description="the number of the case that is true; none: its default")] = None
    then: Annotated[list[str], Field(description="the tasks of the branch")] = Field(default_factory=list)
    fault: Annotated[str | None, Field(description="what is wrong with a condition or a value")] = None


@operation("POST", "/task-definitions:choose", Right.VIEW, "workflow-definitions", reads=True)
async def choose_branch(call: Call, body: ChooseBranch) -> BranchChosen:
    """Say which branch a SWITCH takes with sample values; nothing runs."""
    call.permit(body.project)
    return await asyncio.to_thread(_chosen, body)


def _chosen(body: ChooseBranch) -> BranchChosen:
    names: list[str] = []
    try:
        params = SwitchParams.read(body.params)
        check(params)
        uses = (name for case in params.cases for name in read_condition(case.when).uses)
        names = list(dict.fromkeys(uses))
        case = true_case(params, body.values, [name for name, value in body.values.items() if is_container(value)])
    except Refused as error:
        return BranchChosen(names=names, fault=str(error))
    then = params.default if case is None else params.cases[case - 1].then
    return BranchChosen(names=names, case=case, then=list(then))
