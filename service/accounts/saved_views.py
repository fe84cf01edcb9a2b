"""The operations about saved views: named filters of lists, of the caller alone or shared with a project.

A view of the caller alone is seen and changed by nobody else, an admin included. A shared one is seen by all who may
view its project, and changed by all who may edit there. Its ETag is its revision.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from dao.accounts import saved_views
from dao.accounts.rows import SavedView
from dao.accounts.saved_views import Holder
from model import fields
from model.accounts.rights import Right
from model.errors import Refused
from service.accounts.audit_pages import AuditQuery
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of
from service.runs.requests import RunFilter, TaskQuery
from service.schedules.schedule_requests import ScheduleQuery
from service.workflows.requests import WorkflowQuery

KIND, TAG = "saved-view", "saved-views"
VIEWS_MAX = 200
"""Of one person, and of one project."""
QUERY_MAX = 8_192
"""Characters of a query as JSON."""
ListName = Literal["workflow-instances", "task-instances", "workflow-definitions", "schedules", "audit"]
FILTERS: Mapping[str, type[Asked]] = {
    "workflow-instances": RunFilter,
    "task-instances": TaskQuery,
    "workflow-definitions": WorkflowQuery,
    "schedules": ScheduleQuery,
    "audit": AuditQuery,
}
"""What the lists may be asked for; which page of them is no part of a view."""
_OF_PAGES = frozenset({"limit", "cursor"})
Value = Text | bool | Sequence[Text]
Filters = Annotated[
    dict[Text, Value],
    Field(max_length=30, description="filters of the list and their values", examples=[{"state": ["FAILURE"]}]),
]


class SaveView(Asked):
    """A view as it is to be from now on."""

    name: fields.Name
    query: Filters


class NewView(SaveView):
    """A new view."""

    list: Annotated[ListName, Field(description="of which list, as in its address")]
    project: Annotated[fields.Name | None, Field(description="whose members see it too; else only the caller")] = None


class ViewsQuery(PageQuery):
    """A page of views, by id."""

    list: Annotated[ListName | None, Field(description="only of this list")] = None


class ViewAnswer(Answer, SavedView, without={"person"}, etag="revision"):
    """A view. Without a `project` only the caller sees it."""

    id: Id
    query: Annotated[dict[str, Any], Field(examples=[{"state": ["FAILURE"]}])]
    is_own: Annotated[bool, Field(description="the caller made it")]


@operation("GET", "/saved-views", Right.VIEW, TAG)
async def list_saved_views(call: Call, query: ViewsQuery) -> PageOf[ViewAnswer]:
    """List the caller's own views, and those that are shared with projects that the caller may view."""
    visible = call.visible()
    found = await call.read(
        saved_views.page,
        call.caller.key,
        query.limit + 1,
        after=query.after or 0,
        of_list=query.list,
        visible=visible,
    )
    return page_of(found, query.limit, lambda view: _answer(call, view), lambda view: view.id)


@operation("GET", "/saved-views/{id}", Right.VIEW, TAG)
async def get_saved_view(call: Call, id: Id) -> ViewAnswer:
    """Show a view; the ETag is its revision."""
    view = await call.read(saved_views.find, id)
    call.require(_subject(call, view))
    return _answer(call, view)


@operation("POST", "/saved-views", Right.EDIT, TAG, status=201)
async def create_saved_view(call: Call, body: NewView) -> ViewAnswer:
    """Save a view: without a project for the caller alone, which needs no right."""
    project, holder = body.project, Holder(call.caller.key, body.project)
    async with call.changing(Subject(KIND, None, project, body.name, own=project is None)) as change:
        query = _checked(body.list, body.query)
        if await saved_views.count(change.connection, holder) >= VIEWS_MAX:
            of = "you have" if project is None else f'project "{project}" has'
            raise Refused(f"{of} {VIEWS_MAX} saved views, which is the limit; delete some first")
        view = await saved_views.insert(change.connection, holder, body.list, body.name, query, call.caller.name)
        if view is None:
            raise _name_taken(body.name, body.list)
        change.id, change.after = view.id, _said(view)
        change.answer = _answer(call, view)
    return change.answered(ViewAnswer)


@operation("PUT", "/saved-views/{id}", Right.EDIT, TAG)
async def change_saved_view(call: Call, id: Id, body: SaveView) -> ViewAnswer:
    """Change the name and the filters of a view. Needs `If-Match` with the revision read."""
    subject = _subject(call, await call.read(saved_views.find, id))
    async with call.changing(subject) as change:
        before = await saved_views.hold(change.connection, id)
        call.expect(before.revision)
        view = await saved_views.update(change.connection, before, body.name, _checked(before.list, body.query))
        if view is None:
            raise _name_taken(body.name, before.list)
        change.before, change.after = _said(before), _said(view)
        change.answer = _answer(call, view)
    return change.answered(ViewAnswer)


@operation("DELETE", "/saved-views/{id}", Right.EDIT, TAG, status=204)
async def delete_saved_view(call: Call, id: Id) -> None:
    """Delete a view. Needs `If-Match` with the revision read."""
    subject = _subject(call, await call.read(saved_views.find, id))
    async with call.changing(subject) as change:
        before = await saved_views.hold(change.connection, id)
        call.expect(before.revision)
        await saved_views.delete(change.connection, id)
        change.before = _said(before)


def _subject(call: Call, view: SavedView) -> Subject:
    """What a call about a view is about. Raises `Hidden` for that of another person."""
    if view.project is None and view.person != call.caller.key:
        call.check_scope()
        raise call.hidden()
    return Subject(KIND, view.id, view.project, view.name, own=view.project is None)


def _checked(of_list: str, query: Mapping[str, Value]) -> Mapping[str, Value]:
    """The filters, which the list knows. Raises `Refused`."""
    model = FILTERS[of_list]
    known = sorted(model.model_fields.keys() - _OF_PAGES)
    if unknown := sorted(query.keys() - set(known)):
        raise Refused(f'the list {of_list} has no filter "{unknown[0][:60]}"; it has {", ".join(known)}')
    try:
        model.model_validate(dict(query))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Refused(f'the filter "{fault["loc"][0]}" of the list {of_list} is wrong: {fault["msg"]}') from None
    if (size := len(json.dumps(query, ensure_ascii=False))) > QUERY_MAX:
        raise Refused(f"the filters have {size} characters, more than {QUERY_MAX}; save fewer values")
    return query


def _name_taken(name: str, of_list: str) -> Refused:
    return Refused(f'there is a view "{name}" of the list {of_list} already; change that one, or choose another name')


def _said(view: SavedView) -> dict[str, Any]:
    return {"list": view.list, "name": view.name, "revision": view.revision}


def _answer(call: Call, view: SavedView) -> ViewAnswer:
    return ViewAnswer.showing(view, is_own=view.person == call.caller.key)
