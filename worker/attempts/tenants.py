"""Tenants: the operating-system users as whom tasks may run, if the worker's operator allows it.

Only a worker that runs as root can do it. Another worker could start a process of another user by `sudo`, but not
signal it, give it a private folder, or remove what it leaves there: a task that cannot be killed would break the
guarantee that nothing outlives its attempt.
"""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from model.errors import InvalidSettings, Refused
from worker.attempts.order import Order
from worker.launcher.last_word import NO_END, LastWord, ProcessEnd
from worker.launcher.wire import Identity
from worker.private_folder import make_private
from worker.settings import WorkerSettings
from worker.tasks.plugin import TaskLog, TaskResult

ALL = "*"
"""Every user except root, which must be named explicitly."""


@dataclass(frozen=True)
class Account:
    """An operating-system user as whom a task runs."""

    name: str
    identity: Identity
    home: str
    shell: str

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """`own` with the user's variables, without the temporary folder, which may be private to the worker."""
        mine = {"HOME": self.home, "SHELL": self.shell, "USER": self.name, "LOGNAME": self.name}
        return {name: value for name, value in own.items() if name != "TMPDIR"} | mine


class AsAnybody(Protocol):
    """Runs the processes of one attempt, as any user."""

    async def run(
        self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog, identity: Identity | None = None
    ) -> int:
        """See `Launcher.run`."""
        ...


class Launching(Protocol):
    """The part of `worker/launcher` that can run a process as another user."""

    def may_go_on(self) -> None:
        """See `Launcher.may_go_on`."""
        ...

    async def run(
        self,
        argv: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: TaskLog,
        identity: Identity | None = None,
        end: ProcessEnd = NO_END,
    ) -> int:
        """See `Launcher.run`."""
        ...

    async def carry_out(
        self,
        order: Order,
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: TaskLog,
        identity: Identity | None = None,
        last_word: LastWord | None = None,
    ) -> tuple[int, TaskResult | None]:
        """See `Launcher.carry_out`."""
        ...


class TenantProcesses:
    """The `ProcessRunner` of one attempt that runs as another user. Its first run gives that user the work folder."""

    def __init__(self, launcher: AsAnybody, account: Account, folder: Path) -> None:
        """`folder` is the attempt's private work folder; it need not exist yet."""
        self._launcher = launcher
        self._account = account
        self._folder = folder
        self._is_handed_over = False

    async def run(self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog) -> int:
        """As `Launcher.run`, as the tenant."""
        if not self._is_handed_over and self._folder.is_dir():
            give_to(self._folder, self._account.identity)
            self._is_handed_over = True
        return await self._launcher.run(argv, env=env, cwd=cwd, log=log, identity=self._account.identity)


async def account_for(tenant: str | None, settings: WorkerSettings) -> Account | None:
    """The user for a task with this tenant, or without one; None: the worker's own. See `account_of`."""
    name = tenant or settings.default_tenant
    if name is None:
        return None
    allowed = settings.tenants if settings.default_tenant is None else (*settings.tenants, settings.default_tenant)
    return await asyncio.to_thread(account_of, name, allowed)


async def check_default_tenant(settings: WorkerSettings) -> None:
    """Raises `InvalidSettings` if this worker cannot become its default tenant, `OSError` as `account_of`."""
    try:
        await account_for(None, settings)
    except Refused as refused:
        raise InvalidSettings(f"worker.default_tenant cannot be used: {refused}") from None


def runs_as_root(settings: WorkerSettings) -> bool:
    """Whether tasks without a tenant run as root: then they can read everything of the worker, including its keys."""
    return settings.default_tenant is None and os.geteuid() == 0


def account_of(name: str, allowed: Collection[str]) -> Account:
    """The user with that name, for a task of this worker. May query a directory service: call it in a thread.

    Args:
        allowed: the worker's settings `tenants` and `default_tenant`.

    Raises:
        Refused: the user is not allowed or does not exist, or this worker cannot become another user.
        OSError: users cannot be looked up now.
    """
    if name not in allowed and ALL not in allowed:
        raise Refused(
            f'this worker runs nothing as the tenant "{name}": its operator allows it by the setting worker.tenants, '
            f"such as SHOAL_WORKER__TENANTS={name}"
        )
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        Path("/etc/passwd").open().close()  # else KeyError even if nothing can be opened: then this raises OSError
        raise Refused(
            f'the machine of this worker has no user "{name}"; add it there, or send the task to another worker group'
        ) from None
    if entry.pw_uid == 0 and name not in allowed:
        raise Refused(f'the tenant "{name}" is root, whom * does not mean; name it in the setting worker.tenants')
    if os.geteuid() != 0:
        raise Refused(
            f'this worker does not run as root, so it cannot run a task as "{name}"; start the worker as root, '
            f"or a worker as that user with a worker group of its own"
        )
    groups = tuple(os.getgrouplist(name, entry.pw_gid))
    return Account(name, Identity(entry.pw_uid, entry.pw_gid, groups), entry.pw_dir, entry.pw_shell or "/bin/sh")


def user_folder(folder: Path, user: Identity | None) -> Path:
    """A user's folder within one of the worker's, created if missing: of a tenant, or else of the worker's user."""
    uid = os.getuid() if user is None else user.uid
    own = folder / str(uid)
    make_private(own)
    if user is not None and own.lstat().st_uid != uid:
        give_to(own, user)
    return own


def give_to(folder: Path, to: Identity) -> None:
    """Make the user the owner of a folder and its content, and open the worker's two folders above it.

    Call it before any process of that user runs there: from then on the content may be links to anywhere.
    """
    for above in (folder.parent, folder.parent.parent):
        mode = above.stat().st_mode
        if not mode & 0o001:
            above.chmod(mode & 0o7777 | 0o001)  # traverse, not list: names are numbers, logs have their own mode
    for _, folders, files, fd in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, to.uid, to.gid, dir_fd=fd, follow_symlinks=False)
    os.chown(folder, to.uid, to.gid, follow_symlinks=False)
