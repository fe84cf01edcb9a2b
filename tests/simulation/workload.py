"""The requests: starts, schedules and their changes, and commands about runs that may fit or not."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

from model.choices import ExecutionType
from model.ids import WorkflowCode
from model.runs.command_moves import RERUNNING, CommandType
from model.runs.states import WorkflowState
from tests.simulation import approvals, streams
from tests.simulation.definitions import (
    CLOSING,
    COUNT,
    DATED,
    KEYED,
    LOOKING,
    MANY,
    MAPPED,
    NESTED,
    PLAIN,
    POOLED,
    RULED,
    STARTING,
    TIMED,
    TRIGGERED,
    TRIGGERING,
    WAITING,
    awaited,
    specs,
    waits_without_limit,
)
from tests.simulation.statements.commands import commands
from tests.simulation.statements.definitions import definitions, schedules
from tests.simulation.tables import Blocked
from tests.simulation.world import FAULTS_S, World

C = CommandType
_MOVES = (
    *(C.PAUSE, C.PAUSE, C.STOP, C.STOP, C.RECOVER_SUSPENDED_PROCESS, C.RECOVER_SUSPENDED_PROCESS),
    *(C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK, commands.RECOVER),
)
_REPAIRED_BY = {
    WorkflowState.FAILURE: C.START_FAILURE_TASK_PROCESS,
    WorkflowState.PAUSE: C.RECOVER_SUSPENDED_PROCESS,
    WorkflowState.STOP: C.RECOVER_SUSPENDED_PROCESS,
}
_REVIVES = (C.RECOVER_SUSPENDED_PROCESS, C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK)
_SERIAL = [
    code
    for code, spec in specs().items()
    if spec.execution_type is not ExecutionType.PARALLEL and spec.serial_key is None and code not in MANY
]
_CRONTABS = ("*/2 * * * * ?", "*/5 * * * * ?", "0/7 * * * * ?")


def arrange(world: World) -> None:
    """Have it asked for at moments that the seed draws, some of them at once."""
    random, loop = world.draw("workload"), world.loop
    favourites = [random.randint(1, COUNT if random.random() < 0.5 else PLAIN) for _ in range(4)]
    at_once = random.random() < 0.3
    for number in range(random.choice((2, 4, 8, 12))):
        own = world.draw("start", number)
        if world.has(f"start {number}"):
            when_s = 2.0 if at_once else own.uniform(0, FAULTS_S)
            asked = {
                "workflow_code": str(own.choice(favourites)),
                "priority": own.choice((None, None, "HIGHEST", "LOWEST")),
            }
            loop.in_world(when_s, partial(ask, world, C.START_PROCESS, **asked))
    nesting = world.draw("nesting")
    for number in range(nesting.choice((0, 0, 1, 3))):
        own = world.draw("nested", number)
        if world.has(f"nested {number}"):
            asked = {"workflow_code": str(own.choice(NESTED))}
            loop.in_world(own.uniform(0, FAULTS_S), partial(ask, world, C.START_PROCESS, **asked))
    if world.poison:
        loop.in_world(random.uniform(1, 9), partial(ask, world, C.START_PROCESS, workflow_code=str(world.poison)))
    for number in range(random.choice((0, 0, 2, 6, 10))):
        own = world.draw("move", number)
        if world.has(f"move {number}"):
            loop.in_world(own.uniform(2, FAULTS_S), move, world, own)
    for number in range(random.choice((0, 0, 1, 2))):
        own = world.draw("schedule", number)
        if world.has(f"schedule {number}"):
            _schedule(world, own, own.choice(favourites))
    lines = world.draw("lines")
    if lines.random() < 0.2 and world.has("lines"):
        code = lines.choice(_SERIAL)
        for number in range(lines.choice((3, 6, 10))):
            loop.in_world(lines.uniform(0, FAULTS_S), _stand_in_line, world, world.draw("line", number), code)
    _stand_in_lines_by_key(world)
    _share_pools(world)
    _wait_for_others(world)
    _start_some(world, "timeouts", "timed", 0.2, (1, 2, 4), TIMED)  # which nothing but their timeout ends
    _start_some(world, "rules", "ruled", 0.3, (2, 4, 8), RULED)
    _clean_up(world)
    if world.draw("many").random() < 0.25:
        go_on_together(world)
    start_others(world, 0.25)
    trigger_others(world, 0.12)
    if world.draw("elements").random() < 0.15:
        run_elements(world)
    dates = world.draw("dates")
    if dates.random() < 0.2 and world.has("dates"):
        fill_dates(world, dates)
    _look(world)
    streams.arrange(world, partial(ask, world))
    approvals.arrange(world, partial(ask, world), 0.15)
    loop.in_world(FAULTS_S + 5, _resume_children, world)


def _stand_in_lines_by_key(world: World) -> None:
    """In a part of the seeds: starts of few keys, of all priorities, some at once; some whose parameters are broken."""
    random = world.draw("keys")
    if random.random() > 0.25:
        return
    code, keys = random.choice(KEYED), random.choice((1, 2, 3))
    at_once = random.random() < 0.5
    for number in range(random.choice((6, 12, 20))):
        own = world.draw("key", number)
        if not world.has(f"key {number}"):
            continue
        params = "{}" if own.random() < 0.1 else json.dumps({"key": f"k{own.randrange(keys)}"})
        asked: dict[str, str | None] = {"workflow_code": str(code), "params": params}
        asked["priority"] = own.choice((None, None, "HIGHEST", "LOWEST"))
        when_s = own.choice((2.0, 5.0)) if at_once else own.uniform(0, FAULTS_S)
        world.loop.in_world(when_s, partial(ask, world, C.START_PROCESS, **asked))


def _share_pools(world: World) -> None:
    """In a part of the seeds: runs whose tasks need resources, often more at once than there are."""
    random = world.draw("pools")
    if random.random() > 0.3:
        return
    at_once = random.random() < 0.5
    for number in range(random.choice((3, 6, 12))):
        own = world.draw("pooled", number)
        if world.has(f"pooled {number}"):
            asked = {"workflow_code": str(own.choice(POOLED)), "priority": own.choice((None, None, "HIGHEST"))}
            when_s = own.choice((2.0, 5.0)) if at_once else own.uniform(0, FAULTS_S)
            world.loop.in_world(when_s, partial(ask, world, C.START_PROCESS, **asked))


def _start_some(world: World, drawn: str, name: str, share: float, counts: Sequence[int], codes: Sequence[int]) -> None:
    """In this share of the seeds: runs of some of these workflows, each arranged under a name of its own."""
    random = world.draw(drawn)
    if random.random() > share:
        return
    for number in range(random.choice(counts)):
        own = world.draw(name, number)
        if world.has(f"{name} {number}"):
            began = partial(ask, world, C.START_PROCESS, workflow_code=str(own.choice(codes)))
            world.loop.in_world(own.uniform(0, FAULTS_S), began)


def _clean_up(world: World) -> None:
    """In a part of the seeds: runs that clean up, many of them halted or run again."""
    _start_some(world, "clearing", "cleared", 0.25, (2, 4, 8), CLOSING)
    random = world.draw("clearing moves")
    if random.random() > 0.4:
        return
    for number in range(random.choice((2, 6, 12))):
        own = world.draw("clearing move", number)
        if world.has(f"clearing move {number}"):
            world.loop.in_world(own.uniform(2, FAULTS_S), move, world, own, CLOSING)


def go_on_together(world: World) -> None:
    """Runs of which some go on at once and the others wait, while people halt them, run them again, and change how many
    may."""
    random = world.draw("together")
    code, at_once = random.choice(MANY), random.random() < 0.5
    for number in range(random.choice((5, 10, 16))):
        own = world.draw("one of many", number)
        if world.has(f"one of many {number}"):
            asked: dict[str, str | None] = {"workflow_code": str(code), "priority": own.choice((None, None, "HIGHEST"))}
            if specs()[code].serial_key is not None:
                asked["params"] = json.dumps({"key": f"k{own.randrange(2)}"})
            when_s = own.choice((2.0, 5.0)) if at_once else own.uniform(0, FAULTS_S)
            world.loop.in_world(when_s, partial(ask, world, C.START_PROCESS, **asked))
    for number in range(random.choice((0, 3, 8))):
        own = world.draw("move of many", number)
        if world.has(f"move of many {number}"):
            world.loop.in_world(own.uniform(2, FAULTS_S), move, world, own, MANY)
    for number in range(random.choice((0, 0, 2, 4))):
        own = world.draw("save of many", number)
        if world.has(f"save of many {number}"):
            changed = WorkflowCode(own.choice((code, MANY[0])))
            world.loop.in_world(own.uniform(1, FAULTS_S), _save, world, changed, own.choice((1, 1, 2, 3, 4)))


def _save(world: World, code: WorkflowCode, max_active: int) -> None:
    if world.server.is_down or world.server.definitions.rows[code].owner is not None:  # a master holds its lines
        world.loop.in_world(0.1, _save, world, code, max_active)
        return
    world.server.do(partial(definitions.save_max_active, code=code, max_active=max_active))
    world.trace.add("client", f"workflow {code} has max_active {max_active}")


def _look(world: World) -> None:
    """In a part of the seeds: runs with WAIT tasks, some of them halted or run again."""
    _start_some(world, "looking", "looked", 0.25, (2, 4, 8), LOOKING)
    random = world.draw("looking moves")
    if random.random() > 0.4:
        return
    for number in range(random.choice((2, 6))):
        own = world.draw("looking move", number)
        if world.has(f"looking move {number}"):
            world.loop.in_world(own.uniform(2, FAULTS_S), move, world, own, LOOKING)


def _wait_for_others(world: World) -> None:
    """In a part of the seeds: runs with DEPENDENT tasks, and sooner or later those that they await."""
    random = world.draw("dependents")
    for number in range(random.choice((0, 0, 0, 1, 3))):
        own = world.draw("dependent", number)
        if world.has(f"dependent {number}"):
            code = own.choice(WAITING)
            if waits_without_limit(code) and world.server.suspect_code in awaited(code):
                continue  # no run of what kills whoever begins one ever comes
            world.loop.in_world(own.uniform(0, FAULTS_S), partial(ask, world, C.START_PROCESS, workflow_code=str(code)))
            for each in sorted(awaited(code)):
                if own.random() < 0.8 or waits_without_limit(code):
                    began = partial(ask, world, C.START_PROCESS, workflow_code=str(each))
                    world.loop.in_world(own.uniform(0, FAULTS_S), began)


def ask(world: World, type_: CommandType, **columns: Any) -> None:
    """Insert a command, once the server is there."""
    if world.server.is_down:
        world.loop.in_world(0.5, lambda: ask(world, type_, **columns))
        return
    id_ = world.server.do(lambda tx: commands.ask(tx, type_, **columns))
    world.trace.add("client", f"command {id_}: {type_} {columns}")


def move(world: World, random: Random, codes: Collection[int] | None = None) -> None:
    """Something about a run; about one of these workflows, with `codes`."""
    server = world.server
    ids = [
        row.id
        for row in server.instances.rows.values()
        if row.values is not None and (codes is None or row.values.workflow_code in codes)
    ]
    if not ids or server.is_down:
        return
    type_, id_ = random.choice(_MOVES), random.choice(ids)
    if type_ is commands.RECOVER:  # somebody wants a run failed over whose master may live
        world.trace.add("client", f"asks for a failover of {id_}")
        with suppress(Blocked):  # a master is just asking for the same
            server.do(lambda tx: commands.ask_recover(tx, id_, 1))
        return
    more = {"start_tasks": "t0"} if type_ is C.EXECUTE_TASK else {}
    if more and codes is CLOSING:
        more["start_tasks"] = random.choice(("t0", "c0"))
    if type_ in RERUNNING and random.random() < 0.3:
        more["workflow_version"] = random.choice("12")
    ask(world, type_, workflow_instance_id=str(id_), **more)


def start_others(world: World, share: float) -> None:
    """In this share of the seeds: runs that start others, some of them halted or run again."""
    _start_some(world, "starting", "starts others", share, (2, 4, 8), STARTING)
    random = world.draw("starting moves")
    for number in range(random.choice((0, 2, 6))):
        own = world.draw("starting move", number)
        if world.has(f"starting move {number}"):
            world.loop.in_world(own.uniform(1, FAULTS_S), move, world, own, STARTING)


def trigger_others(world: World, share: float) -> None:
    """In this share of the seeds: runs that trigger others, some of these halted or run again."""
    if world.draw("triggers").random() > share:
        return
    _start_some(world, "triggering", "triggers others", 1.0, (1, 2, 4), TRIGGERING)
    random = world.draw("triggering moves")
    for number in range(random.choice((0, 2, 6))):
        own = world.draw("triggering move", number)
        if world.has(f"triggering move {number}"):
            world.loop.in_world(own.uniform(1, FAULTS_S), move, world, own, (*TRIGGERING, *TRIGGERED))


def run_ruled(world: World) -> None:
    """Runs whose tasks have start rules."""
    _start_some(world, "more rules", "more ruled", 1.0, (4, 8), RULED)


def run_elements(world: World) -> None:
    """Runs whose tasks have elements, some of them halted or run again."""
    _start_some(world, "mapping", "has elements", 1.0, (2, 4, 8), MAPPED)
    random = world.draw("mapping moves")
    for number in range(random.choice((0, 3, 8))):
        own = world.draw("mapping move", number)
        if world.has(f"mapping move {number}"):
            world.loop.in_world(own.uniform(1, FAULTS_S), move, world, own, MAPPED)


def fill_dates(world: World, random: Random) -> None:
    """Dates of one workflow, asked for in their order and often at once; people halt their runs and repeat them."""
    code, day = random.choice(DATED), datetime(2026, 3, 1, 6, tzinfo=UTC)
    at_s = 0.0
    for number in range(random.choice((3, 5, 8))):
        at_s += random.choice((0.0, 0.0, 0.3, 4.0))
        due = str(day + timedelta(days=number))
        world.loop.in_world(at_s, partial(ask, world, C.SCHEDULER, workflow_code=str(code), schedule_time=due))
    for _ in range(random.choice((0, 2, 5))):
        world.loop.in_world(random.uniform(1, FAULTS_S), move, world, Random(random.random()), DATED)
    world.loop.in_world(FAULTS_S + 5, _repair_dates, world)


def _repair_dates(world: World) -> None:
    """A date waits for the one before until somebody repeats that with success: that is us."""
    for row in list(world.server.instances.rows.values()):
        run = row.values
        if run is None or run.workflow_code not in DATED or not run.state.is_final:
            continue
        if run.state is not WorkflowState.SUCCESS or run.executing:  # only some of its tasks were done again
            ask(world, _REPAIRED_BY.get(run.state, C.REPEAT_RUNNING), workflow_instance_id=str(row.id))
    world.loop.in_world(5.0, _repair_dates, world)


def _stand_in_line(world: World, random: Random, code: int) -> None:
    """Everything at once by which runs of a serial workflow become live."""
    ended = [
        row.id
        for row in world.server.instances.rows.values()
        if row.values is not None and row.values.workflow_code == code and row.values.state.is_final
    ]
    for id_ in random.sample(ended, min(len(ended), 4)):
        type_ = random.choice((*_REVIVES, C.REPEAT_RUNNING))
        more = {"start_tasks": "t0"} if type_ is C.EXECUTE_TASK else {}
        ask(world, type_, workflow_instance_id=str(id_), **more)
    for _ in range(random.choice((0, 1, 2))):
        ask(world, C.START_PROCESS, workflow_code=str(code))


def _resume_children(world: World) -> None:
    """A run waits for a child that somebody paused until somebody lets it go on: that is us."""
    for row in list(world.server.instances.rows.values()):
        child = row.values
        if child is not None and child.parent is not None and child.state is WorkflowState.PAUSE:
            row_above = world.server.instances.rows.get(child.parent.instance)
            above = None if row_above is None else row_above.values
            if above is not None and not above.state.is_final:
                ask(world, C.RECOVER_SUSPENDED_PROCESS, workflow_instance_id=str(row.id))
    world.loop.in_world(5.0, _resume_children, world)


def _schedule(world: World, random: Random, code: int) -> None:
    crontab, misfire = random.choice(_CRONTABS), random.choice(("FIRE_ALL", "FIRE_ONCE", "SKIP"))
    id_ = world.server.do(partial(schedules.save, workflow_code=code, crontab=crontab, misfire=misfire))
    world.trace.add("client", f"schedule {id_} of {code}: {crontab} {misfire}")
    for _ in range(random.choice((0, 0, 1, 3))):
        changed = partial(schedules.edit, id_=id_, crontab=random.choice(_CRONTABS))
        world.loop.in_world(random.uniform(1, FAULTS_S), _change, world, id_, changed)
    # Else runs would follow runs for ever.
    world.loop.in_world(FAULTS_S, _change, world, id_, partial(schedules.edit, id_=id_, state="OFFLINE"))


def _change(world: World, id_: int, change: Any) -> None:
    if world.server.schedules.rows[id_].owner is not None:  # somebody fires it just now: wait, as PostgreSQL would
        world.loop.in_world(0.1, _change, world, id_, change)
        return
    world.server.do(change)
    world.trace.add("client", f"schedule {id_} is changed: {change.keywords}")
