"""The messages between worker, zygote and keeper: small JSON texts on sockets that preserve message boundaries.

A request can be large (an environment of a megabyte), larger than any socket buffer, so it is sent as a memory file
whose descriptor is passed; the zygote forwards it unread, so no request can harm it.
"""

from __future__ import annotations

import json
import os
import socket
from enum import StrEnum
from typing import NamedTuple

from worker.launcher.last_word import LastWord

MESSAGE_BYTES_MAX = 65_536


def answer_in(fd: int) -> bytes:
    """The answer that an order's process wrote into its request's memory file. Empty if it gave none."""
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0)


def put_answer(fd: int, data: bytes) -> None:
    """Replace the request by the answer."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


def receive_given(sender: socket.socket, bytes_max: int, fds_max: int) -> tuple[bytes, list[int]]:
    """One message and the descriptors that came with it, which an `exec` closes. Raises `OSError`."""
    data, fds, _, _ = socket.recv_fds(sender, bytes_max, fds_max)  # its `flags` have no effect
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, list(fds)


class Identity(NamedTuple):
    """A user of the operating system and all its groups, as numbers."""

    uid: int
    gid: int
    groups: tuple[int, ...]


class Request(NamedTuple):
    """What to run. `argv[0]` without a slash is searched in the PATH of `env`.

    `identity` is the user that the task becomes; None = the worker's user. Only root can become another one.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    no_new_privileges: bool
    identity: Identity | None
    order: str = ""
    """For a warm zygote in place of `argv`: an order for its task types (`worker/attempts/order.py`)."""
    last_word: LastWord | None = None
    """Where the keeper records that the task ended by itself."""

    def to_memory(self) -> int:
        """The descriptor of a memory file that holds this; the caller closes it."""
        fd = os.memfd_create("shoal-request")
        data = json.dumps(self).encode()
        while data:
            data = data[os.write(fd, data) :]
        return fd

    @classmethod
    def from_memory(cls, fd: int) -> Request:
        """Read a request; the descriptor stays open."""
        data = os.pread(fd, os.fstat(fd).st_size, 0)
        argv, env, cwd, no_new_privileges, identity, order, last_word = json.loads(data)
        return cls(
            argv,
            env,
            cwd,
            no_new_privileges,
            Identity(*identity) if identity is not None else None,
            order,
            LastWord(*last_word) if last_word is not None else None,
        )


class End(NamedTuple):
    """Worker to keeper: TERM to the tree, and KILL to what is left after `grace_s`."""

    grace_s: float


class Started(NamedTuple):
    """Keeper to worker, before the task exists: from here on it may have had effects. `started` is in clock ticks."""

    keeper_pid: int
    keeper_started: int


class NotStarted(NamedTuple):
    """To the worker, if the task could not start: the reason. An `Ended` follows unless there was not even a keeper.

    `is_passing`: the machine was short of a resource, which says nothing about the task. `is_too_large`: its
    environment and arguments are larger than the kernel allows.
    """

    reason: str
    is_passing: bool = False
    is_too_large: bool = False


class Cause(StrEnum):
    """Why a tree ended."""

    EXIT = "EXIT"
    ASKED = "ASKED"
    DEADLINE = "DEADLINE"
    WORKER_GONE = "WORKER_GONE"


class Ended(NamedTuple):
    """Keeper to worker, its last message: the main process's exit code (128 + n for signal n) and how many processes
    could not be killed, which is 0 unless one runs as another user or hangs in the kernel.
    """

    cause: Cause
    exit_code: int
    left: int


Message = End | Started | NotStarted | Ended
_KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (End, Started, NotStarted, Ended)}


def encode(message: Message) -> bytes:
    """One message as bytes, never empty (an empty one means the end of the socket)."""
    return json.dumps([type(message).__name__, *message]).encode()


def decode(data: bytes) -> Message:
    """Decode the message of one `recv`."""
    kind, *fields = json.loads(data)
    message = _KINDS[kind](*fields)
    return message._replace(cause=Cause(message.cause)) if isinstance(message, Ended) else message
