"""A page of the documentation as a reader meets it: the lines to type, and what each of them prints.

Lines to type are those of a fenced block that begin with `$ ` (what follows one is what it prints), every line of a
block marked as `sh`, and indented lines outside of blocks that call `shoal`, `make` or the like: two spaces or a `#`
end one.
A fenced `yaml` block that begins with `name: ` is a workflow that the reader saves.

What a reader has beside the page stands in comments, which nobody sees:

| comment | |
|---|---|
| `<!-- newcomer: not run: REASON -->` | the next block is not typed |
| ``<!-- newcomer: before `LINE`: COMMAND -->`` | COMMAND is typed before the line that begins with LINE, and works |
| `<!-- newcomer: by psql -->` | the next block is typed into `shoal db psql` |
| `<!-- newcomer: file NAME`, lines, `-->` | this file is there |
| `<!-- newcomer: saved as NAME -->` | the next block is this file |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_MARK = re.compile(r"(?ms)^ *<!-- newcomer: (.*?) ?-->\n")
_BEFORE = re.compile(r"before `([^`]+)`:\s(.+)", re.DOTALL)
_FENCE = re.compile(r" *```(\w*)")
_INDENTED = re.compile(r"    (?:(?:\.venv/bin/)?(?:shoal|python) |make |export )")
_BEGIN, _NEWLINE = "\x02", "\x03"


@dataclass(frozen=True)
class Line:
    """A line to type.

    Attributes:
        place: the page and the number of the line there.
        typed: the line.
        shown: the lines that it prints by the page; empty if the page shows none.
        before: what makes the page's situation, typed first.
    """

    place: str
    typed: str
    shown: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


@dataclass
class Page:
    """What a reader takes from one page.

    Attributes:
        name: its path in the tree.
        lines: to type, in order.
        workflows: the YAML blocks, to be saved first.
        files: existing files by name.
    """

    name: str
    lines: list[Line] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, name: str) -> Page:
        """The page of that name. Raises `ValueError` if a comment is about nothing that is there."""
        return _Reading(cls(name), (root / name).read_text("utf-8")).page()


@dataclass
class _Reading:
    """A page while it is read: what comments have said about blocks and lines below them."""

    _page: Page
    _text: str
    _reason: str = ""
    _by_psql: bool = False
    _saved_as: str = ""
    _before: list[tuple[str, str]] = field(default_factory=list)

    def page(self) -> Page:
        for number, kind, block in _blocks(_MARK.sub(_in_one_line, self._text)):
            place = f"{self._page.name}:{number}"
            if kind == "mark":
                self._take(block[0].replace(_NEWLINE, "\n").removeprefix(_BEGIN))
            elif self._reason:
                self._reason = ""
            elif self._saved_as:
                self._page.files[self._saved_as], self._saved_as = "\n".join(block) + "\n", ""
            elif kind == "yaml" and block and block[0].startswith("name: "):
                self._page.workflows.append("\n".join(block) + "\n")
            elif self._by_psql:
                name, self._by_psql = f"{Path(self._page.name).stem}-{number}.sql", False
                self._page.files[name] = "\n".join(block) + "\n"
                self._page.lines.append(Line(place, f"shoal db psql -v ON_ERROR_STOP=1 -f {name}"))
            else:
                self._page.lines += [self._with_before(line) for line in _lines(self._page.name, number, kind, block)]
        if self._reason or self._by_psql or self._saved_as:
            raise ValueError(f"{self._page.name}: there is no block below the last comment")
        if self._before:
            raise ValueError(f"{self._page.name}: there is no line to type that begins with {self._before[0][0]!r}")
        return self._page

    def _take(self, mark: str) -> None:
        if mark.startswith("not run: "):
            self._reason = " ".join(mark.removeprefix("not run: ").split())
        elif mark == "by psql":
            self._by_psql = True
        elif mark.startswith("saved as "):
            self._saved_as = mark.removeprefix("saved as ")
        elif mark.startswith("file "):
            name, _, content = mark.removeprefix("file ").partition("\n")
            self._page.files[name] = content.rstrip() + "\n"
        elif found := _BEFORE.fullmatch(mark):
            self._before.append((found[1], " ".join(found[2].split())))
        else:
            raise ValueError(f"{self._page.name}: what is {mark!r}? See tests/newcomer/page.py")

    def _with_before(self, line: Line) -> Line:
        mine = [mark for mark in self._before if line.typed.startswith(mark[0])]
        self._before = [mark for mark in self._before if mark not in mine]
        return replace(line, before=tuple(command for _, command in mine))


def _in_one_line(found: re.Match[str]) -> str:
    """A comment in its first line, and as many lines as it had, so that all keep their numbers."""
    return _BEGIN + found[1].replace("\n", _NEWLINE) + "\n" * found[0].count("\n")


def _blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Number of the first line, language and lines of each block; "indented" for those without a fence, "mark"."""
    fenced: tuple[int, str, list[str]] | None = None
    indented: tuple[int, str, list[str]] | None = None
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = _FENCE.match(line)
        if indented is not None and not line.startswith("    "):
            yield indented
            indented = None
        if fenced is not None and fence:
            yield fenced
            fenced = None
        elif fenced is not None:
            fenced[2].append(line)
        elif fence:
            fenced = (number + 1, fence[1], [])
        elif line.startswith(_BEGIN):
            yield number, "mark", [line]
        elif _INDENTED.match(line):
            indented = indented or (number, "indented", [])
            indented[2].append(line)


def _lines(name: str, first: int, kind: str, block: list[str]) -> Iterator[Line]:
    typed: tuple[int, str] | None = None
    shown: list[str] = []
    for number, line in enumerate(block, first):
        if kind == "indented":
            yield Line(f"{name}:{number}", re.split(r"\s{2,}|\s+#", line.strip())[0])
        elif kind == "sh":
            yield Line(f"{name}:{number}", line)
        elif line.lstrip().startswith("$ "):
            if typed:
                yield Line(f"{name}:{typed[0]}", typed[1], tuple(shown))
            typed, shown = (number, line.lstrip()[2:]), []
        elif typed and line.strip():
            shown.append(line)
    if typed:
        yield Line(f"{name}:{typed[0]}", typed[1], tuple(shown))
