"""The operations about projects: list, show, create, change parameters and defaults, delete empty ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dao.definitions import projects
from dao.definitions.projects import Project
from dao.postgres.pool import AsyncConnection
from dao.secrets.parameters import sealed_values
from model import fields
from model.accounts.project_limits import LIMIT_COLUMNS
from model.accounts.rights import Right
from model.definitions.defaults import TaskDefaults
from model.definitions.project_defaults import DEFAULTS, changed_defaults, read_defaults, written_defaults
from model.errors import Refused
from model.fields import NAME_LENGTH_MAX
from model.parameters.nested_references import resolve
from model.parameters.parameters import parse_parameters
from model.runs.retention_pace import KEPT_DAYS_MAX
from service.call import Call, Subject
from service.fields import Answer, Asked, Moment, Text
from service.operation import operation
from service.paging import NamedPageQuery, PageOf, page_of
from service.secrets.key_settings import open_vault

PROJECT = "project"
PARAMS_MAX = 1_000
NAMED_MAX = 5
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_MOST = {"most": KEPT_DAYS_MAX}
PathName = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]


def _kept_days(value: object) -> object:
    """Refuse what is no time in one sentence, with the field's own pointer; pydantic would have one for each type."""
    if value is None or value == "default" or (type(value) is int and 0 <= value <= KEPT_DAYS_MAX):
        return value
    raise PydanticCustomError("kept_days", "must be a whole number of days from 0 to {most}, or default", _MOST)


class CreateProject(Asked):
    """A new project."""

    name: fields.Name


class ChangeProject(Asked):
    """What changes in a project; all else stays."""

    params: Annotated[
        Mapping[Text, Text], Field(max_length=PARAMS_MAX, default_factory=dict, description="set to these values")
    ]
    secrets: Annotated[
        Mapping[Text, Text],
        Field(max_length=PARAMS_MAX, default_factory=dict, description="the same for SECRET ones, which are sealed"),
    ]
    without: Annotated[Sequence[Text], Field(max_length=PARAMS_MAX, description="parameters that are removed")] = ()
    defaults: Annotated[
        TaskDefaults | None,
        Field(description="fields that tasks get as their file is saved: these are set, the others stay"),
    ] = None
    without_defaults: Annotated[
        Sequence[Text], Field(max_length=len(DEFAULTS), description="defaults that are removed")
    ] = ()
    kept_days: Annotated[
        Annotated[int, Field(ge=0, le=KEPT_DAYS_MAX)] | Literal["default"] | None,
        Field(
            description="days for which ended runs are kept; 0 = forever, default = the masters' setting; "
            "left out: unchanged"
        ),
        BeforeValidator(_kept_days),
    ] = None


class ProjectAnswer(Answer):
    """A project. One that only workflows name has no time of creation."""

    name: str
    workflows: Annotated[int, Field(description="how many it has")]
    created_at: Moment | None = None
    tenants: Annotated[Sequence[str] | None, Field(description="the only ones that it may use")] = None
    worker_groups: Annotated[Sequence[str] | None, Field(description="the only ones that it may use")] = None
    environments: Annotated[Sequence[str] | None, Field(description="the only ones that it may use")] = None
    data_sources: Annotated[Sequence[str] | None, Field(description="the only ones that it may use")] = None
    alert_groups: Annotated[Sequence[str] | None, Field(description="the only ones that it may use")] = None
    kept_days: Annotated[
        int | None,
        Field(description="days for which its ended runs are kept; 0 = forever; left out: the masters' setting"),
    ] = None


class ProjectPageAnswer(ProjectAnswer, etag="version"):
    """A project with its parameters; of sealed values asterisks."""

    params: Mapping[str, str]
    defaults: Annotated[TaskDefaults, Field(description="fields that tasks get as their file is saved")]
    version: Annotated[str, Field(description="changes with each change of it; the ETag")]


@operation("GET", "/projects", Right.VIEW, "projects")
async def list_projects(call: Call, query: NamedPageQuery) -> PageOf[ProjectAnswer]:
    """List projects by name."""
    visible = call.visible()
    found = await call.read(projects.page, query.limit + 1, after=query.after, visible=visible)
    return page_of(found, query.limit, ProjectAnswer.model_validate, lambda each: each.name)


