"""Plans to drive: written down in a test, or any at all."""

from __future__ import annotations

from random import Random
from typing import Any

from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy, OnWorkerLoss, Priority
from model.definitions.plan import Plan
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import TaskAttempt, WorkflowInstance
from model.runs.states import TaskState, WaitReason
from tests.master.random_plans import a_rule

Task = dict[str, Any]


def a_plan(
    after: dict[str, list[str]], fails_on_loss: set[str] | None = None, fields: dict[str, Task] | None = None
) -> Plan:
    """Task -> the tasks that it waits for; `fields` are further ones of some tasks."""
    return plan_of(
        {"name": name, "type": "FAKE", "after": befores}
        | ({"on_worker_loss": OnWorkerLoss.FAIL} if name in (fails_on_loss or ()) else {})
        | (fields or {}).get(name, {})
        for name, befores in after.items()
    )


def plan_of(tasks: Any, **fields: Any) -> Plan:
    return Plan.of(WorkflowCode(1), 1, WorkflowSpec.parse({"tasks": list(tasks), **fields}))


def an_instance(
    plan: Plan, strategy: FailureStrategy = FailureStrategy.CONTINUE, params: str = "{}"
) -> WorkflowInstance:
    id_, code = WorkflowInstanceId(1), plan.workflow_code
    return WorkflowInstance(id_, code, plan.version, strategy, Priority.MEDIUM, "default", params)


def a_runnable(plan: Plan, strategy: FailureStrategy = FailureStrategy.CONTINUE) -> Runnable:
    return Runnable(an_instance(plan, strategy), plan)


def any_plan(random: Random, size: int, *, plain: bool = False) -> Plan:
    """Any directed acyclic graph of `size` tasks, written down in any order: of all kinds, or `plain` ones of workers,
    none of them forbidden."""
    names = [f"t{number}" for number in range(size)]
    width = random.choice([1, 2, 4])
    befores = {
        name: random.sample(names[:place], random.randint(0, min(place, width))) for place, name in enumerate(names)
    }
    afters = {name: [after for after in names if name in befores[after]] for name in names}
    mixed = 0.0 if plain else random.choice([0.2, 0.6])
    ruled = 0.0 if plain else random.choice([0, 0.2, 0.6])
    tasks = []
    for name in names:
        task = _logic(random, befores[name], afters[name]) if random.random() < mixed else None
        task = {"name": name, "after": befores[name], **(task or _worker_task(random))}
        if not plain and random.random() < 0.08:
            task["flag"] = "NO"
        if task["type"] != "CONDITIONS":
            task |= a_rule(random, befores[name], ruled)
        tasks.append(task)
    if not plain:
        _name_results(random, tasks)
    random.shuffle(tasks)
    return plan_of(tasks, **({} if plain else {"outputs": ["x", "g"]}))


def _name_results(random: Random, tasks: list[Task]) -> None:
    """Some tasks name a value of a task that has a default for it, whether that is before them or not."""
    givers = [task["name"] for task in tasks if isinstance(task.get("local_params", {}).get("x"), dict)]
    for task in tasks:
        if givers and task["type"] == "FAKE" and random.random() < 0.4:
            task["params"] = {"write": " ".join(f"${{{name}.x}}" for name in random.sample(givers, 1))}


def _worker_task(random: Random) -> Task:
    task: Task = {"type": "FAKE"}
    if random.random() < 0.4:
        task |= {"retry_times": random.choice([0, 0, 1, 3]), "retry_interval": random.choice([0, 1.5])}
        task |= {"delay_time": random.choice([0, 2])}
    if random.random() < 0.3:
        task["on_worker_loss"] = OnWorkerLoss.FAIL
    if random.random() < 0.3:
        task["local_params"] = random.choice(
            [
                {"x": "local"},
                {"s": "local", "g": ""},
                {"x": {"direct": "OUT", "value": "the default"}},
                {"k": {"direct": "OUT"}, "y": "local"},
            ]
        )
    return task


def _logic(random: Random, befores: list[str], afters: list[str]) -> Task | None:
    match random.choice(["SWITCH", "CONDITIONS", "CONDITIONS", "SUB_PROCESS", "DYNAMIC", "DEPENDENT"]):
        case "SWITCH" if afters:
            conditions = ['"${k}" == "1"', '"${x}" != ""', '"${y}" == "${k}"'] + ['"${nowhere}" == ""'] * (
                random.random() < 0.1
            )
            cases = [
                {"when": when, "then": random.sample(afters, random.randint(1, len(afters)))}
                for when in random.sample(conditions, random.randint(1, 2))
            ]
            return {"type": "SWITCH", "params": {"cases": cases, "default": _some(random, afters)}}
        case "CONDITIONS" if befores:
            asked = random.sample(befores, random.randint(1, len(befores)))
            params: Task = {
                "relation": random.choice(["AND", "OR"]),
                "when": {name: random.choice(["SUCCESS", "SUCCESS", "FAILURE"]) for name in asked},
                "on_success": _some(random, afters),
                "on_failure": _some(random, afters),
            }
            return {"type": "CONDITIONS", "params": params}
        case "SUB_PROCESS":
            return {"type": "SUB_PROCESS", "params": {"workflow": 7, "params": {"p": "<${x}>"}}}
        case "DYNAMIC":
            return {"type": "DYNAMIC", "params": _dynamic(random)}
        case "DEPENDENT":
            return {"type": "DEPENDENT", "params": {"groups": [{"items": [{"workflow": 7, "cycle": "today"}]}]}}
    return None


def _dynamic(random: Random) -> Task:
    lists = random.choice(["1,2,3", "${k},a,b", "[]", '["${x}", "${y}"]', "[[1]]"])
    return {
        "workflow": 7,
        "lists": [{"name": "n", "value": lists}],
        "parallelism": random.randint(1, 4),
        "max_instances": random.choice([2, 10]),
    }


def _some(random: Random, names: list[str]) -> list[str]:
    return random.sample(names, random.randint(0, len(names)))


def queued(
    code: TaskCode,
    attempt: int,
    retries: int = 0,
    after: tuple[WaitReason, float] | None = None,
    values: str = "{}",
) -> TaskAttempt:
    """An attempt for a worker, after these minutes."""
    reason, minutes = after or (None, 0)
    state = TaskState.DELAY_EXECUTION if after else TaskState.QUEUED
    return TaskAttempt(code, attempt, state, retries, values=values, due_in_minutes=minutes, wait_reason=reason)
