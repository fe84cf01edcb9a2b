"""Files that tasks hand on: an OUT parameter of type FILE names one in the folder of its task. Pure.

The worker puts the file into the log store, and this JSON is the value, wherever values go:
    {"shoal_file": KEY, "name": "sales.csv", "size": 1024, "sha256": ..., "task": "load"}

A task with a folder that names the value gets a copy of the file; the value becomes its path. An absolute path is
handed on as plain text. The paths in a definition travel with an attempt beside its types.

In place of a path the task may give JSON with files anywhere in it, each as `{"shoal_file": PATH}` with any other
fields. A task that declares such a value as JSON gets each file with the `path` of its copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.choices import Direct, ParameterType
from model.files import task_files
from model.files.paths import fault_of_names
from model.logic.catalog import LOGIC_TYPES
from model.logs.name import FILE_SUFFIX, name_of
from model.parameters.json_values import NotJson, is_container, parse_json
from model.parameters.parameters import parameter_variable

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

KEY = "TASK output files"
"""The key beside the types of an attempt's parameters; no parameter has such a name."""
FILES_MAX = 1_000
"""The most files that one attempt hands on."""
_MARK = "shoal_file"
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HandedFile:
    """One file in the log store, and the task that handed it on."""

    key: str
    name: str
    size: int
    sha256: str
    task: str

    @property
    def facts(self) -> dict[str, Any]:
        facts = {"name": self.name, "size": self.size, "sha256": self.sha256, "task": self.task}
        return {_MARK: self.key, **facts}

    @property
    def written(self) -> str:
        return json.dumps(self.facts, ensure_ascii=False)

    @property
    def said(self) -> str:
        return f'the file "{self.name}" of task "{self.task}" ({self.size:,} bytes)'


def has_handed(text: str) -> bool:
    """Whether a file may be named in a text."""
    return _MARK in text


def handed_file(text: str) -> HandedFile | None:
    """The file that a value stands for; None if it stands for none."""
    found = handed_in(text)
    return found if isinstance(found, HandedFile) else None


def handed_in(text: str) -> HandedFile | list[HandedFile] | None:
    """The file of a value, or those of a list's elements; elements without a file are left out."""
    if not has_handed(text):
        return None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, list):
        return _file(given)
    files = [_file(each) for each in given if each is not None]
    found = [each for each in files if each is not None]
    return found if found and len(found) == len(files) else None


def files_left(said: str, folder: str) -> Any:
    """Parse what a task wrote for an OUT parameter. Each file becomes an object, and so does a path. Paths in the
    folder become relative to it."""
    given = parse_json(said) if said == "null" or is_container(said) else {_MARK: said}
    return _with_objects(given, lambda each: {**each, _MARK: each[_MARK].removeprefix(folder)})


def paths_left(given: Any) -> Iterator[str]:
    """The paths in it, except files that were handed on before."""
    for each in _objects(given):
        if _file(each) is None:
            yield each[_MARK]


def files_in(text: str) -> list[HandedFile]:
    """The files anywhere in a JSON value."""
    try:
        objects = list(_objects(parse_json(text))) if has_handed(text) else []
    except NotJson:
        return []
    return [file for each in objects if (file := _file(each)) is not None]


def with_paths(text: str, paths: Mapping[HandedFile, str]) -> str:
    """A JSON value with the path of each file inserted."""

    def change(given: dict[str, Any]) -> dict[str, Any]:
        file = _file(given)
        return given if file is None else {**given, "path": paths[file]}

    return json.dumps(_with_objects(parse_json(text), change), ensure_ascii=False)


def handed_on(given: Any, files: Mapping[str, HandedFile], masked: Callable[[str], str]) -> str:
    """The value to store for a task's output: `files` replace its paths, and secrets elsewhere are masked."""

    def plain(leaf: Any) -> Any:
        text = leaf if isinstance(leaf, str) else json.dumps(leaf)
        return leaf if (hidden := masked(text)) == text else hidden

    def change(left: dict[str, Any]) -> dict[str, Any]:
        if _file(left) is not None:
            return left
        own = _with_objects({name: each for name, each in left.items() if name != _MARK}, change, plain)
        return {**own, **files[left[_MARK]].facts}

    return json.dumps(_with_objects(given, change, plain), ensure_ascii=False)


def _with_objects(
    given: Any, change: Callable[[dict[str, Any]], Any], leaf: Callable[[Any], Any] = lambda each: each
) -> Any:
    """Map JSON: `change` for each object that stands for a file, `leaf` for each other scalar."""
    if isinstance(given, dict):
        if isinstance(given.get(_MARK), str):
            return change(given)
        return {leaf(name): _with_objects(each, change, leaf) for name, each in given.items()}
    return [_with_objects(each, change, leaf) for each in given] if isinstance(given, list) else leaf(given)


def _objects(given: Any) -> Iterator[dict[str, Any]]:
    if isinstance(given, dict) and isinstance(given.get(_MARK), str):
        yield given
    elif isinstance(given, dict | list):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _objects(each)


def _file(given: Any) -> HandedFile | None:
    match given:
        case {"shoal_file": str(key), "name": str(name), "size": int(size), "sha256": str(sha256), "task": str(task)}:
            is_whole = key.endswith(FILE_SUFFIX) and name_of(key) is not None and _DIGEST.fullmatch(sha256) is not None
            return HandedFile(key, name, size, sha256, task) if is_whole and size >= 0 else None
    return None


def is_asked_for(name: str, params: str) -> bool:
    """Whether a task's parameters, as JSON text, name a value, so that the task needs its file."""
    forms = (f"{{{json.dumps(name, ensure_ascii=False)[1:-1]}}}", parameter_variable(name))
    return any(form in params for form in forms)


def fault_of_output(path: str) -> str | None:
    """Why the value of an OUT parameter cannot be handed on as a file, as the end of a sentence; None if it can."""
    if path.startswith("/"):
        return None
    return fault_of_names(path, "write it from the folder of the task, such as out/sales.csv")


def names_output(type_: str, direct: Direct, of: ParameterType) -> bool:
    """Whether such a parameter names a file in the task's folder."""
    return direct is Direct.OUT and of is ParameterType.FILE and type_ not in (*task_files.WITHOUT_FOLDER, *LOGIC_TYPES)


def misplaced_output(task: TaskSpec) -> str | None:
    """Why a task cannot hand on a file as declared; None if it can."""
    for name, path in _outputs(task).items():
        if task.cache and not path.startswith("/"):
            return (
                f'the OUT parameter "{name}" is a FILE, which is deleted with its run, and cache is for later runs too'
            )
        if path and "$" not in path and (fault := fault_of_output(path)) is not None:
            return f'the OUT parameter "{name}" is a FILE, and its path "{path}" {fault}'
    return None


def recorded(task: TaskSpec) -> dict[str, str]:
    """The path of each such file, as it travels with an attempt; empty where only the task knows the path."""
    paths = _outputs(task)
    return {KEY: json.dumps(paths, ensure_ascii=False)} if paths else {}


def _outputs(task: TaskSpec) -> dict[str, str]:
    return {each.name: each.value for each in task.local_params if names_output(task.type, each.direct, each.type)}


def recorded_in(types: str | None) -> Mapping[str, str]:
    """The paths in that entry. Raises `ValueError` if it is no JSON."""
    return task_files.recorded_in(types, KEY)
