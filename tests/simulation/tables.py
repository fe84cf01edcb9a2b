"""Rows in memory, with the locks of PostgreSQL at READ COMMITTED.

A statement is a plain function of a transaction. It runs at once and alone, or finds a lock in its way (`Blocked`) and
runs again from its beginning when that is given back: so it sees what was committed meanwhile, as PostgreSQL sees the
newer version of a row for which it waited. What a transaction wrote is seen by itself only, until it commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dao.postgres.errors import BadData
from model.cluster.nodes import NodeState
from model.runs.states import TASK_TRANSITIONS, TaskState, WorkflowState, is_legal

if TYPE_CHECKING:
    from tests.simulation.server import Server


class Blocked(Exception):
    """A lock of another transaction is in the way."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row


class Values:
    """One version of a row: never changed, only followed by another."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, column: str) -> Any:
            """Any column; the place that makes a row defines its columns."""

    def but(self, changes: dict[str, Any]) -> Values:
        new = Values.__new__(Values)
        new.__dict__.update(self.__dict__)
        new.__dict__.update(changes)
        return new


class Row:
    """`values` is the committed version, None when there is none (not yet, or no longer)."""

    __slots__ = ("id", "owner", "sharers", "table", "values", "waiters")

    def __init__(self, table: Table, id_: Any) -> None:
        self.table = table
        self.id = id_
        self.values: Values | None = None
        self.owner: Transaction | None = None
        self.sharers: set[Transaction] = set()
        self.waiters: list[Callable[[], None]] = []


Change = tuple[Row, Values | None, Values | None]
"""A row, what it was before a commit and what it is after it; None: it was not there."""


class Table:
    """Rows by id; `key` names the columns of an index beside it, `unfinished` keeps what is not final at hand."""

    def __init__(self, name: str, key: Callable[[Values], Any] | None = None) -> None:
        self.name = name
        self.rows: dict[Any, Row] = {}
        self.unfinished: dict[Any, Row] = {}
        self.by_key: dict[Any, list[Row]] = {}
        self.key = key
        self.last_id = 0

    def next_id(self) -> int:
        """Ids have gaps: one that was rolled back does not come back."""
        self.last_id += 1
        return self.last_id

    def forget(self, row: Row) -> None:
        if self.rows.get(row.id) is row:
            del self.rows[row.id]
            self.unfinished.pop(row.id, None)


def _is_legal(table: str, before: Values, after: Values) -> bool:
    """What the triggers allow."""
    match table:
        case "workflow_instance":
            return is_legal(before.state, after.state, before.ending_as, after.ending_as)
        case "task_instance":
            return before.state is after.state or after.state in TASK_TRANSITIONS[before.state]
        case _:
            return True


FINAL: dict[str, set[Any]] = {
    "node": set(NodeState) - {NodeState.ALIVE, NodeState.LEAVING},
    "task_instance": {state for state in TaskState if state.is_final},
    "workflow_instance": {state for state in WorkflowState if state.is_final},
}


class Transaction:
    """The server's side of one: what it locked and wrote. `epoch` is that of the node whose licence it holds."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.began_s = server.now_s
        self.writes: dict[Row, Values | None] = {}
        self.locked: list[Row] = []
        self.notes: list[tuple[str, str]] = []
        self.epoch: int | None = None
        self._before_waiting: dict[Row, Values | None] = {}

    def see(self, row: Row) -> Values | None:
        """The version of a row that this transaction sees."""
        return self.writes.get(row, row.values)

    def see_as_before(self, row: Row) -> Values | None:
        """The version that the statement saw before it waited for a lock of another row; nobody changed it since."""
        return self._before_waiting.setdefault(row, self.see(row))

    def get(self, table: Table, id_: Any) -> Values | None:
        row = table.rows.get(id_)
        return None if row is None else self.see(row)

    def scan(self, rows: dict[Any, Row]) -> Iterator[tuple[Row, Values]]:
        for row in list(rows.values()):
            values = self.see(row)
            if values is not None:
                yield row, values

    def of_key(self, table: Table, key: Any) -> Iterator[tuple[Row, Values]]:
        for row in list(table.by_key.get(key, ())):
            values = self.see(row)
            if values is not None:
                yield row, values

    # ------------------------------------------------------------------------------------------------- locks

    def is_free(self, row: Row) -> bool:
        return row.owner in (None, self) and not (row.sharers - {self} if row.sharers else ())

    def try_lock(self, row: Row) -> bool:
        """FOR UPDATE SKIP LOCKED."""
        if not self.is_free(row):
            return False
        if row.owner is None:
            row.owner = self
            self.locked.append(row)
        return True

    def lock(self, row: Row) -> None:
        """FOR UPDATE. Raises `Blocked`."""
        if not self.try_lock(row):
            raise Blocked(row)

    def share(self, row: Row) -> None:
        """FOR SHARE. Raises `Blocked`."""
        if row.owner not in (None, self):
            raise Blocked(row)
        if self not in row.sharers:
            row.sharers.add(self)
            self.locked.append(row)

    # ------------------------------------------------------------------------------------------------ writes

    def insert(self, table: Table, id_: Any, values: Values) -> Row:
        """Raises `Blocked` while another one inserts the same key, `BadData` when it is there."""
        existing = table.rows.get(id_)
        if existing is not None:
            self.refuse_if_there(existing, f"{table.name}_pkey")
        row = Row(table, id_)
        row.owner = self
        self.locked.append(row)
        table.rows[id_] = row
        if table.name in FINAL:
            table.unfinished[id_] = row
        if table.key is not None:
            table.by_key.setdefault(table.key(values), []).append(row)
        self.writes[row] = values
        return row

    def refuse_if_there(self, row: Row, constraint: str) -> None:
        """Refuse a second row of one key, as a unique index does."""
        if self.see(row) is not None:
            raise BadData(f'duplicate key value violates unique constraint "{constraint}" (23505)')
        if row.owner not in (None, self):
            raise Blocked(row)

    def update(self, row: Row, **changes: Any) -> Values:
        """Raises `Blocked`; `BadData` for what the triggers of the schema refuse."""
        self.lock(row)
        before = self.see(row)
        assert before is not None
        state = changes.get("state")
        if state is not None and not _is_legal(row.table.name, before, before.but(changes)):
            raise BadData(f"{row.table.name} {row.id} cannot go from {before.state} to {state} (23001)")
        after = before.but(changes)
        if row.table.name in FINAL:
            row.table.unfinished[row.id] = row  # it may leave a final state, and this transaction sees it at once
        self.writes[row] = after
        return after

    def delete(self, row: Row) -> None:
        """Raises `Blocked`."""
        self.lock(row)
        self.writes[row] = None

    # ------------------------------------------------------------------------------------------------- ends

    def perform(self, statement: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A statement as a whole. Raises `Blocked`, having written nothing; the locks that it got stay."""
        before, notes = dict(self.writes), len(self.notes)
        try:
            result = statement(self, *args, **kwargs)
            self._before_waiting.clear()
            return result
        except Blocked:
            for row in self.writes.keys() - before.keys():
                self._take_back(row)
            self.writes = before
            del self.notes[notes:]
            raise

    def install(self) -> list[tuple[Row, Values | None, Values | None]]:
        """Everybody sees it from now on. What changed: row, before, after."""
        changes = []
        for row, after in self.writes.items():
            before, row.values = row.values, after
            changes.append((row, before, after))
            if after is None:
                row.table.forget(row)
            elif row.table.name in FINAL:
                if after.state in FINAL[row.table.name]:
                    row.table.unfinished.pop(row.id, None)
                else:
                    row.table.unfinished[row.id] = row
        self._release()
        return changes

    def roll_back(self) -> None:
        for row in self.writes:
            self._take_back(row)
        self._release()

    @staticmethod
    def _take_back(row: Row) -> None:
        if row.values is not None and row.table.name in FINAL and row.values.state in FINAL[row.table.name]:
            row.table.unfinished.pop(row.id, None)
        if row.values is None:
            row.table.forget(row)
            for rows in row.table.by_key.values():
                if row in rows:
                    rows.remove(row)

    def _release(self) -> None:
        self.writes = {}
        self.notes = []
        locked, self.locked = self.locked, []
        for row in locked:
            if row.owner is self:
                row.owner = None
            row.sharers.discard(self)
            if row.waiters:
                waiters, row.waiters = row.waiters, []
                for wake in waiters:
                    wake()
