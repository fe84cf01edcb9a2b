"""YAML as plain values, and the line of each of them.

Read from the composed nodes and not through a loader, because a loader drops the lines, turns dates into objects,
and expands an alias wherever it is used: ten lines of aliases to aliases become gigabytes ("billion laughs"). Here
each use of an alias counts as a separate value, and the number of values is limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

from model.cost import YAML_US, spend
from model.errors import Refused
from service.workflows.requests import BYTES_MAX

VALUES_MAX = 300_000
TOKENS_MAX = 4 * VALUES_MAX
"""As many as that many values can be."""
DEPTH_MAX = 60
SHOWN_MAX = 60
"""Characters of a value in a message."""

_TAG = "tag:yaml.org,2002:"
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")
_TEXTS = (f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}binary", f"{_TAG}value")
_MERGE = f"{_TAG}merge"

Path = tuple[str | int, ...]


class BadYaml(Refused):
    """Something that cannot be read, and its line (from 1)."""

    def __init__(self, line: int, sentence: str) -> None:
        self.line = line
        super().__init__(sentence)


@dataclass(frozen=True)
class Number:
    """A number and its original spelling: where a text is expected, `1.10` is not `1.1`."""

    value: int | float
    written: str


@dataclass(frozen=True)
class Document:
    """One document of a file. Numbers are still `Number`; keys are texts as they were written."""

    content: Any
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """The line of the value at `path`, or of the innermost value that contains it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_documents(data: bytes) -> list[Document]:
    """All documents in a file, separated by `---`; empty ones are left out.

    Raises `BadYaml` for the first error.
    """
    text = text_of(data)
    number = count(1)
    try:
        documents = [_Reader(number).read(node) for node in composed(text)]
    except RecursionError:
        raise BadYaml(1, f"it is nested more than {DEPTH_MAX} levels deep") from None
    return [document for document in documents if document.content is not None]


def text_of(data: bytes) -> str:
    """The text of a file. Raises `BadYaml` if it is too large or not UTF-8."""
    if len(data) > BYTES_MAX:
        raise BadYaml(1, f"the file has {len(data)} bytes, {BYTES_MAX} is the most; split it into several")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadYaml(line, f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8") from None


class _Scanner(Scanner):
    """Refuses what is nested too deeply or has too many values when it meets it: to find out later takes minutes.

    For each token it walks through all brackets that are open.
    """

    _fetched = 0

    def fetch_more_tokens(self) -> Any:
        self._fetched += 1
        if self._fetched > TOKENS_MAX:
            raise _too_many(self.reader.line + 1)
        return super().fetch_more_tokens()

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: N803 - as in its base
        if self.flow_level >= DEPTH_MAX:
            raise BadYaml(self.reader.line + 1, f"it is nested more than {DEPTH_MAX} levels deep")
        super().fetch_flow_collection_start(TokenClass, to_push)


def composed(text: str) -> Iterator[Node]:
    """The nodes of the documents in a text, with where each stands in it. Raises `BadYaml`."""
    spend(len(text) * YAML_US)
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = _Scanner
    yaml.allow_duplicate_keys = True  # we check for them ourselves: its message is a page long
    try:
        yield from (node for node in yaml.compose_all(text) if node is not None)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        point = error.character if isinstance(error.character, int) else ord(error.character)
        raise BadYaml(line, f"the character U+{point:04X} must not stand in YAML; remove it") from None
    except MarkedYAMLError as error:
        raise _syntax_error(text, error) from None
    except YAMLError as error:
        raise BadYaml(1, str(error).splitlines()[0]) from None


def _syntax_error(text: str, error: MarkedYAMLError) -> BadYaml:
    mark = error.problem_mark or error.context_mark
    at = mark.line if mark is not None else 0
    lines = text.splitlines()
    line = lines[at] if at < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return BadYaml(at + 1, "a tab indents this line; YAML takes only blanks")
    where = f" at column {mark.column + 1}" if mark is not None else ""
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return BadYaml(at + 1, f"this is not YAML{where}: {said}; mind the indentation, and quote texts with : or #")


class _Reader:
    """Converts the nodes of one document to values; `number` counts them, over all documents of a file."""

    def __init__(self, number: Iterator[int]) -> None:
        self._lines: dict[Path, int] = {}
        self._number = number

    def read(self, node: Node) -> Document:
        return Document(self._value(node, ()), self._lines)

    def _value(self, node: Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self._lines[path] = line
        self._count(line)
        if len(path) > DEPTH_MAX:
            raise BadYaml(line, f"it is nested more than {DEPTH_MAX} levels deep; an alias may contain itself")
        if isinstance(node, ScalarNode):
            return _scalar(node, line)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        return [self._value(each, (*path, place)) for place, each in enumerate(node.value)]

    def _count(self, line: int) -> None:
        if next(self._number) > VALUES_MAX:
            raise _too_many(line)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise BadYaml(line, "a key must be a text, not a list or a mapping")
            if key.tag == _MERGE:
                merged = {**self._merged(value, path, line), **merged}
            elif key.value in own:
                raise BadYaml(line, f'the key "{key.value}" stands there twice; remove one of them')
            else:
                own[key.value] = self._value(value, (*path, key.value))
                self._lines[(*path, key.value)] = line
        return {**merged, **own}

    def _merged(self, node: Node, path: Path, line: int) -> dict[str, Any]:
        """The content of `<<:`: a mapping, or a list of them of which the first ones take precedence."""
        parts = [node] if isinstance(node, MappingNode) else node.value
        merged: dict[str, Any] = {}
        for part in parts if isinstance(parts, list) else ():
            if not isinstance(part, MappingNode):
                break
            self._count(line)
            merged = {**self._mapping(part, path), **merged}
        else:
            if isinstance(parts, list):
                return merged
        raise BadYaml(line, "<< takes an alias of a mapping, or a list of such aliases")


def _too_many(line: int) -> BadYaml:
    return BadYaml(line, f"it has more than {VALUES_MAX} values, counting each use of an alias; make it smaller")


def _scalar(node: ScalarNode, line: int) -> Any:
    written: str = node.value
    if node.tag in _TEXTS:
        return written
    if node.tag == f"{_TAG}null":
        return None
    if node.tag == f"{_TAG}bool":
        return written.lower() == "true"
    if node.tag in _NUMBERS:
        number = _number(written)
        if number is None:
            shown = written if len(written) <= SHOWN_MAX else f"{written[:SHOWN_MAX]}..."
            raise BadYaml(line, f"{shown} is not a number that can be stored; put it into quotes")
        return Number(number, written)
    raise BadYaml(line, f"the tag {node.tag} has no meaning here; remove it")


def _number(written: str) -> int | float | None:
    """The value of a number of YAML 1.2; None if JSON cannot represent it, or if it is beyond all that is counted."""
    digits = written.replace("_", "")
    value: int | float
    try:
        value = int(digits, 0) if digits.lstrip("+-")[:2].lower() in ("0x", "0o") else int(digits)
    except ValueError:
        try:
            value = float(digits)
        except ValueError:
            return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # Python does not even write it: 0xff... of thousands of digits
        return None
