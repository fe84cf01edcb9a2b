"""The worker's view of one running task: its keeper's channel, its output, and how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

import structlog

from model.errors import ShoalError, Unavailable
from worker.launcher import tree
from worker.launcher.errors import CannotStart, DeadlinePassed, LauncherKilled, NoMeans, TooLarge, TreeLeft
from worker.launcher.leftovers import kill_marked
from worker.launcher.output import unread
from worker.launcher.wire import MESSAGE_BYTES_MAX, Cause, End, Ended, NotStarted, Started, decode, encode
from worker.tasks.plugin import TaskLog

logger = structlog.get_logger()

READ_BYTES = 65_536
"""How much output is read at once, between turns of the loop. Unread output blocks the task, so memory is bounded."""

KEEPER_S_MAX = 40.0
"""How long after the grace a keeper may take (its own limit is 30 s) before it is considered hung and is killed."""


class NeverStarted(Exception):
    """The request was lost together with a zygote before anything ran: it may be repeated."""


class TaskProcess:
    """One process tree from the outside. Owns the channel and the output descriptor, and closes them at the end.

    `on_idle` is called with the channel instead, if the keeper may take another task.
    """

    def __init__(
        self,
        channel: socket.socket,
        output_fd: int,
        log: TaskLog,
        marker: str,
        on_idle: Callable[[socket.socket], None] | None,
    ) -> None:
        self.keeper: Started | None = None
        self._on_idle = on_idle
        self._is_asked_to_end = False
        self._channel = channel
        self._output_fd = output_fd
        self._log = log
        self._marker = marker
        self._not_started: NotStarted | None = None
        self._log_fault: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._last_word: asyncio.Future[Ended | None] = self._loop.create_future()
        self._loop.add_reader(channel.fileno(), self._on_message)
        self._loop.add_reader(output_fd, self._on_output)
        self._conclusion = self._loop.create_task(self._conclude())

    async def exit_code(self, grace_s: float, *, is_all: bool = False) -> int:
        """Wait for the end of the tree; a cancellation ends it with this grace, a second one at once.

        With `is_all` a cancellation after its end changes nothing: a frozen worker receives both at once. A
        cancellation that leaves processes raises `TreeLeft`.

        Raises:
            NeverStarted: repeat the request.
            ShoalError: one of `worker/launcher/errors.py`, or what the log raised when it could not be written.
        """
        try:
            await asyncio.wait([self._conclusion])
        except asyncio.CancelledError:
            await self.end(grace_s)
            if not ((is_all and self._ended_by_itself) or self._left):
                raise
        return self._conclusion.result()

    @property
    def _left(self) -> bool:
        """Whether it ended with processes left: then it is not over, and must not run again."""
        return not self._conclusion.cancelled() and isinstance(self._conclusion.exception(), TreeLeft)

    @property
    def _ended_by_itself(self) -> bool:
        ended = self._last_word.result() if self._last_word.done() else None
        return (
            ended is not None
            and ended.cause is Cause.EXIT
            and not self._conclusion.cancelled()
            and self._conclusion.exception() is None
        )

    async def end(self, grace_s: float) -> None:
        """Send TERM, wait for the grace, send KILL; return when the whole tree is gone, even if cancelled meanwhile."""
        self._ask_to_end(grace_s)
        while not self._conclusion.done():
            try:
                await asyncio.wait([self._conclusion], timeout=grace_s + KEEPER_S_MAX)
            except asyncio.CancelledError:
                self._ask_to_end(0.0)
                continue
            if not self._last_word.done():
                self._stop_waiting()
        if not self._conclusion.cancelled():
            self._conclusion.exception()  # retrieved: the caller of `end` does not ask how it ended

    def _ask_to_end(self, grace_s: float) -> None:
        self._is_asked_to_end = True
        with suppress(OSError):  # the keeper has ended, or its socket is full of such requests
            self._channel.send(encode(End(grace_s)))

    def _stop_waiting(self) -> None:
        """Kill a keeper that exceeds its limit, perhaps stopped by its own task; `kill_marked` does its work."""
        if self.keeper is None:
            # Its zygote hangs. Nothing has run, and a keeper whose channel is closed starts nothing.
            self._last_word.set_result(None)
            return
        stat = tree.stat_of(self.keeper.keeper_pid)
        if stat is not None and stat.started == self.keeper.keeper_started:
            os.kill(self.keeper.keeper_pid, signal.SIGKILL)

    def _on_message(self) -> None:
        try:
            data = self._channel.recv(MESSAGE_BYTES_MAX)
        except (BlockingIOError, ConnectionResetError):
            return  # reset: it left a message of ours unread; its own last messages still arrive
        message = decode(data) if data else None
        match message:
            case Started():
                self.keeper = message
                return
            case NotStarted():
                self._not_started = message
                return
            case Ended() | None:
                self._loop.remove_reader(self._channel.fileno())
                self._last_word.set_result(message)
            case End():
                raise AssertionError("only workers say so")

    def _on_output(self) -> None:
        self._copy_output(READ_BYTES)

    def _copy_output(self, size: int) -> None:
        try:
            data = os.read(self._output_fd, size)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._output_fd)
            return
        if self._log_fault is not None:
            return
        try:
            self._log.write(data)
        except (OSError, ShoalError) as fault:  # a full disk: a task without its log is stopped, the worker lives
            self._log_fault = fault
            self._ask_to_end(0.0)

    async def _conclude(self) -> int:
        ended = None
        try:
            ended = await self._last_word
            if ended is None and self.keeper is not None:
                # In a thread: it reads all of /proc, and happens only when somebody kills keepers.
                left = await asyncio.to_thread(kill_marked, self._marker)
            else:
                left = ended.left if ended is not None else 0
            # The tree is gone, so what is in the pipe is all; its end may never come if another process holds it open.
            self._copy_output(unread(self._output_fd) or 1)
        finally:
            self._loop.remove_reader(self._channel.fileno())
            self._loop.remove_reader(self._output_fd)
            os.close(self._output_fd)
            if self._on_idle is not None and self._may_go_on(ended):
                self._on_idle(self._channel)
            else:
                self._channel.close()
        return self._verdict(ended, left)

    def _may_go_on(self, ended: Ended | None) -> bool:
        """Whether its keeper may take another task: nothing of this one is left, and nothing is in flight to it."""
        if ended is None or self._not_started is not None or self._is_asked_to_end:
            return False
        return ended.cause is Cause.EXIT and not ended.left

    def _verdict(self, ended: Ended | None, left: int) -> int:
        if left:
            logger.warning(
                "processes_left", marker=self._marker, count=left, so="they may still have effects; end them by hand"
            )
            raise TreeLeft(f"{left} processes of the task could not be killed; find them on this worker's machine")
        if self._not_started is not None:
            raise _why(self._not_started, has_keeper=self.keeper is not None)
        if self._log_fault is not None:
            raise self._log_fault
        if ended is None:
            if self.keeper is None:
                raise NeverStarted
            raise LauncherKilled("its launcher was killed, so nobody knows how it ended; what it left has been killed")
        if ended.cause is Cause.DEADLINE:
            raise DeadlinePassed("it was killed because its worker was stopped or cut off for too long")
        return ended.exit_code


def _why(said: NotStarted, *, has_keeper: bool) -> ShoalError:
    if said.is_passing:
        return NoMeans(said.reason)
    if said.is_too_large:
        return TooLarge(said.reason)
    return CannotStart(said.reason) if has_keeper else Unavailable(said.reason)
