"""Random plans for the laws of progress: any shape, with tasks that choose, evaluate, are off, or have a start rule."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from model.choices import StartWhen
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode


def plan_of(*tasks: dict[str, Any], **fields: Any) -> Plan:
    """A plan of these tasks, FAKE ones unless they say otherwise; codes count from 1 in their order."""
    return Plan.of(
        WorkflowCode(1), 1, WorkflowSpec.parse({"tasks": [{"type": "FAKE"} | task for task in tasks]} | fields)
    )


@st.composite
def logic_plans(draw: DrawFn, size_max: int = 14) -> Plan:
    """Any directed acyclic graph, its tasks written down in any order."""
    names = [f"t{number}" for number in range(draw(st.integers(1, size_max)))]
    random = draw(st.randoms(use_true_random=False))
    after = {name: random.sample(names[:place], random.randint(0, min(place, 3))) for place, name in enumerate(names)}
    next_to = {name: [other for other in names if name in after[other]] for name in names}
    tasks = [{"name": name, "after": after[name]} | _kind(random, after[name], next_to[name]) for name in names]
    random.shuffle(tasks)
    return plan_of(*tasks)


def a_rule(random: Random, befores: list[str], chance: float) -> dict[str, Any]:
    """A start rule for a task after these, with that chance."""
    return {"start_when": random.choice(list(StartWhen))} if befores and random.random() < chance else {}


def _kind(random: Random, befores: list[str], afters: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"flag": "NO"} if random.random() < 0.15 else {}
    ruled = fields | a_rule(random, befores, 0.3)
    chance = random.random()
    branch = random.sample(afters, random.randint(0, len(afters)))
    if chance < 0.25 and branch:
        return ruled | {"type": "SWITCH", "params": {"cases": [{"when": "true", "then": branch}]}}
    if chance < 0.5 and befores:
        asked = dict.fromkeys(random.sample(befores, random.randint(1, len(befores))), "SUCCESS")
        on_failure = [name for name in afters if name not in branch]
        return fields | {
            "type": "CONDITIONS",
            "params": {"when": asked, "on_success": branch, "on_failure": on_failure},
        }
    return ruled


def ancestors_of(plan: Plan, code: TaskCode) -> set[TaskCode]:
    """All tasks before one, by the slow way."""
    found: set[TaskCode] = set()
    for before in plan.graph.predecessors[code]:
        found |= {before} | ancestors_of(plan, before)
    return found
