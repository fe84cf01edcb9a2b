"""Invariants of duties and of retention: done once a period, and nothing needed is deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from model.runs.instances import Parent
from tests.simulation.tables import Row, Values
from tests.simulation.trace import Trace

if TYPE_CHECKING:
    from tests.simulation.server import Server


class DutyInvariants:
    def __init__(self, trace: Trace, broken: Callable[[str, str], None]) -> None:
        self._trace = trace
        self._broken = broken
        self._children: set[Parent] = set()
        self._done: set[tuple[str, datetime]] = set()
        self.server: Server

    def stepped(self, row: Row, before: Values, after: Values) -> None:
        """I27: a step follows the one before it, with what that recorded."""
        count = after.progress.get("count", after.steps)
        former = before.progress.get("count", before.steps)
        if after.progress and (after.steps, count) != (before.steps + 1, former + 1):
            told = f"step {after.steps} with count {count} comes after step {before.steps}"
            self._broken("I27", f"of the duty {row.id} two do the same step: {told}")

    def done(self, done: Values) -> None:
        """I27: a duty is done once a period."""
        what = f"duty {done.name} of {done.due_at:%M:%S.%f}"
        self._trace.add("tables", f"{what} is done by epoch {done.epoch}: {done.result}")
        if (done.name, done.due_at) in self._done:
            self._broken("I27", f"the {what} is done twice")
        self._done.add((done.name, done.due_at))

    def deleted(self, row: Row, before: Values) -> None:
        """I28: what is live, or needed so that nothing is done twice, is not deleted."""
        self._trace.add("tables", f"workflow {row.id} ({before.workflow_code}) {before.state} is deleted")
        above = before.parent and self.server.instances.rows.get(before.parent.instance)
        below = [
            other.id
            for other in self.server.instances.unfinished.values()
            if other.values is not None and other.values.parent is not None and self._is_below(other.values, row.id)
        ]
        if not before.state.is_final:
            self._broken("I28", f"workflow instance {row.id} is {before.state}, and is deleted")
        elif above and above.values is not None:
            self._broken("I28", f"workflow instance {row.id} is deleted before {above.id}, which is above it")
        elif below:
            self._broken("I28", f"workflow instance {row.id} is deleted, and {below} below it have not ended")

    def _is_below(self, run: Values, above: int) -> bool:
        while run.parent is not None and run.parent.instance != above:
            row = self.server.instances.rows.get(run.parent.instance)
            if row is None or row.values is None:
                return False
            run = row.values
        return run.parent is not None

    def child_made(self, row: Row, child: Values) -> None:
        """I28: a child is made once, also when it has been deleted since."""
        above = self.server.instances.rows.get(child.parent.instance)
        if child.parent in self._children:
            self._broken("I28", f"workflow instance {row.id} is the child {child.parent} once more")
        elif above is None or above.values is None:
            self._broken("I28", f"workflow instance {row.id} is a child of one that is deleted: {child.parent}")
        self._children.add(child.parent)

    def record_deleted(self, row: Row) -> None:
        """I28: the id of a command whose row is deleted is not above the floor, which is below all that wait."""
        floor = self.server.floor.rows[1].values
        waiting = [each.id for each in self.server.commands.rows.values() if each.values is not None]
        if floor is None or row.id > floor.command_id:
            self._broken("I28", f"the history of command {row.id} is deleted, and the floor is {floor}")
        elif waiting and min(waiting) <= floor.command_id:
            self._broken("I28", f"command {min(waiting)} waits below the floor {floor.command_id}")

    def none_waits(self, since_s: float) -> None:
        """I27: what was due before that time of the database is at work or done."""
        for row in self.server.duties.rows.values():
            if row.values is not None and row.values.due_s < since_s and row.values.free_s < since_s:
                self._broken("I27", f"the duty {row.id} is due since {row.values.due_s:.1f}, though all is well")
