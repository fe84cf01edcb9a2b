"""A systemd unit as a plain process: its command, its environment, and the socket that it is to tell."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import make_url

from tests.cluster.cluster import TIMING, Cluster
from tests.servers.child import Child
from tests.servers.notify_socket import NotifySocket

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
PROGRAM = "/opt/shoal/bin/shoal"
OWN_PROGRAM = Path(sys.executable).with_name("shoal")


class Unit:
    """A unit file, as an instance on a machine named alpha, whose /etc/shoal and /var/lib are `etc` and `state`."""

    def __init__(self, path: Path, folder: Path, instance: str = "1") -> None:
        self.name = path.name
        text = path.read_text("utf-8").replace("/etc/shoal", str(folder / "etc")).replace(PROGRAM, str(OWN_PROGRAM))
        for sign, meaning in {"%i": instance, "%l": "alpha", "%S": str(folder / "state")}.items():
            text = text.replace(sign, meaning)
        assert "%" not in text, "a specifier that this does not know"
        lines = [line for line in text.splitlines() if line and not line.startswith(("#", "["))]
        self._settings = [tuple(line.split("=", 1)) for line in lines]

    def all(self, name: str) -> list[str]:
        """The values of a setting."""
        return [value for key, value in self._settings if key == name]

    def one(self, name: str) -> str:
        """The value of a setting that stands there once."""
        [value] = self.all(name)
        return value

    @property
    def command(self) -> list[str]:
        """The words of ExecStart."""
        return shlex.split(self.one("ExecStart"))

    def environment(self) -> dict[str, str]:
        """The process environment that systemd makes, with the present files."""
        lines = list(self.all("Environment"))
        for file in self.all("EnvironmentFile"):
            path = Path(file.removeprefix("-"))
            if path.exists() or not file.startswith("-"):
                lines += shlex.split(path.read_text())
        given = dict(line.split("=", 1) for line in lines)
        # A port of a test's own: others may have those of the units.
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **given, "SHOAL_METRICS__PORT": "0"}

    @property
    def never_restarts(self) -> tuple[int, ...]:
        """The exit codes after which systemd does not start it again."""
        return tuple(map(int, self.one("RestartPreventExitStatus").split()))


def write_settings(cluster: Cluster, password: str | None = None) -> None:
    """The files of the guide in the `etc` of this cluster's folder, for its database."""
    url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    etc = cluster.folder / "etc"
    etc.mkdir(exist_ok=True)
    bare = url.set(password=None).render_as_string(hide_password=False)
    secret = url.password if password is None else password
    texts = {
        "shoal.toml": f'database_url = "{bare}"\nlog_format = "json"\n[api]\nport = 0\n',
        "database-password": f"{secret}\n",
        "worker.env": f"SHOAL_DATABASE_PASSWORD={secret}\n",
    }
    for name, text in texts.items():
        (etc / name).write_text(text)
        (etc / name).chmod(0o600)


@contextmanager
def running(
    unit: Unit, cluster: Cluster, supervisor: NotifySocket | None = None, extra: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """The process of a unit, as systemd starts it."""
    told = {} if supervisor is None else {"NOTIFY_SOCKET": supervisor.address}
    watched = {"WATCHDOG_USEC": str(int(unit.one("WatchdogSec")) * 1_000_000)} if told else {}
    environment = {**TIMING, **unit.environment(), **told, **watched, **(extra or {})}
    child = started(unit.command, cluster, unit.name, environment)
    try:
        yield child
    finally:
        child.kill()


def started(command: Sequence[str], cluster: Cluster, name: str, environment: Mapping[str, str]) -> Child:
    """A process with this environment and no other; its output is in NAME.log of the cluster's folder."""
    log = cluster.folder / f"{name}.log"
    tree = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}  # which program it is
    return Child.of(command, cwd=cluster.folder, log=log, environment={**environment, **tree})
