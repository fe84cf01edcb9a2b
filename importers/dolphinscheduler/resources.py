"""Files of DolphinScheduler's resource centre: files of the project, or files that people copy to the workers."""

from __future__ import annotations

from shlex import join

from importers.dolphinscheduler.context import Context
from importers.draft import Draft
from importers.ledger import Fields
from model.files.paths import fault_of_path

_NAMES = ("resourceName", "res", "name", "id")
_OF_FILES = ("fullName", "fileName", "alias", "description", "userId", "userName", "type", "size", "pid", "directory",
             "isDirectory", "createTime", "updateTime")  # fmt: skip
_CENTRE = "/resources/"
"""Before a file's path where its full name is that in the storage."""


def copy(params: Fields, draft: Draft, context: Context) -> None:
    """Let a task find the files of its `resourceList`."""
    files, copies = list[str](), list[str]()
    for named in filter(None, named_in(params, "resourceList")):
        path = _path_in_project(named, draft, context)
        if path.startswith(("/", "$")):
            copies.append(path)
        else:
            files.append(path)
    if files:
        draft.fields["files"] = files
        draft.about.changed("resourceList", f"put its files into the project: shoal project file put {join(files)}")
    if copies and draft.type == "SHELL" and isinstance(draft.params.get("script"), str):
        draft.params["script"] = "".join(f'cp -r -- "{path}" .\n' for path in copies) + draft.params["script"]
        draft.about.changed("resourceList", "its files are copied into its folder first, under their last names")
    elif copies:
        listed = ", ".join(copies)
        draft.about.todo("resourceList", f"its files are not in its folder: let it read {listed} where they are")


def named_in(params: Fields, name: str) -> list[str]:
    """The files of the resource centre that a field names, by mappings or by texts; of each the name, else the id."""
    given = params.peek(name)
    if isinstance(given, dict):
        return [_name_of(params.child(name))]
    if isinstance(given, list) and any(isinstance(each, dict) for each in given):
        return list(map(_name_of, params.children(name)))
    return [str(each) for each in params.listed(name)]


def _name_of(entry: Fields) -> str:
    found = next(filter(None, map(entry.text, _NAMES)), "")
    entry.irrelevant(*_NAMES, *_OF_FILES)
    return found


def resource(named: str, draft: Draft, context: Context) -> str:
    """The path of a file on the workers; a placeholder until a person has copied it."""
    named = context.names.known("resource_files", named) or named
    found = context.ask("resources", named, draft, "copy it to the workers")
    return found or "${resources}/" + named.removeprefix("file:").rstrip("/").rpartition("/")[2]


def _path_in_project(named: str, draft: Draft, context: Context) -> str:
    """Where a task finds it in its folder, as there; of one that has only an id, or no such path, that on the workers,
    which begins with a slash or a reference."""
    path = (context.names.known("resource_files", named) or named).removeprefix("file:")
    path = path.rpartition(_CENTRE)[2].lstrip("/")
    if path.isdigit() or fault_of_path(path.removesuffix("/")) is not None:
        return resource(named, draft, context)
    return path
