"""`model/pools/turns.py`: whose turn it is, who reserves, and that nobody is overtaken forever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from model.choices import Priority
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId
from model.pools.turns import PoolRoom, Spread, Turns, Waiter, turns
from model.pools.variables import resource_variable, resource_variables
from model.streams.spread import Deal, WorkerLoad


def waiter(id_: int, group: str = "g", priority: Priority = Priority.MEDIUM, **needs: int) -> Waiter:
    return Waiter(priority, WorkflowInstanceId(id_), Priority.MEDIUM, TaskInstanceId(id_), group, needs)


def free(**counts: int) -> dict[str, PoolRoom]:
    return {name: PoolRoom(count, 10, is_held=True) for name, count in counts.items()}


def stream(id_: int, **needs: int) -> Waiter:
    return replace(waiter(id_, **needs), is_stream=True)


def spread(me: int, loads: Mapping[int, tuple[int, int]], overdue: Collection[int] = ()) -> Spread:
    """The spread of group g; `loads` has the streams and the free places of each worker."""
    deal = Deal([WorkerLoad(Epoch(each), *load) for each, load in loads.items()])
    return Spread(Epoch(me), {"g": deal}, {TaskInstanceId(each) for each in overdue})


def given_to(found: Turns) -> list[int]:
    return [each.id for each in found.given]


def test_by_priority_then_by_age() -> None:
    waiting = [waiter(3, a=1), waiter(1, a=1), waiter(2, priority=Priority.HIGH, a=1)]
    assert given_to(turns(waiting, free(a=2), {"g"}, 9, set())) == [2, 1]


def test_the_first_that_is_short_reserves_all_of_its_pools() -> None:
    waiting = [waiter(1, a=3, b=1), waiter(2, a=1), waiter(3, b=1), waiter(4, c=1)]
    assert given_to(turns(waiting, free(a=2, b=2, c=1), {"g"}, 9, set())) == [3, 4]


def test_only_the_first_that_is_short_of_a_pool_reserves() -> None:
    """Else all that wait for `b` would hold up `a`, one resource each."""
    waiting = [waiter(1, a=1, b=1), waiter(2, a=1, b=1), waiter(3, a=1), waiter(4, a=1)]
    assert given_to(turns(waiting, free(a=2, b=0), {"g"}, 9, set())) == [3]


def test_what_can_never_begin_reserves_nothing() -> None:
    waiting = [waiter(1, a=11), waiter(2, a=1, absent=1), waiter(3, a=2)]
    assert given_to(turns(waiting, free(a=2), {"g"}, 9, set())) == [3]


def test_what_waits_for_resources_that_streams_hold_reserves_only_those() -> None:
    """Streams return nothing by themselves: other pools of the waiter could stand idle forever."""
    waiting = [waiter(1, q=1, p=3), waiter(2, p=1)]
    rooms = {**free(p=2), "q": PoolRoom(0, 1, is_held=True, by_streams=1)}
    assert given_to(turns(waiting, rooms, {"g"}, 9, set())) == [2]
    other_ends = {**rooms, "q": PoolRoom(0, 2, is_held=True, by_streams=1)}
    assert given_to(turns(waiting, other_ends, {"g"}, 9, set())) == []
    needs_two = [waiter(1, q=2), waiter(2, q=1)]
    one_is_free = {"q": PoolRoom(1, 6, is_held=True, by_streams=5)}
    assert given_to(turns(needs_two, one_is_free, {"g"}, 9, set())) == [], "not overtaken by what needs one"


def test_others_get_what_is_theirs_if_somebody_serves_them_now() -> None:
    waiting = [waiter(1, "other", a=1), waiter(2, a=1)]
    assert given_to(turns(waiting, free(a=1), {"g"}, 9, {"other"})) == []
    assert given_to(turns(waiting, free(a=1), {"g"}, 9, set())) == [2]
    waiting = [waiter(1, "other", a=3), waiter(2, a=1)]
    assert given_to(turns(waiting, free(a=2), {"g"}, 9, set())) == [2], "nor does it reserve"


def test_places_are_used_in_the_same_order() -> None:
    waiting = [waiter(1), waiter(2, a=1), waiter(3), waiter(4, a=1)]
    found = turns(waiting, free(a=2), {"g"}, 3, set())
    assert (given_to(found), found.lacks_places) == ([2], True)
    assert not turns(waiting, free(a=2), {"g"}, 4, set()).lacks_places


def test_a_pool_that_another_holds_is_left_out_and_said() -> None:
    rooms = {**free(a=2), "b": PoolRoom(1, 1, is_held=False)}
    found = turns([waiter(1, a=1, b=1), waiter(2, a=1), waiter(3, a=1)], rooms, {"g"}, 9, set())
    assert (given_to(found), found.lacks_pools) == ([2], True)


def test_a_stream_goes_to_the_worker_with_the_fewest_and_to_others_its_resources_are_left() -> None:
    waiting = [stream(n, a=1) for n in range(1, 6)]
    found = turns(waiting, free(a=4), {"g"}, 9, {"g"}, spread(2, {1: (1, 9), 2: (0, 9)}))
    assert (given_to(found), found.left) == ([1, 3], (2, 4))
    assert not found.lacks_places
    behind = turns([*waiting, waiter(9, a=1)], free(a=5), {"g"}, 9, {"g"}, spread(2, {1: (0, 9), 2: (9, 9)}))
    assert (given_to(behind), behind.left) == ([], (1, 2, 3, 4, 5)), "nor does a task get what is left to others"


def test_streams_that_wait_for_a_pool_change_nobodys_share() -> None:
    waiting = [stream(1, a=3), *(stream(n, b=1) for n in range(2, 6))]
    found = turns(waiting, free(a=1, b=2), {"g"}, 9, {"g"}, spread(1, {1: (0, 9), 2: (0, 9)}))
    assert (given_to(found), found.left) == ([2], (3,))


def test_streams_of_other_groups_and_other_tasks_are_not_dealt_out() -> None:
    theirs = replace(waiter(1, "other", a=1), is_stream=True)
    found = turns([theirs, waiter(2, a=1)], free(a=2), {"g"}, 9, {"other"}, spread(1, {1: (5, 9), 2: (0, 9)}))
    assert (given_to(found), found.left) == ([2], ())


def test_a_worker_without_a_place_leaves_streams_to_those_that_have_one() -> None:
    loads = {1: (0, 1), 2: (5, 9)}
    found = turns([stream(1, a=1), stream(2, a=1)], free(a=2), {"g"}, 1, {"g"}, spread(1, loads))
    assert (given_to(found), found.left, found.lacks_places) == ([1], (2,), False)
    nobody = turns([stream(1, a=1), stream(2, a=1)], free(a=2), {"g"}, 1, set(), spread(1, {1: (0, 1), 2: (0, 0)}))
    assert (given_to(nobody), nobody.left, nobody.lacks_places) == ([1], (), True)
    taken = turns([waiter(1), stream(2, a=1)], free(a=1), {"g"}, 1, {"g"}, spread(1, loads))
    assert (given_to(taken), taken.left) == ([], (2,)), "a task that is more urgent has its last place"


def test_what_others_do_not_take_for_long_is_taken_if_there_is_a_place() -> None:
    loads = {1: (5, 9), 2: (0, 9)}
    waiting = [stream(1, a=1), stream(2, a=1)]
    found = turns(waiting, free(a=2), {"g"}, 9, {"g"}, spread(1, loads, overdue=[2]))
    assert (given_to(found), found.left) == ([2], (1,))
    assert given_to(turns(waiting, free(a=2), {"g"}, 0, {"g"}, spread(1, loads, overdue=[2]))) == []


def test_a_stream_that_needs_a_pool_that_another_holds_is_tried_again() -> None:
    rooms = {**free(a=2), "b": PoolRoom(1, 1, is_held=False)}
    found = turns([stream(1, a=1, b=1)], rooms, {"g"}, 9, set(), spread(1, {1: (0, 9)}))
    assert (given_to(found), found.lacks_pools) == ([], True)


@given(
    st.lists(st.booleans(), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=5),
    st.integers(0, 20),
    st.randoms(use_true_random=False),
)
def test_workers_that_claim_in_any_order_take_all_that_can_begin_as_evenly_as_their_places_allow(
    waiting: list[bool], workers: list[tuple[int, int]], size: int, order: object
) -> None:
    """Some wait that are no streams: they are anybody's, and use places."""
    left = {n: stream(n, a=1) if is_stream else waiter(n, a=1) for n, is_stream in enumerate(waiting)}
    loads, resources = dict(enumerate(workers, 1)), size
    before = Counter({each: streams for each, (streams, _) in loads.items()})
    for _ in range(len(waiting) + 1):
        turn = list(loads)
        order.shuffle(turn)  # type: ignore[attr-defined]
        for me in turn:
            streams, places = loads[me]
            room = {"a": PoolRoom(resources, 20, is_held=True)}
            found = turns(left.values(), room, {"g"}, places, {"g"}, spread(me, loads))
            for each in found.given:
                del left[each.id]
            resources -= len(found.given)
            assert resources >= 0
            loads[me] = (streams + sum(each.is_stream for each in found.given), places - len(found.given))
            assert loads[me][1] >= 0
    if any(places for _, places in loads.values()):
        assert not left or not resources
    if all(waiting):
        for me, (streams, _) in loads.items():
            if streams > before[me]:
                roomy = [has for has, places in loads.values() if places]
                assert streams - min(roomy, default=streams) <= 1


