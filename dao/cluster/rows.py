"""Masters and workers, and what became of them, as answers show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from model.cluster.nodes import NodeKind
from model.ids import Epoch


@dataclass(frozen=True)
class FencedNode:
    """A node that was fenced."""

    epoch: Epoch
    kind: NodeKind
    address: str
    started_at: datetime
    fenced_at: datetime
    why: str


class SlotReason(StrEnum):
    """Why a master got or lost its slot. LOST: it is no longer in the registry; what became of it is not known
    yet."""

    JOINED = "JOINED"
    BACK = "BACK"
    LEFT = "LEFT"
    FENCED = "FENCED"
    BUSY = "BUSY"
    LOST = "LOST"


@dataclass(frozen=True)
class SlotMember:
    """A master that has a slot."""

    epoch: Epoch
    name: str
    slot: int


@dataclass(frozen=True)
class MemberChange:
    """A master that got or lost its slot."""

    epoch: Epoch
    name: str
    reason: SlotReason


@dataclass(frozen=True)
class SlotChange:
    """Who has slots from `at` on, first slot first; `changes` are against the change before. Numbers have no gaps."""

    number: int
    at: datetime
    members: Sequence[SlotMember]
    changes: Sequence[MemberChange]


@dataclass(frozen=True)
class TakenBy:
    """What one master got of another. `tasks` are attempts that had not ended when their run was failed over."""

    epoch: Epoch
    name: str
    runs: int
    tasks: int
    last_at: datetime
