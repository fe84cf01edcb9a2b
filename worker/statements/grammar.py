"""How a database parses SQL text, as far as quotes, comments and semicolons are concerned.

Enough to know where a statement ends and whether a place is inside quotes. A mistake here can make a statement fail; it
cannot turn a value into code, because values are never in the text (`binding.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """The kind of a piece of SQL text."""

    CODE = auto()
    TEXT = auto()
    """A literal in quotes."""
    NAME = auto()
    """An identifier in quotes."""
    DOLLAR = auto()
    """A literal between two `$tag$`, mostly a function's body."""
    COMMENT = auto()
    END = auto()
    """A semicolon that ends a statement."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of SQL text, quotes included; all pieces together are the whole text."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Grammar:
    """The differences between databases.

    `text_quotes` begin literals and `name_quotes` identifiers. `backslash`: it escapes in every literal; else only in
    those that begin with E, if `escape_strings`. `spaced_dashes`: a comment needs a blank after `--`.
    """

    text_quotes: str = "'"
    name_quotes: str = '"'
    backslash: bool = False
    escape_strings: bool = False
    dollar_quotes: bool = False
    nested_comments: bool = False
    hash_comments: bool = False
    spaced_dashes: bool = False

    def pieces(self, text: str) -> Iterator[Piece]:
        """The text in pieces. An unterminated quote or comment extends to the end of the text."""
        begun = position = 0
        while (special := _SPECIAL.search(text, position)) is not None:
            position = special.start()
            found = self._special_at(text, position)
            if found is None:
                position += 1
                continue
            kind, end = found
            if begun < position:
                yield Piece(Kind.CODE, text[begun:position])
            yield Piece(kind, text[position:end])
            begun = position = end
        if begun < len(text):
            yield Piece(Kind.CODE, text[begun:])

    def _special_at(self, text: str, at: int) -> tuple[Kind, int] | None:
        """The kind and end of what begins at a place, unless it is code."""
        sign = text[at]
        if sign == ";":
            return Kind.END, at + 1
        if sign in self.text_quotes:
            return Kind.TEXT, _quoted_end(text, at, sign, backslash=self.backslash or self._is_escape_string(text, at))
        if sign in self.name_quotes:
            return Kind.NAME, _quoted_end(text, at, "]" if sign == "[" else sign, backslash=False)
        if sign == "-" and text.startswith("--", at):
            if not self.spaced_dashes or at + 2 == len(text) or text[at + 2] <= " ":
                return Kind.COMMENT, _line_end(text, at)
        elif sign == "#" and self.hash_comments:
            return Kind.COMMENT, _line_end(text, at)
        elif sign == "/" and text.startswith("/*", at):
            return Kind.COMMENT, _comment_end(text, at, nested=self.nested_comments)
        elif sign == "$" and self.dollar_quotes and not _continues_a_word(text, at):
            tag = _DOLLAR_TAG.match(text, at)
            if tag is not None:
                end = text.find(tag[0], tag.end())
                return Kind.DOLLAR, len(text) if end < 0 else end + len(tag[0])
        return None

    def _is_escape_string(self, text: str, at: int) -> bool:
        return self.escape_strings and text[at - 1 : at] in ("e", "E") and not _continues_a_word(text, at - 1)


STANDARD = Grammar()
POSTGRES = Grammar(escape_strings=True, dollar_quotes=True, nested_comments=True)
DUCKDB = POSTGRES
SQLITE = Grammar(name_quotes='"`[')
MYSQL = Grammar(text_quotes="'\"", name_quotes="`", backslash=True, hash_comments=True, spaced_dashes=True)

_SPECIAL = re.compile(r"""[;'"`\[$#/-]""")
_DOLLAR_TAG = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_WORD_SIGN = re.compile(r"[\w$]")


def _continues_a_word(text: str, at: int) -> bool:
    return at > 0 and _WORD_SIGN.match(text[at - 1]) is not None


def _quoted_end(text: str, at: int, quote: str, *, backslash: bool) -> int:
    """The end of the quotes that begin at `at`; a doubled quote stays inside."""
    signs = re.compile(f"[{re.escape(quote)}\\\\]" if backslash else re.escape(quote))
    position = at + 1
    while (sign := signs.search(text, position)) is not None:
        position = sign.end()
        if sign[0] == "\\" or text.startswith(quote, position):
            position += 1
        else:
            return position
    return len(text)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _comment_end(text: str, at: int, *, nested: bool) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at):
        if edge[0] == "/*":
            depth = depth + 1 if nested else 1
        else:
            depth -= 1
            if depth == 0:
                return edge.end()
    return len(text)
