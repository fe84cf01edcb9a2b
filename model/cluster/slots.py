"""A master's share of the commands; `model/cluster/slot_view.py` decides which masters share them.

Statements that search by slot repeat the rule in SQL: in `dao/commands`, `commands.py`, `deadly_commands.py`,
`waiting_work.py` and `queue_listings.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Slot:
    """A master's share of the commands: those with `(id / step) % total == current`.

    One value, so that no reader combines the old `current` with the new `total` during a rebalance.
    """

    current: int
    total: int

    @classmethod
    def of(cls, command_id: int, step: int, total: int) -> Slot:
        """The slot of a command id (> 0); `step` is the increment of the ids."""
        return cls(command_id // step % total, total)

    def owns(self, command_id: int, step: int = 1) -> bool:
        """Whether a command with this id belongs to this slot."""
        return Slot.of(command_id, step, self.total) == self

    def __str__(self) -> str:
        return f"{self.current}/{self.total}"
