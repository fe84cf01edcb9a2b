"""Start rules are as the table in docs/guides/workflows.md says, in whatever order the tasks before end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations, product
from pathlib import Path

from model.choices import StartWhen
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.ready_tasks import Progress
from model.runs.start_rules import Decision, decision
from tests.every import every
from tests.master.random_plans import plan_of

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "workflows.md"
ENDS = ("succeeded", "skipped", "failed")
DECISIONS = {"✓": Decision.STARTS, "○": Decision.SKIPPED, "✗": Decision.NEVER}
STATES = ("succeeded", "skipped", "failed", "never starts", "did not choose it", "runs", "has not started")
"""The states of a task before another."""


def table() -> dict[tuple[frozenset[str], str], str]:
    """The cells of the page: the ends that occur and a rule -> what it says."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    (head,) = (line for line in lines if line.startswith("| tasks before it |"))
    rules = re.findall(r"`(\w+)`", head)
    assert sorted(rules) == sorted(StartWhen)
    at = lines.index(head) + 2
    cells: dict[tuple[frozenset[str], str], str] = {}
    for line in lines[at : at + 7]:
        ends, *said = (cell.strip() for cell in line.strip("|").split("|"))
        cells |= {(frozenset(ends.split(", ")), rule): cell for rule, cell in zip(rules, said, strict=True)}
    return cells


TABLE = table()


def expected(rule: StartWhen, ends: frozenset[str], *, waits: bool) -> Decision | None:
    """The decision according to the page."""
    if not ends:
        return Decision.STARTS if rule is StartWhen.ALWAYS or not waits else None
    cell = TABLE[ends, rule]
    return None if waits and not cell.startswith("**") else DECISIONS[cell.strip("*")]


def test_the_table_of_the_page_has_every_case() -> None:
    cases = {
        frozenset(end for end, is_in in zip(ENDS, which, strict=True) if is_in) for which in product((0, 1), repeat=3)
    }
    assert {ends for ends, _ in TABLE} == cases - {frozenset()}
    assert len(TABLE) == 7 * len(StartWhen)


@every("rule", StartWhen)
@every("waits", [False, True])
def test_each_rule_decides_as_the_page_says(rule: StartWhen, waits: bool) -> None:
    for which in product((False, True), repeat=3):
        succeeded, skipped, failed = which
        ends = frozenset(end for end, is_in in zip(ENDS, which, strict=True) if is_in)
        decided = decision(rule, waits=waits, succeeded=succeeded, skipped=skipped, failed=failed)
        assert decided is expected(rule, ends, waits=waits), ends


def a_join(rule: StartWhen, count: int) -> Plan:
    """The last task comes after `count` SWITCH tasks, each of which comes after one of its own that may skip it."""
    tasks = []
    for number in range(count):
        root, before = f"r{number}", f"b{number}"
        tasks += [
            {"name": root, "type": "SWITCH", "params": {"cases": [{"when": "true", "then": [before]}]}},
            {
                **{"name": before, "type": "SWITCH", "after": [root]},
                "params": {"cases": [{"when": "true", "then": ["t"]}]},
            },
        ]
    befores = [f"b{number}" for number in range(count)]
    return plan_of(*tasks, {"name": "t", "after": befores, "start_when": rule})


class Scene:
    """The last task, while the states of those before it change."""

    def __init__(self, plan: Plan) -> None:
        self.target = plan.codes["t"]
        self._codes = plan.codes
        self._progress = Progress(plan, None)
        self.begun = self._progress.begin()

    def becomes(self, number: int, state: str) -> None:
        root, before = self._codes[f"r{number}"], self._codes[f"b{number}"]
        begun: list[TaskCode] = []
        match state:
            case "has not started":
                pass
            case "skipped":
                begun += self._progress.succeeded(root, frozenset())
            case "never starts":
                begun += self._progress.failed(root)
            case _:
                begun += self._progress.succeeded(root, frozenset({before}))
                begun.remove(before)
        match state:
            case "succeeded":
                begun += self._progress.succeeded(before, frozenset({self.target}))
            case "did not choose it":
                begun += self._progress.succeeded(before, frozenset())
            case "failed":
                begun += self._progress.failed(before)
        self.begun += begun

    def decided(self) -> Decision | None:
        roots = [code for name, code in self._codes.items() if name.startswith("r")]
        assert sorted(set(self.begun)) == sorted(self.begun), "it starts once"
        assert set(self.begun) <= {self.target, *roots}
        found = {
            Decision.STARTS: self.target in self.begun,
            Decision.SKIPPED: self.target in self._progress.skipped,
            Decision.NEVER: self.target in self._progress.never,
        }
        decided = [each for each, is_so in found.items() if is_so]
        assert len(decided) <= 1, "it is decided once"
        return decided[0] if decided else None