needs = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1, max_size=3)


@given(st.lists(needs, min_size=1, max_size=12), st.fixed_dictionaries({name: st.integers(1, 4) for name in "abc"}))
def test_all_that_can_begin_begins_and_the_first_is_never_overtaken(
    waiting: list[Mapping[str, int]], sizes: dict[str, int]
) -> None:
    """Running attempts end one by one: in the end each had its turn, and no pool ever gives more than it has."""
    left = {number: waiter(number, **need) for number, need in enumerate(waiting)}
    possible = {n for n, each in left.items() if all(sizes[pool] >= count for pool, count in each.needs.items())}
    running: list[Waiter] = []
    for _ in range(3 * len(waiting)):
        used = {name: sum(each.needs.get(name, 0) for each in running) for name in sizes}
        assert all(used[name] <= size for name, size in sizes.items())
        rooms = {name: PoolRoom(size - used[name], size, is_held=True) for name, size in sizes.items()}
        found = turns(left.values(), rooms, {"g"}, 100, set())
        for each in found.given:
            del left[each.id]
        running += found.given
        waits = [each for n, each in left.items() if n in possible]
        if waits and found.given:
            first = waits[0]
            now_free = {
                name: rooms[name].free - sum(each.needs.get(name, 0) for each in found.given if each.id > first.id)
                for name in first.needs
            }
            before = {
                name: rooms[name].free - sum(each.needs.get(name, 0) for each in found.given if each.id < first.id)
                for name in first.needs
            }
            for name, count in first.needs.items():
                assert now_free[name] >= min(count, before[name]) or before[name] <= 0
        if running:
            running.pop(0)
    assert not possible.intersection(left)


def test_the_variable_of_a_pool() -> None:
    assert resource_variable("proxies") == "SHOAL_RESOURCE_PROXIES"
    assert resource_variable("eu.proxies-2") == "SHOAL_RESOURCE_EU_PROXIES_2"
    assert resource_variable("größe") == "SHOAL_RESOURCE_GR_SSE"
    assert resource_variables(None) == {}
    assert resource_variables('{"a": [{"name": "x", "data": {}}]}') == {
        "SHOAL_RESOURCE_A": '[{"name": "x", "data": {}}]'
    }
