"""An event loop on virtual time: one thread, no sleep, and all that happens in an order that the seed decides.

The coroutines of masters and workers run on it unchanged. Each handle belongs to the process in whose context it was
made: what belongs to a dead process never runs, what belongs to a paused one runs when it goes on.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from itertools import count
from typing import Any

PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)
"""The running process; None is the world: servers, networks, faults."""


class Process:
    """A life of an operating system's process, with a clock of its own."""

    def __init__(self, name: str, pid: int, host: str, clock_offset_s: float, clock_rate: float) -> None:
        self.name = name
        self.pid = pid
        self.host = host
        self.is_dead = False
        self.is_paused = False
        self.deferred: list[Handle] = []
        self.statements = 0
        self.disturbed_s = 0.0
        """Until when something was done to it that others may take for its death."""
        self.has_joined = False
        """Whether its life has joined the cluster, by its own word."""
        self._clock_offset_s = clock_offset_s
        self._clock_rate = clock_rate

    def clock_s(self, now_s: float) -> float:
        """Its CLOCK_BOOTTIME at a moment of the world."""
        return self._clock_offset_s + self._clock_rate * now_s

    def moment_of(self, clock_s: float) -> float:
        """The moment of the world at which its clock shows that."""
        return (clock_s - self._clock_offset_s) / self._clock_rate


class Handle:
    """What asyncio expects of a scheduled callback."""

    __slots__ = ("_when", "args", "callback", "context", "is_cancelled", "process")

    def __init__(self, when: float, callback: Callable[..., Any], args: tuple[Any, ...], context: Context) -> None:
        self._when = when
        self.callback = callback
        self.args = args
        self.context = context
        self.process = context.get(PROCESS)
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self._when


class OrderedTask(asyncio.Task[Any]):
    """Sets of tasks (TaskGroup has one) must not be ordered by addresses: a seed would not give the same run again."""

    _numbers = count()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._number = next(OrderedTask._numbers)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.AbstractEventLoop):
    """`now` is the world's time, in seconds from its beginning. Of a loop it has what Shoal asks for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self._soon: deque[Handle] = deque()
        self._queue: list[tuple[float, int, Handle]] = []
        self._numbers = count()
        self._tasks: list[OrderedTask] = []
        self._world = Context()
        self.refuse_threads: Callable[[Process], None] = lambda _: None
        """Raises what Python raises in a process that can begin no thread."""
        OrderedTask._numbers = count()

    # ------------------------------------------------------------------------------------ what asyncio asks for

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore exceptions that nobody fetched: their processes died."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> asyncio.Task[Any]:
        task = OrderedTask(coro, loop=self, name=name or "task", context=context)
        self._tasks.append(task)
        return task

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:  # type: ignore[override]
        handle = Handle(self.now, callback, args, copy_context() if context is None else context)
        self._soon.append(handle)
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:  # type: ignore[override]
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:  # type: ignore[override]
        handle = Handle(when, callback, args, copy_context() if context is None else context)
        heappush(self._queue, (when, next(self._numbers), handle))
        return handle

    def run_in_executor(self, _executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        """Run at once: the work of a thread takes no virtual time."""
        if (process := PROCESS.get()) is not None:
            self.refuse_threads(process)
        future = self.create_future()
        future.set_result(func(*args))
        return future

    # --------------------------------------------------------------------------------------- what the world does

    def in_world(self, delay_s: float, callback: Callable[..., Any], *args: Any) -> Handle:
        """Call it as the world: it happens even if the running process dies."""
        if delay_s <= 0:
            handle: Handle = self.call_soon(callback, *args, context=self._world)
        else:
            handle = self.call_at(self.now + delay_s, callback, *args, context=self._world)
        return handle

    def begin(self, process: Process, coroutine: Any) -> asyncio.Task[Any]:
        """Run it as a process."""
        context = Context()
        context.run(PROCESS.set, process)
        return self.create_task(coroutine, context=context)

    def go_on(self, process: Process) -> None:
        """A paused process goes on: its timers fire now, in their order."""
        process.is_paused = False
        deferred, process.deferred = process.deferred, []
        self._soon.extend(deferred)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Between entering and leaving, this is the running loop of the thread."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        hooks, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            yield
        finally:
            self._bury()
            sys.unraisablehook = hooks
            asyncio._set_running_loop(before)

    def run(self, is_over: Callable[[], bool], until_s: float) -> bool:
        """Run until it is over, or that moment has come. Returns whether it is over."""
        queue, soon = self._queue, self._soon
        while True:
            if soon:
                handle = soon.popleft()
            elif queue:
                when = queue[0][0]
                if when > until_s:
                    self.now = until_s
                    return is_over()
                handle = heappop(queue)[2]
                if handle.is_cancelled:
                    continue
                if when > self.now:
                    self.now = when
                    if is_over():
                        return True
            else:
                return is_over()
            process = handle.process
            if handle.is_cancelled or (process is not None and process.is_dead):
                continue
            if process is not None and process.is_paused:
                process.deferred.append(handle)
                continue
            self.steps += 1
            handle.context.run(handle.callback, *handle.args)

    def _bury(self) -> None:
        """End what never will: closing a coroutine runs its `finally`, so it is done while nothing can come of it."""
        self._forget_all()
        for task in self._tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                try:
                    task.get_coro().close()
                except BaseException:  # noqa: BLE001 - it would rather await something
                    continue
        self._forget_all()

    def _forget_all(self) -> None:
        self._queue.clear()
        self._soon.clear()
