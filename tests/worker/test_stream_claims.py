"""Which streams a worker takes, by what it reads of the others."""

from __future__ import annotations

from dataclasses import replace

from dao.cluster.node_rows import Drain, NodeRow
from dao.streams.stream_claims import GroupStreams
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, NodeStatus, ProcessIdentity
from model.ids import Epoch
from worker.claims.streams import Share, share_of

PROCESS = ProcessIdentity("boot", 1, 1)


def _worker(epoch: int, running: int = 0, capacity: int = 32, groups: tuple[str, ...] = ("default",)) -> NodeRow:
    beat = Heartbeat(
        epoch=Epoch(epoch), kind=NodeKind.WORKER, address="a", running=running, capacity=capacity, groups=groups
    )
    return NodeRow(Epoch(epoch), NodeKind.WORKER, "a", NodeState.ALIVE, PROCESS, None, 1, 0.1, beat, f"w{epoch}")


def _share(waiting: int, *living: NodeRow, free: int = 32, overdue: bool = False, **running: int) -> Share:
    """The share of worker 1; `w2=5`: worker 2 runs five."""
    found = {Epoch(int(name[1:])): count for name, count in running.items()}
    return share_of(Epoch(1), "default", GroupStreams(waiting, overdue, found), living, free)


def test_a_share_is_even_over_the_workers_that_take_streams() -> None:
    me, other = _worker(1), _worker(2)
    assert _share(10, me, other) == Share(5, 0)
    assert _share(10, me, other, w2=4) == Share(7, 0)
    for absent in (
        replace(other, drain=Drain(1, 0.0, "somebody")),
        replace(other, state=NodeState.LEAVING),
        replace(other, heartbeat=None),
        _worker(2, groups=("gpu",)),
        replace(other, kind=NodeKind.MASTER),
    ):
        assert _share(10, me, absent) == Share(10, 0)
    assert other.heartbeat is not None
    busy = other.heartbeat.model_copy(update={"status": NodeStatus.BUSY})
    assert _share(10, me, replace(other, heartbeat=busy)) == Share(10, 0)


def test_what_others_have_no_places_for_is_taken_beyond_the_share() -> None:
    assert _share(10, _worker(1), _worker(2, running=30)) == Share(8, 0)


def test_a_full_worker_keeps_the_places_of_its_share_free_as_they_become_so() -> None:
    assert _share(10, _worker(1), _worker(2), free=0) == Share(0, 5)
    assert _share(10, _worker(1), _worker(2), free=3) == Share(3, 2)


def test_a_worker_on_which_they_fail_takes_none_as_long_as_others_have_places() -> None:
    me, other, full = _worker(1), _worker(2), _worker(2, running=32)

    def share(*living: NodeRow, troubled: int, overdue: bool = False) -> Share:
        streams = GroupStreams(4, overdue, {Epoch(2): 20}, {Epoch(troubled)})
        return share_of(Epoch(1), "default", streams, living, 32)

    assert share(me, other, troubled=1) == Share(0, 0)
    assert share(me, other, troubled=2) == Share(4, 0)
    assert share(me, full, troubled=1) == Share(4, 0)
    assert share(me, other, troubled=1, overdue=True) == Share(4, 0)


def test_what_another_does_not_take_for_long_is_taken_in_the_end() -> None:
    workers = (_worker(1), _worker(2))
    assert _share(4, *workers, w1=8) == Share(0, 0)
    assert _share(4, *workers, w1=8, overdue=True) == Share(2, 0)
    assert _share(1, *workers, w1=8, overdue=True) == Share(1, 0)
    assert _share(4, *workers, w1=8, overdue=True, free=0) == Share(0, 0)
