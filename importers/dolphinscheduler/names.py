"""Names that Shoal takes, made of those that an export has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from importers.report import About
from model.definitions.names import fault_of_task_name, fault_of_workflow_name
from model.fields import GROUP_NAME, GROUP_NAME_LENGTH_MAX, NAME_LENGTH_MAX


def workflow_name(name: str) -> str:
    """The name of a workflow as it may be saved."""
    legal = _legal(name, "workflow")
    return f"workflow_{legal}" if fault_of_workflow_name(legal) else legal


def task_names(named: Iterable[tuple[str, str]], about: About) -> Mapping[str, str]:
    """Key -> the name that a task has here, for all tasks of a workflow; each its own. Reports what is changed."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for key, name in named:
        legal = _legal(name, "task")
        unique, number = legal, 2
        while unique in taken:
            unique, number = f"{legal[: NAME_LENGTH_MAX - 10]} {number}", number + 1
        taken.add(unique)
        found[key] = unique
        if legal != name:
            about.of_task(unique).changed("name", f'the name was "{name}", which no task may have here')
        elif unique != name:
            about.of_task(unique).changed("name", f'the name was "{name}", which another task has')
    return found


def said_group_name(name: str, about: About) -> str:
    """The name of a group of workers as it may be written. Reports if it is another one."""
    if re.fullmatch(GROUP_NAME, name) and len(name) <= GROUP_NAME_LENGTH_MAX:
        return name
    legal = re.sub(r"[^\w.-]", "_", name)[:GROUP_NAME_LENGTH_MAX]
    about.changed("workerGroup", f'the worker group was "{name}", which no group may be called here; it is "{legal}"')
    return legal


def _legal(name: str, kind: str) -> str:
    legal = "".join(each for each in name if each.isprintable()).replace("/", "_").strip()[:NAME_LENGTH_MAX].strip()
    legal = re.sub(r"^[@-]+", "", legal).strip()
    return legal if legal and fault_of_task_name(legal) is None else f"{kind}_{legal}".replace("..", "_").strip("_.")
