"""Why a task waits for a person: who may answer, what it asks, and what its timeout does. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dao.tasks.approvals import Approval
from model.errors import Refused
from model.logic.approval import OnTimeout
from service.explain.answer import Why, task_named
from service.explain.subjects import TaskFacts
from service.words import duration, plain

QUESTION_MAX = 200
_LATE: Mapping[OnTimeout, str] = {
    OnTimeout.FAIL: "fails",
    OnTimeout.SKIP: "is skipped",
    OnTimeout.APPROVE: "is approved",
}


def why_asks(task: TaskFacts, asks: Approval) -> Why:
    """For a task that asks a person."""
    try:
        of, late = f"an answer of {asks.asks.answerers}", _LATE[asks.asks.on_timeout]
        question = " ".join(plain(asks.question().text).split())
    except (Refused, ValueError) as error:
        of, late, question = "an answer", "ends", f"(what it asks cannot be shown: {error})"
    shown = question if len(question) <= QUESTION_MAX else f"{question[:QUESTION_MAX]} ..."
    since = f", for {duration(task.since_s)}" if task.since_s is not None else ""
    until = f" It {late} in {duration(max(0.0, task.due_in_s))}." if task.due_in_s is not None else ""
    return Why(
        f"{task.name} waits for {of}{since}: {shown}{until}",
        f"Answer: shoal task answer {task_named(task.run, task.name)}; or --reject with a --reason",
    )
