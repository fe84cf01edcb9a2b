"""The elements of an `each` task: their limits, and the codes of their attempts. Pure.

Each element has attempts of its own, with rows like those of any task; code and name are made from the task's code and
name and the element's index. The task has one more row for the state of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from model.ids import TaskCode
from model.runs.states import TaskState

ELEMENTS_MAX = 16_384
"""A higher index would collide with the elements of other tasks."""
MAPPED_CODE_MAX = 2**49 - 1
"""The highest code of a task with elements: the codes of its elements then fit into 63 bits."""
PARALLEL_DEFAULT = 1_000
"""How many elements of a task run at once by default: a transaction writes no more."""
KEPT = frozenset({TaskState.SUCCESS, TaskState.FORCED_SUCCESS, TaskState.SKIPPED})
"""An element that ended in such a state is not repeated when its task continues."""
_NAME = re.compile(r"(.+)\[(0|[1-9][0-9]{0,4})\]", re.DOTALL)


def element_code(task: TaskCode, index: int) -> TaskCode:
    """The code of one element's attempts, negative; `index` counts from 0."""
    return TaskCode(-(task * ELEMENTS_MAX + index))


def is_element(code: TaskCode) -> bool:
    """Whether a code is that of an element."""
    return code < 0


def task_of(code: TaskCode) -> TaskCode:
    """The code of the task that an element's code belongs to; any other code is returned unchanged."""
    return TaskCode(-code // ELEMENTS_MAX) if code < 0 else code


def index_of(code: TaskCode) -> int:
    """The index of an element from its code."""
    return -code % ELEMENTS_MAX


def element_name(task: str, index: int) -> str:
    """The name of one element's attempts."""
    return f"{task}[{index}]"


def name_of_task(code: TaskCode, name: str) -> str:
    """The name of the task to which an attempt with this code and name belongs."""
    return name.removesuffix(f"[{index_of(code)}]") if is_element(code) else name


def task_named_in(name: str) -> str | None:
    """The task's name in an element's name; None if the name has another form."""
    found = _NAME.fullmatch(name)
    return None if found is None else found[1]


def namesakes(mapped: Iterable[str], names: Iterable[str]) -> list[str]:
    """The tasks in `names` whose name equals that of an element of a `mapped` task."""
    known = set(mapped)
    return [name for name in names if task_named_in(name) in known]
