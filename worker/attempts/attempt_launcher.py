"""The launcher as one attempt sees it.

It records whether anything may have begun, since only an attempt that certainly has not may return to the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from model.runs.states import TaskState
from worker.attempts.order import Order
from worker.attempts.tenants import Launching
from worker.launcher.errors import NoMeans
from worker.launcher.last_word import NO_END
from worker.launcher.wire import Identity
from worker.tasks.plugin import TaskLog, TaskResult


class AttemptLauncher:
    """Passes requests of one attempt on to the launcher, and records them."""

    def __init__(
        self, launcher: Launching, watching: Callable[[TaskLog, Mapping[str, str]], AbstractContextManager[TaskLog]]
    ) -> None:
        """`watching` returns the log for a process with that environment."""
        self.may_have_begun = False
        self.end = NO_END
        """What the end of its process means."""
        self._launcher = launcher
        self._watching = watching

    async def run(
        self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog, identity: Identity | None = None
    ) -> int:
        """See `Launcher.run`."""
        before, self.may_have_begun = self.may_have_begun, True
        try:
            with self._watching(log, env) as watched:
                return await self._launcher.run(argv, env=env, cwd=cwd, log=watched, identity=identity, end=self.end)
        except NoMeans:
            self.may_have_begun = before
            raise

    async def carry_out(
        self, order: Order, *, env: Mapping[str, str], cwd: Path, log: TaskLog, identity: Identity | None = None
    ) -> tuple[int, TaskResult | None]:
        """See `Launcher.carry_out`."""
        before, self.may_have_begun = self.may_have_begun, True
        try:
            with self._watching(log, env) as watched:
                code, result = await self._launcher.carry_out(
                    order, env=env, cwd=cwd, log=watched, identity=identity, last_word=self.end.last_word
                )
            if result is not None and result.state is TaskState.PAUSE:  # it reported so (`worker/attempts/child.py`)
                raise NoMeans(result.reason)
        except NoMeans:
            self.may_have_begun = before
            raise
        return code, result
