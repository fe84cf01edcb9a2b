"""The warm zygote: a zygote with task types loaded, so that their own code runs below a keeper without a startup.

SQL, HTTP and similar types work by libraries and not by a command. A new Python with those libraries takes half a
second; a fork of this process takes milliseconds. The plain zygote beside it stays small. Like that one it has no
threads and an empty environment, and never had the worker's memory: a task that can read its whole process finds no key
and no password except those that it was given.

The first task of a type loads it, and the tasks behind it wait for that, half a second once in a life. Other libraries
are loaded in the same way: one that cannot be loaded fails its task, not the zygote.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from importlib import import_module
from site import getsitepackages
from typing import Any, NoReturn

from worker.launcher.horizon import Deadline
from worker.launcher.keeper import close_all_but
from worker.launcher.wire import Request
from worker.launcher.zygote import Zygote


class Orders:
    """The work of the warm zygote: one attempt of a task type that works in its own `run`."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._prepared: set[str] = set()

    def prepare(self, name: str) -> None:
        """Load the task type `module:Class`, and what its attempts need."""
        if name in self._prepared:
            return
        import_module("worker.attempts.child")
        module, _, path = name.partition(":")
        task_type: Any = import_module(module)
        for each in path.split("."):
            task_type = getattr(task_type, each)
        task_type.prepare()
        self._prepared.add(name)
        gc.freeze()  # see `Zygote.serve`

    def run(self, request: Request, request_fd: int) -> NoReturn:
        """Run the attempt; the answer replaces the request."""
        from worker.attempts.child import carry_out
        from worker.attempts.order import Order

        close_all_but(request_fd)  # the channel too: its end must mean the keeper's end
        os.environ.clear()
        os.environ.update(request.env)
        gc.enable()
        carry_out(Order.from_text(request.order), request_fd, self._deadline)


def main(requests_fd: int, deadline_fd: int, path: list[str]) -> None:
    """Run on two inherited descriptors; `path` is the worker's `sys.path`, so that it finds the same libraries.

    The standard library stays first: no folder of `path` may replace a module of it in a process that may be root.
    """
    own = sys.path.copy()
    libraries = next((place for place, each in enumerate(own) if each in getsitepackages()), len(own))
    standard = own[:libraries]
    sys.path[:] = list(dict.fromkeys([*standard, *path, *own]))
    deadline = Deadline.shared(deadline_fd)
    Zygote(socket.socket(fileno=requests_fd), deadline, Orders(deadline)).serve()
    os._exit(0)  # libraries may print at the end of an interpreter: skip that
