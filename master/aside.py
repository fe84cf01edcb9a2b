"""What cannot be handled for now is set aside, so that it holds up nothing else: each is tried again alone, ever later.

The way of a row whose lock a stranger holds, and of one that can be neither handled nor refused. Only in memory, and
only a hint: what is set aside stays in its table, another master may take it at any moment, and whoever does decides
there. A new life begins with nothing aside, and finds out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Generic, TypeVar

from dao.errors import BadData, LockTaken
from master.batch import AdaptiveBatch
from model.errors import ShoalError

PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
ASIDE_MAX = 1_000
"""More than that means something else is wrong; the loop then waits as it does for a server."""
TRIED_AT_ONCE = 20
"""So many are tried before the loop looks after all others again."""

Id = TypeVar("Id", bound=int)


class SetAside(Generic[Id]):
    """Things by id.

    Args:
        wake: set whenever one of them is due.
        handle: handles one with no other beside it; False if there is no room for it now.
        refuse: ends one that cannot be handled, with the reason.
        waits: told of one for which neither could be done, why, and after how many seconds it is tried again.
    """

    def __init__(
        self,
        wake: asyncio.Event,
        handle: Callable[[Id], Awaitable[bool]],
        refuse: Callable[[Id, str], Awaitable[None]],
        waits: Callable[[Id, str, float], None],
    ) -> None:
        self._wake = wake
        self._handle = handle
        self._refuse = refuse
        self._waits = waits
        self._pauses_s: dict[Id, float] = {}
        self._due: dict[Id, None] = {}
        self._reasons: dict[Id, str] = {}

    @property
    def ids(self) -> list[Id]:
        """All that is set aside, due or not."""
        return list(self._pauses_s)

    def __contains__(self, id_: Id) -> bool:
        return id_ in self._pauses_s

    def add_failed(self, ids: Collection[Id], error: ShoalError) -> bool:
        """Have each of these tried alone, since together they failed.

        False if they are to be tried again in smaller parts: large parts of them may fail for their size, and with too
        many aside something else is wrong.
        """
        is_small = len(ids) <= AdaptiveBatch.SMALLEST or isinstance(error, LockTaken)
        return bool(ids) and is_small and self._add(ids)

    def add_named(self, ids: Collection[Id]) -> bool:
        """Have these tried alone, which an error named. False if they are aside already, or too many are."""
        return any(id_ not in self for id_ in ids) and self._add(ids)

    def add_hopeless(self, id_: Id, reason: str) -> bool:
        """Have this one refused, and not handled any more. False if too many are aside."""
        if not self._add([id_]):
            return False
        self._reasons[id_] = reason
        return True

    async def try_due(self) -> bool:
        """Try some of what is due one by one, until one waited for a lock in vain: meanwhile others came. Whether any
        was."""
        tried = 0
        for id_ in list(self._due):
            if tried == TRIED_AT_ONCE:
                break
            try:
                if not await self._try(id_):
                    continue  # there is no room for this one; others may need none
            except (BadData, LockTaken) as error:
                self._wait(id_, error)
                if isinstance(error, LockTaken):
                    return True
            else:
                self._pauses_s.pop(id_)
                self._due.pop(id_)
                self._reasons.pop(id_, None)
            tried += 1
        return tried > 0

    async def _try(self, id_: Id) -> bool:
        reason = self._reasons.get(id_)
        if reason is None:
            try:
                return await self._handle(id_)
            except BadData as error:
                reason = str(error)
        await self._refuse(id_, reason)
        return True

    def _add(self, ids: Collection[Id]) -> bool:
        new = [id_ for id_ in ids if id_ not in self._pauses_s]
        if len(self._pauses_s) + len(new) > ASIDE_MAX:
            return False
        self._pauses_s |= dict.fromkeys(new, 0.0)
        self._due |= dict.fromkeys(new)
        return True

    def _wait(self, id_: Id, error: ShoalError) -> None:
        pause_s = min(PAUSE_MAX_S, 2 * self._pauses_s[id_] or PAUSE_FIRST_S)
        self._pauses_s[id_] = pause_s
        del self._due[id_]
        asyncio.get_running_loop().call_later(pause_s, self._is_due, id_)
        self._waits(id_, str(error), pause_s)

    def _is_due(self, id_: Id) -> None:
        self._due[id_] = None
        self._wake.set()
