"""Which share of the commands belongs to this master.

Each master computes it alone, from the same list; nobody assigns slots. Two masters may disagree for a moment. That
costs a lost race for rows, never a second start, because the claim (`dao/commands/commands.py`) decides in the
database. The idea is from Apache DolphinScheduler; here slots are ordered by epoch, which is creation order without
ties and without clocks.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from model.cluster.nodes import Heartbeat, NodeStatus
from model.cluster.slots import Slot
from model.ids import Epoch


@dataclass(frozen=True)
class SlotView:
    """The masters that share the commands, first slot first, and a short hash to compare views."""

    masters: tuple[Epoch, ...]

    def slot_of(self, me: Epoch) -> Slot | None:
        """The slot of `me`, or None if it has none and so claims nothing by residue."""
        return Slot(self.masters.index(me), len(self.masters)) if me in self.masters else None

    @property
    def hash(self) -> str:
        """Equal for equal views."""
        return blake2b(",".join(map(str, self.masters)).encode(), digest_size=4).hexdigest()


def slot_view(members: Iterable[Heartbeat], alive: Collection[Epoch] | None = None) -> SlotView:
    """The view that every master with the same list computes.

    Args:
        members: heartbeats of the masters in the registry.
        alive: epochs that the database holds ALIVE; other epochs (phantoms, former lives) get no slot. None: not
            checked.

    Of two entries with one name only the higher epoch counts. BUSY masters are left out, so that others get their
    share; if all are BUSY, all are included, since somebody must take new commands. Drained masters are always left
    out.
    """
    latest: dict[str, Heartbeat] = {}
    for member in members:
        if alive is not None and member.epoch not in alive:
            continue
        who = member.name or member.address
        former = latest.get(who)
        if former is None or former.epoch < member.epoch:
            latest[who] = member
    masters = [master for master in latest.values() if not master.drained]
    ready = [master for master in masters if master.status is not NodeStatus.BUSY] or masters
    queue = [master.epoch for master in ready]
    heapq.heapify(queue)
    return SlotView(tuple(heapq.heappop(queue) for _ in range(len(queue))))
