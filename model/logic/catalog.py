"""The logic task types, which run in the master, and their validation when a definition is saved."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from model.logic.approval import APPROVAL, ApprovalParams
from model.logic.conditions import ConditionsParams
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.fields import InvalidParams, LogicParams
from model.logic.sub_process import SubProcessParams
from model.logic.switch import SwitchParams
from model.near import nearest

LOGIC_TYPES: Mapping[str, type[LogicParams]] = MappingProxyType(
    {
        "SUB_PROCESS": SubProcessParams,
        "DYNAMIC": DynamicParams,
        "DEPENDENT": DependentParams,
        "SWITCH": SwitchParams,
        "CONDITIONS": ConditionsParams,
        APPROVAL: ApprovalParams,
    }
)
"""Type -> the model of its parameters."""
NOT_OF_LOGIC = (
    *("retry_times", "delay_time", "timeout", "dispatch_timeout", "cache", "skip_exit_codes", "tenant", "resources"),
    *("stream", "files", "data_sources"),
)
"""Fields that only worker tasks have. DEPENDENT has a timeout too."""


def check_logic(
    type_: str, params: Mapping[str, Any], successors: Collection[str], predecessors: Collection[str]
) -> list[str]:
    """The problems of a logic task, one sentence each, without its name.

    Args:
        type_: a key of `LOGIC_TYPES`.
        params: as written in the definition.
        successors: names of the tasks directly after it.
        predecessors: names of the tasks directly before it.
    Raises:
        KeyError: the type is not a logic type.
    """
    try:
        read = LOGIC_TYPES[type_].read(params)
    except InvalidParams as error:
        return error.sentences
    return [
        *read.problems(),
        *(_astray(name, "chooses", "after", successors) for name in read.branches() if name not in successors),
        *(_astray(name, "asks for", "before", predecessors) for name in read.named() if name not in predecessors),
    ]


def _astray(name: str, does: str, side: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    cure = f'did you mean "{near}"?' if near else "add that arrow or remove the name"
    return f'it {does} "{name}", which does not come directly {side} it; {cure}'
