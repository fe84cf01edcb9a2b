"""Restricts values that the workflow's author did not write, where a program might take them for more than text.

Such a value comes from a start, a schedule, a parent run, the project or an earlier task. A declared type limits the
value; without one, its place in the text does. Source: docs/internals/decisions/003.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import IntEnum

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.local import NAME, typed

T = ParameterType
WRITTEN = "WRITTEN:"
"""The prefix, in place of a type, that marks a value written by the author; a digest follows."""
_CHARACTER = r"(?:[A-Za-z0-9_.,:/@%+=-]|[^\x00-\xa0\s])"
_QUERY = rf"(?:[a-z][a-z0-9+.-]*:/{_CHARACTER}+\?{_CHARACTER}+(?:&[\w.%-]+={_CHARACTER}*)*)"
_NEGATIVE = r"-[0-9]+(?:\.[0-9]+)?"
_NUMBER = rf"(?:{_NEGATIVE}|[0-9](?:[0-9TZ.:,+]|-(?!-))*)"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,2}:[0-9]{2}[0-9Z.:+-]*"
_PLAIN_WORD = rf"(?:{_NEGATIVE}|(?!-)(?![^\s/=]*=){_CHARACTER}+)"
_WORD_OR_URL = rf"(?:{_PLAIN_WORD}|{_QUERY})"


class Need(IntEnum):
    """What a value without a declared type must be; each accepts less than the one before."""

    TEXT = 0
    """Anything that does not begin an argument with `-`."""
    PLAIN = 1
    """Plain words with blanks between them. None is an option, none an assignment such as `BASH_ENV=/tmp/x`."""
    WORD = 2
    """One plain word without `--`, which begins a comment in SQL."""
    NUMBER = 3
    """A number, a date or a time: no command, no variable and no option that runs something has such a name."""


_FORMS = {
    Need.PLAIN: (re.compile(rf"({_WORD_OR_URL}( +{_WORD_OR_URL})*)?"), "is not plain"),
    Need.WORD: (re.compile(rf"(?!.*--)({_PLAIN_WORD}|{_TIME})?"), "is not one plain word"),
    Need.NUMBER: (re.compile(rf"({_NUMBER}|{_TIME})?"), "is not a number, a date or a time"),
}


def fits(need: Need, value: str) -> bool:
    """Whether a value is acceptable in a place with this need."""
    return need is Need.TEXT or _FORMS[need][0].fullmatch(value) is not None


def check_declared(type_: ParameterType | None, name: str, value: str) -> bool:
    """Whether the declared type of a parameter makes its value acceptable in any place.

    Raises:
        Refused: the value does not fit the type.
    """
    if type_ is None:
        return False
    if type_ is T.FILE and value.startswith("-"):
        raise Refused(f'parameter "{name}" is FILE and its value begins with "-"; write ./ before the name')
    typed(type_, name, value)
    return True


def check_foreign(need: Need, name: str, value: str, where: str, why: str) -> None:
    """Raises `Refused` for a value that its place cannot accept; the message names the type to declare."""
    if fits(need, value):
        return
    raise refused(name, f"{_FORMS[need][1]}, and {why}", where)


def refused(name: str, what: str, where: str) -> Refused:
    """The error for a value that its place does not accept; contains no value."""
    is_name = re.fullmatch(NAME, name) is not None
    such_as = f"{name}: {{type: TEXT}}" if is_name else f"x: {{type: TEXT, value: '${{{name}}}'}}"
    return Refused(
        f'{where}: the value of "{name}" {what}; give a plain one, or declare in the task\'s local_params what it may '
        f"be, such as {such_as}, or INTEGER, FILE, LIST (docs/reference/parameters.md#values-are-data)"
    )


def begins_option(value: str) -> bool:
    """Whether a program would take the value for an option at the start of an argument."""
    return value.startswith("-") and re.fullmatch(_NEGATIVE, value) is None


def written(value: str) -> str:
    """The entry, in place of a parameter's type, for a value that the workflow's author wrote."""
    return WRITTEN + hashlib.sha256(value.encode()).hexdigest()[:32]


def types_in(recorded: Mapping[str, str], values: Mapping[str, str]) -> dict[str, ParameterType]:
    """The types of an attempt's parameters. A value that is still as the author wrote it counts as VARCHAR, which here
    means any text. Other recorded entries have a space in their names and are left out. Raises `ValueError` for an
    unknown type."""
    return {
        name: T.VARCHAR if type_.startswith(WRITTEN) else T(type_)
        for name, type_ in recorded.items()
        if " " not in name and (not type_.startswith(WRITTEN) or type_ == written(values.get(name, "")))
    }
