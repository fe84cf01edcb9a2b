"""Masters and workers as the others see them: epoch, address, heartbeat.

A node is one life of one process. Its epoch is the id of its row in `node`; a restart makes a new one. Where the
process lives on its machine (`ProcessIdentity`) lets a neighbour on the same machine prove that it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from model.ids import Epoch
from model.timing import Silence, Timing


class NodeKind(StrEnum):
    """What a process does in the cluster."""

    MASTER = "MASTER"
    WORKER = "WORKER"

    def silence(self, timing: Timing) -> Silence:
        """How long a node of this kind with these times may be silent."""
        return Silence.of_master(timing) if self is NodeKind.MASTER else Silence.of_worker(timing)


class WhenFenced(StrEnum):
    """What a process does when others took its node for dead."""

    REJOIN = "rejoin"
    EXIT = "exit"


class NodeState(StrEnum):
    """The life of a node: ALIVE, perhaps LEAVING, and then LEFT by itself or FENCED by another."""

    ALIVE = "ALIVE"
    LEAVING = "LEAVING"
    LEFT = "LEFT"
    FENCED = "FENCED"


class NodeStatus(StrEnum):
    """Whether a living node takes more work. Being busy never means being dead."""

    NORMAL = "NORMAL"
    BUSY = "BUSY"


@dataclass(frozen=True, order=True)
class Slot:
    """A master's share of the commands: those with `(id / step) % total == current`.

    One value, so that nobody reads the old `current` beside the new `total` in the middle of a rebalance.
    """

    current: int
    total: int

    def owns(self, command_id: int, step: int = 1) -> bool:
        """Whether a command with this id (> 0) belongs to this slot; `step` is the stride of the ids."""
        return (command_id // step) % self.total == self.current

    def __str__(self) -> str:
        return f"{self.current}/{self.total}"


class Heartbeat(BaseModel):
    """What a node says of itself, in the registry and in `node_beat`. Holds nothing secret.

    `name` is who it is, `address` where it is reached. `running` counts workflow instances for a master, tasks for a
    worker; `capacity` is the most it takes. `because` says why it is BUSY. `load` is the machine's one-minute load
    divided by its cores. `slot` is as the master itself sees it; others compare it with the truth. `view` is a short
    hash of the members it counted.
    `silence` is how long it may be silent before it counts as dead; None for one that does not say.
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

    @property
    def slot(self) -> Slot | None:
        """The slot that this master believes to have."""
        if self.slot_current is None or self.slot_total is None:
            return None
        return Slot(self.slot_current, self.slot_total)


@dataclass(frozen=True)
class ProcessIdentity:
    """A process, told apart from any other that ever had its pid.

    `boot` is the kernel's boot id and the inode of the pid namespace: only within one of both do pids mean the same. At
    its end stands the number of the process's user.
    `started` is the start time in clock ticks since boot (field 22 of /proc/PID/stat).
    """

    boot: str
    pid: int
    started: int
