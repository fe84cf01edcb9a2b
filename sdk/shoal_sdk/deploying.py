"""Saving flows on a server: all or none, nothing that others changed, and removing only what came from here.

What comes from here has the tag `sdk:ORIGIN`, and its text begins with a comment that has the hash of the rest: so a
later deployment sees whether somebody has changed it since, on the page or by a file.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shoal_sdk.definition_text import yaml_of
from shoal_sdk.errors import Refused, SdkError, WrongFlow
from shoal_sdk.exchange import Ask, Exchange, answered, change, found_workflow, get, pages, segment
from shoal_sdk.flows import Flow

DEFAULT_PROJECT = "default"
_HEAD = re.compile(r"# shoal-sdk: origin (?P<origin>.*?), (?:commit (?P<commit>\S+), )?sha256 (?P<hash>[0-9a-f]{64})\n")
_ORIGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,50}")
State = Literal["new", "changed", "same"]


@dataclass(frozen=True)
class Rendered:
    """A flow as it is saved; `files` are the contents that its project needs, by path."""

    project: str
    name: str
    text: str
    spec: Mapping[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Planned:
    """What becomes of a flow. `code` and `version` are those of the workflow that is there."""

    flow: Rendered
    state: State
    code: str | None = None
    version: str | None = None
    conflict: str | None = None
    """Why it must not be replaced, as a sentence."""


@dataclass(frozen=True)
class Deployed:
    """What a deployment did, or with `dry_run` would do: each workflow's state by name, and what it says about it."""

    states: Mapping[str, str]
    sentences: Sequence[str]


def rendered(flow: Flow[..., Any], project: str | None, origin: str, commit: str | None) -> Rendered:
    """A flow as it is saved. Raises `WrongFlow`."""
    if not _ORIGIN.fullmatch(origin):
        raise WrongFlow(f'"{origin}" is no origin; use letters, digits, _, . and -, at most 51')
    built = flow.built(project or DEFAULT_PROJECT)
    tags = [*built.spec.get("tags", []), f"sdk:{origin}"]
    spec = {**built.spec, "tags": tags}
    body = yaml_of(spec)
    at = f"commit {commit}, " if commit else ""
    text = f"# shoal-sdk: origin {origin}, {at}sha256 {_hash(body)}\n{body}"
    return Rendered(spec["project"], spec["name"], text, spec, built.files)


def deployed(
    flows: Sequence[Rendered], origin: str, *, dry_run: bool = False, prune: bool = False, force: bool = False
) -> Exchange[Deployed]:
    """Save flows, all or none.

    Args:
        dry_run: only check and say what would be saved.
        prune: delete what has this origin in the projects of these flows, and is not among them.
        force: replace also what others changed or made.
    Raises:
        Refused: the server refuses a flow; nothing is saved.
        SdkError: somebody else changed or made one of them; nothing is saved.
    """
    planned: list[Planned] = []
    for flow in flows:
        planned += [(yield from _planned(flow, origin))]
    if not force and (conflicts := [each.conflict for each in planned if each.conflict]):
        raise SdkError("; ".join(conflicts))
    states = {each.flow.name: each.state for each in planned}
    sentences = [f"{each.state:8} {each.flow.project}/{each.flow.name}" for each in planned]
    to_save = [each for each in planned if each.state != "same"]
    gone = (yield from _gone(flows, origin)) if prune else []
    sentences += [f"{'deleted':8} {other['project']}/{other['name']}" for other in gone]
    missing = yield from _missing(flows)
    if dry_run or missing:  # else the server checks them as it saves them
        yield from _checked(to_save)
    if dry_run:
        sentences += [f"{len(files)} files would be saved in project {project}" for project, files in missing.items()]
        return Deployed(states, sentences)
    for project, files in missing.items():
        for path, content in files.items():
            body = {"path": path, "content": base64.b64encode(content).decode()}
            yield from change("PUT", f"/projects/{segment(project)}/file", body)
    sentences += yield from _saved(to_save)
    for other in gone:
        answer = yield from answered(Ask("GET", f"/workflow-definitions/{other['code']}"))
        yield from change("DELETE", f"/workflow-definitions/{other['code']}", version=answer.etag)
    return Deployed(states, sentences)


