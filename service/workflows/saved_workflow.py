"""Versions of a saved workflow: read, written as a file, compared with each other and with a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dao.definitions import definitions, projects, schedule_contents, versions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.cost import MATCH_LINE_US, spend
from model.definitions.line_diff import MATCHED_MAX, unified
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.parameters.secret_values import without_sealed
from model.time.schedules import ScheduleSpec
from service.secrets.key_settings import SecretSettings
from service.workflows.sealing import masked, sealed_for_saving, sealed_schedule
from service.workflows.source_text import written
from service.workflows.workflow_text import WorkflowContent, comparable_yaml_of, yaml_of

if TYPE_CHECKING:
    from service.workflows.workflow_file import WorkflowDocument


@dataclass(frozen=True, slots=True)
class Exported:
    """A version as a file; `is_as_written`: by a person, with comments, and not made from the definition."""

    yaml: str
    is_as_written: bool


async def read_version(connection: AsyncConnection, head: Definition, version: int | None = None) -> WorkflowSpec:
    """The content of a version, by default of the current one.

    Raises:
        NotFound: there is no such version.
        Refused: it cannot be read.
    """
    version = version or head.version
    spec = await definitions.spec_of(connection, head.code, version)
    if spec is None:
        raise NotFound(f'workflow "{head.name}" has no version {version}')
    if isinstance(spec, Refused):
        raise Refused(f'version {version} of workflow "{head.name}" cannot be read: {spec}')
    return spec


async def exported(
    connection: AsyncConnection,
    head: Definition,
    version: int | None = None,
    *,
    layout: bool = False,
    canonical: bool = False,
) -> Exported:
    """A version with the present schedules, as a file that `apply` reads; with its `layout` for who draws it.

    With asterisks instead of sealed values, which `apply` takes for those that are stored. `canonical`: made from the
    definition, even if somebody wrote a text that says it. Raises as `read_version`.
    """
    version = version or head.version
    spec = masked(await read_version(connection, head, version), WorkflowSpec)
    stored = await schedule_contents.contents_of(connection, head.code)
    found = [(each.spec, each.online) for each in stored if each.spec is not None]
    schedules = [(replace(each, params=without_sealed(each.params)), on) for each, on in found]
    places = await versions.read_layout(connection, head.code, version) if layout else None
    defaults = await projects.defaults(connection, head.project)
    content = WorkflowContent(head.project, head.name, head.release_state, spec, schedules, places, defaults)
    text = None if canonical else await written(connection, head, version, content, is_masked=True)
    yaml = await asyncio.to_thread(yaml_of, content) if text is None else text
    return Exported(yaml, is_as_written=text is not None)


async def versions_differ(connection: AsyncConnection, head: Definition, older: int, newer: int) -> list[str]:
    """The lines of a unified diff of two versions; none if they are the same. Raises as `read_version`.

    Of their texts, if somebody wrote both: with comments.
    """
    versions = (older, newer)
    contents = [
        WorkflowContent(head.project, head.name, head.release_state, await read_version(connection, head, version))
        for version in versions
    ]
    texts = [
        await written(connection, head, version, content, is_masked=False)
        for version, content in zip(versions, contents, strict=True)
    ]
    of_older, of_newer = (f"{head.name} version {version}" for version in versions)
    if None in texts:
        return await asyncio.to_thread(_contents_differ, contents[0], contents[1], of_older, of_newer)
    before, after = [text or "" for text in texts]
    return await asyncio.to_thread(_diff, before, after, of_older, of_newer)


async def file_differs(
    connection: AsyncConnection,
    head: Definition,
    documents: Sequence[WorkflowDocument],
    secrets: SecretSettings,
    version: int | None = None,
) -> list[str]:
    """The lines of a unified diff of a saved workflow and its file: what `apply` would change.

    Schedules that the file neither lists nor listed before stay, so they are left out.

    Raises:
        NotFound: the file has no such workflow, or there is no such version.
        Refused: that version cannot be read, or the file has a SECRET value and there is no key to compare it.
    """
    document = next((each for each in documents if (each.project, each.name) == (head.project, head.name)), None)
    if document is None:
        there = ", ".join(f'"{each.name}"' for each in documents)
        where = documents[0].file if documents else "the file"
        raise NotFound(f'{where} has no workflow "{head.name}" of project "{head.project}"; it has {there or "none"}')
    saved = await read_version(connection, head, version)
    stored = await schedule_contents.contents_of(connection, head.code)
    spec = await sealed_for_saving(connection, document, secrets)
    listed: list[tuple[ScheduleSpec, bool]] = []
    for entry in document.schedules:
        sealed = await sealed_schedule(connection, head, entry.spec(spec.time_zone), secrets, stored)
        listed.append((sealed, entry.online))
    wanted = {repr(each.identity) for each, _ in listed}
    own = [
        (each.spec, each.online)
        for each in stored
        if each.spec is not None and (each.from_file or repr(each.spec.identity) in wanted)
    ]
    before = WorkflowContent(head.project, head.name, head.release_state, saved, own)
    after = replace(before, release_state=document.release_state, spec=spec, schedules=listed)
    label = f"{head.name} version {version or head.version}"
    return await asyncio.to_thread(_contents_differ, before, after, label, document.file)


def _contents_differ(before: WorkflowContent, after: WorkflowContent, of_before: str, of_after: str) -> list[str]:
    return _diff(comparable_yaml_of(before), comparable_yaml_of(after), of_before, of_after)


def _diff(before: str, after: str, of_before: str, of_after: str) -> list[str]:
    spend(min(len(after.splitlines()), MATCHED_MAX) * MATCH_LINE_US)
    return list(unified(before.splitlines(), after.splitlines(), of_before, of_after))
