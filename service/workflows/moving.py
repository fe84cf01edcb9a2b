"""The operation that moves a workflow to another project, and says before what that changes.

It keeps its code, so its versions, schedules and runs come along. It also keeps its meaning: where it names workflows
or datasets without their project, a new version names the project that it leaves, and the workflows that name it get
new versions that name its new project. Its secrets, which are bound to their project, are sealed again.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.accounts import audit
from dao.alerts import saved_rules
from dao.definitions import definitions, moving, projects, references, release, schedule_contents, versions
from dao.secrets.parameters import seal, unseal
from model.accounts.rights import Right
from model.alerts.rules import parse_rule
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.ids import ScheduleId, WorkflowCode
from model.logic.references import naming, to_name
from model.parameters.parameters import parse_parameters
from model.parameters.secret_values import SEALED, has_sealed, sealed_value
from service.call import Call
from service.fields import Answer, Id
from service.operation import operation
from service.secrets.key_settings import open_vault
from service.workflows.apply_transaction import DEFINITION
from service.workflows.listing import WorkflowAnswer
from service.workflows.reach import check_reach
from service.workflows.requests import MoveWorkflow
from service.workflows.saved_workflow import read_version
from service.workflows.saving import held, reasons_of, subject_of
from service.workflows.yaml_sections import with_key

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.definitions.definitions import Definition
    from dao.postgres.pool import AsyncConnection
    from dao.secrets.vault import Vault

RULES_MAX = 1_000
"""Of so many alert rules of a project it is said whether they name the workflow."""
ProjectOf = Callable[[str | None, str | None], str | None]
"""The name of a workflow, None = of a dataset, and the project beside it -> the project to name; None = as it is."""


class ChangedReference(Answer):
    """A workflow that names the one that moves, and gets a version that names its new project."""

    code: Id
    project: str
    name: str


class MovedWorkflow(WorkflowAnswer, etag="version"):
    """A workflow in its new project, or with `dry_run` what would become of it."""

    project_before: str
    changed: Sequence[ChangedReference]
    notes: Annotated[Sequence[str], Field(description="what does not come along, or is to be looked at")]
    refused: Annotated[Sequence[str], Field(description="what stands against it; only with `dry_run`")] = ()
    dry_run: bool


@dataclass(frozen=True)
class _Version:
    """The next version of a workflow, and its text if somebody wrote one."""

    head: Definition
    spec: WorkflowSpec
    source: str | None


@dataclass(frozen=True)
class _Move:
    """What a move does. `own` is None if the workflow needs no new version; `params` are those of schedules."""

    head: Definition
    project: str
    own: _Version | None
    others: Sequence[_Version]
    params: Mapping[ScheduleId, str]
    notes: Sequence[str]
    refused: Sequence[str]

    def answer(self, head: Definition, *, dry_run: bool) -> MovedWorkflow:
        changed = [ChangedReference.model_validate(each.head) for each in self.others]
        before, refused = self.head.project, self.refused
        fields = WorkflowAnswer.model_validate(head).model_dump()
        return MovedWorkflow(
            **fields, project_before=before, changed=changed, notes=self.notes, refused=refused, dry_run=dry_run
        )


@operation("POST", "/workflow-definitions/{code}/move", Right.EDIT, "workflow-definitions")
async def move_workflow(call: Call, code: Id, body: MoveWorkflow) -> MovedWorkflow:
    """Move a workflow, with its versions, schedules and runs, to another project. Needs `If-Match`.

    Workflows that name it get a new version; so does it, if it names others. Needs the right in all of their projects.
    """
    async with call.reading() as connection:
        seen = await definitions.head(connection, WorkflowCode(code))
        call.require(subject_of(seen), replace(subject_of(seen), project=body.project))
        if body.dry_run:
            planned = await _planned(call, connection, seen, body.project)
            version = seen.version + (planned.own is not None)
            return planned.answer(replace(seen, project=body.project, version=version), dry_run=True)
    async with call.changing(subject_of(seen), replace(subject_of(seen), project=body.project)) as change:
        head = await held(call, change.connection, seen, is_read=True)
        move = await _planned(call, change.connection, head, body.project)
        if move.refused:
            raise Refused(f'workflow "{head.name}" cannot be moved: {"; ".join(move.refused)}')
        after = await _carried_out(call, change.connection, move)
        change.before = {"project": head.project, "version": head.version}
        change.after = {"project": body.project, "version": after.version}
        await audit.insert(change.connection, list(_entries(call, move)))
        change.answer = move.answer(after, dry_run=False)
    return change.answered(MovedWorkflow)


async def _planned(call: Call, connection: AsyncConnection, head: Definition, project: str) -> _Move:
    """What moving it does. Raises `Refused`: it is there already, or a definition cannot be read."""
    if head.project == project:
        raise Refused(f'workflow "{head.name}" is in project "{project}" already')
    if not await references.has_project(connection, project):
        raise NotFound(f'there is no project "{project}"; the first workflow or parameter saved in one creates it')
    spec = await read_version(connection, head)
    refused = [sentence async for sentence in _obstacles(connection, head, project)]
    own = await _renamed(connection, head, spec, _leaving(head, project))
    stored = await schedule_contents.contents_of(connection, head.code)
    params: Mapping[ScheduleId, str] = {}
    try:
        await check_reach(call, connection, project, own.spec, [each.spec for each in stored if each.spec is not None])
        resealed = _Resealing(open_vault(call.settings.secrets), head.project, project)
        own = resealed.version(own)
        params = {each.id: resealed.text(each.params) for each in stored if has_sealed(each.params)}
    except Refused as reason:
        refused.append(str(reason))
    others = []
    for whose, name in await references.named_by(connection, head.code):
        other = await definitions.find(connection, name, whose)
        now = await read_version(connection, other)
        changed = await _renamed(connection, other, now, _following(head, project, whose))
        if changed.spec == now:
            continue  # it names it by its code
        if call.caller.may(Right.EDIT, whose):
            others.append(changed)
        else:
            which = f'workflow "{name}" of project "{whose}"' if call.caller.may(Right.VIEW, whose) else "a workflow"
            refused.append(f"{which} names it, and {call.caller.name} may not change that one; ask who may to move it")
    notes = [sentence async for sentence in _notes(call, connection, head, project, spec)]
    is_new = own.spec != spec
    if older := await moving.naming_before(connection, head.code, head.version + is_new):
        notes.append(
            f'in {older} of its older versions, names of workflows and data sources mean those of "{project}" then'
        )
    return _Move(head, project, own if is_new else None, others, params, notes, refused)


async def _carried_out(call: Call, connection: AsyncConnection, move: _Move) -> Definition:
    """The workflow in its new project."""
    after = move.head
    for each in (*([move.own] if move.own is not None else []), *move.others):
        head = each.head
        saved, _ = await definitions.save(
            connection, head.project, head.name, head.release_state, each.spec, by=call.caller.name, source=each.source
        )
        after = saved if saved.code == after.code else after
    for id_, params in move.params.items():
        await schedule_contents.change_columns(connection, id_, {"params": params})
    await moving.move(connection, after.code, move.project)
    return replace(after, project=move.project)


def _entries(call: Call, move: _Move) -> Iterator[AuditEntry]:
    """The rows of the audit about the workflows that name it."""
    for each in move.others:
        head, name = each.head, call.operation.name
        before, after = {"version": head.version}, {"names": move.head.name, "of_project": move.project}
        yield call.caller.entry(
            name, DEFINITION, head.code, head.name, project=head.project, before=before, after=after
        )


def _leaving(head: Definition, project: str) -> ProjectOf:
    """What it names without a project is in the one that it leaves; it names itself in the new one."""

    def project_of(workflow: str | None, named: str | None) -> str | None:
        if workflow == head.name and named in (None, head.project):
            return named and project
        return head.project if named is None else None

    return project_of


def _following(head: Definition, project: str, whose: str) -> ProjectOf:
    """What names it names it in its new project."""

    def project_of(workflow: str | None, named: str | None) -> str | None:
        return project if workflow == head.name and (named or whose) == head.project else None

    return project_of


async def _renamed(
    connection: AsyncConnection, head: Definition, spec: WorkflowSpec, project_of: ProjectOf
) -> _Version:
    places = to_name(spec, project_of)
    source = await versions.read_source(connection, head.code, head.version)
    if not places:
        return _Version(head, spec, source)
    return _Version(head, naming(spec, places), None if source is None else with_key(source, "project", places))


async def _obstacles(connection: AsyncConnection, head: Definition, project: str) -> AsyncIterator[str]:
    if project in await definitions.projects_with(connection, head.name):
        yield f'project "{project}" has a workflow "{head.name}" already'
    users = await release.users_of(connection, head.code)
    for sentence in reasons_of(replace(users, schedules=[], workflows=[])):
        yield sentence
    if drafts := await moving.drafts_of(connection, head.project, head.name):
        whole = f"{drafts} drafts of it must be published or discarded first"
        yield "1 draft of it must be published or discarded first" if drafts == 1 else whole


async def _notes(
    call: Call, connection: AsyncConnection, head: Definition, project: str, spec: WorkflowSpec
) -> AsyncIterator[str]:
    """What does not come along, in sentences."""
    content = spec.model_dump_json()
    theirs = await projects.parameters(connection, project) if project != "default" else {}
    for name, value in parse_parameters(head.project_params, "the project's parameters").items():
        if f"${{{name}}}" in content and name not in spec.params and theirs.get(name) != value:
            other = f'project "{project}" has another value for the parameter "{name}", which it uses'
            yield other if name in theirs else f'project "{project}" has no parameter "{name}", which it uses'
    if spec.file_contents:
        yield f'it keeps its files as saved; before you change it, put {_few(spec.file_contents)} into "{project}"'
    datasets = {name for task in spec.tasks for name in task.updates}
    for whose, name in await moving.waiting_for(connection, head.code, head.project, datasets) if datasets else ():
        if call.caller.may(Right.VIEW, whose):
            yield f'workflow "{name}" of project "{whose}" waits for datasets of "{head.project}", which it updates'
    rules = await saved_rules.page(connection, None, RULES_MAX, project=head.project)
    if named := [each.name for each in rules if _names(each.text, head.name)]:
        yield f'alert rules of "{head.project}" name it: write {_few(named)} in "{project}"'
    if silences := await moving.silences_of(connection, head.project, head.name):
        yield f'silences of "{head.project}" no longer cover it: {_few(map(str, silences))}'


def _names(rule: str, workflow: str) -> bool:
    try:
        return parse_rule(rule).workflow == workflow
    except Refused:
        return False


def _few(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:3]) + (f", … (+{len(found) - 3})" if len(found) > 3 else "")


class _Resealing:
    """Seals again, for another project, the values that are sealed for one; each once."""

    def __init__(self, vault: Vault, old: str, new: str) -> None:
        self._vault, self._old, self._new = vault, old, new
        self._known: dict[str, str] = {}

    def version(self, version: _Version) -> _Version:
        content = version.spec.model_dump_json(exclude_defaults=True)
        if not has_sealed(content):
            return version
        source = None if version.source is None else self.text(version.source)
        return _Version(version.head, WorkflowSpec.parse(json.loads(self.text(content))), source)

    def text(self, text: str) -> str:
        """Raises `Refused`: a key is missing."""
        return SEALED.sub(self._again, text)

    def _again(self, match: re.Match[str]) -> str:
        found = sealed_value(match[0])
        if found is None or not found.is_of(self._old):
            return match[0]
        if match[0] not in self._known:
            value = unseal(found.name, found, self._vault, self._old)
            self._known[match[0]] = seal(found.name, value, self._vault, self._new)
        return self._known[match[0]]
