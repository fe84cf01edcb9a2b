"""The log store as one life of a worker uses it, or nothing without a store."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from dao.tasks.task_claims import ClaimedTask
from logstore.calls import StoreCalls
from model.ids import TaskInstanceId
from node.life import Life
from node.store_access import StoreAccess
from worker.logs.copy_loop import LogCopies
from worker.logs.store_deletion import walk_the_store
from worker.results.recorded_ends import log_name
from worker.results.value_files import ValueFiles


class Copying:
    """The copies of logs of one life.

    Args:
        root: the folder of the worker's logs.
        worker: its name.
        calls: of the store; None: there is none.
    """

    def __init__(self, root: Path, life: Life, worker: str, calls: StoreCalls | None) -> None:
        self._life = life
        self._with_log: set[TaskInstanceId] = set()
        self._calls = calls
        self._store = StoreAccess(calls, life) if calls is not None else None
        self._copies = LogCopies(root, life, worker, self._store) if self._store is not None else None

    def has_log(self, id_: TaskInstanceId) -> None:
        """Record that an ended attempt has a log; attempts without one cost nothing here."""
        if self._copies is not None:
            self._with_log.add(id_)

    def offer(self, task: ClaimedTask) -> None:
        """Offer the log of an attempt whose end is in the database."""
        if self._copies is not None and task.id in self._with_log:
            self._with_log.discard(task.id)
            self._copies.offer(log_name(task))

    def values(self, bytes_max: int) -> ValueFiles:
        """The large values of its attempts, in the same store."""
        return ValueFiles(self._calls, None if self._store is None else self._store.verify, bytes_max)

    @property
    def parts(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """The coroutines that run as long as the life."""
        if self._copies is None or self._store is None:
            return []
        return [self._copies.run, partial(walk_the_store, self._store, self._life)]

    async def finish(self) -> None:
        if self._copies is not None:
            await self._copies.finish()
