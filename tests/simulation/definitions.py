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
"""Higher codes are nested: `DEPTH` of them, each over the one before, and one with many of those under it."""
DEPTH = 10
NESTED = range(COUNT + 1, COUNT + DEPTH + 2)
WAITING = range(NESTED.stop, NESTED.stop + 6)
"""Workflows with DEPENDENT tasks."""
KEYED = range(WAITING.stop, WAITING.stop + 2)
"""Workflows with a line for each value of `key`."""
POOLED = range(KEYED.stop, KEYED.stop + 5)
"""The tasks of those after these need resources."""
POOLS = {"a": 3, "b": 1, "c": 2}
"""The number of resources in each pool."""
STREAMING = range(POOLED.stop, POOLED.stop + 2)
"""Workflows with tasks that run until they are stopped."""
LEASED = range(STREAMING.stop, STREAMING.stop + 3)
"""As `STREAMING`, but each needs resources, of which there are too few for all."""
TIMED = range(LEASED.stop, LEASED.stop + 3)
"""Workflows that end only by their timeout, unless somebody stops them."""
RULED = range(TIMED.stop, TIMED.stop + 12)
"""The tasks of those after these have start rules, and fail often."""
CLOSING = range(RULED.stop, RULED.stop + 8)
"""Workflows with tasks that clean up; the last stands over one of them."""
MANY = range(CLOSING.stop, CLOSING.stop + 6)
"""Workflows of which some runs are live at once and the others wait; the last stands over one of them."""
DATED = range(MANY.stop, MANY.stop + 3)
"""Workflows with `after_last`: each date waits for the success of the one before."""
LOOKING = range(DATED.stop, DATED.stop + 4)
"""Workflows with WAIT tasks."""
STARTING = range(LOOKING.stop, LOOKING.stop + 3)
"""Workflows that start others without waiting for them."""
MAPPED = range(STARTING.stop, STARTING.stop + 5)
"""Workflows that have tasks with `each`."""
TRIGGERING = range(MAPPED.stop, MAPPED.stop + 3)
"""The tasks of those after these update datasets."""
TRIGGERED = range(TRIGGERING.stop, TRIGGERING.stop + 4)
"""Workflows that are started by the ends of those before them, and by datasets."""
ASKING = range(TRIGGERED.stop, TRIGGERED.stop + 3)
"""Workflows that begin with an APPROVAL task."""
STREAM_POOLS = {"s": 6}
"""The pools that only streams need, with their sizes. Elsewhere streams need fewer than all."""


@cache
def specs() -> dict[int, WorkflowSpec]:
    """The definitions by code."""
    random = Random(20_260_101)
    drawn = {code: _drawn(random, code) for code in range(1, COUNT + 1)}
    waiting = {code: _waiting(Random(f"{code} waits")) for code in WAITING}
    keyed = {code: _keyed(Random(f"{code} keys")) for code in KEYED}
    pooled = {code: _pooled(Random(f"{code} needs")) for code in POOLED}
    streaming = {code: _streaming(Random(f"{code} streams")) for code in STREAMING}
    leased = {code: _leased(Random(f"{code} streams")) for code in LEASED}
    timed = {code: _timed(Random(f"{code} ends")) for code in TIMED}
    ruled = {code: _ruled(Random(f"{code} rules")) for code in RULED}
    closing = {code: _closing(Random(f"{code} cleans up"), code) for code in CLOSING}
    looking = {code: _looking(Random(f"{code} looks")) for code in LOOKING}
    dated = {code: _dated(Random(f"{code} dates")) for code in DATED}
    every = drawn | dict(map(_nested, NESTED)) | waiting | keyed | pooled | streaming | leased | timed | ruled | closing
    every |= {code: _many(Random(f"{code} shares"), code) for code in MANY}
    every |= dated | looking
    every |= {code: _starting(Random(f"{code} starts")) for code in STARTING}
    every |= {code: _mapped(Random(f"{code} elements")) for code in MAPPED}
    every |= {code: _updating(Random(f"{code} updates"), ("d0", "d1")) for code in TRIGGERING}
    every |= {code: _triggered(code) for code in TRIGGERED}
    late = dict(zip(ASKING, ("FAIL", "SKIP", "APPROVE"), strict=True))
    every |= {code: _asking(on_timeout) for code, on_timeout in late.items()}
    return {code: WorkflowSpec.parse(given) for code, given in every.items()}


