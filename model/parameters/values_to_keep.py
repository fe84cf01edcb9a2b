"""Values that a master makes, too large for a row: each is kept before the decision that makes it is written.

A decision is pure and writes nothing. It asks for what stands for its value; if nothing does yet, its transaction is
rolled back, the value goes into the log store, and all begins again (`master/drive/large_values.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from model.errors import Refused, ShoalError
from model.ids import WorkflowCode, WorkflowInstanceId
from model.parameters.large_values import LargeValue

REMEMBERED_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ToKeep:
    """A value of a task of a run, that its master has made and is to keep."""

    workflow: WorkflowCode
    run: WorkflowInstanceId
    task: str
    name: str
    text: str

    @property
    def mark(self) -> tuple[object, ...]:
        """What it is remembered by, which is not its text."""
        return self.workflow, self.run, self.task, self.name, len(self.text), hash(self.text)


class ValueUnkept(ShoalError):
    """A decision has made a value that is too large for rows: keep it, and decide again."""

    def __init__(self, value: ToKeep) -> None:
        super().__init__(f'"{value.name}" of task "{value.task}" is too large for a row, and needs a log store')
        self.value = value


_kept: dict[tuple[object, ...], LargeValue | Refused] = {}


def remember_kept(value: ToKeep, kept: LargeValue | Refused) -> None:
    """From now on this stands for it, or it could not be kept for that reason. The oldest are forgotten."""
    _kept[value.mark] = kept
    while len(_kept) > REMEMBERED_MAX:
        _kept.pop(next(iter(_kept)))


def forget_kept(value: ToKeep) -> None:
    """It is to be kept again, if it is needed again."""
    _kept.pop(value.mark, None)


def kept(value: ToKeep) -> LargeValue:
    """What stands for it. Raises `ValueUnkept` if it must be kept first, and `Refused` if it could not be."""
    found = _kept.get(value.mark)
    if found is None:
        raise ValueUnkept(value)
    if isinstance(found, Refused):
        raise Refused(str(found))
    return found
