"""Waits for the result of a command, until its run has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from model.errors import Denied, Refused, ShoalError, Unavailable
from model.runs.states import WorkflowState
from service.runs import answers, showing
from shoal.clients.client import Client

T = TypeVar("T")

LOOK_EVERY_S = 0.1
LOOK_EVERY_S_MAX = 1.0


class NotDone(ShoalError):
    """A master checked a command and refused it: nothing was changed."""


@dataclass(frozen=True)
class RunEnd:
    """How a run ended. `tasks` counts those that began, each once."""

    run: int
    workflow: str
    state: WorkflowState
    tasks: int
    took_s: float
    reason: str | None


async def follow_command(
    client: Client,
    command: int,
    *,
    started: Callable[[answers.CommandAnswer], None] = lambda _fate: None,
    polled: Callable[[Sequence[answers.TaskAnswer]], None] = lambda _tasks: None,
    away: Callable[[Unavailable], None] = lambda _error: None,
) -> RunEnd:
    """Wait until the run that a command requests has ended, even while the server is away.

    Args:
        client: see `poll`.
        command: one that starts a run, or changes one.
        started: called once, when a master took it.
        polled: called with the attempts of its tasks, each time they were read.
        away: called when the server does not answer; once, until it answers again.
    Raises:
        Refused: the command became an error command; the sentence is its reason.
        Denied: the server refuses us by now.
    """
    fate: answers.CommandAnswer | None = None

    async def read() -> RunEnd | None:
        nonlocal fate
        if fate is None or fate.run_id is None:
            fate = await client.ask(showing.get_command, command)
            if fate.reason is not None:
                raise Refused(f"command {command} was refused: {fate.reason}")
            if fate.run_id is None:
                return None
            started(fate)
        run = await client.ask(showing.get_run, fate.run_id)
        polled(run.tasks)
        if not run.state.is_final:
            return None
        name = run.workflow or str(run.workflow_code)
        begun = len({task.code for task in run.tasks if task.valid})
        return RunEnd(run.id, name, run.state, begun, run.took_s, run.reason)

    return await poll(read, away)


async def poll(read: Callable[[], Awaitable[T | None]], away: Callable[[Unavailable], None]) -> T:
    """Poll ten times a second at first, once a second later, until `read` has an answer.

    An unavailable server is reported to `away`, once until it answers again, and retried.
    """
    pause_s, is_away = LOOK_EVERY_S, False
    while True:
        try:
            found = await read()
            is_away = False
            if found is not None:
                return found
        except Denied:
            raise
        except Unavailable as error:
            if not is_away:
                away(error)
            is_away = True
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.1, LOOK_EVERY_S_MAX)
