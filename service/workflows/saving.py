"""The operations that change one workflow: put a new content, go back to a version, set its state, delete it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence

from dao.definitions import definitions, references, release, versions
from dao.definitions import release as release_rows
from dao.definitions.definitions import Definition
from dao.definitions.release import Users
from dao.postgres.database import database_time
from dao.postgres.pool import AsyncConnection
from model.accounts.rights import Right, is_seen
from model.choices import ReleaseState
from model.definitions.problems import InvalidWorkflow, Problem
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import WorkflowCode
from model.scripts.normal_form import changed_scripts
from service.call import Call, Change, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.projects.limits import check_limits_of_start
from service.workflows.apply_saving import save_all
from service.workflows.apply_transaction import DEFINITION
from service.workflows.listing import WorkflowAnswer
from service.workflows.reach import check_reach
from service.workflows.requests import PutWorkflow, RollBack, SetReleaseState
from service.workflows.saved_workflow import read_version
from service.workflows.sealing import sealed_for_saving
from service.workflows.workflow_file import WorkflowDocument, parse_spec, parse_workflows
from service.workflows.workflow_warnings import doubts

BODY_FILE = "yaml"
"""How a file that stands in a request is called in messages."""


class ChangedWorkflow(WorkflowAnswer, etag="version"):
    """A workflow after a change; a content that equals the present one makes no new version."""

    is_new_version: bool
    warnings: Sequence[str] = ()


class ReleasedWorkflow(Answer):
    """Whether a workflow may be started now, and whether this changed."""

    code: Id
    name: str
    release_state: ReleaseState
    is_changed: bool
    online_schedules: Sequence[Id]


@operation("PUT", "/workflow-definitions/{code}", Right.EDIT, "workflow-definitions")
async def put_workflow(call: Call, code: Id, body: PutWorkflow) -> ChangedWorkflow:
    """Give a workflow a new content, as a file or as its definition alone. Needs `If-Match` with the version read."""
    if (body.yaml is None) == (body.spec is None):
        raise Refused("give the new content either as `yaml` or as `spec`")
    seen = await call.read(definitions.head, WorkflowCode(code))
    call.permit(seen.project)
    document = await asyncio.to_thread(_document, call, seen, body)
    async with call.changing(subject_of(seen)) as change:
        head = await held(call, change.connection, seen, is_read=True)
        await check_reach(call, change.connection, head.project, document.spec, document.schedules)
        if body.yaml is not None:
            now = await database_time(change.connection)
            (saved,) = await save_all(change.connection, [document], call.settings.secrets, now, by=call.caller.name)
            _done(change, head, saved.head, is_new=saved.is_new_version)
        else:
            spec = await sealed_for_saving(change.connection, document, call.settings.secrets)
            await _save(call, change, head, spec)
        assert isinstance(change.answer, ChangedWorkflow)
        change.answer = change.answer.model_copy(update={"warnings": [*document.notes, *doubts(document.spec)]})
    return change.answered(ChangedWorkflow)


@operation("POST", "/workflow-definitions/{code}/roll-back", Right.EDIT, "workflow-definitions")
async def roll_back_workflow(call: Call, code: Id, body: RollBack) -> ChangedWorkflow:
    """Save the content of an older version again, as a new one. Needs `If-Match` with the version read."""
    seen = await call.read(definitions.head, WorkflowCode(code))
    async with call.changing(subject_of(seen)) as change:
        head = await held(call, change.connection, seen, is_read=True)
        spec = await read_version(change.connection, head, body.version)
        await check_reach(call, change.connection, head.project, spec)
        source = await versions.read_source(change.connection, head.code, body.version)
        await _save(call, change, head, spec, source)
        assert change.after is not None
        change.after = {**change.after, "content_of": body.version}
    return change.answered(ChangedWorkflow)


@operation("PUT", "/workflow-definitions/{code}/release-state", Right.EDIT, "workflow-definitions")
async def set_release_state(call: Call, code: Id, body: SetReleaseState) -> ReleasedWorkflow:
    """Publish a workflow (ONLINE), or take it back (OFFLINE): then starts are refused, and its runs continue."""
    seen = await call.read(definitions.head, WorkflowCode(code))
    async with call.changing(subject_of(seen)) as change:
        head = await held(call, change.connection, seen)
        if body.release_state is ReleaseState.ONLINE:
            await check_limits_of_start(change.connection, head, None)
        is_changed = await release_rows.set_state(change.connection, head.code, body.release_state)
        change.before, change.after = {"release_state": head.release_state}, {"release_state": body.release_state}
        change.answer = ReleasedWorkflow(
            code=head.code,
            name=head.name,
            release_state=body.release_state,
            is_changed=is_changed,
            online_schedules=await release_rows.firing(change.connection, head.code),
        )
    return change.answered(ReleasedWorkflow)


@operation("DELETE", "/workflow-definitions/{code}", Right.EDIT, "workflow-definitions", status=204)
async def delete_workflow(call: Call, code: Id) -> None:
    """Delete a workflow with all its versions, if nothing uses it. Its runs stay listed, and cannot run again."""
    seen = await call.read(definitions.head, WorkflowCode(code))
    async with call.changing(subject_of(seen)) as change:
        head = await held(call, change.connection, seen)
        await delete_unused(change.connection, head, call.caller.projects_with(Right.VIEW))
        change.before = {"version": head.version, "release_state": head.release_state}


def _document(call: Call, head: Definition, body: PutWorkflow) -> WorkflowDocument:
    types = call.backend.task_types
    if body.spec is not None:
        try:
            spec = parse_spec(body.spec, types)
        except InvalidWorkflow as error:
            problems = [Problem(where=("spec", *each.where), sentence=each.sentence) for each in error.problems]
            raise InvalidWorkflow(problems) from None
        notes = tuple(changed_scripts(body.spec))
        return WorkflowDocument(head.project, head.name, head.release_state, spec, notes=notes)
    assert body.yaml is not None
    found = parse_workflows(body.yaml.encode(), BODY_FILE, types)
    if [(each.project, each.name) for each in found] != [(head.project, head.name)]:
        names = ", ".join(f'"{each.name}" of project "{each.project}"' for each in found[:5])
        raise Refused(
            f'the file contains {names}, and this is workflow "{head.name}" of project "{head.project}"; a workflow '
            f"keeps its name, and several are saved by /workflow-definitions:apply"
        )
    return found[0]


def subject_of(head: Definition) -> Subject:
    return Subject(DEFINITION, head.code, head.project, head.name)


async def held(call: Call, connection: AsyncConnection, seen: Definition, *, is_read: bool = False) -> Definition:
    """The workflow as it is now; no other transaction changes it until this one ends.

    Raises `Changed` if it is not the version that the caller says it has read; `is_read`: it must say one.
    """
    await definitions.lock(connection, seen.code)
    head = await definitions.head(connection, seen.code)
    if is_read or call.if_match is not None:
        saved = await versions.authorship(connection, head.code, head.version)
        call.expect(head.version, f", saved by {saved.created_by} at {saved.created_at:%F %T %Z}" if saved else "")
    return head


async def _save(call: Call, change: Change, head: Definition, spec: WorkflowSpec, source: str | None = None) -> None:
    """Save a content, with the text that says it, as the current version; the rest stays. Raises `Refused`."""
    connection = change.connection
    after, is_new = await definitions.save(
        connection, head.project, head.name, head.release_state, spec, by=call.caller.name, source=source
    )
    if wrong := await references.check(connection, head.project, head.name, spec):
        raise Refused("; ".join(wrong))
    _done(change, head, after, is_new=is_new)


def _done(change: Change, before: Definition, after: Definition, *, is_new: bool) -> None:
    change.before = {"version": before.version, "release_state": before.release_state}
    change.after = {"version": after.version, "release_state": after.release_state}
    change.answer = ChangedWorkflow(**WorkflowAnswer.model_validate(after).model_dump(), is_new_version=is_new)


async def delete_unused(connection: AsyncConnection, head: Definition, visible: Collection[str] | None = None) -> None:
    """Delete a workflow and its versions; its ended runs stay listed.

    `visible`: the projects whose workflows may be named; None = all.

    Raises:
        Refused: something uses it; the sentence says what, and how to end that.
    """
    await definitions.lock(connection, head.code)
    reasons = list(reasons_of(await release.users_of(connection, head.code), visible))
    if reasons:
        raise Refused(f'workflow "{head.name}" cannot be deleted: {"; ".join(reasons)}')
    await release.delete(connection, head.code)


def reasons_of(users: Users, visible: Collection[str] | None = None) -> Iterator[str]:
    """What uses a workflow, in sentences that say how to end that."""
    match users.runs:
        case [run]:
            yield f"run {run} has not ended (shoal stop {run})"
        case [first, *_]:
            yield f"runs {_listed(users.runs)} have not ended (shoal stop {first})"
    match users.commands:
        case [command]:
            yield f"command {command} waits for a master (shoal queue)"
        case [_, *_]:
            yield f"commands {_listed(users.commands)} wait for a master (shoal queue)"
    match users.schedules:
        case [schedule]:
            yield f"schedule {schedule} starts it (shoal schedule delete {schedule})"
        case [one, *_]:
            yield f"schedules {_listed(users.schedules)} start it (shoal schedule delete {one})"
    if users.workflows:
        names = [f'"{name}"' for project, name in users.workflows if is_seen(project, visible)]
        hidden = len(users.workflows) - len(names)
        shown = [f"workflow{'' if len(names) == 1 else 's'} {_listed(names)}"] if names else []
        whose = [*shown, *(["one of another project"] if hidden else [])]
        uses = "uses" if len(users.workflows) == 1 else "use"
        yield f"{' and '.join(whose)} {uses} it (take that task out of its file and apply it)"


def _listed(found: Sequence[object]) -> str:
    more = " and perhaps more" if len(found) == release.FOUND_MAX else ""
    return f"{', '.join(map(str, found))}{more}"
