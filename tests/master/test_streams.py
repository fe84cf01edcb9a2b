"""Which streams a master moves, by what it reads. Pure."""

from __future__ import annotations

from dao.cluster.node_rows import NodeRow
from dao.streams.streams import FirstInLine, LivingStream
from master.streams import contested, moves_of
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.ids import Epoch, TaskInstanceId

PROCESS = ProcessIdentity("boot", 1, 1)


def _workers(*epochs: int, capacity: int = 32) -> list[NodeRow]:
    found = []
    for epoch in epochs:
        beat = Heartbeat(epoch=Epoch(epoch), kind=NodeKind.WORKER, address="a", capacity=capacity, groups=("default",))
        found.append(
            NodeRow(Epoch(epoch), NodeKind.WORKER, "a", NodeState.ALIVE, PROCESS, None, 1, 0, beat, f"w{epoch}")
        )
    return found


def _stream(
    id_: int,
    worker: int | None,
    *pools: str,
    moves: bool = False,
    begins: bool = False,
    waits_for_pool: bool = False,
) -> LivingStream:
    epoch = None if worker is None else Epoch(worker)
    return LivingStream(
        TaskInstanceId(id_), "default", epoch, moves, begins, pools=pools, waits_for_pool=waits_for_pool
    )


ON_ONE = [_stream(id_, 1) for id_ in range(10)]


def test_the_youngest_of_the_worker_with_most_move_a_few_at_a_time() -> None:
    moves = moves_of("default", ON_ONE, _workers(1, 2), 2)
    assert moves == dict.fromkeys((8, 9), "it moves: w1 has more streams of group default than others")


def test_none_moves_while_others_are_on_their_way() -> None:
    for on_the_way in (_stream(10, None), _stream(10, 2, begins=True), _stream(10, 1, moves=True)):
        assert len(moves_of("default", [*ON_ONE, on_the_way], _workers(1, 2), 2)) == 1
        assert not moves_of("default", [*ON_ONE, on_the_way], _workers(1, 2), 1)


def test_none_moves_where_it_is_even_or_no_other_has_a_place() -> None:
    even = [_stream(1, 1), _stream(2, 1), _stream(3, 2)]
    assert not moves_of("default", even, _workers(1, 2), 2)
    assert not moves_of("default", ON_ONE, _workers(1), 2)
    assert not moves_of("default", ON_ONE, [*_workers(1), *_workers(2, capacity=0)], 2)


def test_streams_that_wait_for_a_pool_hold_up_no_move() -> None:
    waiting = [_stream(id_, None, "a", waits_for_pool=True) for id_ in range(10, 20)]
    assert len(moves_of("default", [*ON_ONE, *waiting], _workers(1, 2), 2)) == 2
    soon = [_stream(id_, None, "a") for id_ in range(10, 20)]
    assert not moves_of("default", [*ON_ONE, *soon], _workers(1, 2), 2)


def test_those_that_need_no_resources_move_first() -> None:
    leased = [_stream(id_, 1, "a") for id_ in range(10, 20)]
    assert list(moves_of("default", [*leased, _stream(1, 1), _stream(2, 1)], _workers(1, 2), 2)) == [2, 1]
    assert list(moves_of("default", [*leased, _stream(1, 1)], _workers(1, 2), 2)) == [1, 19]


def test_none_moves_that_would_lose_its_resources_to_others() -> None:
    leased = [_stream(id_, 1, "a", "b") for id_ in range(10)]
    workers = _workers(1, 2)
    streams, task = FirstInLine("a", "default", is_stream=True), FirstInLine("b", "default", is_stream=False)
    assert contested("default", {streams}, workers) == set()
    assert contested("default", {streams, task}, workers) == {"b"}
    assert contested("gpu", {streams, task}, workers) == {"a", "b"}
    assert contested("default", {FirstInLine("a", "nobody's", is_stream=True)}, workers) == set()
    assert len(moves_of("default", leased, workers, 2, {"c"})) == 2
    assert not moves_of("default", leased, workers, 2, {"b"})
    assert list(moves_of("default", [*leased, _stream(11, 1)], workers, 2, {"b"})) == [11]