@operation("GET", "/projects/{name}", Right.VIEW, "projects")
async def get_project(call: Call, name: PathName) -> ProjectPageAnswer:
    """Show a project: the parameters that its workflows share, and what it may use."""
    call.permit(name)
    return await call.read(_page, name)


@operation("POST", "/projects", Right.ADMINISTER, "projects", status=201)
async def create_project(call: Call, body: CreateProject) -> ProjectPageAnswer:
    """Create a project."""
    name = body.name
    call.permit(None)
    async with call.changing(Subject(PROJECT, name, name, name)) as change:
        has_workflows = await projects.workflows_of(change.connection, name, 1)
        if not await projects.insert(change.connection, name) or has_workflows:
            raise Refused(f'there is a project "{name}" already')
        change.after = {"name": name}
        change.answer = await _page(change.connection, name)
    return change.answered(ProjectPageAnswer)


@operation("PATCH", "/projects/{name}", Right.OWN, "projects")
async def change_project(call: Call, name: PathName, body: ChangeProject) -> ProjectPageAnswer:
    """Set and remove parameters of a project, for all runs that begin from now on. Needs `If-Match`.

    With `defaults`: change those of the tasks in files that are saved from now on. With `kept_days`: say for how long
    its ended runs are kept. Parameters and defaults make a project that there is not; `kept_days` does not, since a
    project without runs has none to keep, and most likely its name is mistyped.
    """
    async with call.changing(Subject(PROJECT, name, name, name)) as change:
        if body.kept_days is not None:
            await projects.find(change.connection, name)
        await projects.hold(change.connection, name)
        before = await projects.find(change.connection, name)
        call.expect(_version(before))
        sealed = _sealed(call, name, body, before) if body.secrets else {}
        after = await projects.change(change.connection, name, {**body.params, **sealed}, body.without)
        resolve(after, {}, _ANY_TIME, ZoneInfo("UTC"))  # what it refuses would refuse each start of the project
        # Their names only: somebody may have written a secret into a value.
        change.before = {"params": sorted(parse_parameters(before.params, "params"))}
        change.after = {
            "params": sorted(after),
            "set": sorted({*body.params, *body.secrets}),
            "removed": list(body.without),
        }
        if body.defaults is not None or body.without_defaults:
            old = read_defaults(before.defaults, name)
            new = changed_defaults(old, body.defaults or TaskDefaults(), body.without_defaults, name)
            await projects.set_defaults(change.connection, name, new)
            change.before["defaults"], change.after["defaults"] = written_defaults(old), written_defaults(new)
        if body.kept_days is not None:
            await projects.keep(change.connection, name, None if body.kept_days == "default" else body.kept_days)
            change.before["kept_days"] = "default" if before.kept_days is None else before.kept_days
            change.after["kept_days"] = body.kept_days
        change.answer = await _page(change.connection, name)
    return change.answered(ProjectPageAnswer)


@operation("DELETE", "/projects/{name}", Right.OWN, "projects", status=204)
async def delete_project(call: Call, name: PathName) -> None:
    """Delete a project that has no workflow, with its parameters and members."""
    async with call.changing(Subject(PROJECT, name, name, name)) as change:
        await projects.find(change.connection, name)
        await projects.hold(change.connection, name)
        if left := await projects.workflows_of(change.connection, name, NAMED_MAX):
            named = ", ".join(f'"{each}"' for each in left)
            raise Refused(f'project "{name}" cannot be deleted: it has workflows, such as {named}; delete those first')
        await projects.delete(change.connection, name)
        change.before = {"name": name}


async def _page(connection: AsyncConnection, name: str) -> ProjectPageAnswer:
    found = await projects.find(connection, name)
    params = parse_parameters(found.params, f'the parameters of project "{name}"')
    return ProjectPageAnswer(
        **ProjectAnswer.model_validate(found).model_dump(),
        params=params,
        defaults=read_defaults(found.defaults, name),
        version=_version(found),
    )


def _sealed(call: Call, name: str, body: ChangeProject, before: Project) -> Mapping[str, str]:
    vault, stored = open_vault(call.settings.secrets), parse_parameters(before.params, "params")
    return sealed_values(body.secrets, body.secrets.keys(), vault, name, stored)


def _version(project: Project) -> str:
    limits = [getattr(project, name) for name in LIMIT_COLUMNS]
    content = json.dumps([project.params, *limits, project.kept_days, project.defaults])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
