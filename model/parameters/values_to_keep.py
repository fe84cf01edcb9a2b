"""Values that a master computes, too large for a row: each is kept before the decision that uses it is written.

A decision is pure and writes nothing. It asks for the reference to its value. If there is none yet, its transaction is
rolled back, the value goes into the log store, and the decision is repeated (`master/drive/large_values.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from model.errors import Refused, ShoalError
from model.ids import WorkflowCode, WorkflowInstanceId
from model.parameters.large_values import LargeValue

REMEMBERED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ToKeep:
    """A large value of a task that its master computed and must keep."""

    workflow: WorkflowCode
    run: WorkflowInstanceId
    task: str
    name: str
    text: str

    @property
    def mark(self) -> tuple[object, ...]:
        """The cache key, which does not contain the text."""
        return self.workflow, self.run, self.task, self.name, len(self.text), hash(self.text)


class ValueUnkept(ShoalError):
    """A decision computed a value that is too large for rows: keep it, then decide again."""

    def __init__(self, value: ToKeep) -> None:
        super().__init__(f'"{value.name}" of task "{value.task}" is too large for a row, and needs a log store')
        self.value = value


_kept: dict[tuple[object, ...], LargeValue | Refused] = {}


def remember_kept(value: ToKeep, kept: LargeValue | Refused) -> None:
    """Cache the reference to a kept value, or why it could not be kept. The oldest entries are dropped."""
    _kept[value.mark] = kept
    while len(_kept) > REMEMBERED_MAX:
        _kept.pop(next(iter(_kept)))


def forget_kept(value: ToKeep) -> None:
    """Drop the reference, so that the value is kept again if it is needed."""
    _kept.pop(value.mark, None)


def kept(value: ToKeep) -> LargeValue:
    """The reference to the value. Raises `ValueUnkept` if it must be kept first, and `Refused` if it could not be."""
    found = _kept.get(value.mark)
    if found is None:
        raise ValueUnkept(value)
    if isinstance(found, Refused):
        raise Refused(str(found))
    return found
