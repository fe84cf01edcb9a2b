"""The shape of a workflow: a cycle is named truly, and nothing is found where there is none."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from model.definitions.graph import Graph, find_cycle
from model.ids import TaskCode
from tests.every import every

Waits = dict[str, list[str]]
names = st.sampled_from("abcdefgh")


@st.composite
def dags(draw: DrawFn) -> Waits:
    """Each waits only for some that stand before it, and is then put anywhere."""
    order = draw(st.permutations("abcdefgh"))
    waits = {
        name: draw(st.lists(st.sampled_from(order[:place]), unique=True)) if place else []
        for place, name in enumerate(order)
    }
    return {name: waits[name] for name in draw(st.permutations(order))}


@given(st.dictionaries(names, st.lists(names, unique=True)))
def test_a_cycle_is_a_walk_along_edges_that_comes_back(waits: Waits) -> None:
    cycle = find_cycle(waits)
    if cycle is None:
        left = dict(waits)
        while left:  # take away whoever waits for nobody that is left: all can go
            ready = [name for name, befores in left.items() if not left.keys() & befores]
            assert ready
            left = {name: befores for name, befores in left.items() if name not in ready}
    else:
        assert cycle[0] == cycle[-1]
        assert len(cycle) - 1 == len(set(cycle))
        assert all(before in waits[after] for before, after in pairwise(cycle))


@given(dags())
def test_where_there_is_no_cycle_none_is_found(waits: Waits) -> None:
    assert find_cycle(waits) is None


@given(dags(), st.data())
def test_one_edge_back_makes_a_cycle_through_it(waits: Waits, data: st.DataObject) -> None:
    after = data.draw(st.sampled_from([name for name, befores in waits.items() if befores] or ["a"]))
    before = data.draw(st.sampled_from(waits[after] or [after]))
    cycle = find_cycle(waits | {before: [*waits[before], after]})
    assert cycle
    assert (after, before) in pairwise(cycle)


@every(
    ("waits", "cycle"),
    [
        ({"a": ["a"]}, ["a", "a"]),
        ({"a": ["b"], "b": ["a"]}, ["b", "a", "b"]),
        ({"a": [], "b": ["a", "d"], "c": ["b"], "d": ["c"]}, ["c", "d", "b", "c"]),
    ],
)
def test_a_cycle_is_told_in_the_direction_of_the_work(waits: Waits, cycle: list[str]) -> None:
    assert find_cycle(waits) == cycle


def test_names_without_an_entry_are_no_tasks_and_no_cycle() -> None:
    assert find_cycle({"a": ["nobody"], "b": ["a"]}) is None


def test_a_chain_of_10000_does_not_exhaust_the_stack_whichever_end_comes_first() -> None:
    chain: Waits = {"0": []} | {str(number): [str(number - 1)] for number in range(1, 10_000)}
    assert find_cycle(chain) is None
    assert find_cycle(dict(reversed(chain.items()))) is None
    circle = find_cycle(chain | {"0": ["9999"]})
    assert circle
    assert len(circle) == 10_001


@given(dags())
def test_a_graph_has_each_edge_in_both_directions(waits: Waits) -> None:
    codes = {name: TaskCode(number) for number, name in enumerate(waits, 1)}
    graph = Graph.of({codes[name]: [codes[before] for before in befores] for name, befores in waits.items()})
    assert {(after, before) for before, afters in graph.successors.items() for after in afters} == {
        (codes[name], codes[before]) for name, befores in waits.items() for before in befores
    }
    assert graph.predecessors == {
        codes[name]: tuple(codes[before] for before in befores) for name, befores in waits.items()
    }
    assert graph.roots == tuple(codes[name] for name, befores in waits.items() if not befores)
