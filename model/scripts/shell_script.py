"""Parameters in a bash script: the place of each, and the values it may have there.

A value never gets into the text: a reference is one character of a Unicode private use plane, and becomes a variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.foreign_values import Need, begins_option, check_declared, check_foreign, refused
from model.parameters.local import WHOLE_NUMBER
from model.parameters.parameters import PARAMETER_PREFIX, parameter_variable
from model.scripts.shell_commands import DECLARES
from model.scripts.shell_text import ASSIGNMENT

FIRST = 0xF0000
"""The character of reference 0."""

WORD_MAX = 20_000
"""In characters: adding to a long text copies it."""
BEFORE = frozenset({"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time"})
EVALUATING_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
REFERENCE = re.compile("[\U000f0000-\U000ffffd]")
_IN_NUMBER = re.compile(r"[\w#\U000f0000-\U000ffffd]")
"""What joins a reference and its neighbour to one number, as in `10#${month}`."""
_OTHER_IN_OCTAL = re.compile("[-+]?0+([1-7][0-9]|[89])[0-9]*")
_BEGINS_WITH_0 = re.compile("[-+]?0[0-9]*")
_WHOLE_NUMBERS = (ParameterType.INTEGER, ParameterType.LONG)


class Form(Enum):
    """How a reference is written in its place."""

    WORD = auto()
    BARE = auto()
    """In double quotes or a here-document."""
    SPLIT = auto()
    """In the list of a `for`: the words of the value become items of the list."""
    SINGLE = auto()
    ANSI = auto()


@dataclass
class Place:
    """A reference's place. `begins`: at the start of an argument. `evaluated`: by bash, as arithmetic or as a name."""

    at: int
    form: Form
    begins: bool = False
    evaluated: bool = False
    alone: bool = False


@dataclass
class Word:
    """A word without its quotes; NUL for each part that is known only when it runs."""

    start: int
    assigns: bool = False
    """Whether it may be an assignment."""
    is_whole: bool = False
    """Whether bash splits nothing in it."""
    opens: bool = True
    """Whether all words before it are of `BEFORE`."""
    leads: bool = True
    """The same, or assignments."""
    text: str = ""
    stop: int = 0
    places: list[Place] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Append a part; a long word loses its end, which then counts as unknown. NUL follows no other NUL."""
        if text == "\0" and self.text.endswith("\0"):
            return
        if len(self.text) < WORD_MAX:
            self.text += text[:WORD_MAX]
            if len(text) > WORD_MAX:
                self.text += "\0"
        elif not self.text.endswith("\0"):
            self.text += "\0"

    def follow(self, first: Word, last: Word) -> None:
        """Learn from the first word of its command and from the one before it."""
        self.is_whole = first.text in ("case", "[[")
        self.opens = last.opens and last.text in BEFORE
        self.leads = last.leads and (last.text in BEFORE or is_assignment(last))
        self.assigns = self.leads or first.text in DECLARES

    @property
    def literal(self) -> str | None:
        """Its text, if known."""
        return None if "\0" in self.text else self.text


def is_assignment(word: Word) -> bool:
    """Whether it sets a variable, where that may stand."""
    return ASSIGNMENT.match(word.text) is not None


def without_reserved(words: list[Word]) -> list[Word]:
    """The words of a command without the reserved words before it."""
    at = 0
    while at < len(words) and words[at].text in BEFORE:
        is_posix = [word.text for word in words[at : at + 2]] == ["time", "-p"]
        at += 2 if is_posix else 1
    return words[at:]


def begins_arithmetic(words: Sequence[Word]) -> bool:
    """Whether `((` after these words of a command begins arithmetic."""
    if not words or words[0].text == "function":
        return True
    return words[-1].opens and (words[-1].text in BEFORE or words[-1].text == "for")


def mark_compared(words: Sequence[Word]) -> None:
    """Mark the references of the last words of `[[ ... ]]` by what compares them."""
    last, before = words[-1], words[-2].text
    is_test = last.text in EVALUATING_TESTS
    for place in words[-2].places if is_test else last.places:
        place.evaluated = is_test or before in EVALUATING_TESTS
    if before == "=~":
        for place in last.places:
            place.form = Form.BARE if place.form is Form.WORD else place.form


@dataclass
class Script:
    """A script as read. `need` is what its values must be, because of `why` in `line`."""

    text: str
    places: list[Place] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    """Parts of the text that are replaced, so that a reference in them is expanded."""
    need: Need = Need.TEXT
    why: str = ""
    line: int = 0
    has_keys: bool = False
    """Whether there are associative arrays."""
    needs_text: bool = False
    """Whether an empty value would let an argument begin with the author's own `-`."""

    def line_of(self, at: int) -> int:
        """Counted from 1."""
        return self.text.count("\n", 0, at) + 1

    def is_octal(self, place: Place, value: str) -> bool:
        """Whether bash reads a whole number differently there: 010 is 8, and 08 is an error."""
        before, after = self.text[max(0, place.at - 1) : place.at], self.text[place.at + 1 : place.at + 2]
        form = _BEGINS_WITH_0 if _IN_NUMBER.match(after) else _OTHER_IN_OCTAL
        return _IN_NUMBER.match(before) is None and form.fullmatch(value) is not None

    def escape(self, text: str, start: int, stop: int) -> None:
        """Escape a part of the text in which bash expands nothing, except its references."""
        for at in range(start, stop):
            if REFERENCE.match(text[at]):
                self.places.append(Place(at, Form.BARE))
            elif text[at] in "\\$`":
                self.edits.append((at, at, "\\"))


