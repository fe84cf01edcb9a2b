r"""Marks where in a text a parameter's value was inserted, for task types that must know it.

`Task.insert` receives a value and not its place; yet in a URL it must be percent-encoded, in a header it may contain no
line break, as an argument it may not become an option. Such a type marks its values first (`insert` is `mark`), and its
`run` finds out with `pieces` or `put_in` which part of a text the definer wrote and which came from a parameter.

A value cannot end its own mark or begin another: marks contain NUL, which no parameter's value may.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model.errors import Refused
from model.parameters.json_values import with_texts
from model.parameters.parameters import is_plain

_MARK = re.compile("\0\\[([^\0]*)\0=([^\0]*)\0\\]")
_NUMBER = re.compile(r"-[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Piece:
    """A part of a text: the definer's own words, or the value of the parameter called `name`."""

    text: str
    name: str | None = None


def mark(name: str, value: str) -> str:
    """The value of a parameter with its place marked. Raises `Refused` for a NUL, which would end the mark."""
    if "\0" in value:
        raise Refused(f'the value of "{name}" contains a NUL, which no process and no server takes; remove it')
    return f"\0[{name}\0={value}\0]"


def pieces(text: str) -> list[Piece]:
    """The parts of a marked text in order; only the part of an empty value is empty."""
    found: list[Piece] = []
    end = 0
    for match in _MARK.finditer(text):
        if match.start() > end:
            found.append(Piece(text[end : match.start()]))
        found.append(Piece(match[2], match[1]))
        end = match.end()
    if end < len(text):
        found.append(Piece(text[end:]))
    return found


def put_in(text: str, insert: Callable[[str, str], str]) -> str:
    """The text with `insert(name, value)` in place of each marked value."""
    return _MARK.sub(lambda match: insert(match[1], match[2]), text)


def plain(text: str) -> str:
    """The text with its values unchanged, for a place where a value cannot break out."""
    return put_in(text, lambda _, value: value)


def plain_all(given: Any) -> Any:
    """Unmark each text of a JSON value."""
    return with_texts(given, plain)


def as_written(text: str) -> str:
    """The text as its definer wrote it, `${name}` for each value: what may be shown to anyone."""
    return put_in(text, lambda name, _: f"${{{name}}}")


def arguments(given: list[str], field: str) -> list[str]:
    """Elements for a command's argument list; no shell reads them, so a value needs no quoting.

    Raises:
        Refused: an element begins with a value that begins with `-`, and so would become an option of the program. A
            negative number is accepted. What the definer writes may begin with `-`.
    """
    return [_argument(text, f"{field}[{place}]") for place, text in enumerate(given)]


def _argument(text: str, field: str) -> str:
    first = next((piece for piece in pieces(text) if piece.text), None)
    done = plain(text)
    if first is not None and first.name is not None and done.startswith("-") and not _NUMBER.fullmatch(done):
        raise Refused(
            f'{field} begins with the value of "{first.name}", which begins with "-" and would become an option; '
            f"write --option=${{{first.name}}}, or give another value"
        )
    if "\0" in done:
        raise Refused(f"{field} contains a NUL, which no process takes; remove it")
    return done


def only_plain(text: str, field: str) -> str:
    """The text if its values are letters, digits and `_ . , : / @ % + = -`: others could become code here.

    Raises:
        Refused: a value has other characters.
    """

    def insert(name: str, value: str) -> str:
        if not is_plain(value):
            raise Refused(
                f'{field}: the value of "{name}" has other characters than letters, digits and _ . , : / @ % + = -'
            )
        return value

    return put_in(text, insert)
