"""`model/pool_turns.py`: whose turn it is, who reserves, and that nobody is overtaken for ever."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from model.choices import Priority
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.pool_turns import PoolRoom, Turns, Waiter, turns
from model.pool_variables import resource_variable, resource_variables


def waiter(id_: int, group: str = "g", priority: Priority = Priority.MEDIUM, **needs: int) -> Waiter:
    return Waiter(priority, WorkflowInstanceId(id_), Priority.MEDIUM, TaskInstanceId(id_), group, needs)


def free(**counts: int) -> dict[str, PoolRoom]:
    return {name: PoolRoom(count, 10, is_held=True) for name, count in counts.items()}


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


needs = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1, max_size=3)


@given(st.lists(needs, min_size=1, max_size=12), st.fixed_dictionaries({name: st.integers(1, 4) for name in "abc"}))
def test_all_that_can_begin_begins_and_the_first_is_never_overtaken(
    waiting: list[Mapping[str, int]], sizes: dict[str, int]
) -> None:
    """What runs ends one by one: everybody has had its turn in the end, and no pool ever gives more than it has."""
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