@dataclass(frozen=True)
class NamedScript:
    """A script of a definition, with the places of each parameter."""

    script: Script
    places: Mapping[str, Sequence[Place]]

    @classmethod
    def of(cls, script: Script, names: Sequence[str]) -> NamedScript:
        """`names` are those of the references, in their order."""
        places: dict[str, list[Place]] = {name: [] for name in names}
        for place in script.places:
            places[names[ord(script.text[place.at]) - FIRST]].append(place)
        return cls(script, places)

    @property
    def need(self) -> Need:
        return self.script.need

    def names(self, given: Iterable[str]) -> set[str]:
        """The parameters that the script uses, as `${name}` or by their variables."""
        text = self.script.text if PARAMETER_PREFIX in self.script.text else ""
        return {name for name in given if name in self.places or (text and parameter_variable(name) in text)}

    def check(self, name: str, value: str, type_: ParameterType | None) -> None:
        """Raises `Refused` for a value that bash, or a program that it starts, could take for more than text."""
        script, places = self.script, self.places.get(name, ())
        is_key = script.has_keys and re.fullmatch(r"\w+", value)
        for place in places:
            if place.evaluated and not is_key and not WHOLE_NUMBER.fullmatch(value):
                raise Refused(
                    f'script, line {script.line_of(place.at)}: the value of "{name}" is no whole number, and bash '
                    f"evaluates it there; declare the parameter INTEGER and give one, or change that line"
                )
            if place.evaluated and not is_key and script.is_octal(place, value):
                raise Refused(
                    f'script, line {script.line_of(place.at)}: the value of "{name}" begins with 0, and bash reads it '
                    f"there as an octal number; write 10#${{{name}}}, or give it without the 0"
                )
        if check_declared(type_, name, value):
            if not value and type_ in _WHOLE_NUMBERS:  # elsewhere an empty value is no argument
                raise Refused(f'parameter "{name}" is {type_} and must be a whole number such as 42')
            return
        begins = script.need > Need.TEXT or not places or any(place.begins for place in places)
        words = value.split() if any(place.form is Form.SPLIT for place in places) else [value]
        first = next((place.at for place in places if place.begins), 0)
        if begins and any(begins_option(word) for word in words):
            raise refused(name, 'begins with "-", as an option does', f"script, line {script.line_of(first)}")
        if script.needs_text and not value:
            raise refused(name, 'is empty, and a "-" follows', f"script, line {script.line_of(first)}")
        check_foreign(script.need, name, value, f"script, line {script.line}", script.why)
