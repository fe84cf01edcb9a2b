"""Changes of a YAML text in the places where it must change: everything else stays as it was written.

A section is a key of the mapping that is the document, with its value. The comments above a key belong to its section's
neighbour below, so they stay when the section before them is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from service.workflows.yaml_lines import composed

_MARK = re.compile(r"^(?:---|\.\.\.)(?=\s|\Z)", re.MULTILINE)
_TRAILING = re.compile(r"(?:^(?:#[^\n]*|[ \t\r]*)\n)+\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A key of the document, and from where to where its section reaches."""

    name: str
    start: int
    end: int


def document_at(text: str, line: int) -> str:
    """The document of a file whose content begins in this line (from 1), without those before and after it."""
    marks = list(_MARK.finditer(text))
    place = len("".join(text.splitlines(keepends=True)[: line - 1]))
    start = max([0, *(mark.start() for mark in marks if mark.start() <= place and mark[0] == "---")])
    end = min([len(text), *(mark.start() for mark in marks if mark.start() > place)])
    return re.sub(r"\A---[ \t\r]*\n", "", text[start:end])


def with_section(text: str, name: str, written: str | None, before: str | None = None) -> str | None:
    """The text with this section, or without it if `written` is None; a new one stands before `before`, else last.

    None if that cannot be done: the document is a mapping in braces, is indented, or takes its keys from an alias.
    """
    sections = _sections(text)
    if sections is None:
        return None
    found = next((each for each in sections if each.name == name), None)
    if found is not None:
        return text[: found.start] + (written or "") + text[found.end :]
    if written is None:
        return text
    place = next((each for each, section in enumerate(sections) if section.name == before), len(sections))
    start = sections[place - 1].end if place > 0 else sections[0].start
    gap = "" if text[:start].endswith("\n") else "\n"
    return f"{text[:start]}{gap}{written}{text[start:]}"


def with_scalars(text: str, values: Mapping[int, tuple[ScalarNode, str]]) -> str:
    """The text with these values, in double quotes, in the places of these scalars."""
    for start in sorted(values, reverse=True):
        node, value = values[start]
        end = node.end_mark.index
        tail = "\n" if text[start:end].endswith("\n") else ""
        text = f'{text[:start]}"{value}"{tail}{text[end:]}'
    return text


def with_key(text: str, name: str, values: Mapping[tuple[str | int, ...], str]) -> str:
    """The text with this key, in double quotes, in each of the mappings at these places; new, it is their first."""
    root, changes = root_of(text), []
    for path, value in values.items():
        node = root
        for step in path:
            node = child(node, step) if isinstance(step, str) else next(iter(items(node)[step : step + 1]), None)
        if not isinstance(node, MappingNode) or not node.value:
            continue
        written, first = json.dumps(value, ensure_ascii=False), node.value[0][0].start_mark
        if isinstance(found := child(node, name), ScalarNode):
            changes.append((found.start_mark.index, found.end_mark.index, written))
        else:
            gap = ", " if node.flow_style else "\n" + " " * first.column
            changes.append((first.index, first.index, f"{name}: {written}{gap}"))
    for start, end, written in sorted(changes, reverse=True):
        text = f"{text[:start]}{written}{text[end:]}"
    return text


def child(node: Node | None, name: str) -> Node | None:
    """The value of a key of a mapping; None if there is none, or it is no mapping."""
    if not isinstance(node, MappingNode):
        return None
    return next((value for key, value in node.value if isinstance(key, ScalarNode) and key.value == name), None)


def items(node: Node | None) -> list[Node]:
    """The entries of a list; none if it is no list."""
    return list(node.value) if isinstance(node, SequenceNode) else []


def entries(node: Node | None) -> list[tuple[str, Node]]:
    """The keys of a mapping that are texts, with their values; none if it is no mapping."""
    pairs = node.value if isinstance(node, MappingNode) else []
    return [(key.value, value) for key, value in pairs if isinstance(key, ScalarNode)]


def root_of(text: str) -> Node | None:
    """The only document of a text; None if there is none, or several. Raises `BadYaml`."""
    nodes = list(composed(text))
    return nodes[0] if len(nodes) == 1 else None


def _sections(text: str) -> list[Section] | None:
    root = root_of(text)
    if not isinstance(root, MappingNode) or root.flow_style:
        return None
    keys = [key for key, _ in root.value]
    if any(not isinstance(key, ScalarNode) or key.start_mark.column != 0 or key.value == "<<" for key in keys):
        return None
    starts = [key.start_mark.index for key in keys]
    marks = (found.start() for found in _MARK.finditer(text) if found.start() > starts[-1])
    limits = [*starts[1:], next(marks, len(text))]
    ends = [start + len(_TRAILING.sub("", text[start:limit])) for start, limit in zip(starts, limits, strict=True)]
    return [Section(key.value, start, end) for key, start, end in zip(keys, starts, ends, strict=True)]
