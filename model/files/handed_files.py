"""Files that tasks hand on: an OUT parameter of type FILE names one in the folder of its task. Pure.

The worker puts the file into the log store, and this JSON is the value, wherever values go:

    {"shoal_file": KEY, "name": "sales.csv", "size": 1024, "sha256": ..., "task": "load"}

To a task with a folder that names it, the worker gives the file in its place: the value is then its path. An absolute
path is handed on as the text that it is. The paths that a definition says travel with an attempt beside its types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.choices import Direct, ParameterType
from model.files.paths import fault_of_names
from model.files.task_files import WITHOUT_FOLDER
from model.logic.catalog import LOGIC_TYPES
from model.logs.name import FILE_SUFFIX, name_of
from model.parameters.parameters import parameter_variable

if TYPE_CHECKING:
    from model.definitions.workflow import TaskSpec

KEY = "TASK output files"
"""Beside the types of an attempt's parameters; no parameter has such a name."""
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
    def written(self) -> str:
        facts = {"name": self.name, "size": self.size, "sha256": self.sha256, "task": self.task}
        return json.dumps({_MARK: self.key, **facts}, ensure_ascii=False)

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
    """The same, or those of the elements of a list, without those that have none."""
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


def _file(given: Any) -> HandedFile | None:
    match given:
        case {"shoal_file": str(key), "name": str(name), "size": int(size), "sha256": str(sha256), "task": str(task)}:
            is_whole = key.endswith(FILE_SUFFIX) and name_of(key) is not None and _DIGEST.fullmatch(sha256) is not None
            return HandedFile(key, name, size, sha256, task) if is_whole and size >= 0 else None
    return None


def is_asked_for(name: str, params: str) -> bool:
    """Whether the parameters of a task, as JSON text, name a value, so that the task needs its file."""
    forms = (f"{{{json.dumps(name, ensure_ascii=False)[1:-1]}}}", parameter_variable(name))
    return any(form in params for form in forms)


def fault_of_output(path: str) -> str | None:
    """Why the value of an OUT parameter is no file that can be handed on, as the end of a sentence; None if it is."""
    if path.startswith("/"):
        return None
    return fault_of_names(path, "write it from the folder of the task, such as out/sales.csv")


def names_output(type_: str, direct: Direct, of: ParameterType) -> bool:
    """Whether a parameter of a task of a type names a file in its folder."""
    return direct is Direct.OUT and of is ParameterType.FILE and type_ not in (*WITHOUT_FOLDER, *LOGIC_TYPES)


def misplaced_output(task: TaskSpec) -> str | None:
    """Why a task cannot hand on a file as it says; None if it can."""
    for name, path in _outputs(task).items():
        if task.cache and not path.startswith("/"):
            return (
                f'the OUT parameter "{name}" is a FILE, which is deleted with its run, and cache is for later runs too'
            )
        if path and "$" not in path and (fault := fault_of_output(path)) is not None:
            return f'the OUT parameter "{name}" is a FILE, and its path "{path}" {fault}'
    return None


def recorded(task: TaskSpec) -> dict[str, str]:
    """What travels with an attempt: the path of each such file, empty where only the task says it."""
    paths = _outputs(task)
    return {KEY: json.dumps(paths, ensure_ascii=False)} if paths else {}


def _outputs(task: TaskSpec) -> dict[str, str]:
    return {each.name: each.value for each in task.local_params if names_output(task.type, each.direct, each.type)}


def recorded_in(types: str | None) -> Mapping[str, str]:
    """The paths among what travels with an attempt. Raises `ValueError`: it is no JSON."""
    if types is None or f'"{KEY}"' not in types:
        return {}
    found: dict[str, str] = json.loads(json.loads(types).get(KEY, "{}"))
    return found
