"""The operation that lists the audit: each account sees that of the projects that it owns, an admin all of it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dao.accounts import audit
from model.accounts.audits import ActorKind, Outcome
from model.accounts.rights import Right
from model.fields import NAME_LENGTH_MAX
from model.ids import AuditId
from service.call import Call
from service.fields import Answer, Id, Moment, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of

Word = Annotated[Text | None, Field(max_length=NAME_LENGTH_MAX)]


class AuditQuery(PageQuery):
    """Which entries; newest first."""

    project: Word = None
    actor: Annotated[Word, Field(description="the name of an account, user of the operating system, or node")] = None
    object_kind: Word = None
    object_id: Annotated[Word, Field(description="with `object_kind`")] = None
    action: Annotated[Word, Field(description="an operation, such as start_run")] = None
    outcome: Outcome | None = None
    since: Annotated[Moment | None, Field(description="then or later")] = None
    until: Annotated[Moment | None, Field(description="before then")] = None


class AuditAnswer(Answer):
    """Who did what, or was refused it."""

    id: Id
    at: Moment
    actor_kind: ActorKind
    actor: str
    account: Id | None = None
    action: str
    object_kind: str
    object_id: str | None = None
    object_name: str | None = None
    project: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    address: str | None = None
    request_id: str | None = None
    outcome: Outcome

    @classmethod
    def of(cls, row: audit.AuditRow) -> AuditAnswer:
        entry = row.entry
        left_out_if_empty = {"address": entry.address or None, "request_id": entry.request_id or None}
        return cls.showing(entry, id=row.id, at=row.at, **left_out_if_empty)


@operation("GET", "/audit", Right.OWN, "audit")
async def list_audit(call: Call, query: AuditQuery) -> PageOf[AuditAnswer]:
    """List who changed what, newest first: an owner sees its projects, an admin everything."""
    asked = query.model_dump(exclude={"project", *PageQuery.model_fields})
    wanted = audit.AuditFilter(_projects(call, query.project), **asked)
    last = query.after
    found = await call.read(audit.page, wanted, query.limit + 1, None if last is None else AuditId(last))
    return page_of(found, query.limit, AuditAnswer.of, lambda row: row.id)


def _projects(call: Call, project: str | None) -> frozenset[str] | None:
    """Of which projects the caller sees the entries; None: all, and what belongs to none. Raises `Forbidden`."""
    if project is not None:
        call.permit(project)
        return frozenset({project})
    owned = call.visible()
    if owned is None:
        call.caller.need(Right.ADMINISTER)  # an admin's token that is for projects only does not see the cluster's
        return None
    return frozenset(owned)