@cache
def content(code: WorkflowCode, version: int) -> str:
    """A definition as stored. A version above 1, which only reruns request, has other scripts in every second task."""
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
    """A dependency without a limit awaits runs that come, and accepts a failure: nothing waits forever."""
    items = [
        {"workflow": code if random.random() < 0.5 else f"w{code}", "cycle": "today"}
        | ({"task": random.choice(("t0", "*"))} if random.random() < 0.4 else {})
        for code in random.sample(range(1, PLAIN + 1), random.choice((1, 1, 2)))
    ]
    params: dict[str, Any] = {"groups": [{"items": items, "relation": random.choice(("AND", "OR"))}]}
    params["wait_minutes"] = random.choice((0, 0, 0.05, 0.2))
    params["on_failure"] = random.choice(("FAIL", "WAIT")) if params["wait_minutes"] else "FAIL"
    if params["wait_minutes"] and random.random() < 0.5:  # nothing of that time may ever come
        del items[0]["cycle"]
        items[0]["at"] = random.choice(("same", "-1d", "today 06:00"))
    if items[0].get("task") != "*":
        items[0]["pass_outputs"] = True
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


def _dated(random: Random) -> dict[str, Any]:
    names = [f"t{number}" for number in range(random.choice((1, 2)))]
    tasks = [{"name": name, "type": "SHELL", "params": {"script": "true"}} for name in names]
    return {"tasks": tasks, "after_last": "succeeded"}


def _starting(random: Random) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    for number in range(random.choice((1, 2, 3))):
        params = {"workflow": random.randint(1, PLAIN), "wait": False}
        task: dict[str, Any] = {"name": f"t{number}", "type": "SUB_PROCESS", "params": params}
        tasks.append(task | ({"after": [f"t{number - 1}"]} if number and random.random() < 0.6 else {}))
    last = {"name": "t9", "type": "SHELL", "params": {"script": "true"}, "after": [task["name"] for task in tasks]}
    return {"tasks": [*tasks, last]}


def _leased(random: Random) -> dict[str, Any]:
    """One task needs more than the others, to show that it is not overtaken forever."""
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


def _closing(random: Random, code: int) -> dict[str, Any]:
    """Some end by their timeout, and some are serial."""
    names = [f"t{number}" for number in range(random.choice((1, 2, 3)))]
    tasks: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        task: dict[str, Any] = {"name": name, "type": "SHELL", "params": {"script": "true"}}
        task["after"] = random.sample(names[:place], random.randint(0, min(place, 1)))
        if random.random() < 0.2:
            task |= random.choice(({"retry_times": 1}, {"on_worker_loss": "fail"}, {"flag": "NO"}))
        tasks.append(task)
    if code == CLOSING[-1]:
        tasks[0] = {"name": "t0", "type": "SUB_PROCESS", "params": {"workflow": CLOSING[0]}}
    for number in range(random.choice((1, 2, 3))):
        task = {"name": f"c{number}", "type": "SHELL", "params": {"script": "true"}, "timeout": 10}
        task["on_exit" if number and random.random() < 0.4 else "teardown"] = True
        before = [each["name"] for each in tasks if not (each.get("on_exit") and task.get("teardown"))]
        task["after"] = random.sample(before, random.randint(0, min(len(before), 2)))
        if random.random() < 0.3:
            task |= random.choice(({"retry_times": 1}, {"on_worker_loss": "fail"}, {"delay_time": 0.01}))
        tasks.append(task)
    given: dict[str, Any] = {"tasks": tasks, "failure_strategy": random.choice(("CONTINUE", "END"))}
    if random.random() < 0.25:
        given |= {"timeout_minutes": 0.05, "timeout_strategy": "FAILED"}
    if random.random() < 0.25:
        given["execution_type"] = "SERIAL_WAIT"
    return given


def _many(random: Random, code: int) -> dict[str, Any]:
    if code == MANY[-1]:
        lists = [{"name": "x", "value": "1,2,3,4,5"}]
        params = {"workflow": MANY[0], "lists": lists, "parallelism": 5}
        return {"tasks": [{"name": "t0", "type": "DYNAMIC", "params": params}]}
    names = [f"t{number}" for number in range(random.choice((1, 2)))]
    given: dict[str, Any] = {
        "tasks": [{"name": name, "type": "SHELL", "params": {"script": "true"}} for name in names],
        "max_active": 3 if code == MANY[1] else 2,
    }
    if code == MANY[2]:
        given["execution_type"] = "SERIAL_DISCARD"
    if code == MANY[3]:
        given["execution_type"] = "SERIAL_PRIORITY"
    if code == MANY[4]:
        given |= {"serial_key": "${key}", "params": {"key": ""}}
    return given


