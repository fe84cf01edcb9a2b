"""Parameters: values given as a JSON object, and `${name}` in a text replaced by them.

`${name}` is replaced, an unknown name stays as it is, `$${...}` is a literal `${...}`. What is put in for a value is
the caller's to say, since only the task type knows what is safe there: text may be pasted, a shell script may not
(whoever may give a value could otherwise run code).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from model.errors import Refused

PARAMETERS_BYTES_MAX = 1_048_576

_REFERENCE = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_.]*)\}")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=-]*")


def parse_parameters(text: str, where: str) -> dict[str, str]:
    """Values from a JSON object; numbers and booleans become text. Raises `Refused`, naming `where`."""
    if len(text.encode()) > PARAMETERS_BYTES_MAX:
        raise Refused(f"{where} is larger than {PARAMETERS_BYTES_MAX} bytes; pass a file's name instead")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f" at character {error.pos + 1}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(f'{where} is not valid JSON{at}; write an object such as {{"day": "2026-01-31"}}') from None
    if not isinstance(given, dict):
        raise Refused(f'{where} must be a JSON object such as {{"day": "2026-01-31"}}, not {_kind(given)}')
    values = {str(name): _text(value) for name, value in given.items()}
    for name, value in values.items():
        if not _storable(name) or not _storable(value):
            raise Refused(f"{where}: {name!a} holds a NUL or half a character, which no process takes; remove it")
    return values


def replace_references(text: str, values: Mapping[str, str], insert: Callable[[str, str], str]) -> str:
    """`text` with each known `${name}` replaced by `insert(name, value)`."""

    def replaced(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped:
            return match.group()[1:]
        return insert(name, values[name]) if name in values else match.group()

    return _REFERENCE.sub(replaced, text)


def is_plain(value: str) -> bool:
    """Whether a value means nothing but itself in any shell, SQL or URL: letters, digits and `_ . , : / @ % + = -`."""
    return _PLAIN.fullmatch(value) is not None


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def _storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a truth value"}
    return kinds.get(type(value), "null")
