"""Which form of export an input has, and the workflows in it. What only looks like one is said to be none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from importers.dolphinscheduler import legacy, lists, lookalike, sdk
from importers.dolphinscheduler.flow import Flow
from importers.ledger import Ledger, Mark, Path
from importers.report import About

_WRAPPERS = ("data", "totalList")
"""Keys of an answer of the API around what it answers."""


def flows_of(tree: Any, ledger: Ledger, file: str, about: About, *, lenient: bool) -> Iterator[Flow]:
    """The workflows of an input. What is none is reported."""
    entries = list(_entries(tree, (), ledger))
    if not entries:
        about.refuse("there is no workflow in it")
    for content, path in entries:
        if not isinstance(content, dict):
            _refuse(path, "it is no mapping", ledger, about)
        elif legacy.is_form(content):
            yield legacy.read(content, path, ledger, file, about)
        elif lists.form_of(content) is not None:
            yield lists.read(content, path, ledger, file, about)
        elif sdk.is_form(content):
            yield sdk.read(content, path, ledger, file, about)
        elif lenient and lookalike.is_form(content):
            yield lookalike.read(content, path, ledger, file, about)
        else:
            _refuse(path, _why(content), ledger, about)


def _entries(tree: Any, path: Path, ledger: Ledger) -> Iterator[tuple[Any, Path]]:
    if isinstance(tree, list):
        for place, each in enumerate(tree):
            yield from _entries(each, (*path, place), ledger)
    elif isinstance(tree, dict) and (key := next((key for key in _WRAPPERS if _wraps(tree, key)), None)) is not None:
        for other in tree.keys() - {key}:
            ledger.mark((*path, other), Mark.IRRELEVANT)
        yield from _entries(tree[key], (*path, key), ledger)
    else:
        yield tree, path


def _wraps(tree: Mapping[str, Any], key: str) -> bool:
    is_only = sum(name in tree for name in _WRAPPERS) == 1
    return (
        is_only
        and isinstance(tree.get(key), dict | list)
        and tree.keys()
        <= {
            *_WRAPPERS,
            "code",
            "msg",
            "success",
            "failed",
        }
        | {
            *("total", "totalPage", "currentPage", "pageSize", "pageNo", "start"),
        }
    )


def _refuse(path: Path, why: str, ledger: Ledger, about: About) -> None:
    ledger.mark(path, Mark.REPORTED)
    where = f"its entry {'.'.join(map(str, path))}" if path else "it"
    about.refuse(f"{where} is no export of DolphinScheduler: {why}")


def _why(content: Mapping[str, Any]) -> str:
    if "processDefinitionJson" in content:
        return "its processDefinitionJson has no tasks"
    if lookalike.is_form(content):
        return (
            "it has tasks that name those before them, but neither processDefinitionJson nor taskDefinitionList with "
            "relations, so no DolphinScheduler wrote it; --lenient reads it as it seems to be meant"
        )
    if "taskType" in content and "taskParams" in content:
        return "it is a task alone; export the workflow that it is in"
    if "taskDefinitionList" in content:
        return "it has taskDefinitionList, and neither processDefinition nor workflowDefinition beside that"
    return "it has neither processDefinitionJson, nor taskDefinitionList with relations, nor `workflow:` with `tasks:`"
