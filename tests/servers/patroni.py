"""PostgreSQL under Patroni, as deploy/patroni.yml has it: a member for each machine, and one etcd."""

from __future__ import annotations

import contextlib
import secrets
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import yaml

from tests.servers.child import Child, PrivateFolder, ServerFailed, as_user, free_port, program
from tests.servers.etcd import started_etcd
from tests.servers.far_machine import FarMachine
from tests.servers.postgres import binaries, unprivileged_user

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "patroni.yml"


class Member:
    """One machine: Patroni, and the PostgreSQL that it runs; on `machine`, or with us at the address `host`."""

    def __init__(
        self,
        folder: Path,
        name: str,
        configuration: dict[str, Any],
        password: str,
        host: str,
        machine: FarMachine | None = None,
    ) -> None:
        self.name = name
        self.host = host
        self.port = free_port()
        self._machine = machine
        self._api = f"{host}:{free_port()}"
        self._data = folder / name
        self._log = folder / f"{name}.log"
        self._file = folder / f"{name}.yml"
        self._password = password
        self._child: Child | None = None
        own = configuration | {
            "name": name,
            "restapi": {"listen": self._api, "connect_address": self._api},
            "postgresql": configuration["postgresql"]
            | {
                "listen": f"{host}:{self.port}",
                "connect_address": f"{host}:{self.port}",
                "data_dir": str(self._data),
                "bin_dir": str(binaries()),
                "pgpass": str(folder / f"{name}.pgpass"),
                "parameters": {
                    "unix_socket_directories": str(folder),
                    "shared_buffers": "64MB",
                    "dynamic_shared_memory_type": "mmap",
                },
            },
        }
        own["postgresql"]["authentication"]["superuser"]["password"] = password
        own["postgresql"]["authentication"]["replication"]["password"] = password
        self._file.write_text(yaml.safe_dump(own))

    def start(self) -> None:
        """Let it begin, or join again."""
        # As root into the network of its machine, and then as who may run PostgreSQL.
        before = self._machine.within if self._machine is not None else []
        user = [*as_user(unprivileged_user()), "--pdeathsig", "TERM", "--"]  # it stops its PostgreSQL then
        command = [*before, *user, program("patroni"), str(self._file)]
        self._child = Child.of(command, cwd=self._file.parent, log=self._log)

    def signal(self, number: signal.Signals) -> None:
        """To all its processes, PostgreSQL's too, as what befalls a machine."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def role(self) -> str:
        """Its role according to Patroni, such as `master` and `sync_standby`; empty: it does not answer."""
        try:
            told = httpx.get(f"http://{self._api}/patroni", timeout=2, trust_env=False).json()
        except httpx.HTTPError:
            return ""
        if told.get("state") != "running":
            return ""
        return "sync_standby" if told.get("sync_standby") else str(told.get("role", ""))

    def switch_over(self, to: Member) -> None:
        """Make the other one the leader, in order. Raises `httpx.HTTPError`."""
        asked = {"leader": self.name, "candidate": to.name}
        httpx.post(f"http://{self._api}/switchover", json=asked, timeout=60, trust_env=False).raise_for_status()

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """In autocommit, as the superuser."""
        where = {"host": self.host, "port": self.port, "dbname": database, "connect_timeout": 5}
        return psycopg.connect(**where, user="postgres", password=self._password, autocommit=True)

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:]) if self._log.exists() else ""

    def close(self) -> None:
        """End all of it."""
        self.signal(signal.SIGKILL)
        if self._child is not None:
            self._child.kill()

    def _processes(self) -> list[psutil.Process]:
        """Patroni comes first: it would start a PostgreSQL that ends. That one is no child of it."""
        pids = [self._child.pid] if self._child is not None else []
        with contextlib.suppress(OSError, ValueError, IndexError):
            pids.append(int((self._data / "postmaster.pid").read_text().splitlines()[0]))
        found = []
        for pid in pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                found += [process, *process.children(recursive=True)]
        return [each for each in found if each.username() == _owner()]


def _owner() -> str:
    user = unprivileged_user()
    return user.pw_name if user is not None else psutil.Process().username()


class PatroniCluster:
    """Starts on construction: the first member leads. Use it as a context or `close` it.

    Args:
        is_synchronous: whether the leader waits for its standby.
        is_apart: whether the first member is on a machine whose cable can be cut; needs root.
    """

    def __init__(self, *, is_synchronous: bool, is_apart: bool = False) -> None:
        self.password = secrets.token_urlsafe(12)
        self._folder = PrivateFolder("shoal-patroni-", owner=unprivileged_user())
        self.members: list[Member] = []
        self._etcd: Child | None = None
        self.machine = FarMachine() if is_apart else None
        here, there = (self.machine.here, self.machine.there) if self.machine is not None else ("127.0.0.1",) * 2
        folder = self._folder.path
        try:
            self._etcd, clients = started_etcd(folder, here, unprivileged_user())
            configuration = yaml.safe_load(CONFIGURATION.read_text())
            configuration["etcd3"] = {"hosts": [clients]}
            configuration["watchdog"] = {"mode": "off"}  # tests play it
            configuration["bootstrap"]["dcs"] |= {
                "synchronous_mode": is_synchronous,
                "maximum_lag_on_failover": 64 << 20,
            }
            first = Member(folder, "db1", configuration, self.password, there, self.machine)
            second = Member(folder, "db2", configuration, self.password, here)
            self.members += [first, second]
            first.start()
            self._wait_for(lambda: first.role() == "master")
            second.start()
            self._wait_for(lambda: second.role() == ("sync_standby" if is_synchronous else "replica"))
        except BaseException:
            self.close()
            raise

    def url(self, database: str) -> str:
        """The URL with the first member as the first host."""
        hosts = ",".join(each.host for each in self.members)
        ports = ",".join(str(each.port) for each in self.members)
        return f"postgresql+psycopg://postgres:{self.password}@/{database}?host={hosts}&port={ports}"

    def leader(self) -> Member:
        """The leader. Raises `ServerFailed` if there is none."""
        for each in self.members:
            if each.role() == "master":
                return each
        raise ServerFailed("no member leads")

    def _wait_for(self, ready: Callable[[], bool], within_s: float = 90) -> None:
        deadline_s = time.monotonic() + within_s
        while not ready():
            if time.monotonic() > deadline_s:
                logs = "\n".join(each.log_tail() for each in self.members)
                raise ServerFailed(f"Patroni is not ready within {within_s} s:\n{logs}")
            time.sleep(0.1)

    def close(self) -> None:
        """Leave nothing behind."""
        for each in self.members:
            each.close()
        if self._etcd is not None:
            self._etcd.kill()
        if self.machine is not None:
            self.machine.close()
        self._folder.close()

    def __enter__(self) -> PatroniCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
