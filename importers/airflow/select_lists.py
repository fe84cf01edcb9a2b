"""The columns of a query, as far as its text alone says them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from model.errors import Refused
from worker.statements.grammar import STANDARD, Kind

_WORD = re.compile(r"[A-Za-z_]\w*")
_ALIAS = re.compile(r"(?is)(?P<expression>.*?[\w)\"'\]])\s+(?:as\s+(?P<said>\S+)|(?P<word>[a-z_]\w*))\s*")
_NO_ALIAS = frozenset({"end", "null", "true", "false", "unknown"})
_BEFORE_OPERAND = re.compile(r"(?i)\b(and|or|not|is|like|ilike|in|between|then|else|when|case|div|mod|collate|escape)$")
_SETS = frozenset({"union", "intersect", "except", "minus"})
_PLACES = re.compile(r"(?i)\bby\s+(?:[^()]*,\s*)?\d+\s*(?:,|$|\b(?:asc|desc|having|order|limit)\b)")


@dataclass(frozen=True)
class Query:
    """A query in three parts; all together are its text, but for the names of its columns.

    `head` ends with the SELECT whose columns these are; `rest` begins with its FROM.
    """

    head: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    rest: str

    def of(self, column: str) -> str:
        """The query of another column, from the same rows. Raises `Refused` where the others are used by name or place.

        A column instead of several is of the same rows: those are what FROM and all after it say.
        """
        bare = _masked(self.rest)
        words = {each[0].lower() for each in _WORD.finditer(bare)}
        if _SETS & words or _PLACES.search(bare) or {name.strip('"`[]').lower() for name in self.names} & words:
            raise Refused("its columns are used by name, by place or by a UNION; write it as a WAIT by SQL")
        return f"{self.head} {column} {self.rest}".strip()


def query_of(text: str) -> Query:
    """The parts of a query, which may begin with WITH. Raises `Refused` for one whose columns are not said."""
    bare = _masked(text)
    outside = [(word, at) for word, at, depth in _words(bare) if depth == 0]
    begins = next((at + 6 for word, at in outside if word == "select"), None)
    if begins is None:
        raise Refused("it is no SELECT")
    ends = next((at for word, at in outside if word == "from" and at > begins), len(text))
    cuts = [begins, *_commas(bare, begins, ends), ends]
    parts = [text[one:other].strip(" \t\r\n,") for one, other in pairwise(cuts)]
    if parts[0].split(" ", 1)[0].lower() in ("distinct", "all", "top") or any(
        re.search(r"(^|\.)\*$", each) for each in parts
    ):
        raise Refused("how many columns it has is not said; name them")
    split = [_without_name(each) for each in parts]
    return Query(text[:begins], tuple(each for each, _ in split), tuple(name for _, name in split if name), text[ends:])


def _without_name(column: str) -> tuple[str, str]:
    found = _ALIAS.fullmatch(column)
    if found is None:
        return column, ""
    expression, name = found["expression"], found["said"] or found["word"]
    if found["said"] is None and (name.lower() in _NO_ALIAS or _BEFORE_OPERAND.search(expression)):
        return column, ""
    return expression, name


def _masked(text: str) -> str:
    """The text with a sign in place of each sign of literals, quoted names and comments."""
    return "".join(
        piece.text if piece.kind in (Kind.CODE, Kind.END) else "'" * len(piece.text) for piece in STANDARD.pieces(text)
    )


def _words(bare: str) -> Iterator[tuple[str, int, int]]:
    """The words, each with its place and how deep in parentheses it stands."""
    depth = at = 0
    for found in re.finditer(r"[()]|[A-Za-z_]\w*", bare):
        at = found.start()
        if found[0] in "()":
            depth += 1 if found[0] == "(" else -1
        else:
            yield found[0].lower(), at, depth


def _commas(bare: str, begins: int, ends: int) -> Iterator[int]:
    depth = 0
    for at in range(begins, ends):
        depth += (bare[at] == "(") - (bare[at] == ")")
        if bare[at] == "," and depth == 0:
            yield at
