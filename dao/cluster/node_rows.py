"""A living node as it is read: its row in `node`, its last beat in `node_beat`, and its drain."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from dao.postgres.rows import Row
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.cluster.slots import Slot
from model.cluster.timing import Silence
from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class Drain:
    """That a node is to take nothing new: asked for how long ago, and by whom."""

    id: int
    age_s: float
    asked_by: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A living node according to the database, with its beat."""

    epoch: Epoch
    kind: NodeKind
    address: str
    state: NodeState
    process: ProcessIdentity
    log_url: str | None
    beat_no: int
    beat_age_s: float
    heartbeat: Heartbeat | None
    name: str = ""
    drain: Drain | None = None
    beaten_s: float = 0.0
    """When its last beat arrived, in seconds since 1970 of the database's clock; 0: it has not beaten."""

    def __str__(self) -> str:
        return f"{self.kind.lower()} {self.shown} (epoch {self.epoch})"

    @property
    def shown(self) -> str:
        """Its name, or its address if it has none."""
        return self.name or self.address

    @property
    def is_leaving(self) -> bool:
        """Whether its row has the state LEAVING."""
        return self.state is NodeState.LEAVING

    @property
    def is_drained(self) -> bool:
        """Whether it is to be drained, and has confirmed that it begins nothing new."""
        return self.drain is not None and self.heartbeat is not None and self.heartbeat.drained == self.drain.id

    @property
    def slot(self) -> Slot | None:
        """The slot of a master, from its last beat."""
        beat = self.heartbeat
        if beat is None or beat.slot_current is None or beat.slot_total is None:
            return None
        return Slot(beat.slot_current, beat.slot_total)

    @property
    def silence(self) -> Silence | None:
        """How long it may be silent, from its last beat."""
        return None if self.heartbeat is None else self.heartbeat.silence


def node_row(row: Row) -> NodeRow:
    """A row of the statements that read living nodes (`dao/cluster/nodes.py`)."""
    values = row._asdict()
    try:
        heartbeat = Heartbeat.model_validate_json(values["heartbeat"])
    except ValidationError:
        heartbeat = None  # it has not beaten yet
    return NodeRow(
        Epoch(values["id"]),
        NodeKind(values["kind"]),
        values["address"],
        NodeState(values["state"]),
        ProcessIdentity(values["process_boot"], values["process_id"], values["process_started"]),
        values["log_url"],
        values["beat_no"],
        values["beat_age_s"],
        heartbeat,
        values["name"],
        None
        if values["drain_id"] is None
        else Drain(values["drain_id"], values["drain_age_s"], values["drain_asked_by"]),
        values["beaten_s"],
    )
