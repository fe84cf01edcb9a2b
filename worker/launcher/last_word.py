"""How an attempt ended, as its keeper writes it into the worker's folder before it goes.

So an end outlives the worker that could not tell it: one that was killed in that moment, or is frozen. One file for one
attempt, complete or not there: a line from the worker (which attempt of whom), a line of facts, and what the task had
printed and nobody had read. It is not synced: what a power cut takes is a protection, no promise. So is a full disk.

What a signal ended is not written: whoever killed the worker may have killed its tasks in the same moment.
"""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from typing import NamedTuple

EXIT_CODE_MAX = 128
"""Above this an exit code names a signal."""


class LastWord(NamedTuple):
    """Where to write it, and its first line."""

    path: str
    about: str

    def write(self, exit_code: int, answer: bytes | None, rest: bytes) -> None:
        """`answer` is that of an order (`worker/order.py`), `rest` the output that nobody has read."""
        if exit_code > EXIT_CODE_MAX:
            return
        given = base64.b64encode(answer).decode() if answer is not None else None
        data = f"{self.about}\n{json.dumps([exit_code, given, len(rest)])}\n".encode() + rest
        unfinished = f"{self.path}.new"
        with suppress(OSError):
            fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.rename(unfinished, self.path)  # noqa: PTH104 - a keeper is to load nothing large


class Facts(NamedTuple):
    """What a keeper wrote."""

    about: str
    exit_code: int
    answer: bytes | None
    rest: bytes


def facts_in(data: bytes) -> Facts:
    """What `LastWord.write` wrote. Raises `ValueError` or `TypeError` for anything else."""
    about, _, more = data.partition(b"\n")
    line, _, rest = more.partition(b"\n")
    code, given, size = json.loads(line)
    if len(rest) != size:
        raise ValueError("it is cut short")
    return Facts(about.decode(), int(code), base64.b64decode(given) if given is not None else None, rest)
