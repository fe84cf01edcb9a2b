"""Why a stream does not run, or is not ready: what is said of it and of no other task. Pure."""

from __future__ import annotations

from shlex import quote

from service.explain.answer import Why, names_of
from service.explain.subjects import TaskFacts
from service.words import duration


def why_pausing(task: TaskFacts, due_in_s: float) -> Why:
    """For a stream that pauses before it is started again."""
    how_often = "once" if task.retries <= 1 else f"{task.retries} times in a row"
    code = "" if task.last_exit_code is None else f", the last time with exit code {task.last_exit_code}"
    starts = f"starts again in {duration(due_in_s)}" if due_in_s > 0 else "starts again now"
    return Why(
        f"{task.name} {starts}: it ended {how_often}{code}.{said_restart(task)}",
        f"Start it now: shoal task restart {task.run} --task {quote(task.name)}   Its logs: shoal show {task.run}",
    )


def said_readiness(task: TaskFacts) -> str:
    """What is added to the sentence that a stream runs."""
    if task.is_ready is None:
        return ""
    return ", and is ready" if task.is_ready else ", and is not ready: its readiness probe fails"


def said_restart(task: TaskFacts) -> str:
    """A sentence that is added for a stream that is being restarted, or is to be; it begins with a space."""
    restart = task.restart
    if restart is None:
        return ""
    if restart.after:
        return f" {restart.asked_by} restarts it when {names_of(restart.after)} is ready again."
    if restart.queued:
        return f" {restart.asked_by} restarts it when a worker has {names_of(restart.queued)}, or after a minute."
    if not restart.then:
        return f" {restart.asked_by} restarts it."
    return f" {restart.asked_by} restarts it; when it is ready again: {names_of(restart.then)}."


def going_on_restarting(task: TaskFacts) -> str:
    """What else can be done about a restart for which others wait; it begins with the space between two commands."""
    if task.restart is None or not task.restart.then or task.is_ready is not False:
        return ""
    command = f"shoal task restart {task.run} --task"
    return f"   Once more: {command} {quote(task.name)}   Without it: {command} {quote(task.restart.then[0])}"
