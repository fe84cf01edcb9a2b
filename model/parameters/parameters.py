"""Parameters: values given as a JSON object, and the replacement of `${name}` in a text by them.

`${name}` is replaced, an unknown name stays as it is, `$${...}` is a literal `${...}`. In a longer run of `$` pairs
before that stay: in `$$${name}` a value follows bash's process id, or the opening quote of SQL. What stands in the
braces may also go into a JSON value, or name a task (`model/parameters/results.py`): its value is then among the others
under that text.

The caller decides what is inserted for a value, since only the task type knows what is safe: a text may contain the
value itself, a shell script may not (otherwise anyone who can set a value could run code).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from model.errors import Refused
from model.parameters.json_values import WrittenFloat, text_of

PARAMETERS_BYTES_MAX = 1_048_576

INSERTED_BYTES_MAX = 4 * PARAMETERS_BYTES_MAX
"""The most bytes of values inserted into the texts of one task; a value may occur thousands of times."""

PARAMETER_PREFIX = "SHOAL_PARAM_"
FILE_PREFIX = "SHOAL_FILE_"

IN_BRACES = (
    r"[A-Za-z_][A-Za-z0-9_.]*"
    r"(?:\[(?:-?[0-9]{1,9}|\"[^\"\x00-\x1f]{1,200}\"|'[^'\x00-\x1f]{1,200}')\](?:\.[A-Za-z0-9_]+)*)*"
)
"""What `${...}` may contain: a name, then steps into a JSON value, `[0]` or `["a key"]`."""
_REFERENCE = re.compile(rf"(?<!\$)((?:\$\$)*)\$(\$?)\{{({IN_BRACES})\}}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SMALL_CHARACTERS = 4_096
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=-]*")


def parse_parameters(text: str, where: str) -> dict[str, str]:
    """Parse values from a JSON object; numbers and booleans become text. Raises `Refused`, naming `where`."""
    if text == "{}":
        return {}  # most are empty, and a master parses thousands a second
    return dict((_parsed_small if len(text) <= _SMALL_CHARACTERS else _parsed)(text, where))


def _parsed(text: str, where: str) -> Mapping[str, str]:
    check_size(text, where)
    try:
        given = _DECODER.decode(text)
        if not isinstance(given, dict):
            raise Refused(f'{where} must be a JSON object such as {{"day": "2026-01-31"}}, not {_kind(given)}')
        values = {name: value if type(value) is str else text_of(value) for name, value in given.items()}
    except json.JSONDecodeError as error:
        at = f"at character {error.pos + 1}: {error.msg}"
        raise Refused(f'{where} is not valid JSON {at}; write an object such as {{"day": "2026-01-31"}}') from None
    except RecursionError:
        raise Refused(f"{where} is nested too deeply; make it flatter") from None
    except ValueError:
        raise Refused(f"{where} contains a number with too many digits; write it in quotes") from None
    if is_storable(text) and "\\u" not in text:
        return values  # JSON can write neither in another way
    for name, value in values.items():
        if not is_storable(name) or not is_storable(value):
            raise Refused(f"{where}: {name!a} contains a NUL or an unpaired surrogate; remove it")
    return values


_parsed_small = lru_cache(maxsize=1024)(_parsed)
"""Cached because the attempts of a run have mostly the same values, and a worker parses thousands a second."""


def check_size(text: str, where: str) -> None:
    """Raises `Refused`, naming `where`, if these values, a JSON object as text, are too large for a run."""
    if len(text) > PARAMETERS_BYTES_MAX // 4 and len(text.encode(errors="surrogatepass")) > PARAMETERS_BYTES_MAX:
        raise Refused(f"{where} is larger than {PARAMETERS_BYTES_MAX} bytes; pass a file's name instead")


def replace_references(text: str, values: Mapping[str, str], insert: Callable[[str, str], str]) -> str:
    """`text` with each known `${name}` replaced by `insert(name, value)`."""

    def replaced(match: re.Match[str]) -> str:
        before, escaped, name = match.groups()
        if escaped:
            return match.group()[1:]
        return before + insert(name, values[name]) if name in values else match.group()

    return _REFERENCE.sub(replaced, text)


class Room:
    """The bytes of values that may still be inserted into texts. Excess is refused before it is copied.

    Args:
        what: the texts, in the plural, for the message.
    """

    def __init__(self, what: str, bytes_max: int = INSERTED_BYTES_MAX) -> None:
        self._what = what
        self._bytes_max = self._left = bytes_max

    def take(self, _name: str, value: str) -> str:
        """The value unchanged. Raises `Refused` when there is no room for it."""
        self._left -= len(value.encode(errors="surrogatepass"))
        if self._left < 0:
            raise Refused(
                f"{self._what} grow beyond {self._bytes_max} bytes by the values put into them; shorten those, or pass "
                f"a file's name instead"
            )
        return value


def parameter_variable(name: str) -> str:
    """The environment variable of a parameter. The prefix keeps a parameter called PATH or LD_PRELOAD harmless."""
    return PARAMETER_PREFIX + re.sub(r"[^A-Za-z0-9_]", "_", name)


def file_variable(name: str) -> str:
    """The environment variable with the path of a value's file, for values that no variable can hold."""
    return FILE_PREFIX + parameter_variable(name).removeprefix(PARAMETER_PREFIX)


def references(text: str) -> list[str]:
    """The names in the `${name}` references of `text`, each once, in order."""
    return list(dict.fromkeys(name for _, escaped, name in _REFERENCE.findall(text) if not escaped))


def is_plain(value: str) -> bool:
    """Whether a value is safe anywhere in a shell or Python script: letters, digits and `_ . , : / @ % + = -`.

    Not guaranteed for SQL, where `--` begins a comment, nor for a URL, where `%41` is an A.
    """
    return _PLAIN.fullmatch(value) is not None


def is_storable(text: str) -> bool:
    """Whether a database and a process environment accept it: no NUL, and no unpaired surrogate."""
    return _UNSTORABLE.search(text) is None


_DECODER = json.JSONDecoder(parse_float=WrittenFloat)


def _kind(value: object) -> str:
    if isinstance(value, float):
        return "a number"
    return {list: "a list", str: "a text", int: "a number", bool: "a truth value"}.get(type(value), "null")
