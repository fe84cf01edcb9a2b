"""The workflows that are run: small graphs of every kind, drawn once for all seeds."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

from dao.definitions.definitions import Definition, Whereabouts
from model.choices import ReleaseState, StartWhen
from model.definitions.workflow import WorkflowSpec
from model.ids import WorkflowCode

PLAIN = 40
"""Workflows 1 to here have no others under them; those up to `COUNT` do."""
COUNT = 52
"""Those after it are nested: `DEPTH` of them, each over the one before, and one with many of those under it."""
DEPTH = 10
NESTED = range(COUNT + 1, COUNT + DEPTH + 2)
WAITING = range(NESTED.stop, NESTED.stop + 6)
"""Those after these have DEPENDENT tasks."""
KEYED = range(WAITING.stop, WAITING.stop + 2)
"""Those after these have a line for each value of `key`."""
POOLED = range(KEYED.stop, KEYED.stop + 5)
"""The tasks of those after these need resources."""
POOLS = {"a": 3, "b": 1, "c": 2}
"""How many resources each pool has."""
STREAMING = range(POOLED.stop, POOLED.stop + 2)
"""Those after these have tasks that run until they are stopped."""
LEASED = range(STREAMING.stop, STREAMING.stop + 3)
"""Those after these too, and each of them needs resources, of which there are too few for all."""
TIMED = range(LEASED.stop, LEASED.stop + 3)
"""Those after these end only by their timeout, unless somebody stops them."""
RULED = range(TIMED.stop, TIMED.stop + 12)
"""The tasks of those after these have start rules, and fail often."""
STREAM_POOLS = {"s": 6}
"""How many resources the pools have that only they need. What they have of another is less than all."""


@cache
def specs() -> dict[int, WorkflowSpec]:
    """By code."""
    random = Random(20_260_101)
    drawn = {code: _drawn(random, code) for code in range(1, COUNT + 1)}
    waiting = {code: _waiting(Random(f"{code} waits")) for code in WAITING}
    keyed = {code: _keyed(Random(f"{code} keys")) for code in KEYED}
    pooled = {code: _pooled(Random(f"{code} needs")) for code in POOLED}
    streaming = {code: _streaming(Random(f"{code} streams")) for code in STREAMING}
    leased = {code: _leased(Random(f"{code} streams")) for code in LEASED}
    timed = {code: _timed(Random(f"{code} ends")) for code in TIMED}
    ruled = {code: _ruled(Random(f"{code} rules")) for code in RULED}
    every = drawn | dict(map(_nested, NESTED)) | waiting | keyed | pooled | streaming | leased | timed | ruled
    return {code: WorkflowSpec.parse(given) for code, given in every.items()}


@cache
def content(code: WorkflowCode, version: int) -> str:
    """As it is stored. A version above 1, which only reruns ask for, has other scripts in every second task."""
    spec = specs()[code]
    if version > 1:
        tasks = [
            task.model_copy(update={"params": {"script": f"true {version}"}})
            if place % 2 and task.type == "SHELL"
            else task
            for place, task in enumerate(spec.tasks)
        ]
        spec = spec.model_copy(update={"tasks": tuple(tasks)})
    return spec.model_dump_json(exclude_defaults=True)


@cache
def definition(code: WorkflowCode) -> Definition:
    return Definition(code, "default", f"w{code}", 1, ReleaseState.ONLINE)


def whereabouts(code: WorkflowCode) -> Whereabouts:
    return Whereabouts(f"w{code}", "default", 0)


def _drawn(random: Random, code: int) -> dict[str, Any]:
    names = [f"t{number}" for number in range(random.choice((1, 1, 2, 3, 4, 5)))]
    tasks: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        task: dict[str, Any] = {"name": name, "type": "SHELL", "params": {"script": "true"}}
        task["after"] = random.sample(names[:place], random.randint(0, min(place, 2)))
        if random.random() < 0.4:
            task |= {"retry_times": random.choice((1, 2)), "retry_interval": random.choice((0, 0.02))}
        if random.random() < 0.2:
            task["delay_time"] = 0.01
        if random.random() < 0.4:
            task["on_worker_loss"] = "fail"
        if random.random() < 0.05:
            task["flag"] = "NO"
        tasks.append(task)
    if code > PLAIN:
        _put_under(random, tasks)
    given: dict[str, Any] = {"tasks": tasks, "failure_strategy": random.choice(("CONTINUE", "END"))}
    if random.random() < 0.2:
        given["execution_type"] = random.choice(("SERIAL_WAIT", "SERIAL_WAIT", "SERIAL_DISCARD", "SERIAL_PRIORITY"))
    return given


def waits_without_limit(code: int) -> bool:
    """Whether a DEPENDENT task of this one waits for as long as it takes."""
    return any(task.type == "DEPENDENT" and not task.params["wait_minutes"] for task in specs()[code].tasks)


def awaited(code: int) -> set[int]:
    """The workflows that the DEPENDENT tasks of this one await."""
    items = [item for task in specs()[code].tasks for group in task.params.get("groups", ()) for item in group["items"]]
    return {int(str(item["workflow"]).removeprefix("w")) for item in items}


def _waiting(random: Random) -> dict[str, Any]:
    """What has no limit awaits runs that come, and takes a failure for an answer: nothing waits for ever."""
    items = [
        {"workflow": code if random.random() < 0.5 else f"w{code}", "cycle": "today"}
        | ({"task": random.choice(("t0", "*"))} if random.random() < 0.4 else {})
        for code in random.sample(range(1, PLAIN + 1), random.choice((1, 1, 2)))
    ]
    params: dict[str, Any] = {"groups": [{"items": items, "relation": random.choice(("AND", "OR"))}]}
    params["wait_minutes"] = random.choice((0, 0, 0.05, 0.2))
    params["on_failure"] = random.choice(("FAIL", "WAIT")) if params["wait_minutes"] else "FAIL"
    wait: dict[str, Any] = {"name": "t0", "type": "DEPENDENT", "params": params}
    after: dict[str, Any] = {"name": "t1", "type": "SHELL", "params": {"script": "true"}, "after": ["t0"]}
    return {"tasks": [wait, after] if random.random() < 0.5 else [wait]}


def _keyed(random: Random) -> dict[str, Any]:
    names = [f"t{number}" for number in range(random.choice((1, 2)))]
    tasks = [{"name": name, "type": "SHELL", "params": {"script": "true"}} for name in names]
    return {"tasks": tasks, "execution_type": "SERIAL_WAIT", "serial_key": "${key}", "params": {"key": ""}}


def _pooled(random: Random) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    for number in range(random.choice((1, 2, 4))):
        pools = random.sample(sorted(POOLS), random.choice((1, 1, 2, 3)))
        needs = {pool: random.randint(1, POOLS[pool]) for pool in pools}
        task: dict[str, Any] = {"name": f"t{number}", "type": "SHELL", "params": {"script": "true"}}
        task["resources"] = needs
        if random.random() < 0.3:
            task |= {"retry_times": 1, "on_worker_loss": "fail"}
        tasks.append(task)
    return {"tasks": tasks}


def _streaming(random: Random, counts: tuple[int, ...] = (3, 4)) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    for number in range(random.choice(counts)):
        task: dict[str, Any] = {"name": f"t{number}", "type": "SHELL", "params": {"script": "true"}, "stream": True}
        pauses = {"restart_pause": 0.01, "restart_pause_max": 0.05, "healthy_after": 0.05}
        tasks.append(task | pauses | ({"on_worker_loss": "retry"} if random.random() < 0.5 else {}))
    return {"tasks": tasks}


def _leased(random: Random) -> dict[str, Any]:
    """One needs more than the others, so that it is not overtaken for ever."""
    streams = _streaming(random, (4, 6))
    for task in streams["tasks"]:
        task["resources"] = random.choice(({"s": 1}, {"s": 1}, {"s": 1}, {"s": 1, "a": 1}))
    streams["tasks"][0]["resources"] = {"s": 2}
    return streams


def _timed(random: Random) -> dict[str, Any]:
    names = [f"t{number}" for number in range(random.choice((1, 2)))]
    tasks = [{"name": name, "type": "SHELL", "params": {"script": "sleep infinity"}} for name in names]
    return {"tasks": tasks, "timeout_minutes": random.choice((0.02, 0.1)), "timeout_strategy": "FAILED"}


def _ruled(random: Random) -> dict[str, Any]:
    """Without retries: an attempt that failed has failed for good."""
    names = [f"t{number}" for number in range(random.choice((3, 4, 6)))]
    tasks: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        task: dict[str, Any] = {"name": name, "type": "SHELL", "params": {"script": "true"}}
        task["after"] = random.sample(names[:place], random.randint(0, min(place, 3)))
        if task["after"] and random.random() < 0.2:
            task |= {"type": "CONDITIONS", "params": {"when": {random.choice(task["after"]): "SUCCESS"}}}
        elif task["after"] and random.random() < 0.7:
            task["start_when"] = str(random.choice(list(StartWhen)))
        if task["type"] == "SHELL" and random.random() < 0.3:
            task |= random.choice(({"delay_time": 0.01}, {"on_worker_loss": "fail"}, {"flag": "NO"}))
        tasks.append(task)
    return {"tasks": tasks, "failure_strategy": random.choice(("CONTINUE", "CONTINUE", "END"))}


def _nested(code: int) -> tuple[int, dict[str, Any]]:
    task: dict[str, Any] = {"name": "t0", "type": "SUB_PROCESS", "params": {"workflow": code - 1}}
    if code == NESTED[0]:
        task["params"] = {"workflow": 1}
    if code == NESTED[-1]:
        lists = [{"name": "x", "value": "1,2,3,4,5,6"}]
        task |= {"type": "DYNAMIC", "params": {"workflow": NESTED[1], "lists": lists, "parallelism": 6}}
    return code, {"tasks": [task]}


def _put_under(random: Random, tasks: list[dict[str, Any]]) -> None:
    """One of the tasks stands for other workflows."""
    task = random.choice(tasks)
    for field in ("retry_times", "retry_interval", "delay_time", "on_worker_loss", "flag"):
        task.pop(field, None)
    if random.random() < 0.7:
        task |= {"type": "SUB_PROCESS", "params": {"workflow": random.randint(1, PLAIN)}}
    else:
        lists = [{"name": "x", "value": "1,2,3"}]
        params = {"workflow": random.randint(1, PLAIN), "lists": lists, "parallelism": random.choice((1, 2))}
        task |= {"type": "DYNAMIC", "params": params}
