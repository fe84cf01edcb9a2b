"""The parts of an HTTP request with parameters put in, so that no value reaches beyond the place it was put.

| place | what becomes of a value |
|---|---|
| begins the URL | it is the address: `http://` or `https://` and a host; what follows must begin with `/`, `?` or `#` |
| host or port | letters, digits, `.`, `_` and `-`; others are refused |
| path, query | percent-encoded; in the path `.`, `..` and nothing are refused as a whole segment |
| header | line breaks and what is not ASCII are refused |
| JSON | stays inside its text; where a text body has it outside of quotes, it must be one JSON value, and no text |
| JSON, of type JSON, alone in a text of a body that is a mapping or list | that JSON |
| form body | percent-encoded |
| XML body | `& < > " '` become entities |
| other text | as it is: plain text has no borders |
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.json_values import is_json, looks_like_json, with_texts
from worker.tasks.inserted import Piece, as_written, pieces, plain, put_in

FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})
"""They determine where a request ends. If two parties disagree on that, one request can smuggle in another."""

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"

_BASE = re.compile(r"(?i)https?://[^\s/?#\\\x00-\x1f\x7f]+[^\s\\\x00-\x1f\x7f]*")
_SCHEME = re.compile(r"(?i)https?://")
_HOST_PART = re.compile(r"[A-Za-z0-9._-]*")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_KEPT = "\0JSON\0"
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


def request_url(text: str, query: Mapping[str, Any]) -> str:
    """The URL of a marked text, with the fields of `query` added to its query.

    Raises:
        Refused: it is not an http or https address, or a value would reach beyond its place.
    """
    url = _Url()
    for piece in pieces(text):
        url.add(piece)
    address, _, _ = url.finished().partition("#")
    if not query:
        return address
    pairs = [
        (name, plain(str(each)))
        for name, given in query.items()
        for each in (given if isinstance(given, list) else [given])
    ]
    joint = "" if address.endswith(("?", "&")) else "&" if "?" in address else "?"
    return address + joint + urlencode(pairs, quote_via=quote, safe="")


def shown_url(text: str) -> str:
    """The address as its definer wrote it, `${name}` for values, without user, password and query: for the log."""
    address = re.split(r"[?#]", as_written(text), maxsplit=1)[0]
    scheme, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + slashes + host.rpartition("@")[2] + slash + path


def request_headers(given: Mapping[str, str]) -> dict[str, str]:
    """The headers of marked texts. Raises `Refused`, without its text, for a name or value that could end its line."""
    for name in given:
        if not _TOKEN.fullmatch(name):
            raise Refused(f"headers: {name!a} is not the name of a header")
        if name.lower() in FRAMING_HEADERS:
            raise Refused(f'headers: "{name}" is set by the request itself; remove it')
    headers = {name: plain(value).strip(" \t") for name, value in given.items()}
    for name, value in headers.items():
        if not _HEADER_VALUE.fullmatch(value):
            raise Refused(f'headers: the value of "{name}" contains a line break or what is not ASCII; encode it first')
    return headers


def basic_authorization(user: str, password: str) -> str:
    """The header for a name and a password. Raises `Refused` for a colon in the name, where the password begins."""
    user, password = plain(user), plain(password)
    if ":" in user:
        raise Refused("user: it contains a colon, and what follows it would be taken for the password; remove it")
    return "Basic " + b64encode(f"{user}:{password}".encode(errors="replace")).decode()


def request_body(
    body: Any, content_type: str | None, types: Mapping[str, ParameterType] = MappingProxyType({})
) -> tuple[bytes | None, str | None]:
    """The bytes of a marked body, and its content type: the given one, or the one that follows from the body.

    `types` are those of the parameters.

    Raises:
        Refused: a value would reach beyond its place.
    """
    if body is None:
        return None, content_type
    if not isinstance(body, str):
        return _json_of(body, types).encode(errors="replace"), content_type or JSON_TYPE
    if content_type is None:
        content_type = JSON_TYPE if body.lstrip().startswith(("{", "[")) else "text/plain; charset=utf-8"
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON_TYPE or kind.endswith("+json"):
        text = _json_text(body)
    elif kind == FORM_TYPE:
        text = put_in(body, lambda _, value: quote(value, safe=""))
    elif kind.endswith(("/xml", "+xml", "/html")):
        text = put_in(body, lambda _, value: escape(value, {'"': "&quot;", "'": "&apos;"}))
    else:
        text = plain(body)
    return text.encode(errors="replace"), content_type


class _Url:
    """Reads the pieces of a URL from left to right. Only the definer's own `/ ? #` move it from part to part."""

    def __init__(self) -> None:
        self._done = ""
        self._part = "start"
        self._segment = ""
        self._value_in_segment: str | None = None

    def add(self, piece: Piece) -> None:
        """Append a piece. Raises `Refused`."""
        if piece.name is None:
            self._add_own(piece.text)
        else:
            self._add_value(piece.name, piece.text)

    def finished(self) -> str:
        """The whole URL. Raises `Refused` if it is not valid."""
        self._end_segment()
        if not _BASE.fullmatch(self._done):
            raise Refused("url: it must begin with http:// or https:// and a host")
        if "@" in re.split("[/?#]", self._done)[2]:
            raise Refused("url: a password has no place in an address, which many logs record; use user and password")
        return self._done

    def _add_own(self, text: str) -> None:
        if re.search(r"[\x00-\x20\x7f\\]", text):
            raise Refused("url: it contains a space, a backslash or a control character; percent-encode it")
        if self._part == "start":
            scheme = _SCHEME.match(text)
            if scheme is None:
                raise Refused("url: it must begin with http:// or https://")
            self._done, text, self._part = scheme[0], text[scheme.end() :], "host"
        elif self._part == "base":
            if re.search(r"[?#]", self._done) or not text.startswith(("/", "?", "#")):
                raise Refused(
                    "url: after a value that is the address must come / or ?, and the address itself has no query"
                )
            self._part = "host"
        for character in text:
            self._move(character)
            self._done += character

    def _move(self, character: str) -> None:
        if character == "#" and self._part != "fragment":
            self._end_segment()
            self._part = "fragment"
        elif character == "?" and self._part in ("host", "path"):
            self._end_segment()
            self._part = "query"
        elif character == "/" and self._part in ("host", "path"):
            self._end_segment()
            self._part = "path"
        elif self._part == "path":
            self._segment += character

    def _add_value(self, name: str, value: str) -> None:
        if self._part == "start":
            if not _BASE.fullmatch(value):
                raise Refused(f'url: the value of "{name}" begins it, so it must be an http:// or https:// address')
            self._done, self._part = value, "base"
        elif self._part == "base":
            raise Refused(f'url: between the address and the value of "{name}" must stand / or ?')
        elif self._part == "host":
            if not _HOST_PART.fullmatch(value):
                raise Refused(
                    f'url: the value of "{name}" stands in the host and has other characters than letters, digits, '
                    f'".", "_" and "-"; let a parameter hold the whole address'
                )
            self._done += value
        else:
            encoded = quote(value, safe="", errors="replace")
            self._done += encoded
            if self._part == "path":
                self._segment += encoded
                self._value_in_segment = name

    def _end_segment(self) -> None:
        segment = re.sub("(?i)%2e", ".", self._segment)
        if self._value_in_segment is not None and segment in ("", ".", ".."):
            raise Refused(
                f'url: with the value of "{self._value_in_segment}" a segment of the path is "{segment}", '
                f"which leads to another place; give another value"
            )
        self._segment, self._value_in_segment = "", None


