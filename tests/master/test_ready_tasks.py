"""Which task may begin: `model/runs/ready_tasks.py` against a reference that computes all each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from model.choices import StartWhen
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.ready_tasks import Progress
from tests.master.random_plans import logic_plans, plan_of

A, B, C, D, E = map(TaskCode, range(1, 6))
DIAMOND = (
    {"name": "a"},
    {"name": "b", "after": ["a"]},
    {"name": "c", "after": ["a"]},
    {"name": "d", "after": ["b", "c"]},
)
SWITCH = {
    "name": "a",
    "type": "SWITCH",
    "params": {"cases": [{"when": "true", "then": ["b"]}, {"when": "true", "then": ["c"]}]},
}


def switched(**more: object) -> Plan:
    """`a` chooses `b` or `c`; `d` comes after both, `e` after `c` alone."""
    return plan_of(SWITCH, *DIAMOND[1:], {"name": "e", "after": ["c"]} | more)


# --------------------------------------------------------------------------------------------------- sentences


def test_a_task_begins_when_all_before_it_have_succeeded() -> None:
    progress = Progress(plan_of(*DIAMOND), None)
    assert progress.begin() == [A]
    assert progress.succeeded(A) == [B, C]
    assert progress.succeeded(B) == []
    assert progress.succeeded(C) == [D]
    assert progress.succeeded(D) == []
    assert progress.done == {A, B, C, D}


def test_what_hangs_on_a_failed_task_never_begins() -> None:
    progress = Progress(plan_of(*DIAMOND), None)
    progress.begin()
    progress.succeeded(A)
    assert progress.failed(B) == []
    assert progress.succeeded(C) == []
    assert progress.done == {A, C}


def test_a_forbidden_task_is_passed_over_as_if_it_were_not_there() -> None:
    progress = Progress(plan_of(DIAMOND[0], DIAMOND[1] | {"flag": "NO"}, *DIAMOND[2:]), None)
    progress.begin()
    assert progress.succeeded(A) == [C]
    assert progress.succeeded(C) == [D]
    assert progress.done == {A, B, C}


def test_a_workflow_of_forbidden_tasks_is_done_at_once() -> None:
    progress = Progress(plan_of(*({**task, "flag": "NO"} for task in DIAMOND)), None)
    assert progress.begin() == []
    assert progress.done == {A, B, C, D}
    assert progress.skipped == set()


def test_a_branch_that_was_not_chosen_is_skipped_and_what_hangs_only_on_it_too() -> None:
    progress = Progress(switched(), None)
    progress.begin()
    assert progress.succeeded(A, frozenset({B})) == [B]
    assert progress.skipped == {C, E}
    assert progress.succeeded(B) == [D], "it also hangs on a chosen branch"


def test_a_branch_that_chooses_nothing_skips_all_of_it() -> None:
    progress = Progress(switched(), None)
    progress.begin()
    assert progress.succeeded(A, frozenset()) == []
    assert progress.skipped == progress.done - {A} == {B, C, D, E}


def test_a_forbidden_task_on_a_skipped_branch_is_skipped() -> None:
    """Passed over, it would let what hangs only on that branch run."""
    plan = plan_of(SWITCH, DIAMOND[1], DIAMOND[2] | {"flag": "NO"}, {"name": "d", "after": ["c"]})
    progress = Progress(plan, None)
    progress.begin()
    assert progress.succeeded(A, frozenset({B})) == [B]
    assert progress.skipped == {C, D}


def test_a_failure_begins_the_conditions_that_ask_for_it_and_nothing_else() -> None:
    evaluator = {"name": "j", "type": "CONDITIONS", "after": ["a"], "params": {"when": {"a": "SUCCESS"}}}
    plan = plan_of({"name": "a"}, evaluator, {"name": "c", "after": ["a"]})
    progress = Progress(plan, None)
    progress.begin()
    assert progress.failed(A) == [TaskCode(2)]


def test_conditions_count_what_never_begins_as_failed() -> None:
    tasks: list[dict[str, Any]] = [
        {"name": "a", "type": "FAKE"},
        {"name": "b", "type": "FAKE", "after": ["a"]},
        {"name": "off", "type": "FAKE", "after": ["b"], "flag": "NO"},
        {
            "name": "c",
            "type": "CONDITIONS",
            "after": ["a", "b", "off"],
            "params": {"when": dict.fromkeys(["a", "b", "off"], "SUCCESS")},
        },
    ]
    plan = plan_of(*tasks)
    progress = Progress(plan, None)
    assert progress.begin() == [1]
    assert progress.failed(TaskCode(1)) == [4]


def test_conditions_that_are_forbidden_judge_nobody() -> None:
    evaluator = {"name": "j", "type": "CONDITIONS", "after": ["a"], "params": {"when": {"a": "SUCCESS"}}, "flag": "NO"}
    progress = Progress(plan_of({"name": "a"}, evaluator, {"name": "c", "after": ["j"]}), None)
    progress.begin()
    assert progress.failed(A) == []


def test_what_is_out_of_scope_is_settled_from_the_beginning() -> None:
    progress = Progress(plan_of(*DIAMOND), {B, D})
    assert progress.begin() == [B]
    assert progress.succeeded(B) == [D]
    assert progress.succeeded(D) == []
    assert progress.done == {A, B, C, D}


def test_a_skip_does_not_reach_over_the_edge_of_the_scope_and_back() -> None:
    """c is out of scope: somebody named e, so it runs, whatever a chose."""
    progress = Progress(switched(), {A, B, E})
    assert progress.begin() == [A, E]
    assert progress.succeeded(A, frozenset({B})) == [B]
    assert progress.skipped == set()


# ------------------------------------------------------------------------------------------------- the reference


def by_rule(rule: StartWhen, edges: list[str]) -> str:
    """Each rule in the words of its own: what it needs, and what it cannot get over."""
    live, dead, failed, still = (edges.count(each) for each in ("live", "dead", "failed", "open"))
    if not edges:
        return "begins"
    match rule:
        case StartWhen.ALL_SUCCESS | StartWhen.NONE_FAILED if failed:
            return "never"
        case StartWhen.ALL_SUCCESS:
            return "waits" if still else "begins" if live else "skipped"
        case StartWhen.NONE_FAILED | StartWhen.ALL_DONE:
            return "waits" if still else "begins"
        case StartWhen.ONE_SUCCESS:
            return "begins" if live else "waits" if still else "never" if failed else "skipped"
        case StartWhen.ONE_FAILED:
            return "begins" if failed else "waits" if still else "skipped"
        case StartWhen.ALL_FAILED:
            return "skipped" if live or dead else "waits" if still else "begins"
        case StartWhen.ALWAYS:
            return "begins"


@dataclass
class Reference:
    """A reference by definition: everything is recomputed from how the tasks ended."""

    plan: Plan
    scope: frozenset[TaskCode] | None
    succeeded: dict[TaskCode, frozenset[TaskCode] | None] = field(default_factory=dict)
    failed: set[TaskCode] = field(default_factory=set)

    def edge(self, before: TaskCode, after: TaskCode) -> str:
        """Live, dead, failed, open while it is not settled, or out: of scope, and of no account."""
        if not self.in_scope(before):
            return "out" if after in self.plan.rules else "live"
        if before in self.succeeded:
            chosen = self.succeeded[before]
            is_live = chosen is None or after in chosen or after not in self.plan.tasks[before].branches
            return "live" if is_live else "dead"
        standing = "never" if before in self.failed else self.standing(before)
        if standing == "never":
            return "live" if after in self.plan.evaluators else "failed"
        return {"skipped": "dead", "passed over": "live"}.get(standing, "open")

    def standing(self, code: TaskCode) -> str:
        """What the edges of a task alone decide."""
        edges = [self.edge(before, code) for before in self.plan.graph.predecessors[code]]
        standing = by_rule(self.plan.rules.get(code, StartWhen.ALL_SUCCESS), [each for each in edges if each != "out"])
        return "passed over" if standing == "begins" and self.plan.tasks[code].is_forbidden else standing

    def in_scope(self, code: TaskCode) -> bool:
        return self.scope is None or code in self.scope

    def those(self, standing: str) -> set[TaskCode]:
        return {code for code in self.plan.tasks if self.in_scope(code) and self.standing(code) == standing}

    def done(self) -> set[TaskCode]:
        outside = {code for code in self.plan.tasks if not self.in_scope(code)}
        return outside | set(self.succeeded) | self.those("skipped") | self.those("passed over")


@settings(max_examples=300)
@given(logic_plans(), st.randoms(use_true_random=False), st.sampled_from([0.0, 0.2, 0.6]), st.booleans())
def test_whatever_happens_in_whichever_order_it_is_as_the_words_say(
    plan: Plan, random: Random, failing: float, limited: bool
) -> None:
    scope = frozenset(code for code in plan.tasks if random.random() < 0.6) if limited else None
    progress, reference = Progress(plan, scope), Reference(plan, scope)
    begun: list[TaskCode] = []
    running = progress.begin()
    begun += running
    while True:
        assert set(begun) == reference.those("begins")
        assert len(set(begun)) == len(begun), "nothing begins twice"
        assert progress.done == reference.done()
        assert progress.skipped == reference.those("skipped")
        assert progress.never == reference.those("never")
        if not running:
            break
        code = running.pop(random.randrange(len(running)))
        if random.random() < failing:
            reference.failed.add(code)
            new = progress.failed(code)
        else:
            branches = sorted(plan.tasks[code].branches)
            chosen = frozenset(each for each in branches if random.random() < 0.5) if branches else None
            reference.succeeded[code] = chosen
            new = progress.succeeded(code, chosen)
        running += new
        begun += new


@given(logic_plans(), st.randoms(use_true_random=False))
def test_without_failures_every_task_is_done_in_the_end(plan: Plan, random: Random) -> None:
    progress = Progress(plan, None)
    running = progress.begin()
    while running:
        code = running.pop(random.randrange(len(running)))
        branches = plan.tasks[code].branches
        running += progress.succeeded(code, frozenset(list(branches)[:1]) if branches else None)
    assert progress.done == set(plan.tasks)
    assert progress.never == set()
