"""What is known of a bash script with parameter values: their places, the commands, what is evaluated.

In the text, a reference is one character of a Unicode private use plane.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto

FIRST = 0xF0000
"""The character of reference 0."""

REFERENCE = re.compile("[\U000f0000-\U000ffffd]")


class Form(Enum):
    """How a reference is to be written in its place."""

    WORD = auto()
    SPLIT = auto()
    """In the list of a `for`: the words of the value become items of the list."""
    DOUBLE = auto()
    """In double quotes or a here-document."""
    SINGLE = auto()
    ANSI = auto()
    PATTERN = auto()
    COMMENT = auto()


class Need(IntEnum):
    """What a value must be where bash, or a program that it starts, interprets it as more than text."""

    ANY = 0
    PLAIN = 1
    KEY = 2
    """A subscript: a whole number, or a word if the script has associative arrays."""
    INTEGER = 3


@dataclass
class Reference:
    """One `${name}` of a script."""

    position: int
    form: Form = Form.WORD
    need: Need = Need.ANY
    why: str = ""
    is_whole_word: bool = False

    def needs(self, need: Need, why: str) -> None:
        """Record the strictest need and its reason."""
        if need > self.need:
            self.need, self.why = need, why


@dataclass
class Word:
    """One word of a command: its text without quotes, NUL for what is known only at run time."""

    start: int = 0
    text: str = ""
    references: list[Reference] = field(default_factory=list)
    is_dynamic: bool = False
    has_process: bool = False

    @property
    def literal(self) -> str | None:
        """Its text if it is known."""
        return None if self.references or self.is_dynamic else self.text


@dataclass
class Command:
    """A simple command: its words without assignments and redirections, and the parts of its input."""

    line: int
    words: list[Word] = field(default_factory=list)
    input: list[Reference] = field(default_factory=list)
    has_own_input: bool = False
    input_is_dynamic: bool = False


@dataclass
class Script:
    """The result of reading a script."""

    text: str
    references: list[Reference] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    """Parts of the text that are to be rewritten, so that a reference in them is expanded."""
    evaluates: int | None = None
    """The first line that evaluates the text of some variable as arithmetic or as a name."""
    parses: int | None = None
    """The first line that reads some variable's text or its input as a script."""
    has_keys: bool = False
    """Whether there are associative arrays."""
    lost: int | None = None
    """The line of a quote or bracket that has no end."""

    def line(self, position: int) -> int:
        """Counted from 1."""
        return self.text.count("\n", 0, position) + 1
