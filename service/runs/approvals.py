"""The operations about APPROVAL tasks that wait for a person: what they ask, and the answer.

Who sees the run sees what is asked. Who may answer says the definition (`model/logic/approval.py`), beside the roles of
the project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from dao.tasks import approvals
from dao.tasks.approvals import Approval
from model.accounts.audits import ActorKind
from model.accounts.rights import Right
from model.choices import ParameterType
from model.errors import Forbidden, Refused
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.logic.approval import REASON_MAX, ApprovalParams, FormField, OnTimeout
from model.parameters.text import ParameterValue
from model.runs.states import TaskState
from service.call import Call, Subject
from service.callers import Caller
from service.fields import Answer, Asked, Id, Moment, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of
from service.runs.control import TASK
from service.runs.requests import Project

TAG = "approvals"


class ApprovalQuery(PageQuery):
    """Which approvals."""

    run: Annotated[Id | None, Field(description="only those of this run")] = None
    project: Project = None


class FieldAsked(Answer):
    """One value of the form. `value` is its default; `allowed` says in words what it may be."""

    name: str
    type: ParameterType
    value: str
    required: bool
    description: str
    enum: Sequence[str] | None = None
    min: str | None = None
    max: str | None = None
    allowed: str

    @classmethod
    def of(cls, name: str, field: FormField) -> FieldAsked:
        return cls(name=name, **field.model_dump(), allowed=field.allowed())


class WaitingApproval(Answer):
    """An attempt that waits for an answer. `answerers` says in words who may give one, and `may_answer` whether the
    caller may. At `due_at` it ends as `on_timeout` says. `fault`: why its text cannot be shown; it can be rejected."""

    task_instance_id: Id
    task: str
    run_id: Id
    workflow_code: Id
    workflow: str | None = None
    project: str | None = None
    since: Moment
    due_at: Moment | None = None
    on_timeout: OnTimeout
    text: str
    form: Sequence[FieldAsked]
    answerers: str
    may_answer: bool
    fault: str | None = None


class GiveAnswer(Asked):
    """The answer: approve or reject, the values of the form with an approval, and a reason."""

    answer: Literal["APPROVE", "REJECT"]
    params: Annotated[
        Mapping[str, ParameterValue],
        Field(description="values of the form; those left out keep their defaults"),
    ] = Field(default_factory=dict)
    reason: Annotated[Text, Field(max_length=REASON_MAX, description="why; needed to reject")] = ""


class Answered(Answer):
    """How the attempt has ended. `results` are what the tasks after it see."""

    task_instance_id: Id
    task: str
    run_id: Id
    state: TaskState
    reason: str
    results: Mapping[str, str]


@operation("GET", "/approvals", Right.VIEW, TAG)
async def list_approvals(call: Call, query: ApprovalQuery) -> PageOf[WaitingApproval]:
    """List what waits for an answer, the oldest first."""
    visible = call.visible()
    run = None if query.run is None else WorkflowInstanceId(query.run)
    found = await call.read(
        approvals.waiting, query.limit + 1, after=query.after or 0, run=run, project=query.project, visible=visible
    )
    return page_of(found, query.limit, lambda each: _shown(call.caller, each), lambda each: each.id)


@operation("POST", "/task-instances/{id}/answer", Right.VIEW, TAG)
async def answer_approval(call: Call, id: Id, body: GiveAnswer) -> Answered:
    """Answer an approval: it ends as a success with the values of its form, or as a failure.

    The right to see the run is needed, and what the task says about who may answer.
    """
    task_id = TaskInstanceId(id)
    found = await call.read(approvals.these, [task_id])
    project = found[0].project if found else None
    async with call.changing(Subject(TASK, id, project)) as change:
        approval = await approvals.held(change.connection, task_id)
        results = _results(call.caller, approval, body)
        await approvals.answer(change.connection, approval, call.caller.name, results, body.reason)
        (ended,) = await approvals.these(change.connection, [task_id])
        change.before = {"state": approval.state}
        change.after = {
            "state": ended.state,
            "task": approval.task,
            "run": str(approval.run),
            "reason": ended.reason,
            **({} if results is None else {"results": results}),
        }
        change.answer = Answered(
            task_instance_id=id,
            task=approval.task,
            run_id=approval.run,
            state=ended.state,
            reason=ended.reason or "",
            results=results or {},
        )
    return change.answered(Answered)


def _results(caller: Caller, approval: Approval, body: GiveAnswer) -> dict[str, str] | None:
    """The results of an approval, None of a rejection. Raises `Forbidden`, `Refused`."""
    if not _may_answer(caller, approval, asks := approval.asks):
        raise Forbidden(f'{caller.name} may not answer task "{approval.task}": it waits for {asks.answerers}')
    if body.answer == "APPROVE":
        return approval.question().results(body.params)
    if not body.reason.strip():
        raise Refused("a rejection needs a reason, which becomes that of the task; give one")
    if body.params:
        raise Refused("a rejected task has no results; leave the values out")
    return None


def _may_answer(caller: Caller, approval: Approval, asks: ApprovalParams) -> bool:
    """Whether the definition lets it; who has the database itself may answer everything."""
    if caller.kind is ActorKind.SYSTEM_USER:
        return True
    return asks.may_be_answered_by(caller.name, approval.project or "", caller.roles, is_admin=caller.is_admin)


def _shown(caller: Caller, approval: Approval) -> WaitingApproval:
    same = ("task", "workflow_code", "workflow", "project", "due_at")
    head = {name: getattr(approval, name) for name in same}
    head |= {"task_instance_id": approval.id, "run_id": approval.run, "since": approval.started_at}
    try:
        asks = approval.asks
    except (Refused, ValueError) as error:
        unreadable = {"on_timeout": OnTimeout.FAIL, "text": "", "form": [], "answerers": "nobody", "may_answer": False}
        return WaitingApproval(**head, **unreadable, fault=str(error))
    head |= {"on_timeout": asks.on_timeout, "answerers": asks.answerers}
    head["may_answer"] = _may_answer(caller, approval, asks)
    try:
        question = approval.question()
    except Refused as error:
        return WaitingApproval(**head, text=asks.text, form=[], fault=str(error))
    form = [FieldAsked.of(name, field) for name, field in question.form.items()]
    return WaitingApproval(**head, text=question.text, form=form)
