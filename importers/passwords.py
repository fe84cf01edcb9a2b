"""Passwords in an input: found, and kept out of everything that is written.

A value counts as one by the name that it has (`password`, `token`), or by its place in a text (`--password x`,
`mysql -px`, `//user:x@host`, `IDENTIFIED BY 'x'`, `Authorization: Bearer x`). In a definition it becomes a SECRET
parameter without a value; in a report, asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

MASK = "******"
_LENGTH_MIN = 6
_LONG = 12
_NO_VALUES = frozenset(("true", "false", "null", "none", "yes", "no"))
_NAME = re.compile(
    r"(?i)(?:(?:^|[_.-])pass|password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"secret[_-]?key|credentials?|authorization)(?:[_.-]?value)?$"
)
_VALUE = r"(?P<value>[^\s\"'`$#{}<>;&|]{2,})"
_QUOTED = r"(?P<quote>[\"'])(?P<value>[^\"'$\n]{2,})(?P=quote)"
_PLACES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i)--(?:password|passwd|pwd|token|secret(?:-key)?)(?:=|\s+)[\"']?{_VALUE}",
        rf"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{{0,200}}?\s-p[\"']?{_VALUE}",
        rf"(?i)\b\w*(?:password|passwd|pwd|secret|token|api_?key|access_?key)\s*=\s*{_QUOTED}",
        rf"(?i)\b\w*(?:password|passwd|pwd|secret|token|api_?key|access_?key)={_VALUE}",
        rf"(?i)[\"']\w*(?:password|passwd|pwd|secret|token|api_?key|access_?key)[\"']\s*:\s*{_QUOTED}",
        r"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@\"']{1,100}:(?P<value>[^\s/:@\"'${}]{2,200})@",
        rf"(?i)\bidentified\s+by\s+{_QUOTED}",
        rf"(?i)\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic)\s+{_VALUE}",
        rf"\bsshpass\s+-p\s*[\"']?{_VALUE}",
        rf"(?i)\bcurl\b[^\n|;]{{0,200}}?\s(?:-u|--user)\s+[\"']?[^\s:\"']+:{_VALUE}",
    )
)


class Passwords:
    """Those of one import. The same value has the same name wherever it stands in a workflow."""

    def __init__(self) -> None:
        self._values: dict[str, None] = {}

    def learn(self, tree: Any, names: Collection[str] = ()) -> None:
        """Find those of an input, before anything of it is written; `names` are none, though they look so."""
        for name, value in _texts(tree, ""):
            own = [value] if is_name(name) and is_value(value) else []
            self._values |= dict.fromkeys(each for each in (*own, *found_in(value)) if each not in names)

    def masked(self, text: str) -> str:
        for value in self.known():
            text = text.replace(value, MASK)
        for value in sorted(found_in(text), key=len, reverse=True):
            text = text.replace(value, MASK)
        return text

    def has(self, text: str) -> bool:
        return any(value in text for value in self.known())

    def known(self) -> list[str]:
        """Those that are recognized anywhere, the longest first. Another may be any word: it is only replaced where it
        was found."""
        return sorted(filter(_is_distinct, self._values), key=len, reverse=True)

    def masked_in(self, given: Any) -> Any:
        """The same structure with asterisks, also for values that are passwords by their names."""
        return _masked_in(given, "", self)


class Hidden:
    """The passwords of one workflow, and the parameters that stand for them."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords
        self.names: dict[str, str] = {}
        """Value -> the SECRET parameter in its place."""

    def reference(self, value: str, name: str | None = None) -> str:
        """What is written in place of a password; `name`: that of its parameter, if it has one."""
        if value not in self.names:
            self.names[value] = name or f"imported_password_{len(self.names) + 1}"
        return f"${{{self.names[value]}}}"

    def without(self, given: Any) -> Any:
        """The same structure with references in place of passwords."""
        if isinstance(given, dict):
            return {name: self.without(each) for name, each in given.items()}
        if isinstance(given, list):
            return [self.without(each) for each in given]
        return self.text_without(given) if isinstance(given, str) else given

    def text_without(self, text: str) -> str:
        """A text with references in place of passwords."""
        for pattern in _PLACES:
            text = pattern.sub(self._replaced, text)
        for value in self._passwords.known():
            if value in text:
                text = text.replace(value, self.reference(value))
        return text

    def _replaced(self, match: re.Match[str]) -> str:
        if not is_value(match["value"]):
            return match[0]
        start, end = match.start("value") - match.start(), match.end("value") - match.start()
        return match[0][:start] + self.reference(match["value"]) + match[0][end:]


def is_name(name: str) -> bool:
    """Whether a parameter of this name has a password as its value."""
    return _NAME.search(name) is not None


def found_in(text: str) -> set[str]:
    """The passwords in a text, by their places."""
    return {match["value"] for pattern in _PLACES for match in pattern.finditer(text) if is_value(match["value"])}


def is_value(value: str) -> bool:
    """Whether it is one, and not a reference to one, nor already masked."""
    is_word = value.lower() in _NO_VALUES or value.strip("*xX") == ""
    return len(value) >= 2 and "${" not in value and "$[" not in value and not is_word


def _is_distinct(value: str) -> bool:
    is_mixed = re.search(r"\d", value) is not None and re.search(r"\D", value) is not None
    return len(value) >= _LONG or (len(value) >= _LENGTH_MIN and is_mixed)


def _masked_in(value: Any, name: str, passwords: Passwords) -> Any:
    if isinstance(value, dict):
        label = value.get("prop") or value.get("name")
        return {
            key: _masked_in(each, label if key == "value" and isinstance(label, str) else str(key), passwords)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_masked_in(each, name, passwords) for each in value]
    if not isinstance(value, str):
        return value
    return MASK if is_name(name) and is_value(value) else passwords.masked(value)


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """All texts with the name that each has: its key, or `prop` or `name` beside a `value`."""
    if isinstance(value, dict):
        label = value.get("prop") or value.get("name")
        for key, each in value.items():
            yield from _texts(each, label if key == "value" and isinstance(label, str) else str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, name)
    elif isinstance(value, str):
        yield name, value
