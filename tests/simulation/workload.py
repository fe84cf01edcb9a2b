"""What is asked for: starts, schedules, and commands about runs that may fit or not."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from model.command_moves import CommandType
from model.states import WorkflowState
from tests.simulation.definitions import COUNT, PLAIN
from tests.simulation.statements import commands, schedules
from tests.simulation.tables import Blocked
from tests.simulation.world import FAULTS_S, World

C = CommandType
_MOVES = (
    *(C.PAUSE, C.PAUSE, C.STOP, C.STOP, C.RECOVER_SUSPENDED_PROCESS, C.RECOVER_SUSPENDED_PROCESS),
    *(C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK, commands.RECOVER),
)


def arrange(world: World) -> None:
    """Have it asked for at moments that the seed draws, some of them at once."""
    random, server = world.random, world.server
    favourites = [random.randint(1, COUNT if random.random() < 0.5 else PLAIN) for _ in range(4)]

    def ask(type_: CommandType, **columns: Any) -> None:
        if server.is_down:
            world.loop.in_world(0.5, lambda: ask(type_, **columns))
            return
        id_ = server.do(lambda tx: commands.ask(tx, type_, **columns))
        world.trace.add("client", f"command {id_}: {type_} {columns}")

    def move() -> None:
        ids = [row.id for row in server.instances.rows.values() if row.values is not None]
        if ids and not server.is_down:
            type_, id_ = random.choice(_MOVES), random.choice(ids)
            if type_ is commands.RECOVER:  # somebody wants a run taken over whose master may live
                world.trace.add("client", f"asks for a takeover of {id_}")
                with suppress(Blocked):  # a master is just asking for the same
                    server.do(lambda tx: commands.ask_recover(tx, id_, 1))
                return
            more = {"start_tasks": "t0"} if type_ is C.EXECUTE_TASK else {}
            ask(type_, workflow_instance_id=str(id_), **more)

    def resume_children() -> None:
        """A run waits for a child that somebody paused until somebody lets it go on: that is us."""
        for row in list(server.instances.rows.values()):
            child = row.values
            if child is not None and child.parent is not None and child.state is WorkflowState.PAUSE:
                above = server.instances.rows[child.parent.instance].values
                if above is not None and not above.state.is_final:
                    ask(C.RECOVER_SUSPENDED_PROCESS, workflow_instance_id=str(row.id))
        world.loop.in_world(5.0, resume_children)

    world.loop.in_world(FAULTS_S + 5, resume_children)
    at_once = random.random() < 0.3
    for _ in range(random.choice((2, 4, 8, 12))):
        when_s = 2.0 if at_once else random.uniform(0, FAULTS_S)
        code = str(random.choice(favourites))
        priority = random.choice((None, None, "HIGHEST", "LOWEST"))
        world.loop.in_world(when_s, lambda c=code, p=priority: ask(C.START_PROCESS, workflow_code=c, priority=p))
    for _ in range(random.choice((0, 0, 2, 6, 10))):
        world.loop.in_world(random.uniform(2, FAULTS_S), move)
    for _ in range(random.choice((0, 0, 1, 2))):
        crontab = random.choice(("*/2 * * * * ?", "*/5 * * * * ?", "0/7 * * * * ?"))
        misfire = random.choice(("FIRE_ALL", "FIRE_ONCE", "SKIP"))
        code_ = random.choice(favourites)
        id_ = server.do(partial(schedules.insert, workflow_code=code_, crontab=crontab, misfire=misfire))
        world.trace.add("client", f"schedule {id_} of {code_}: {crontab} {misfire}")
        world.loop.in_world(FAULTS_S, _switch_off, world, id_)


def _switch_off(world: World, id_: int) -> None:
    """Else runs would follow runs for ever."""

    def off(tx: Any) -> None:
        tx.update(tx.server.schedules.rows[id_], state="OFFLINE", updated_at=str(tx.server.now()))

    row = world.server.schedules.rows[id_]
    if row.owner is None:
        world.server.do(off)
    else:
        world.loop.in_world(0.1, _switch_off, world, id_)
