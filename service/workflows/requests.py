"""What is said with a request about workflow definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from model.choices import ReleaseState
from model.fields import NAME_LENGTH_MAX, TAGS_MAX, Tag
from service.fields import Asked, Text
from service.paging import PageQuery, PairPageQuery

FILES_MAX = 1_000
VERSION_MAX = 2**31 - 1
Name = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]
Version = Annotated[int, Field(ge=1, le=VERSION_MAX)]
ORIGIN = r"^(sdk:)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,50}$"
"""Those of `shoal-sdk` begin with `sdk:`, so that a folder of the same name is another origin."""
BYTES_MAX = 4_000_000
"""Of one file of workflows."""
Yaml = Annotated[str, Field(max_length=BYTES_MAX)]
"""The content of a file; what must not stand in it is said with its line."""


class WorkflowReference(Asked):
    """How people name a workflow: by its name, or its code."""

    name: Name
    project: Name = "default"


class WorkflowQuery(PageQuery):
    """A page of workflows, by code."""

    project: Annotated[Name | None, Field(description="only of this project")] = None
    q: Annotated[Name | None, Field(description="a part of the name, in any case")] = None
    release_state: Annotated[ReleaseState | None, Field(description="ONLINE can be started, OFFLINE cannot")] = None
    tag: Annotated[Sequence[Tag], Field(max_length=TAGS_MAX, description="with all of these tags")] = ()


class DraftQuery(PairPageQuery):
    """A page of drafts."""

    project: Annotated[Name | None, Field(description="only of workflows of this project")] = None


class VersionQuery(Asked):
    """Which version."""

    version: Annotated[Version | None, Field(description="else the current one")] = None


class ExportQuery(VersionQuery):
    """Which version, and what of it."""

    layout: Annotated[bool, Field(description="also where its tasks and notes stand on a canvas")] = False
    canonical: Annotated[bool, Field(description="made from the definition, without the comments of its text")] = False


class DiffQuery(Asked):
    """Which two versions are compared."""

    older: Annotated[Version | None, Field(description="else the one before `newer`")] = None
    newer: Annotated[Version | None, Field(description="else the current one")] = None


class RelationQuery(Asked):
    """Of which workflows."""

    project: Annotated[Name | None, Field(description="that begin or end in this project")] = None


class WorkflowFile(Asked):
    """A YAML file: one workflow, or several separated by `---`."""

    name: Annotated[Text, Field(min_length=1, max_length=4_096, description="stands in messages", examples=["a.yaml"])]
    content: Annotated[Yaml, Field(examples=["name: hello\ntasks: [{name: a, type: FAKE}]\n"])]


Files = Annotated[Sequence[WorkflowFile], Field(min_length=1, max_length=FILES_MAX)]


class CheckFiles(Asked):
    """Files that are not saved."""

    files: Files


class ApplyFiles(Asked):
    """Files whose workflows are saved, all or none."""

    files: Files
    dry_run: Annotated[bool, Field(description="only say what would be saved")] = False


class SyncFiles(ApplyFiles):
    """All files of a folder, which are what is to be saved."""

    origin: Annotated[Text, Field(pattern=ORIGIN, description="where they come from", examples=["shop"])]
    commit: Annotated[Text | None, Field(max_length=60, pattern=r"^[^\s,]+$", description="of the files")] = None
    prune: Annotated[bool, Field(description="delete what came from this origin and is in none of the files")] = False
    force: Annotated[bool, Field(description="replace also what others saved since")] = False


class CompareFiles(Asked):
    """Files, of which one contains the workflow."""

    files: Files
    version: Annotated[Version | None, Field(description="compared with this one, else with the current one")] = None


class PutWorkflow(Asked):
    """The new content of a workflow: a whole file as `yaml`, or its definition alone as `spec`."""

    yaml: Annotated[Yaml | None, Field(description="as a file, with its name, state and schedules")] = None
    spec: Annotated[
        Mapping[str, Any] | None,
        Field(description="the definition as JSON (`/schema/workflow`); name, state and schedules stay as they are"),
    ] = None


class RollBack(Asked):
    """To which version."""

    version: Version


class MoveWorkflow(Asked):
    """To which project."""

    project: Name
    dry_run: Annotated[bool, Field(description="only say what would change, and what stands against it")] = False


class SetReleaseState(Asked):
    """ONLINE publishes it: it can be started. OFFLINE takes it back: starts are refused, its runs continue."""

    release_state: ReleaseState