def _json_of(body: Any, types: Mapping[str, ParameterType]) -> str:
    """A structure as JSON. A text in it that is a single value of type JSON is inserted as written."""
    kept: list[str] = []

    def filled_in(given: str) -> str:
        found = pieces(given)
        if len(found) != 1 or found[0].name is None or types.get(found[0].name) is not ParameterType.JSON:
            return plain(given)
        if found[0].text and not is_json(found[0].text):
            return found[0].text
        kept.append(found[0].text or "null")
        return _KEPT  # no value contains a NUL

    parts = json.dumps(with_texts(body, filled_in), ensure_ascii=False).split(json.dumps(_KEPT))
    return "".join(part for pair in zip_longest(parts, kept, fillvalue="") for part in pair)


def _json_text(body: str) -> str:
    """JSON as text: inside quotes a value is escaped, outside of them it must be one JSON value."""
    done: list[str] = []
    in_quotes = False
    escaped = False
    for piece in pieces(body):
        if piece.name is None:
            for character in piece.text:
                if escaped:
                    escaped = False
                elif character == "\\":
                    escaped = in_quotes
                elif character == '"':
                    in_quotes = not in_quotes
            done.append(piece.text)
        elif escaped:
            raise Refused(f'body: there is a backslash before the value of "{piece.name}"; remove it')
        elif in_quotes:
            done.append(json.dumps(piece.text, ensure_ascii=False)[1:-1])
        else:
            done.append(_bare(piece))
    return "".join(done)


def _bare(piece: Piece) -> str:
    if piece.text != "null" and not looks_like_json(piece.text):
        raise Refused(
            f'body: the value of "{piece.name}" stands outside of quotes and is not a number, true, false, null, a '
            f'list or an object of JSON; write "${{{piece.name}}}" in quotes'
        )
    return piece.text
