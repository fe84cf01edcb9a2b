"""Words of a list, as DolphinScheduler writes them; one that is not on the list is reported, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from importers.ledger import Fields, short
from importers.report import About


def _words(*words: str, **also: str) -> Mapping[str, str]:
    return MappingProxyType({word: word for word in words} | also | {str(at): word for at, word in enumerate(words)})


YES_NO: Mapping[str, str] = MappingProxyType(
    {"YES": "YES", "NO": "NO", "1": "YES", "0": "NO", "TRUE": "YES", "FALSE": "NO"}
)
PRIORITIES = _words("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST")
RUN_FLAGS = _words("NORMAL", "FORBIDDEN")
SWITCHES = _words("CLOSE", "OPEN")
EXECUTES = _words("BATCH", "STREAM")
FAILURE = _words("END", "CONTINUE")
WARNINGS = _words("NONE", "SUCCESS", "FAILURE", "ALL")
RELEASES = _words("OFFLINE", "ONLINE")
RELATIONS = _words("AND", "OR")
ENDS = MappingProxyType({"SUCCESS": "SUCCESS", "FAILURE": "FAILURE", "FAILED": "FAILURE"})
SQL_TYPES = MappingProxyType({"0": "QUERY", "1": "NON_QUERY", "QUERY": "QUERY", "NON_QUERY": "NON_QUERY"})
PROGRAMS = _words("JAVA", "SCALA", "PYTHON", "SQL")


def choice(fields: Fields, name: str, known: Mapping[str, str], default: str, about: About) -> str:
    """The word in a field, the default if it has none."""
    written = fields.text(name, default)
    if (found := known.get(written.upper())) is not None:
        return found
    words = ", ".join(dict.fromkeys(known.values()))
    about.changed(name, f'"{written}" is none of {words}; it is read as {default}')
    return default


def number(fields: Fields, name: str, about: About, default: float = 0) -> float:
    """The number in a field, the default if it has none; what is no number is a todo."""
    found = fields.number(name, default)
    if found is None:
        about.todo(name, f'"{short(fields.text(name))}" is no number; write what is meant')
        return default
    return found
