"""What tasks see of each other's outputs: the laws, and a reference that checks each ancestor by itself."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from master.drive.output_scope import Contexts
from model.definitions.plan import Plan
from model.ids import TaskCode
from tests.master.random_plans import ancestors_of, logic_plans, plan_of

A, B, C, D, E = map(TaskCode, range(1, 6))
DIAMOND = plan_of(
    {"name": "a"}, {"name": "b", "after": ["a"]}, {"name": "c", "after": ["a"]}, {"name": "d", "after": ["b", "c"]}
)


def contexts(plan: Plan = DIAMOND, **gave: dict[str, str]) -> Contexts:
    """The outputs of tasks, in the order in which they finished."""
    made = Contexts(plan.graph)
    for name, outputs in gave.items():
        made.gave(plan.codes[name], outputs)
    return made


# --------------------------------------------------------------------------------------------------- sentences


def test_a_task_sees_what_its_ancestors_gave_however_far() -> None:
    seen = contexts(a={"x": "1"}, b={"y": "2"})
    assert seen.seen_by(D) == {"x": "1", "y": "2"}
    assert seen.seen_by(B) == {"x": "1"}
    assert seen.seen_by(A) == {}


def test_a_value_does_not_leak_into_an_unrelated_branch() -> None:
    assert contexts(b={"y": "2"}).seen_by(C) == {}


def test_a_task_does_not_see_what_it_gave_itself_nor_what_comes_after_it() -> None:
    assert contexts(a={"x": "1"}, b={"x": "2"}, d={"x": "3"}).seen_by(B) == {"x": "1"}


def test_a_nearer_one_overrides_its_own_ancestors_even_with_nothing() -> None:
    assert contexts(a={"x": "far"}, b={"x": "near"}).seen_by(D) == {"x": "near"}
    assert contexts(a={"x": "far"}, b={"x": ""}).seen_by(D) == {"x": ""}


def test_it_overrides_them_on_every_way_to_a_task() -> None:
    """c passes on what a gave, but a stands before b, which gave it again."""
    plan = plan_of(
        {"name": "a"},
        {"name": "b", "after": ["a"]},
        {"name": "c", "after": ["a"]},
        {"name": "d", "after": ["c", "b", "a"]},
    )
    assert contexts(plan, a={"x": "far"}, b={"x": "near"}).seen_by(D) == {"x": "near"}


def test_between_unrelated_ones_a_value_that_is_not_empty_wins() -> None:
    assert contexts(b={"x": ""}, c={"x": "2"}).seen_by(D) == {"x": "2"}
    assert contexts(b={"x": "1"}, c={"x": ""}).seen_by(D) == {"x": "1"}


def test_between_two_that_are_not_empty_the_first_that_finished_wins() -> None:
    assert contexts(b={"x": "1"}, c={"x": "2"}).seen_by(D) == {"x": "1"}
    assert contexts(c={"x": "2"}, b={"x": "1"}).seen_by(D) == {"x": "2"}


def test_of_three_unrelated_ones_it_does_not_matter_how_they_are_joined() -> None:
    befores = [{"name": name} for name in "abc"]
    for order in (["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]):
        plan = plan_of(*befores, {"name": "d", "after": order})
        assert contexts(plan, b={"x": ""}, c={"x": "3"}, a={"x": "1"}).seen_by(D) == {"x": "3"}


def test_an_override_holds_where_a_rival_stands_beside_it() -> None:
    """a is overridden by b for good: c, unrelated to b, wins over b by the rules, and a does not come back."""
    plan = plan_of(
        {"name": "a"},
        {"name": "b", "after": ["a"]},
        {"name": "c"},
        {"name": "d", "after": ["b", "c", "a"]},
    )
    assert contexts(plan, a={"x": "1"}, b={"x": ""}, c={"x": "3"}).seen_by(D) == {"x": "3"}
    assert contexts(plan, a={"x": "1"}, b={"x": ""}, c={"x": ""}).seen_by(D) == {"x": ""}


def test_at_the_end_all_is_seen_as_a_task_after_all_would_see_it() -> None:
    plan = plan_of({"name": "a"}, {"name": "b", "after": ["a"]}, {"name": "c"})
    assert contexts(plan, a={"x": "1", "z": "9"}, c={"x": "3"}, b={"x": "2"}).at_the_end() == {"x": "3", "z": "9"}
    assert contexts(plan).at_the_end() == {}


def test_a_chain_of_10000_does_not_exhaust_the_stack() -> None:
    tasks = [{"name": f"t{place}", "after": [f"t{place - 1}"] if place else []} for place in range(10_000)]
    plan = plan_of(*tasks)
    assert contexts(plan, t0={"x": "1"}).seen_by(TaskCode(10_000)) == {"x": "1"}


# ------------------------------------------------------------------------------------------------- the reference


def reference(plan: Plan, outputs: dict[TaskCode, dict[str, str]], before: set[TaskCode]) -> dict[str, str]:
    """Follow the definition: of all tasks that give it, those that no other of them comes after; of these the best."""
    order = list(outputs)
    seen = {}
    for name in {name for code in before & set(outputs) for name in outputs[code]}:
        givers = {code for code in before & set(outputs) if name in outputs[code]}
        nearest = {code for code in givers if not any(code in ancestors_of(plan, other) for other in givers)}
        best = min(nearest, key=lambda code: (not outputs[code][name], order.index(code)))
        seen[name] = outputs[best][name]
    return seen


@settings(max_examples=300)
@given(logic_plans(size_max=10), st.randoms(use_true_random=False))
def test_in_any_graph_each_task_sees_what_the_words_say(plan: Plan, random: Random) -> None:
    """Told and asked in turn, as a run goes on: what was computed before must not be wrong later."""
    made = Contexts(plan.graph)
    outputs: dict[TaskCode, dict[str, str]] = {}
    left = list(plan.tasks)
    over: set[TaskCode] = set()
    while left:
        ready = [code for code in left if over.issuperset(plan.graph.predecessors[code])]
        code = random.choice(ready)
        assert made.seen_by(code) == reference(plan, outputs, ancestors_of(plan, code))
        given_now = {name: random.choice(["", "1", "2"]) for name in "xyz" if random.random() < 0.4}
        if given_now:
            outputs[code] = given_now
        made.gave(code, given_now)
        over.add(code)
        left.remove(code)
    assert made.at_the_end() == reference(plan, outputs, set(plan.tasks))
    for code in plan.tasks:
        assert made.seen_by(code) == reference(plan, outputs, ancestors_of(plan, code)), "asked again"
