"""Compares the output of a line with its page.

Differences that vary are ignored: times, durations, ids, ports, paths, load, names of nodes and fingerprints, and
whether a run waited so long that its head says `1.6 s of 7.2 s`.
Lines are compared one by one in their order, and none may be missing or superfluous. The alignment of columns and empty
lines do not count. `…` or `...` stands for anything within a line, alone in one for any number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

_UNIT = r"(?:ms|s|min|h|d)\b"
_ASIDE = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) [A-Z]{3,4}\b"), r"\1"),
    (re.compile(r"\bpostgresql(?:\+psycopg)?://(?:shoal:[^\s,]+|…)"), "postgresql:#"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "#"),
    (re.compile(rf"\b\d+(?:\.\d+)? {_UNIT}(?: \d+ {_UNIT})?"), "#"),
    (re.compile(r"(?<![\w:/.~])(?:~|/[\w.-]+)(?:/[\w.-]+)+"), "/#"),
    (re.compile(r"\b([mw])[0-9]+\b"), r"\1#"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12}\b"), "#"),
    (re.compile(r"\b[0-9]+(?:[.,:][0-9]+)*"), "#"),
    (re.compile(r"# ([a-z]+[a-rt-z])s\b"), r"# \1"),
    (re.compile(r"^(\S [A-Z_]+ #) of #$"), r"\1"),
)
_ANYTHING = re.compile(r"…|\.\.\.")


def difference(shown: Sequence[str], printed: str) -> str:
    """The first line that is not as shown, with what was printed there; empty if all are."""
    return _difference([line for line in map(_plain, shown) if line], _lines(printed))


def _lines(printed: str) -> list[str]:
    return [line for line in map(_plain, printed.splitlines()) if line]


def _difference(shown: list[str], printed: list[str]) -> str:
    for place, line in enumerate(shown):
        if _ANYTHING.fullmatch(line):
            rest = shown[place + 1 :]
            tails = [_difference(rest, printed[start:]) for start in range(place, len(printed) + 1)]
            return "" if "" in tails else f"after … the page shows {rest}, and there is {printed[place:]}"
        if place >= len(printed):
            return f"the page shows {line!r}, and no more is printed"
        if not fits(line, printed[place]):
            return f"the page shows {line!r}, printed is {printed[place]!r}"
    return f"printed is more than the page shows: {printed[len(shown)]!r}" if len(printed) > len(shown) else ""


def fits(shown: str, printed: str) -> bool:
    """Whether one line is as shown."""
    pattern = ".*".join(re.escape(part) for part in _ANYTHING.split(_plain(shown)))
    return re.fullmatch(pattern, _plain(printed)) is not None


def _plain(line: str) -> str:
    for pattern, instead in _ASIDE:
        line = pattern.sub(instead, line)
    return " ".join(line.split())


class Ids:
    """Which id here is which of the page: runs, commands, workflows and schedules have other numbers each time.

    Where a page shows none, 42 and 43 are its runs (docs/reference/commands/README.md): each time the one that began
    last.
    """

    _KINDS: ClassVar = {
        "run": (r"(?:[Rr]un|show|why|log|rerun|resume|pause|stop|mark)", "RUN"),
        "command": (r"(?:[Cc]ommand|retry|queue delete)", "COMMAND"),
        "workflow": (r"(?:code|send\.py)", "CODE"),
        "schedule": (r"(?:[Ss]chedule|schedule (?:on|off|delete|edit))", "ID  WORKFLOW  CRON"),
    }
    """What an id follows in a sentence or a line to type, and the heading of the column of ids in a table."""
    _UNSEEN = ("42", "43")

    def __init__(self) -> None:
        self._here: dict[tuple[str, str], str] = {}
        self._last_run = 0

    def learn(self, shown: Sequence[str], printed: str) -> None:
        """Take in what was printed, and what the page shows for it."""
        for kind in self._KINDS:
            here = self._found(kind, printed)
            if kind == "run":
                self._last_run = max([*map(int, here), self._last_run])
                self._here |= {(kind, number): str(self._last_run) for number in self._UNSEEN if here}
            of_page = self._found(kind, "\n".join(shown))
            self._here |= {(kind, number): id_ for number, id_ in zip(of_page, here, strict=False)}

    def _found(self, kind: str, text: str) -> list[str]:
        words, head = self._KINDS[kind]
        in_table = re.findall(r"(?m)^ *(\d+)  ", text) if re.search(rf"(?m)^ *{head}", text) else []
        return [*re.findall(rf"\b{words} (\d+)\b", text), *in_table]

    def typed(self, line: str) -> str:
        """A line of the page with the ids that are meant here."""
        for kind, (words, _) in self._KINDS.items():
            line = re.sub(rf"\b({words} )(\d+)\b", partial(self._with_id, kind), line)
        return line

    def _with_id(self, kind: str, found: re.Match[str]) -> str:
        return found[1] + self._here.get((kind, found[2]), found[2])
