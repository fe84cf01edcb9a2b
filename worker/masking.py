"""Secrets in a log are replaced by asterisks, wherever the stream is cut.

A chunk may end in the middle of a secret. So the longest suffix that could become one is held back until the next chunk
decides; ordinary output is not delayed. This protects against carelessness (an `echo`, a `set -x`), not against a task
that wants to reveal its secret: it can spell it backwards.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

from model.secret_values import SECRET_CHARACTERS_MIN

MASK = b"******"


class Masking:
    """Masks one stream of bytes. The result does not depend on how the input is divided into chunks."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= SECRET_CHARACTERS_MIN for form in _forms(secret)}
        self._forms = sorted(forms, key=len, reverse=True)  # of two with a common prefix the longer one matches first
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if forms else None
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The output that may be shown now."""
        if self._pattern is None:
            return data
        data = self._rest + data
        shown: list[bytes] = []
        position = 0
        undecided = self._undecided_from(data, 0)
        for found in self._pattern.finditer(data):
            if found.start() >= undecided:
                break
            shown += (data[position : found.start()], MASK)
            position = found.end()
            undecided = max(undecided, self._undecided_from(data, position)) if position > undecided else undecided
        shown.append(data[position:undecided])
        self._rest = data[undecided:]
        return b"".join(shown)

    def finish(self) -> bytes:
        """The rest that was held back: no more input comes."""
        rest, self._rest = self._rest, b""
        return self._pattern.sub(MASK, rest) if self._pattern is not None else rest

    def _undecided_from(self, data: bytes, start: int) -> int:
        """The start of the longest suffix of `data` that more bytes could make into a secret; the length of `data` if
        none."""
        first = len(data)
        for form in self._forms:
            position = data.find(form[:1], max(start, len(data) - len(form) + 1))
            while 0 <= position < first:
                if form.startswith(data[position:]):
                    first = position
                    break
                position = data.find(form[:1], position + 1)
        return first


def _forms(secret: str) -> set[bytes]:
    """The secret itself, and its forms in a URL, in JSON, in Python, in a bash trace, and in base64."""
    plain = secret.encode()
    quoted = {quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1], secret.replace("'", "'\\''")}
    return {plain, base64.b64encode(plain), base64.urlsafe_b64encode(plain), *map(str.encode, quoted)}