COUNTS_AS: Mapping[str, str] = {"never starts": "failed", "did not choose it": "skipped"}


@every("rule", StartWhen)
def test_a_task_starts_by_the_states_of_those_before_it_in_whatever_order_they_came_about(rule: StartWhen) -> None:
    for count in (1, 2, 3):
        plan = a_join(rule, count)
        for states in product(STATES, repeat=count):
            for order in permutations(range(count)):
                scene, ends, waits = Scene(plan), set[str](), count
                was: Decision | None = expected(rule, frozenset(), waits=True)
                for number in order:
                    state = states[number]
                    scene.becomes(number, state)
                    if state not in ("runs", "has not started"):
                        ends.add(COUNTS_AS.get(state, state))
                        waits -= 1
                    now = expected(rule, frozenset(ends), waits=waits > 0)
                    assert was in (None, now), f"the page changes its mind: {states}"
                    assert scene.decided() is now, f"{states} in the order {order}"
                    was = now


@every("rule", StartWhen)
def test_a_task_whose_predecessors_were_all_left_out_starts(rule: StartWhen) -> None:
    plan = a_join(rule, 2)
    assert Progress(plan, {plan.codes["t"]}).begin() == [plan.codes["t"]]


@every("rule", StartWhen)
@every("state", ["succeeded", "skipped", "failed"])
def test_a_predecessor_that_was_left_out_is_a_success_by_default_and_else_does_not_count(
    rule: StartWhen, state: str
) -> None:
    plan = plan_of({"name": "out"}, {"name": "in"}, {"name": "t", "after": ["out", "in"], "start_when": rule})
    if state == "skipped":
        cases = [{"when": "true", "then": ["t"]}]
        within = {"name": "in", "type": "SWITCH", "params": {"cases": cases}}
        plan = plan_of({"name": "out"}, within, {"name": "t", "after": ["out", "in"], "start_when": rule})
    progress = Progress(plan, {plan.codes["in"], plan.codes["t"]})
    begun = progress.begin()
    assert begun == ([2, 3] if rule is StartWhen.ALWAYS else [2]), "nothing starts before what is in scope has ended"
    chosen = frozenset[TaskCode]() if state == "skipped" else None
    begun += progress.failed(TaskCode(2)) if state == "failed" else progress.succeeded(TaskCode(2), chosen)
    counted = frozenset({state} | ({"succeeded"} if rule is StartWhen.ALL_SUCCESS else set()))
    assert (3 in begun) is (expected(rule, counted, waits=False) is Decision.STARTS)


def test_what_has_an_attempt_is_decided_by_that_alone() -> None:
    """After a failover: `t` began when `a` failed, which a person has called a success since."""
    plan = plan_of(
        {"name": "a"}, {"name": "t", "after": ["a"], "start_when": "one_failed"}, {"name": "z", "after": ["t"]}
    )
    progress = Progress(plan, None)
    assert progress.begin([TaskCode(1), TaskCode(2)]) == []
    assert progress.succeeded(TaskCode(1)) == []
    assert (progress.skipped, progress.done) == (set(), {1})
    assert progress.succeeded(TaskCode(2)) == [3]


def test_a_forbidden_task_is_passed_over_when_its_rule_would_start_it() -> None:
    def after(rule: str, *, fails: bool) -> tuple[bool, set[TaskCode]]:
        off = {"name": "off", "after": ["a"], "start_when": rule, "flag": "NO"}
        progress = Progress(plan_of({"name": "a"}, off, {"name": "z", "after": ["off"]}), None)
        begun = progress.begin()
        begun += progress.failed(TaskCode(1)) if fails else progress.succeeded(TaskCode(1))
        return 3 in begun, progress.skipped

    assert after("one_failed", fails=True) == (True, set())
    assert after("one_failed", fails=False) == (False, {2, 3})
