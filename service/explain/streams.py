"""Why a stream does not run, or is not ready: what is said of it and of no other task. Pure."""

from __future__ import annotations

from shlex import quote

from service.explain.answer import Why
from service.explain.subjects import TaskFacts
from service.words import duration


def why_pausing(task: TaskFacts, due_in_s: float) -> Why:
    """For a stream that pauses before it is started again."""
    how_often = "once" if task.retries <= 1 else f"{task.retries} times in a row"
    code = "" if task.last_exit_code is None else f", the last time with exit code {task.last_exit_code}"
    starts = f"starts again in {duration(due_in_s)}" if due_in_s > 0 else "starts again now"
    return Why(
        f"{task.name} {starts}: it ended {how_often}{code}.",
        f"Start it now: shoal restart {task.run} --task {quote(task.name)}   Its logs: shoal show {task.run}",
    )


def said_readiness(task: TaskFacts) -> str:
    """What is added to the sentence that a stream runs."""
    if task.is_ready is None:
        return ""
    return ", and is ready" if task.is_ready else ", and is not ready: its readiness probe fails"
