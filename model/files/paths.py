"""Paths of files in a project, which are the same in the folder of a task."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

PATH_BYTES_MAX = 1_000
NAME_BYTES_MAX = 255
OF_SHOAL = ("script.sh", "script.py")
"""The names of a task's own script in its folder."""


def fault_of_path(path: str) -> str | None:
    """Why no file can have this path, as the end of a sentence; None if one can."""
    cure = "write it from the project's top, such as sql/load.sql"
    if path.startswith("/"):
        return f"is absolute; {cure}"
    if (fault := fault_of_names(path, cure)) is not None:
        return fault
    if path in OF_SHOAL or path.lower().startswith((".shoal", "shoal_")):
        return "is a name that Shoal uses in the folder of a task; give it another"
    return None


def fault_of_names(path: str, cure: str) -> str | None:
    """The same check for a path below any folder; `cure` says what to write instead."""
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        return f'has an empty name, "." or ".." in it; {cure}'
    if not path.isprintable() or "\\" in path:
        return "has a character in it that is not printable, or a backslash"
    if len(path.encode()) > PATH_BYTES_MAX or any(len(name.encode()) > NAME_BYTES_MAX for name in names):
        return f"is too long: at most {PATH_BYTES_MAX} bytes, and {NAME_BYTES_MAX} a name"
    return None


def _file_path(path: str) -> str:
    if (fault := fault_of_path(path)) is not None:
        raise ValueError(fault)
    return path


def _file_or_folder(path: str) -> str:
    if (fault := fault_of_path(path.removesuffix("/"))) is not None:
        raise ValueError(fault)
    return path


FilePath = Annotated[str, AfterValidator(_file_path)]
FileOrFolder = Annotated[str, AfterValidator(_file_or_folder)]
"""A path; with a trailing slash a folder: all files below it."""
