"""Turns `${name}` in SQL text into a bound value: the database receives text and values separately.

The place of a reference decides what is bound:

WHERE id = ${id}          the value, of its parameter's type
WHERE id IN (${ids})      a LIST: one value for each of its items
WHERE day = '${day}'      the whole literal is one text value: '%${a}%' works too
DATE '${day}'             the same, as CAST(value AS DATE)
-- ${day}                 a comment stays as it is

Inside a quoted name, `E'...'` or `$$...$$` no value can be bound: it is refused. A name of a table or column is not a
value; `!{name}` inserts it into the text if it consists of letters, digits and `_` only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.local import typed
from model.parameters.parameters import IN_BRACES, Room
from worker.statements.grammar import Grammar, Kind, Piece

_MARK = "\0"
_REFERENCE = re.compile(f"{_MARK}([^{_MARK}]+){_MARK}")
_NO_WORD = re.compile(r"[^A-Za-z0-9_.]")
_RAW_REFERENCE = re.compile(rf"!\{{({IN_BRACES})\}}")
_RAW_VALUE = re.compile(r"[A-Za-z0-9_]+")
_PREFIX = re.compile(r"\b(?:[ebxn]|u&|_\w+)$", re.IGNORECASE)
_TYPE_BEFORE = re.compile(r"\b(date|timestamp|timestamptz|time|interval)(\s*)$", re.IGNORECASE)
_BEFORE_A_NAME = re.compile(
    r"(?:[\w.]|\b(?:from|join|into|update|table|exists|view|index|on|schema|database|column|by|truncate|call)\s+)$",
    re.IGNORECASE,
)
_AFTER_A_NAME = re.compile(r"[\w.]")
_BEFORE_A_SORT_KEY = re.compile(
    r"\b(order|group|partition)\s+by\s(?:(?!\b(?:limit|offset|fetch|having|select|where|on|set)\b)[^();'\"])*$",
    re.IGNORECASE,
)
_CLAUSE_MAX = 2_000
"""How many characters before a value are searched for its clause."""
_SQL_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_BETWEEN_SORT_KEYS = re.compile(r"(?:\bby|,)\s*$", re.IGNORECASE)
_AFTER_A_SORT_KEY = re.compile(
    r"\s*(?:$|[,);]|(?:asc|desc|nulls|collate|limit|offset|fetch|for|having|order|rows|range|groups|union)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Bind:
    """A value that is sent to the database beside the text; `in_place_of` is its name if the name of a table or column
    seems to be meant."""

    value: object
    in_place_of: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: pieces of text, and between them values."""

    parts: tuple[str | Bind, ...]

    @property
    def shown(self) -> str:
        """Its text for display, with `?` for each value."""
        return "".join(part if isinstance(part, str) else "?" for part in self.parts).strip()

    @property
    def cure(self) -> str:
        """The end of a sentence that explains a refusal; empty unless a value stands in place of a name."""
        names = [part.in_place_of for part in self.parts if isinstance(part, Bind) and part.in_place_of]
        if not names:
            return ""
        name = names[0]
        return f"; ${{{name}}} is sent as a value there: write !{{{name}}} for the name of a table or column"

    @property
    def first_word(self) -> str:
        """Its first word after comments, in capitals, such as SELECT."""
        text = self.parts[0] if self.parts and isinstance(self.parts[0], str) else ""
        found = re.match(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*([A-Za-z]+)", text, re.DOTALL)
        return found[1].upper() if found else ""


def reference(name: str) -> str:
    """The mark for a known `${name}` until the statement is parsed: no text of a definition looks like it, and SQL
    reads it as one word, whatever quotes and brackets the name has."""
    return f"{_MARK}{_NO_WORD.sub(lambda found: ''.join(map('%{:02X}'.format, found[0].encode())), name)}{_MARK}"


def resolved(text: str, values: Mapping[str, str]) -> str:
    """A text that is not SQL, with its references replaced by the values themselves."""
    return _REFERENCE.sub(lambda found: values[unquote(found[1])], text)


def _as_written(text: str) -> str:
    return _REFERENCE.sub(lambda found: f"${{{unquote(found[1])}}}", text)


class Binder:
    """Builds statements from the texts of one task.

    Args:
        grammar: of the target database.
        values: the value of each name.
        types: of those that are not VARCHAR.
        date_time: the database's name of the time stamp type in a CAST.
    """

    def __init__(
        self,
        grammar: Grammar,
        values: Mapping[str, str],
        types: Mapping[str, ParameterType],
        date_time: str = "TIMESTAMP",
    ) -> None:
        self._grammar = grammar
        self._values = values
        self._types = types
        self._date_time = date_time
        self._room = Room("its SQL statements")

    def statements(self, given: str | Sequence[str]) -> list[Statement]:
        """Split a text into statements at its semicolons; the items of a list stay whole. Empty ones are left out.

        Raises:
            Refused: a reference where no value can be bound, or a value that does not fit its type.
        """
        found: list[Statement] = []
        for text in (given,) if isinstance(given, str) else given:
            pieces = list(self._grammar.pieces(_RAW_REFERENCE.sub(self._raw, text)))
            groups = _divided(pieces) if isinstance(given, str) else [pieces]
            found += (Statement(tuple(self._bound(group))) for group in groups if _says_something(group))
        return found

    def _raw(self, found: re.Match[str]) -> str:
        name = found[1]
        if name not in self._values:
            return found[0]
        value = self._values[name]
        if _RAW_VALUE.fullmatch(value) is None:
            raise Refused(
                f"!{{{name}}} puts its value into the SQL text, so that must be letters, digits and _ only; "
                f"for any other value write ${{{name}}}, which binds it"
            )
        return self._room.take(name, value)

    def _bound(self, pieces: Sequence[Piece]) -> Iterator[str | Bind]:
        text = ""  # before the next value
        for place, piece in enumerate(pieces):
            if not place:
                piece = replace(piece, text=piece.text.lstrip())
            if _MARK not in piece.text or piece.kind is Kind.COMMENT:
                text += _as_written(piece.text)
                continue
            following = (each.text for each in pieces[place + 1 :] if each.kind is not Kind.COMMENT)
            after = next((each for each in following if each.strip()), "")
            for part in self._parts(piece, text, after):
                if isinstance(part, _Instead):
                    text = part.text
                elif isinstance(part, str):
                    text += part
                else:
                    yield text
                    yield part
                    text = ""
        yield text

    def _parts(self, piece: Piece, before: str, after: str) -> Iterator[str | Bind | _Instead]:
        """The text and values of a piece with references; `before` and `after` are the text around it."""
        if piece.kind is Kind.CODE:
            split = _REFERENCE.split(piece.text)
            so_far = before
            for place, part in enumerate(split):
                if place % 2:
                    so_far = (so_far + split[place - 1])[-_CLAUSE_MAX:]
                    part = unquote(part)
                    _check_no_sort_key(part, so_far, split[place + 1] if split[place + 1].strip() else after)
                    so_far += "?"
                    is_name = _BEFORE_A_NAME.search(split[place - 1]) or _AFTER_A_NAME.match(split[place + 1])
                    yield from self._values_of(part, part if is_name else None)
                else:
                    yield part
            return
        first = unquote(next(_REFERENCE.finditer(piece.text))[1])
        if piece.kind is Kind.NAME:
            raise Refused(f"${{{first}}} stands inside a quoted name ({_around(piece)}); use !{{{first}}} for a name")
        if piece.kind is Kind.DOLLAR:
            raise Refused(
                f"${{{first}}} stands inside $$...$$, where a value could become code; pass it as an argument"
            )
        _check_no_sort_key(first, before[-_CLAUSE_MAX:], after)
        type_ = _TYPE_BEFORE.search(before)
        prefix = _PREFIX.search(before)
        if type_ is None and prefix is not None:
            raise Refused(f"${{{first}}} stands inside {prefix[0]}'...'; write it in an ordinary literal '...'")
        literal = Bind(self._literal(piece, first))
        # An INTERVAL of MySQL takes any expression; the unit follows.
        if type_ is None or (self._grammar.backslash and type_[1].upper() == "INTERVAL"):
            yield from (" ", literal, " ")
            return
        name = self._date_time if type_[1].upper() == "TIMESTAMP" else type_[1]
        yield _Instead(before[: type_.start()])
        yield from ("CAST( ", literal, f" AS {name})")

    def _values_of(self, name: str, in_place_of: str | None) -> Iterator[str | Bind]:
        value = typed(self._types.get(name, ParameterType.VARCHAR), name, self._values[name])
        items = [_item(each) for each in value] if isinstance(value, list) else [value]
        if not items:
            raise Refused(
                f'the list "{name}" is empty, and SQL has no empty list; let the task begin only if it has items'
            )
        yield " "
        for place, item in enumerate(items):
            if place:
                yield ", "
            yield Bind(item, in_place_of)
        yield " "

    def _literal(self, piece: Piece, first: str) -> str:
        """The text of a literal with references."""
        quote = piece.text[0]
        inner = piece.text[1:].removesuffix(quote)
        if self._grammar.backslash and "\\" in inner:
            raise Refused(
                f"${{{first}}} stands in a literal with a backslash; bind it apart: CONCAT('...', ${{{first}}})"
            )
        return resolved(inner.replace(quote * 2, quote), self._values)


@dataclass(frozen=True, slots=True)
class _Instead:
    """Replaces the text before it."""

    text: str


def _check_no_sort_key(name: str, before: str, after: str) -> None:
    """Raises `Refused` if a value is a whole key of ORDER BY, GROUP BY or PARTITION BY: it is the same for each row, so
    it would sort or group by nothing."""
    before = _SQL_COMMENT.sub(" ", before)
    key = _BEFORE_A_SORT_KEY.search(before)
    if key is not None and _BETWEEN_SORT_KEYS.search(before) and _AFTER_A_SORT_KEY.match(after):
        raise Refused(
            f"${{{name}}} after {key[1].upper()} BY is sent as a value, which is the same for each row; "
            f"write !{{{name}}} for the name of a column"
        )


def _divided(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    for piece in pieces:
        if piece.kind is Kind.END:
            yield group
            group = []
        else:
            group.append(piece)
    yield group


def _says_something(pieces: Sequence[Piece]) -> bool:
    return any(piece.kind not in (Kind.COMMENT, Kind.END) and piece.text.strip() for piece in pieces)


def _item(value: object) -> object:
    """An item of a LIST as a SQL value; an array or object becomes JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _around(piece: Piece) -> str:
    return _as_written(piece.text)[:60]
