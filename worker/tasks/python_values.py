r"""Parameters in a Python script: each `${name}` becomes a literal of its type, or text inside the literal around it.

A value is never an expression. Outside of quotes it is a number if it looks like one or its type requires it, else a
string. Inside of quotes it is text, and refused if it could end the literal. Where it can be neither (inside the braces
of an f-string, next to a name) only a number is accepted, or the task is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.local import typed
from model.parameters.parameters import is_plain, parameter_variable
from model.scripts.python_script import NUMBER, NamedPython
from worker.tasks.inserted import pieces

_FIRST = 0xF0000
_REFERENCE = re.compile("[\U000f0000-\U000ffffd]")
_OPENING = re.compile(r"""([A-Za-z]{0,3})('''|\"\"\"|'|")""")
_UNESCAPED = re.compile(r"[A-Za-z0-9_.,:/@%+= -]")
_PREFIXES = frozenset({"r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"})
_NUMBERS = (ParameterType.INTEGER, ParameterType.LONG, ParameterType.FLOAT, ParameterType.DOUBLE)


@dataclass(frozen=True)
class _Literal:
    prefix: str
    quote: str

    @classmethod
    def of(cls, opening: re.Match[str]) -> _Literal:
        """The literal after letters that are not a prefix, as in `if"x"`."""
        prefix = opening[1].lower()
        return cls(prefix if prefix in _PREFIXES else "", opening[2])

    @property
    def is_formatted(self) -> bool:
        return "f" in self.prefix or "t" in self.prefix


_AFTER_BACKSLASH = _Literal("r", "")
"""An escape accepts only a plain value after it."""


def in_environment(name: str) -> str:
    """How a script can read a value that cannot be inserted: the end of a refusal's sentence."""
    return f'write os.environ["{parameter_variable(name)}"] instead of ${{{name}}}'


def python_script(
    marked: str, types: Mapping[str, ParameterType], way_out: Callable[[str], str] = in_environment
) -> str:
    """The script to run for a text with the marks of `worker/tasks/inserted.py` in place of values.

    Args:
        marked: the definer's text.
        types: of the parameters that declare one; VARCHAR for those whose value the author wrote.
        way_out: what to do about a refused parameter.

    Raises:
        Refused: a value has no safe form in its place, or does not fit its type.
    """
    found = pieces(marked)
    if any(piece.name is None and _REFERENCE.search(piece.text) for piece in found):
        raise Refused("script: it contains private-use characters (from U+F0000 on); remove them")
    given = [(piece.name, piece.text) for piece in found if piece.name is not None]
    if not given:
        return marked
    numbers = iter(range(len(given)))
    text = "".join(piece.text if piece.name is None else chr(_FIRST + next(numbers)) for piece in found)
    script = NamedPython.reading(_REFERENCE.sub("\0", text), dict(given))
    for name, value in dict(given).items():
        script.check(name, value, types.get(name))
    return _Writer(text, given, types, way_out).written()


class _Writer:
    def __init__(
        self,
        text: str,
        given: list[tuple[str, str]],
        types: Mapping[str, ParameterType],
        way_out: Callable[[str], str],
    ) -> None:
        self._text = text
        self._given = given
        self._types = types
        self._way_out = way_out
        self._at = 0
        self._parts: list[str] = []

    def written(self) -> str:
        while self._at < len(self._text):
            self._code()
        return "".join(self._parts)

    def _copy(self, length: int = 1) -> None:
        self._parts.append(self._text[self._at : self._at + length])
        self._at += length

    def _is_reference(self) -> bool:
        return _REFERENCE.match(self._text, self._at) is not None

    def _value(self) -> tuple[str, str]:
        return self._given[ord(self._text[self._at]) - _FIRST]

    def _refused(self, name: str, why: str) -> Refused:
        line = self._text.count("\n", 0, self._at) + 1
        return Refused(f'script, line {line}: the value of "{name}" could become code; {self._way_out(name)} ({why})')

    def _code(self) -> None:
        """Read the next part outside of literals."""
        if self._is_reference():
            self._expression()
            return
        character = self._text[self._at]
        if character == "#":
            self._comment()
        elif opening := self._opening():
            self._copy(len(opening[0]))
            self._literal(_Literal.of(opening))
        elif word := re.compile(r"\w+").match(self._text, self._at):
            self._copy(len(word[0]))
        else:
            self._copy()

    def _opening(self) -> re.Match[str] | None:
        return _OPENING.match(self._text, self._at)

    def _comment(self) -> None:
        while self._at < len(self._text) and self._text[self._at] not in "\n\r":
            if self._is_reference():
                self._parts.append(f"${{{self._given[ord(self._text[self._at]) - _FIRST][0]}}}")
                self._at += 1
            else:
                self._copy()

    def _expression(self) -> None:
        name, value = self._value()
        before, after = self._text[max(0, self._at - 1) : self._at], self._text[self._at + 1 : self._at + 2]
        if re.match(r"[\w'\"\\.]|[^\x00-\x7f]", before) or re.match(r"[\w'\"]|[^\x00-\x7f]", after):
            raise self._refused(name, "it stands right beside a name, a number, a dot, a backslash or a quote")
        self._parts.append(_literal_of(name, value, self._types.get(name)))
        self._at += 1

    def _literal(self, literal: _Literal) -> None:
        """Read the rest of a literal, with its end."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._text.startswith(literal.quote, self._at):
                self._copy(len(literal.quote))
                return
            if self._is_reference():
                self._text_in(literal)
            elif character == "\\" and _REFERENCE.match(self._text, self._at + 1):
                self._copy()
                self._text_in(_AFTER_BACKSLASH)
            elif character == "\\" or (literal.is_formatted and self._text.startswith(("{{", "}}"), self._at)):
                self._copy(2)
            elif character == "\n" and len(literal.quote) == 1:
                return  # a syntax error of the script's own
            else:
                self._copy()
                if literal.is_formatted and character == "{":
                    self._field()

    def _text_in(self, literal: _Literal) -> None:
        """Write a value as text of a literal, with escapes unless it is a raw one."""
        name, value = self._value()
        if is_plain(value):
            written = value
        elif "r" not in literal.prefix:
            is_bytes = "b" in literal.prefix
            written = "".join(map(_escape, value.encode())) if is_bytes else _escaped(value)
        elif (
            literal is _AFTER_BACKSLASH
            or re.search(r"['\"\\\r\n{}]", value)
            or not value.isprintable()
            or ("b" in literal.prefix and not value.isascii())
        ):
            raise self._refused(name, "it stands inside of a raw literal or after a backslash, and could end it")
        else:
            written = value
        self._parts.append(written)
        self._at += 1

    def _field(self) -> None:
        """Read the rest of a replacement field of an f-string: an expression, where only numbers are accepted."""
        brackets = 0
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == ":" and not brackets:
                self._format()
                return
            if opening := self._opening():
                self._copy(len(opening[0]))
                literal = _Literal.of(opening)
                self._literal(_Literal(f"r{literal.prefix}", literal.quote))  # Python before 3.12 takes no escape here
                continue
            self._number_or_own()
            if character == "}" and not brackets:
                return
            brackets += (character in "([{") - (character in ")]}")

    def _format(self) -> None:
        """Read the rest of a field from its colon on: text, which may again contain fields."""
        while self._at < len(self._text):
            character = self._text[self._at]
            self._number_or_own()
            if character == "{":
                self._field()
            elif character == "}":
                return

    def _number_or_own(self) -> None:
        if not self._is_reference():
            self._copy()
            return
        name, value = self._value()
        if not re.fullmatch("[0-9]+", value):
            raise self._refused(name, "it stands inside the braces of an f-string, and is not a whole number")
        self._parts.append(value)
        self._at += 1


def _literal_of(name: str, value: str, type_: ParameterType | None) -> str:
    if type_ in (None, ParameterType.VARCHAR) and NUMBER.fullmatch(value):
        return f"({value})"
    if type_ in _NUMBERS or type_ is ParameterType.BOOLEAN:
        read = typed(type_, name, value)
        is_finite = not isinstance(read, float) or isfinite(read)
        return f"({read!r})" if is_finite else f"(float('{read!r}'))"
    if type_ in (ParameterType.LIST, ParameterType.JSON) and value:
        return f"({json.loads(value, parse_constant=str)!a})"
    return f"('{_escaped(value)}')"


def _escaped(value: str) -> str:
    return "".join(each if _UNESCAPED.fullmatch(each) else _escape(ord(each)) for each in value)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
