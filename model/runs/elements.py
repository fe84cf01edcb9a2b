"""The elements of a task with `each`: how many it may have, and the codes of their attempts. Pure.

Each element has attempts of its own, whose rows are like those of any task, with a code and a name made of the task's
code and name and the element's index. The task has one row beside them, for the state of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from model.ids import TaskCode
from model.runs.states import TaskState

ELEMENTS_MAX = 16_384
"""How many elements a task may have: more would get the codes of other tasks' elements."""
MAPPED_CODE_MAX = 2**49 - 1
"""The highest code of a task with elements: those of its elements fit into the same 63 bits."""
PARALLEL_DEFAULT = 1_000
"""How many elements of a task are under way at once, unless it says so itself: a transaction writes no more."""
KEPT = frozenset({TaskState.SUCCESS, TaskState.FORCED_SUCCESS, TaskState.SKIPPED})
"""An element that ended so is not repeated when its task goes on."""
_NAME = re.compile(r"(.+)\[(0|[1-9][0-9]{0,4})\]", re.DOTALL)


def element_code(task: TaskCode, index: int) -> TaskCode:
    """The code of one element's attempts, negative; `index` counts from 0."""
    return TaskCode(-(task * ELEMENTS_MAX + index))


def is_element(code: TaskCode) -> bool:
    """Whether a code is that of an element."""
    return code < 0


def task_of(code: TaskCode) -> TaskCode:
    """The code of the task, of an element's code; any other code is that of its task."""
    return TaskCode(-code // ELEMENTS_MAX) if code < 0 else code


def index_of(code: TaskCode) -> int:
    """The index of an element, by its code."""
    return -code % ELEMENTS_MAX


def element_name(task: str, index: int) -> str:
    """The name of one element's attempts."""
    return f"{task}[{index}]"


def name_of_task(code: TaskCode, name: str) -> str:
    """The name of the task that an attempt with this code and name is of."""
    return name.removesuffix(f"[{index_of(code)}]") if is_element(code) else name


def task_named_in(name: str) -> str | None:
    """The name of the task of which a name would be that of an element; None if it has another form."""
    found = _NAME.fullmatch(name)
    return None if found is None else found[1]


def namesakes(mapped: Iterable[str], names: Iterable[str]) -> list[str]:
    """Those of these tasks that have the name of an element of one of the `mapped` tasks."""
    known = set(mapped)
    return [name for name in names if task_named_in(name) in known]
