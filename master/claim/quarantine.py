"""Quarantines what cannot be handled for now, so that it does not block the rest.

Each item is retried alone, with a growing delay. Quarantine is for a row that another session has locked, and for one
that can be neither handled nor refused. An item that fails alone is refused only if it is to blame (`model/blame.py`).

The quarantine is only in memory, and only a hint: a quarantined item stays in its table, another master may take it at
any moment, and that master decides. A new life begins with an empty quarantine, and detects such items again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable
from math import inf
from typing import Generic, TypeVar

from dao.postgres.errors import BadData, LockTaken
from master.claim.batch import AdaptiveBatch
from model.blame import Blame, Verdict
from model.errors import ShoalError
from registry.clock import boottime_s

PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
QUARANTINE_MAX = 1_000
"""More items mean that something else is wrong; the loop then waits as it does for a server."""
TRIED_AT_ONCE = 20
"""How many are retried before the loop handles other work again."""

Id = TypeVar("Id", bound=int)


async def _as_the_verdict_says(_id: int, verdict: Verdict) -> bool:
    return verdict is not Verdict.UNKNOWN


class Quarantine(Generic[Id]):
    """Items by id.

    Args:
        wake: set whenever one of them is due.
        handle: handles one item alone; False if there is no room for it now.
        refuse: ends one that cannot be handled, with the reason.
        waits: called with an item that stays, the reason, and the seconds until its retry.
        kind: items of one kind are handled alike, so that one success shows that the others may succeed.
        long_s: see `Blame`.
        decide: whether an item that failed alone is to blame, given the verdict.
    """

    def __init__(
        self,
        wake: asyncio.Event,
        handle: Callable[[Id], Awaitable[bool]],
        refuse: Callable[[Id, str], Awaitable[None]],
        waits: Callable[[Id, str, float], None],
        *,
        kind: Callable[[Id], Hashable] = lambda _id: None,
        long_s: float = inf,
        decide: Callable[[Id, Verdict], Awaitable[bool]] = _as_the_verdict_says,
    ) -> None:
        self._wake = wake
        self._handle = handle
        self._refuse = refuse
        self._waits = waits
        self._kind = kind
        self._decide = decide
        self._pauses_s: dict[Id, float] = {}
        self._due: dict[Id, None] = {}
        self._reasons: dict[Id, str] = {}
        self._blame: Blame[Id] = Blame(long_s)

    @property
    def ids(self) -> list[Id]:
        """All quarantined items, due or not."""
        return list(self._pauses_s)

    def __contains__(self, id_: Id) -> bool:
        return id_ in self._pauses_s

    def add_failed(self, ids: Collection[Id], error: ShoalError) -> bool:
        """Retry each of these alone, since they failed together.

        False if they must be retried in smaller batches: a large batch may fail because of its size, and with too many
        in quarantine something else is wrong.
        """
        is_small = len(ids) <= AdaptiveBatch.SMALLEST or isinstance(error, LockTaken)
        return bool(ids) and is_small and self._add(ids)

    def add_named(self, ids: Collection[Id]) -> bool:
        """Retry the items that an error named, each alone. False if they are in quarantine already, or too many are."""
        return any(id_ not in self for id_ in ids) and self._add(ids)

    def add_hopeless(self, id_: Id, reason: str) -> bool:
        """Refuse this item, and never handle it again. False if too many are in quarantine."""
        if not self._add([id_]):
            return False
        self._reasons[id_] = reason
        return True

    def others_were_handled(self, kinds: Iterable[Hashable] = (None,)) -> None:
        """Retry at once what failed alone: items of these kinds have just been handled, so the fault may be over."""
        if again := self._blame.handled(kinds):
            self._due |= dict.fromkeys(again)
            self._wake.set()

    async def try_due(self) -> bool:
        """Retry some of the due items one by one, until one waits for a lock in vain: meanwhile other work may have
        come. Returns whether any was due."""
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
                self._blame.drop(id_)
            tried += 1
        return tried > 0

    async def _try(self, id_: Id) -> bool:
        reason = self._reasons.get(id_)
        if reason is None:
            try:
                return await self._handle(id_)
            except BadData as error:
                if not await self._decide(id_, self._blame.failed(id_, boottime_s(), self._kind(id_))):
                    raise
                reason = str(error)
        await self._refuse(id_, reason)
        return True

    def _add(self, ids: Collection[Id]) -> bool:
        new = [id_ for id_ in ids if id_ not in self._pauses_s]
        if len(self._pauses_s) + len(new) > QUARANTINE_MAX:
            return False
        self._pauses_s |= dict.fromkeys(new, 0.0)
        self._due |= dict.fromkeys(new)
        return True

    def _wait(self, id_: Id, error: ShoalError) -> None:
        pause_s = min(PAUSE_MAX_S, 2 * self._pauses_s[id_] or PAUSE_FIRST_S)
        self._pauses_s[id_] = pause_s
        self._due.pop(id_, None)
        asyncio.get_running_loop().call_later(pause_s, self._is_due, id_)
        self._waits(id_, str(error), pause_s)

    def _is_due(self, id_: Id) -> None:
        if id_ in self._pauses_s:  # otherwise it was handled early
            self._due[id_] = None
            self._wake.set()
