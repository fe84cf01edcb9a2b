"""The last word: how an attempt ended, as its keeper records it in the worker's folder before the keeper ends.

So an end survives a worker that could not report it, because it was killed at that moment or is frozen. Each attempt
has one file, complete or absent: a line from the worker (the attempt and its owner), a line of facts, and the unread
output of the task. It is not synced: this is a protection, not a guarantee, and a power cut or a full disk may lose it.

An end by a signal is not recorded: what killed the worker may have killed its tasks at the same moment.
"""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from typing import NamedTuple

EXIT_CODE_MAX = 128
"""A higher exit code stands for a signal."""


class LastWord(NamedTuple):
    """Where to write it, and its first line."""

    path: str
    about: str

    def write(self, exit_code: int, answer: bytes | None, rest: bytes) -> None:
        """`answer` is that of an order (`worker/attempts/order.py`), `rest` the unread output."""
        if exit_code > EXIT_CODE_MAX:
            return
        given = base64.b64encode(answer).decode() if answer is not None else None
        data = f"{self.about}\n{json.dumps([exit_code, given, len(rest)])}\n".encode() + rest
        unfinished = f"{self.path}.new"
        with suppress(OSError):
            fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                is_whole = os.write(fd, data) == len(data)
            finally:
                os.close(fd)
            if not is_whole:
                return
            os.rename(unfinished, self.path)  # noqa: PTH104 - a keeper is to load nothing large


class ProcessEnd(NamedTuple):
    """What the end of a process means for its attempt."""

    is_all: bool = False
    """The process is the whole attempt: a cancellation after its end changes nothing."""
    last_word: LastWord | None = None
    """Where its keeper records the end."""


NO_END = ProcessEnd()
"""The attempt continues after the process."""


class Facts(NamedTuple):
    """What a keeper recorded."""

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
