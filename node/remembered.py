"""A registry's record of a master's last confirmed beat, and its place in the database's history.

A restore while all nodes are stopped leaves no node that could notice it. The next one that starts compares.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from uuid import UUID

from dao.cluster import went_back
from dao.cluster.nodes import Me
from dao.cluster.went_back import Known, Place
from dao.postgres.pool import AsyncConnection
from model.cluster.nodes import NodeKind
from model.errors import WentBack
from node.life import Life
from registry.protocol import Registry


@dataclass(frozen=True, slots=True)
class Remembered:
    """A master's life, the place in the database's history at which it began, and its last confirmed beat."""

    me: Me
    began: Place
    beat_no: int
    beaten_s: float
    """The time of that beat, in seconds since 1970 of the database's clock."""

    @classmethod
    def read(cls, text: str | None) -> Remembered | None:
        """Parse what `text_of` wrote; None for None."""
        try:
            found = json.loads(text or "")
            me = Me(**{**found["me"], "incarnation": UUID(found["me"]["incarnation"]), "kind": NodeKind.MASTER})
            return cls(me, Place(**found["began"]), int(found["beat_no"]), float(found["beaten_s"]))
        except (ValueError, TypeError, KeyError):
            return None

    async def why_back(self, connection: AsyncConnection, now: Me) -> str | None:
        """Why the database is an earlier state of the one that this master wrote to, before the life of `now` began."""
        if not (place := await went_back.place(connection)).may_precede(self.began):
            return None
        if self.me.epoch >= now.epoch:
            return f"the registry remembers {self.me}, and {now} was begun after it"
        silent_s = place.at_s - self.beaten_s
        return await went_back.why_back(connection, self.me, self.began, self.beat_no, silent_s, Known())


def text_of(life: Life) -> str | None:
    """The registry's record of a master's last beat; None if its place in history is unknown."""
    own = next((node for node in life.living if node.epoch == life.me.epoch), None)
    if life.began is None or own is None:
        return None
    return json.dumps(asdict(Remembered(life.me, life.began, life.beats_settled, own.beaten_s)), default=str)


async def refuse_if_back(life: Life, registry: Registry) -> None:
    """Stop all nodes and raise `WentBack` if the registry remembers a later state of the database.

    Raises `Unavailable`.
    """
    remembered = Remembered.read(await registry.remembered())
    if remembered is None:
        return
    why = await life.stop_all_if(partial(remembered.why_back, now=life.me), Known())
    if why is not None:
        raise WentBack(f"the database went back to an earlier state: {why}; shoal db restored")
