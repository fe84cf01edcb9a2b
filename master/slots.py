"""Which share of the commands is this master's.

Each master computes it alone, from the same list; nobody hands slots out. Two masters may disagree for a moment: that
costs a lost race for rows, never a second start, because the claim (`dao/commands.py`) decides in the database.
Source: Apache DolphinScheduler's slots; ordered by epoch, which is creation order without ties and without clocks.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from model.ids import Epoch
from model.nodes import Heartbeat, NodeStatus, Slot


@dataclass(frozen=True)
class SlotView:
    """The masters that share the commands, first slot first, and a short hash of them to compare views by."""

    masters: tuple[Epoch, ...]

    def slot_of(self, me: Epoch) -> Slot | None:
        """The place of `me`, or None if it has none and so claims nothing by residue."""
        return Slot(self.masters.index(me), len(self.masters)) if me in self.masters else None

    @property
    def hash(self) -> str:
        """Equal for equal views."""
        return blake2b(",".join(map(str, self.masters)).encode(), digest_size=4).hexdigest()


def slot_view(members: Iterable[Heartbeat], alive: Collection[Epoch] | None = None) -> SlotView:
    """The view that everybody with the same list comes to.

    Args:
        members: heartbeats of the masters that the registry shows.
        alive: epochs that the database holds ALIVE; an entry of any other (a phantom, a former life) gives no slot.
            None: not asked.

    Of two entries with one name only the higher epoch counts. BUSY masters are left out, so that their share goes
    to others; if all are BUSY, all stay in: somebody must take what comes.
    """
    latest: dict[str, Heartbeat] = {}
    for member in members:
        if alive is not None and member.epoch not in alive:
            continue
        who = member.name or member.address
        former = latest.get(who)
        if former is None or former.epoch < member.epoch:
            latest[who] = member
    masters = list(latest.values())
    ready = [master for master in masters if master.status is not NodeStatus.BUSY] or masters
    queue = [master.epoch for master in ready]
    heapq.heapify(queue)
    return SlotView(tuple(heapq.heappop(queue) for _ in range(len(queue))))