def _looking(random: Random) -> dict[str, Any]:
    """A task without a timeout waits for something that comes soon (`task_runs.py`)."""
    tasks: list[dict[str, Any]] = []
    for number in range(random.choice((1, 2, 3))):
        params: dict[str, Any] = {"for": {"file": "/there"}, "every": 0.02, "backoff": random.choice((1, 2))}
        params["max_every"] = 0.05
        if random.random() < 0.5:
            params |= {"timeout": random.choice((0.03, 0.1)), "on_timeout": random.choice(("FAIL", "SKIP"))}
        task: dict[str, Any] = {"name": f"t{number}", "type": "WAIT", "params": params}
        if random.random() < 0.3:
            task |= random.choice(({"retry_times": 1}, {"on_worker_loss": "fail"}, {"dispatch_timeout": 0.2}))
        tasks.append(task)
    tasks.append({"name": "then", "type": "SHELL", "params": {"script": "true"}, "after": ["t0"]})
    return {"tasks": tasks}


def _mapped(random: Random) -> dict[str, Any]:
    """The second, if there is one, has elements too, and begins when the first has ended."""
    tasks: list[dict[str, Any]] = []
    for number in range(random.choice((1, 1, 2))):
        each: dict[str, Any] = {"over": [f"e{index}" for index in range(random.choice((1, 3, 6)))]}
        each["parallel"] = random.choice((1, 2, 6))
        if random.random() < 0.3:
            each["on_failure"] = "stop"
        task: dict[str, Any] = {"name": f"t{number}", "type": "SHELL", "params": {"script": "true"}, "each": each}
        if random.random() < 0.5:
            task |= {"retry_times": 1, "retry_interval": random.choice((0, 0.01))}
        if random.random() < 0.3:
            task["on_worker_loss"] = "fail"
        if number:
            task |= {"after": ["t0"], "start_when": "all_done"}
        tasks.append(task)
    tasks.append({"name": "then", "type": "SHELL", "params": {"script": "true"}, "after": ["t0"]})
    return {"tasks": tasks, "failure_strategy": random.choice(("CONTINUE", "END"))}


def _updating(random: Random, datasets: tuple[str, ...]) -> dict[str, Any]:
    """One of the tasks does: each starts others, which take their time too."""
    tasks: list[dict[str, Any]] = []
    count = random.choice((1, 2))
    updating = random.randrange(count)
    for number in range(count):
        task: dict[str, Any] = {"name": f"t{number}", "type": "SHELL", "params": {"script": "true"}}
        if number == updating:
            task["updates"] = random.sample(datasets, random.choice((1, len(datasets))))
        if number:
            task["after"] = [f"t{number - 1}"]
        if random.random() < 0.4:
            task["retry_times"] = 1
        tasks.append(task)
    return {"tasks": tasks}


def _triggered(code: int) -> dict[str, Any]:
    """No two wait for each other."""
    first, second, *_ = (f"w{each}" for each in TRIGGERING)
    triggers: list[list[dict[str, Any]]] = [
        [{"workflow": first}],
        [{"workflow": first, "states": ["FAILURE", "STOP"]}, {"workflow": second}, {"datasets": ["d1", "d0"]}],
        [{"dataset": "d0"}],
        [{"dataset": "d1"}, {"dataset": "d0"}, {"workflow": f"w{TRIGGERED[0]}"}],
    ]
    updates = ("d1",) if code == TRIGGERED[2] else ("d9",)
    return _updating(Random(f"{code} updates"), updates) | {"triggers": triggers[code - TRIGGERED[0]]}


def _asking(on_timeout: str) -> dict[str, Any]:
    params = {"text": "go on?", "form": {"comment": ""}, "timeout": 0.08, "on_timeout": on_timeout}
    then = {"name": "t1", "type": "SHELL", "params": {"script": "true"}, "after": ["t0"]}
    return {"tasks": [{"name": "t0", "type": "APPROVAL", "params": params}, then]}


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
