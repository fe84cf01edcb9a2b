"""Saving flows on a server: all or none, nothing that others changed, and removing only what came from here.

The server decides, by the same request as for `shoal workflow sync`. An origin of flows begins with `sdk:`, so that a
folder of files with the same name never deletes them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal_sdk.definition_text import yaml_of
from shoal_sdk.errors import Refused, SdkError, WrongFlow
from shoal_sdk.exchange import NOT_FOUND, Exchange, change, pages, segment
from shoal_sdk.flows import Flow

DEFAULT_PROJECT = "default"
_ORIGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,50}")
Missing = Mapping[str, Mapping[str, bytes]]
"""Files that projects have not yet: contents by path, by project."""


@dataclass(frozen=True)
class Rendered:
    """A flow as it is saved; `files` are the contents that its project needs, by path."""

    project: str
    name: str
    spec: Mapping[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Source:
    """Where flows come from: a name that marks them as its own, and a commit."""

    origin: str
    commit: str | None = None

    def __post_init__(self) -> None:
        if not _ORIGIN.fullmatch(self.origin):
            raise WrongFlow(f'"{self.origin}" is no origin; give --origin with letters, digits, _, . and -, at most 51')


@dataclass(frozen=True)
class Deployed:
    """What a deployment did, or with `dry_run` would do: each workflow's state by name, and what it says about it."""

    states: Mapping[str, str]
    sentences: Sequence[str]


def rendered(flow: Flow[..., Any], project: str | None) -> Rendered:
    """A flow as it is saved. Raises `WrongFlow`."""
    built = flow.built(project or DEFAULT_PROJECT)
    return Rendered(built.spec["project"], built.spec["name"], built.spec, built.files)


def deployed(
    flows: Sequence[Rendered], source: Source, *, dry_run: bool = False, prune: bool = False, force: bool = False
) -> Exchange[Deployed]:
    """Save flows, all or none.

    Args:
        dry_run: only check and say what would be saved.
        prune: delete what has this origin and is not among the flows.
        force: replace also what others changed or made.
    Raises:
        Refused: the server refuses a flow, or somebody else changed or made one of them; nothing is saved.
        SdkError: with `dry_run` or new files, the latter.
    """
    asked: dict[str, Any] = {"origin": f"sdk:{source.origin}", "prune": prune, "force": force}
    if source.commit is not None:
        asked["commit"] = source.commit
    missing = yield from _missing(flows)
    if dry_run or missing:
        answer = yield from _synced(flows, {**asked, "dry_run": True}, missing)
        conflicts = [each["conflict"] for each in answer["workflows"] if each.get("conflict")]
        if conflicts and not force:
            raise SdkError("; ".join(conflicts))
    if not dry_run:
        for project, files in missing.items():
            for path, content in files.items():
                body = {"path": path, "content": base64.b64encode(content).decode()}
                yield from change("PUT", f"/projects/{segment(project)}/file", body)
        answer = yield from _synced(flows, asked, {})
    sentences = [f"{each['what']:8} {each['project']}/{each['name']}" for each in answer["workflows"]]
    if dry_run:
        sentences += [f"{len(files)} files would be saved in project {project}" for project, files in missing.items()]
    return Deployed({each["name"]: each["what"] for each in answer["workflows"]}, sentences)


def _synced(flows: Sequence[Rendered], asked: Mapping[str, Any], missing: Missing) -> Exchange[Mapping[str, Any]]:
    """What the server answers; it does not look for the files of flows that miss some. Raises `Refused`."""
    files = []
    for flow in flows:
        spec = dict(flow.spec)
        if any(path in missing.get(flow.project, {}) for path in flow.files):
            spec["tasks"] = [{name: value for name, value in task.items() if name != "files"} for task in spec["tasks"]]
        files.append({"name": flow.name, "content": yaml_of(spec)})
    answer: Mapping[str, Any] = yield from change("POST", "/workflow-definitions:sync", {**asked, "files": files})
    return answer


def _missing(flows: Sequence[Rendered]) -> Exchange[Missing]:
    """The files that projects have not yet: their paths have the hash of what is in them."""
    missing: dict[str, dict[str, bytes]] = {}
    for flow in flows:
        folders = {"/".join(path.split("/")[:2]) + "/" for path in flow.files}
        for folder in sorted(folders):
            try:
                known = yield from pages(f"/projects/{segment(flow.project)}/files", under=folder)
            except Refused as error:
                if error.code != NOT_FOUND:
                    raise
                known = []  # the project is made with its first workflow
            there = {each["path"] for each in known}
            needed = {path: content for path, content in flow.files.items() if path not in there}
            if needed:
                missing.setdefault(flow.project, {}).update(needed)
    return missing
