"""Masters and workers as other nodes see them: epoch, address, heartbeat.

A node is one life of one process. Its epoch is the id of its row in `node`; a restart makes a new one. The process's
identity on its machine (`ProcessIdentity`) lets another node on the same machine prove that it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from model.cluster.slots import Slot
from model.cluster.timing import Silence, Timing
from model.ids import Epoch


class NodeKind(StrEnum):
    """The role of a process in the cluster."""

    MASTER = "MASTER"
    WORKER = "WORKER"

    def silence(self, timing: Timing) -> Silence:
        """How long a node of this kind with this timing may be silent."""
        return Silence.of_master(timing) if self is NodeKind.MASTER else Silence.of_worker(timing)


class WhenFenced(StrEnum):
    """What a process does once other nodes declared it dead."""

    REJOIN = "rejoin"
    EXIT = "exit"


class NodeState(StrEnum):
    """The life of a node: ALIVE, perhaps LEAVING, then LEFT by its own choice or FENCED by another."""

    ALIVE = "ALIVE"
    LEAVING = "LEAVING"
    LEFT = "LEFT"
    FENCED = "FENCED"


class NodeStatus(StrEnum):
    """Whether a living node takes more work. A busy node is never considered dead."""

    NORMAL = "NORMAL"
    BUSY = "BUSY"


class Counted(BaseModel):
    """A node's counters since its life began; two beats give its rates.

    A master counts the `commands` that it took and the `ends` of attempts that it handled; `ends_s` sums the seconds
    from each end until its successors were queued. A worker counts the attempts that it `started` and that `ended`;
    `waits_s` sums the seconds that `waits` of them waited in the queue.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    commands: int = 0
    ends: int = 0
    ends_s: float = 0.0
    started: int = 0
    ended: int = 0
    waits: int = 0
    waits_s: float = 0.0


class Heartbeat(BaseModel):
    """What a node reports about itself, in the registry and in `node_beat`. Contains nothing secret.

    `name` identifies it, `address` is where it can be reached. `running` counts workflow instances for a master, tasks
    for a worker; `capacity` is their maximum. `because` is why it is BUSY. `load` is the machine's one-minute load
    divided by its cores. `slot` is the master's own view; others compare it with the actual one. `view` is a short hash
    of the members it counted.
    `silence` is how long it may be silent before it counts as dead; None if it does not report one.
    `drained` is the id of the drain for which it begins nothing new, 0 = none; None: it cannot be drained, since
    its version is too old. One that is to be drained has the status BUSY too, which such a version knows.
    `counted` is None if its version does not count. `runs_as_root`: tasks without a tenant run as root.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    epoch: Epoch
    kind: NodeKind
    address: str
    name: str = ""
    status: NodeStatus = NodeStatus.NORMAL
    because: str = ""
    running: int = 0
    capacity: int = 0
    load: float = 0.0
    slot_current: int | None = None
    slot_total: int | None = None
    view: str = ""
    groups: tuple[str, ...] = ()
    silence: Silence | None = None
    drained: int | None = None
    counted: Counted | None = None
    runs_as_root: bool = False

    @property
    def is_overloaded(self) -> bool:
        return self.status is NodeStatus.BUSY and (bool(self.because) or self.drained is None)

    @property
    def slot(self) -> Slot | None:
        """The slot that this master believes it has."""
        if self.slot_current is None or self.slot_total is None:
            return None
        return Slot(self.slot_current, self.slot_total)


def served_groups(workers: Iterable[Heartbeat | None]) -> set[str]:
    """The worker groups that can begin more now, by the last beats of living workers (None: no beat yet)."""
    return {
        group
        for beat in workers
        if beat is not None and beat.status is NodeStatus.NORMAL and beat.running < beat.capacity
        for group in beat.groups
    }


@dataclass(frozen=True)
class ProcessIdentity:
    """A process, distinguishable from any other that ever had its pid.

    `boot` is the kernel's boot id and the inode of the pid namespace, since pids are comparable only within both. It
    ends with the uid of the process's user.
    `started` is the start time in clock ticks since boot (field 22 of /proc/PID/stat).
    """

    boot: str
    pid: int
    started: int
