"""SUB_PROCESS: another workflow as a child run; the task ends with the child's result, or once the child has begun."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from model.fields import Name
from model.logic.fields import LogicParams, Workflow
from model.parameters.text import ParameterValue

PARAMS_MAX = 1_000
STARTED_RUN = "started.run"
"""The parameter with the id of a run that was started without waiting for it."""


class SubProcessParams(LogicParams):
    """The child workflow: `project` defaults to its own, `version` to the newest at the start.

    `params` are the child's start parameters; their values may contain `${name}` and `$[...]`. Without `wait` the other
    run is no child: the task succeeds once that run has begun, and ignores it from then on.
    """

    workflow: Workflow
    project: Name | None = None
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    params: dict[Name, ParameterValue] = Field(default_factory=dict, max_length=PARAMS_MAX)
    wait: bool = True
