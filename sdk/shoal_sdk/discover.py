"""The flows of files and folders: modules are imported under the names that they have below their import root."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from shoal_sdk.code import import_root, is_ours
from shoal_sdk.errors import WrongFlow
from shoal_sdk.flows import Flow

MENTION = "shoal_sdk"


def flows_of(paths: Sequence[Path]) -> list[Flow[..., Any]]:
    """Each flow that files, or the files of folders, define, by project and name.

    Raises:
        WrongFlow: a file is missing or cannot be imported, two flows have one name, or there is none.
    """
    found: dict[tuple[str, str], Flow[..., Any]] = {}
    for file in _files(paths):
        module = _imported(file)
        for value in vars(module).values():
            if not isinstance(value, Flow) or value.function.__module__ != module.__name__:
                continue  # one that it imports is of its own file
            key = (value.project or "", value.name)
            if found.setdefault(key, value) is not value:
                raise WrongFlow(f'{file}: there is another flow "{value.name}"; give one of them a name')
    if not found:
        raise WrongFlow(f"there is no @flow in {', '.join(map(str, paths))}")
    return [found[key] for key in sorted(found)]


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path.resolve()
        elif path.is_dir():
            for file in sorted(path.resolve().rglob("*.py")):
                if is_ours(file, path.resolve()) and MENTION in file.read_text("utf-8", "replace"):
                    yield file
        else:
            raise WrongFlow(f"there is no file or folder {path}")


def _imported(file: Path) -> ModuleType:
    root = import_root(file)
    name = ".".join(file.relative_to(root).with_suffix("").parts)
    # Python trusts compiled code whose source has the same second and size: an edit could be deployed as it was before.
    sys.dont_write_bytecode = True
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    known = sys.modules.get(name)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == file:
        return known
    try:
        if known is None and name.replace(".", "").isidentifier():
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(f"shoal_flow_{file.stem}", file)
        assert spec is not None and spec.loader is not None, "it is a file of Python"
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except WrongFlow:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the file raises is told in a sentence
        line = next((each.lineno for each in reversed(traceback.extract_tb(error.__traceback__))
                     if Path(each.filename).resolve() == file), None)  # fmt: skip
        where = f"{file}, line {line}" if line else f"{file}"
        raise WrongFlow(f"{where}: it cannot be imported: {type(error).__name__}: {error}") from None
    return module