def _planned(flow: Rendered, origin: str) -> Exchange[Planned]:
    found = yield from found_workflow(flow.name, flow.project)
    if found is None:
        return Planned(flow, "new")
    code = str(found["code"])
    answer = yield from answered(Ask("GET", f"/workflow-definitions/{code}"))
    stored = (yield from get(f"/workflow-definitions/{code}/export"))["yaml"]
    where = f'workflow "{flow.name}" of project "{flow.project}"'
    head = _HEAD.match(stored)
    conflict = None
    if f"sdk:{origin}" not in (answer.json["spec"].get("tags") or []):
        others = [each for each in answer.json["spec"].get("tags") or [] if each.startswith("sdk:")]
        made = f"comes from {others[0]}" if others else "was not made by shoal-sdk"
        conflict = f"{where} {made}; rename the flow, or replace it by --force"
    elif head is None or _hash(stored[head.end() :]) != head["hash"]:
        by = answer.json.get("created_by", "somebody")
        version = answer.json["version"]
        conflict = (
            f"{where} was changed since it was deployed (version {version}, saved by {by}); put the change into the "
            "flow, and deploy with --force"
        )
    body = flow.text[flow.text.index("\n") + 1 :]
    is_same = conflict is None and head is not None and head["hash"] == _hash(body)
    return Planned(flow, "same" if is_same else "changed", code, answer.etag, conflict)


def _missing(flows: Sequence[Rendered]) -> Exchange[dict[str, dict[str, bytes]]]:
    """The files that projects have not yet: their paths have the hash of what is in them."""
    missing: dict[str, dict[str, bytes]] = {}
    for flow in flows:
        folders = {"/".join(path.split("/")[:2]) + "/" for path in flow.files}
        for folder in sorted(folders):
            try:
                known = yield from pages(f"/projects/{segment(flow.project)}/files", under=folder)
            except Refused as error:
                if error.status != 404:
                    raise
                known = []  # the project is made with its first workflow
            there = {each["path"] for each in known}
            needed = {path: content for path, content in flow.files.items() if path not in there}
            if needed:
                missing.setdefault(flow.project, {}).update(needed)
    return missing


def _checked(planned: Sequence[Planned]) -> Exchange[None]:
    """Let the server check all of them, as if the files were there. Raises `Refused`."""
    if not planned:
        return
    files = []
    for each in planned:
        tasks = [{name: value for name, value in task.items() if name != "files"} for task in each.flow.spec["tasks"]]
        files.append({"name": each.flow.name, "content": yaml_of({**each.flow.spec, "tasks": tasks})})
    yield from change("POST", "/workflow-definitions:apply", {"files": files, "dry_run": True})


def _saved(planned: Sequence[Planned]) -> Exchange[list[str]]:
    if not planned:
        return []
    if len(planned) == 1 and planned[0].code is not None:
        (one,) = planned
        try:
            yield from change("PUT", f"/workflow-definitions/{one.code}", {"yaml": one.flow.text}, version=one.version)
        except Refused as error:
            if error.status == 412:
                raise SdkError(f'"{one.flow.name}" was changed meanwhile; nothing is saved, deploy again') from None
            raise
        return []
    # One transaction saves all or none, but asks for no versions: these are compared at the last moment, and after it.
    for each in planned:
        if each.code is not None:
            answer = yield from answered(Ask("GET", f"/workflow-definitions/{each.code}"))
            if answer.etag != each.version:
                raise SdkError(f'"{each.flow.name}" was changed meanwhile; nothing is saved, deploy again')
    files = [{"name": each.flow.name, "content": each.flow.text} for each in planned]
    answer = yield from change("POST", "/workflow-definitions:apply", {"files": files})
    before = {each.flow.name: each.version for each in planned if each.version is not None}
    return [
        f'"{each["name"]}" was changed at the same moment; compare version {each["version"] - 1}'
        for each in answer["workflows"]
        if each["name"] in before and each["version"] > int(before[each["name"]].strip('W/"')) + 1
    ]


def _gone(flows: Sequence[Rendered], origin: str) -> Exchange[list[Mapping[str, Any]]]:
    kept = {(each.project, each.name) for each in flows}
    found: list[Mapping[str, Any]] = []
    for project in sorted({each.project for each in flows}):
        listed = yield from pages("/workflow-definitions", project=project, tag=f"sdk:{origin}")
        found += [each for each in listed if (each["project"], each["name"]) not in kept]
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
