"""The project files of a version, by content: those that its tasks get, and those whose text it contains.

They are resolved when a version is saved, so that a version contains all that its runs do, and a file that changes
later changes no existing version. `file_contents` of a definition maps paths to hashes. A text stands in the definition
itself, in the place of `{file: path}`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from model.definitions.problems import InvalidWorkflow, Problem
from model.files.paths import fault_of_path

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec, WorkflowSpec

FILES_MAX = 500
"""The most files of one workflow."""
TEXT_FIELDS = ("script", "sql", "pre_statements", "post_statements")
"""Task parameters that may be the text of a file."""
WITHOUT_FOLDER = ("FAKE", "HTTP", "PROCEDURE", "K8S")
"""Task types that read no file of a folder."""
KEY = "TASK files"
"""The key beside the types of an attempt's parameters; no parameter has such a name."""


def file_named(value: Any) -> str | None:
    """The path in `{file: path}`; None for another value."""
    if isinstance(value, Mapping) and value.keys() == {"file"} and isinstance(value["file"], str):
        return value["file"]
    return None


def texts_named(spec: WorkflowSpec) -> Iterator[tuple[int, str, str]]:
    """For each task that takes the text of a file: its index, the parameter, and the file's path."""
    for place, task in enumerate(spec.tasks):
        for name in TEXT_FIELDS:
            if (path := file_named(task.params.get(name))) is not None:
                yield place, name, path


def with_samples(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with a sample text for each file, so that the others can be checked without it."""
    return {
        name: "0" if name in TEXT_FIELDS and file_named(value) is not None else value for name, value in params.items()
    }


def problems_of_paths(spec: WorkflowSpec) -> list[Problem]:
    """The texts of files whose paths no file can have."""
    return [
        Problem(where=("tasks", place, "params"), sentence=f'task "{spec.tasks[place].name}": {name}: "{path}" {fault}')
        for place, name, path in texts_named(spec)
        if (fault := fault_of_path(path)) is not None
    ]


def names_files(spec: WorkflowSpec) -> bool:
    """Whether the definition needs files, or had some."""
    return bool(spec.file_contents) or any(task.files for task in spec.tasks) or any(texts_named(spec))


def with_files(spec: WorkflowSpec, hashes: Mapping[str, str], texts: Mapping[str, str], project: str) -> WorkflowSpec:
    """The definition as it is saved.

    Args:
        hashes: path -> hash of all project files that it names.
        texts: path -> content of those whose text it contains.
    Raises:
        InvalidWorkflow: a file does not exist, or there are too many.
    """
    problems = [
        Problem(
            where=("tasks", place, "files"),
            sentence=f'task "{task.name}": there is no {_kind(path)} "{path}" in project "{project}"; '
            f"`shoal project file put` adds it",
        )
        for place, task in enumerate(spec.tasks)
        for path in task.files
        if not _chosen(path, hashes)
    ]
    problems += [
        Problem(
            where=("tasks", place, "params"),
            sentence=f'task "{spec.tasks[place].name}": {name}: there is no file "{path}" in project "{project}"; '
            f"`shoal project file put` adds it",
        )
        for place, name, path in texts_named(spec)
        if path not in texts
    ]
    chosen = {each for task in spec.tasks for path in task.files for each in _chosen(path, hashes)}
    if len(chosen) > FILES_MAX:
        problems.append(
            Problem(
                where=(),
                sentence=f"its tasks get {len(chosen)} files, more than {FILES_MAX}; put what belongs together into "
                "one archive",
            )
        )
    if problems:
        raise InvalidWorkflow(problems)
    said = spec.model_dump(mode="json", exclude_unset=True)
    for place, name, path in texts_named(spec):
        said["tasks"][place]["params"][name] = texts[path]
    return type(spec).parse({**said, "file_contents": {path: hashes[path] for path in sorted(chosen)}})


def as_saved(said: WorkflowSpec, saved: WorkflowSpec) -> WorkflowSpec:
    """A definition with the files that it had when it was saved."""
    if not names_files(said) and not saved.file_contents:
        return said
    tasks = tuple(
        own.model_copy(update={"params": _with_saved_texts(own.params, other.params)})
        for own, other in zip(said.tasks, saved.tasks, strict=False)
    )
    same = len(tasks) == len(said.tasks)
    return said.model_copy(update={"file_contents": saved.file_contents, "tasks": tasks if same else said.tasks})


def _with_saved_texts(said: Mapping[str, Any], saved: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: saved[name] if file_named(value) is not None and name in TEXT_FIELDS and name in saved else value
        for name, value in said.items()
    }


def recorded(task: TaskSpec, contents: Mapping[str, str]) -> dict[str, str]:
    """The files of a task as they travel with an attempt; empty if it gets none.

    A path without a known content travels too, so that the attempt reports it.
    """
    if not task.files:
        return {}
    found = {each: contents[each] for path in task.files for each in _chosen(path, contents)}
    missing = {path: "" for path in task.files if not _chosen(path, contents)}
    return {KEY: json.dumps({**found, **missing}, sort_keys=True)}


def recorded_in(types: str | None, key: str = KEY) -> Mapping[str, str]:
    """The hash of each file in that entry, by path. Raises `ValueError` if it is no JSON."""
    if types is None or f'"{key}"' not in types:
        return {}
    found: dict[str, str] = json.loads(json.loads(types).get(key, "{}"))
    return found


def _chosen(path: str, known: Collection[str]) -> list[str]:
    if path.endswith("/"):
        return [each for each in known if each.startswith(path)]
    return [path] if path in known else []


def _kind(path: str) -> str:
    return "file below" if path.endswith("/") else "file"
