"""Checks resources of pools: a script or a URL tells whether one works, in a process below a keeper.

Any worker that takes tasks runs checks, and the result holds for all. Each check has a time limit and runs beside the
others, so that one that hangs only holds up its own resource.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog

from dao.pools import pool_checks
from dao.pools.pool_checks import CHECK_TIMEOUT_S, CHECKS_AT_ONCE, Checked, DueCheck
from model.backoff import Backoff
from model.errors import Fenced, Refused, Unavailable
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.pools.secrets import secrets_of
from model.runs.states import TaskState
from node.life import Life
from node.write_loop import run_rounds
from registry.clock import boottime_s
from worker.attempts.environment import passed_on
from worker.attempts.failed_attempt import lacks_means
from worker.attempts.last_line import last_line_of, tail_of
from worker.attempts.order import Order
from worker.attempts.tenants import Account, Launching, TenantProcesses, account_for, give_to
from worker.attempts.work_folder import WorkFolder
from worker.launcher.errors import LauncherKilled
from worker.secrets.masking import Masking
from worker.settings import WorkerSettings
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskContext, TaskResult

log = structlog.get_logger()

VARIABLE = "SHOAL_RESOURCE"
"""The variable of a script with the name and data of its resource, a JSON object."""
REASON_CHARACTERS_MAX = 300
REST = Backoff(first_s=1.0, max_s=30.0)
"""The pause after a check that this worker could not run; others may."""
SLEPT_S = 2.0
"""A check that exceeds its timeout by this much was held up by this worker."""
LOCKED_S = 1.0
"""The pause before locked rows are tried again."""
KILLED_MAX = 3
"""After its process was killed this often in a row, the check itself is to blame."""


class PoolChecks:
    """Runs due checks, a few at once, as the default tenant.

    `takes` says whether this worker takes anything new now.
    """

    def __init__(self, life: Life, processes: Launching, settings: WorkerSettings, takes: Callable[[], bool]) -> None:
        self._life = life
        self._processes = processes
        self._settings = settings
        self._folder = settings.place.absolute() / "work"
        self._takes = takes
        self._wake = asyncio.Event()
        self._catalog = TaskCatalog()
        self._running: dict[tuple[int, datetime], asyncio.Task[None]] = {}
        """By resource and start time: a resource that changes is checked again beside the check of its former state."""
        self._checked: list[Checked] = []
        self._may_be_due = False
        self._gives_back = False
        self._again: asyncio.TimerHandle | None = None
        self._rest = replace(REST)
        self._rests_until_s = float("-inf")
        self._killed: Counter[int] = Counter()

    def notice(self) -> None:
        """Look for due checks: there may be some."""
        self._may_be_due = True
        self._wake.set()

    async def run(self) -> None:
        """Check until cancelled; then end what runs. Raises `Fenced`."""
        try:
            await run_rounds(
                "check_resources",
                self._wake,
                self._catch_up,
                self._life,
                shrink=lambda: None,
                read_again=self._outcome_unknown,
            )
        finally:
            for each in list(self._running.values()):
                each.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _outcome_unknown(self) -> None:
        """Read the rows again: some may be this worker's although it runs no check of them."""
        self._gives_back = self._may_be_due = True

    async def _catch_up(self) -> None:
        locked, all_given = list[Checked](), True
        while len(self._checked) > len(locked) or (self._gives_back and all_given) or self._takes_more:
            checked, room = list(self._checked), self._room
            if room > 0:
                self._may_be_due = False
            async with self._life.writing() as connection:
                locked = await pool_checks.record(connection, checked, self._life.me.epoch) if checked else []
                if self._gives_back:
                    running = [*self._running, *((each.id, each.since) for each in self._checked)]
                    all_given = await pool_checks.give_back(connection, running, self._life.me.epoch)
                due = await pool_checks.take(connection, room, self._life.me.epoch) if room > 0 else []
            self._gives_back = self._gives_back and not all_given
            self._checked[: len(checked)] = locked
            for each in due:
                self._running[each.id, each.since] = asyncio.create_task(self._check(each))
            self._may_be_due = self._may_be_due or len(due) == room > 0
        if self._again is not None:
            self._again.cancel()
        is_left = locked or not all_given
        self._again = asyncio.get_running_loop().call_later(LOCKED_S, self._wake.set) if is_left else None

    @property
    def _takes_more(self) -> bool:
        return self._may_be_due and self._room > 0

    @property
    def _room(self) -> int:
        rests = asyncio.get_running_loop().time() < self._rests_until_s
        return CHECKS_AT_ONCE - len(self._running) if self._takes() and not rests else 0

    async def _check(self, due: DueCheck) -> None:
        folder = WorkFolder(self._folder, f"check-{due.id}-{due.since.timestamp():.6f}")
        checked = Checked(due.id, due.since, None, has_result=False)
        try:
            checked = Checked(due.id, due.since, await self._why_not(due, folder))
            self._rest.reset()
            del self._killed[due.id]
        except Exception as error:  # noqa: BLE001 - whatever it is, it holds up no other check
            if self._is_of_this_worker(due, error):
                log.warning("check_without_result", pool=due.pool, resource=due.name, error=str(error))
                self._take_none_for_now()
            else:
                checked = Checked(due.id, due.since, _shown(f"its check could not run: {error}", due))
        finally:
            await folder.remove()
            del self._running[due.id, due.since]
            self._checked.append(checked)
            self._may_be_due = True
            self._wake.set()

    def _is_of_this_worker(self, due: DueCheck, error: Exception) -> bool:
        """Whether the error says nothing about the resource: this machine lacks something, or this worker slept."""
        if isinstance(error, LauncherKilled):
            self._killed[due.id] += 1
            return self._killed[due.id] < KILLED_MAX
        return isinstance(error, Unavailable | Fenced) or lacks_means(error)

    def _take_none_for_now(self) -> None:
        loop, pause_s = asyncio.get_running_loop(), self._rest.next_pause_s(random.random())  # noqa: S311 - jitter
        self._rests_until_s = loop.time() + pause_s
        loop.call_later(pause_s, self.notice)

    async def _why_not(self, due: DueCheck, folder: WorkFolder) -> str | None:
        """Why the resource does not work, as a sentence; None if it does. Raises if it could not be checked."""
        given = due.how.get("timeout_s")
        timeout_s = float(given) if isinstance(given, int | float) and given > 0 else CHECK_TIMEOUT_S
        # Measured when its time was up, not when its processes ended: those that ignore SIGTERM take a while.
        began_s, ups_s = boottime_s(), list[float]()
        timer = asyncio.get_running_loop().call_later(timeout_s, lambda: ups_s.append(boottime_s()))
        try:
            async with asyncio.timeout(timeout_s):
                result = await self._result(due, folder, timeout_s)
        except TimeoutError:
            if any(up_s - began_s > timeout_s + SLEPT_S for up_s in ups_s):
                raise Unavailable("this worker slept while it was checked") from None
            return f"its check took longer than {timeout_s:g} s"
        finally:
            timer.cancel()
        if result.state is TaskState.SUCCESS:
            return None
        return _shown(f"its check failed: {result.reason}", due)

    async def _result(self, due: DueCheck, folder: WorkFolder, timeout_s: float) -> TaskResult:
        values = {name: value if isinstance(value, str) else json.dumps(value) for name, value in due.data.items()}
        values.setdefault("name", due.name)
        account = await account_for(None, self._settings)
        log, environment = _LastLine(), _environment(due, account)
        if isinstance(script := due.how.get("script"), str):
            made = self._catalog.make("SHELL", json.dumps({"script": script}), {})
            processes = self._processes if account is None else TenantProcesses(self._processes, account, folder.path)
            return await made.run(_context(folder, environment, log, processes))
        if not isinstance(url := due.how.get("url"), str):
            raise Refused(f'the check of pool "{due.pool}" has neither a script nor a url')
        params = {"url": url, "timeout_s": timeout_s, "connect_timeout_s": timeout_s}
        made = self._catalog.make("HTTP", json.dumps(params), values)
        order = Order(made, *_NOBODY, due.name, 1, values, {}, {}, (), folder.make(), local_files=False)
        if account is not None:
            give_to(folder.path, account.identity)
        identity = None if account is None else account.identity
        code, result = await self._processes.carry_out(
            order, env=environment, cwd=folder.path, log=log, identity=identity
        )
        return result or TaskResult.failure(log.last_line() or f"its process ended with exit code {code}")


def _shown(reason: str, due: DueCheck) -> str:
    """Mask the resource's secrets in a reason, which everybody may read."""
    return Masking(secrets_of(due.data)).masked(reason)[:REASON_CHARACTERS_MAX]


_NOBODY = (WorkflowInstanceId(0), TaskInstanceId(0))


def _environment(due: DueCheck, account: Account | None) -> Mapping[str, str]:
    own = os.environ if account is None else account.environment(os.environ)
    return {**passed_on(own), VARIABLE: json.dumps({"name": due.name, "data": due.data})}


def _context(folder: WorkFolder, environment: Mapping[str, str], log: _LastLine, processes: Any) -> TaskContext:
    return TaskContext(
        *_NOBODY, "check", 1, {}, log, processes, make_folder=folder.make, make_environment=lambda: environment
    )


class _LastLine:
    """The log of a check: its last line is the reason if it fails."""

    def __init__(self) -> None:
        self._tail = b""

    def write(self, text: str | bytes) -> None:
        data = text.encode(errors="replace") if isinstance(text, str) else text
        self._tail = tail_of(self._tail, data)

    def last_line(self) -> str:
        return last_line_of(self._tail, REASON_CHARACTERS_MAX)
