"""`docs/guides/production.md`, line by line: the program is this tree's, systemd is a stand-in that starts its units.

What installs the program (`venv`, `pip`, `ln`) is read and not run: `tests/test_wheel.py` installs it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import make_url

from shoal.version import shoal_version
from tests.cluster.cluster import Cluster
from tests.deploy.units import OWN_PROGRAM, PROGRAM, ROOT, Unit, running
from tests.eventually import eventually
from tests.servers.child import Child
from tests.servers.notify_socket import NotifySocket, notify_socket
from tests.servers.postgres import PostgresServer

PAGE = (ROOT / "docs" / "guides" / "production.md").read_text("utf-8")
LINES = [
    line.removeprefix("$ ").partition("  #")[0].strip()
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", PAGE)
    for line in block.splitlines()
]
SQL = re.findall(r"(?ms)^```sql\n(.*?)^```", PAGE)
RELEASE = f"shoal-{shoal_version()}"
INSTALL, EDIT = ("tar -xf ", "python3 -m venv ", "/opt/shoal-", "ln -sfn "), "$EDITOR "


class Machine:
    """A machine on which the lines of the page are typed, in a folder instead of its root.

    Args:
        cluster: on whose server the page's database is.
        database: its name there, and that of its user.
    """

    def __init__(self, cluster: Cluster, database: str, supervisor: NotifySocket) -> None:
        url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
        self.url = url.set(username=database, password=None, database=database).render_as_string(hide_password=False)
        self.folder = cluster.folder
        (self.folder / "password").write_text("a-secret\n")
        (self.folder / "etc").symlink_to(self.folder / "root" / "etc" / "shoal")
        self._cluster, self._supervisor = cluster, supervisor
        self._words = {
            "/etc/shoal": str(self.folder / "etc"),
            f"{RELEASE}/deploy": str(ROOT / "deploy"),
            PROGRAM: str(OWN_PROGRAM),
            "$(hostname -s)": "alpha",
            "< password": f"< {self.folder / 'password'}",
            "shoal.dump shoal": f"{self.folder / 'dump'} {database}",
            "shoal.dump": str(self.folder / "dump"),
            "--dbname=shoal": f"--dbname={database}",
            "PGHOST=db PGUSER=shoal": f"PGHOST=127.0.0.1 PGPORT={url.port} PGUSER={database}",
        }
        self._environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DESTDIR": str(self.folder / "root")}
        self._units: dict[str, tuple[Child, ExitStack]] = {}

    async def type(self, line: str) -> None:
        """Do what a line says."""
        if line.startswith("systemctl "):
            await self._systemctl(shlex.split(line)[1:])
            return
        for written, meant in self._words.items():
            line = line.replace(written, meant)
        if line.startswith("export "):
            told = self._run(f"{line}; env -0")
            self._environment |= dict(each.split("=", 1) for each in told.split("\0") if each)
            return
        # Of a test server, which may lose what it commits, doctor says so.
        self._run(line, codes=(0, 1) if line.endswith(" doctor") else (0,))

    def give_the_workers(self, password: str, user: str) -> None:
        """A user of their own, as worker.env has it."""
        url = make_url(self.url).set(username=user).render_as_string(hide_password=False)
        variables = {"SHOAL_DATABASE_URL": url, "SHOAL_DATABASE_PASSWORD": password}
        lines = [f'{name}="{value}"\n' for name, value in variables.items()]
        (self.folder / "etc" / "worker.env").write_text("".join(lines))

    def close(self) -> None:
        """End what has been started."""
        for _, stack in self._units.values():
            stack.close()

    def _run(self, line: str, codes: tuple[int, ...] = (0,)) -> str:
        command = ["bash", "-euo", "pipefail", "-c", line]
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode in codes, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    async def _systemctl(self, words: list[str]) -> None:
        action, *names = [word for word in words if word != "--now"]
        if names == ["shoal-*"]:
            names = list(self._units)
        assert names
        if action == "reload":
            for name in names:
                await self._reload(name)
        if action in ("stop", "restart"):
            for name in names:
                await self._stop(name)
        if action in ("enable", "start", "restart"):
            for name in names:
                await self._start(name)

    async def _start(self, name: str) -> None:
        template, _, instance = name.partition("@")
        file = self.folder / "root" / "etc" / "systemd" / "system" / f"{template}{'@' if instance else ''}.service"
        unit, stack = Unit(file, self.folder, instance), ExitStack()
        self._supervisor.forget()
        extra = {"SHOAL_API__PORT": "0"}
        self._units[name] = stack.enter_context(running(unit, self._cluster, self._supervisor, extra)), stack
        await eventually(lambda: "READY=1" in self._supervisor.heard(), within_s=60)

    async def _reload(self, name: str) -> None:
        process, _ = self._units[name]
        process.send(signal.SIGHUP)
        await eventually(lambda: '"files_read_again"' in process.log_tail(1000))

    async def _stop(self, name: str) -> None:
        process, stack = self._units.pop(name)
        process.send(signal.SIGTERM)
        await eventually(lambda: not process.running, within_s=60)
        assert process.exit_code == 0, process.log_tail()
        stack.close()


@pytest.fixture
def machine(cluster: Cluster, postgres_server: PostgresServer) -> Iterator[Machine]:
    """A machine with the database of the page's first block."""
    name = f"production_{secrets.token_hex(4)}"
    with postgres_server.connect() as by_hand, notify_socket(cluster.folder / "notify") as supervisor:
        by_hand.autocommit = True
        for statement in SQL[0].replace("shoal", name).split(";")[:2]:
            by_hand.execute(statement)
        made = Machine(cluster, name, supervisor)
        try:
            yield made
        finally:
            made.close()
            by_hand.execute(f"DROP DATABASE {name} WITH (FORCE)")
            by_hand.execute(f"DROP ROLE {name}")
            by_hand.execute(f"DROP ROLE IF EXISTS {name}_2")


def test_what_installs_the_program_names_files_of_a_release() -> None:
    installs = [line for line in LINES if line.startswith(INSTALL)]
    assert [line.split()[0] for line in installs] == [
        "tar",
        "python3",
        f"/opt/shoal-{shoal_version()}/bin/pip",
        f"/opt/shoal-{shoal_version()}/bin/pip",
        "ln",
    ]
    assert installs[0] == f"tar -xf {RELEASE}.tar.gz"
    assert installs[2].endswith(f" -r {RELEASE}/requirements.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contained = project["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert {"requirements.lock", "deploy"} <= set(contained)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("systemd-sysusers") is None, reason="as root, with systemd")
async def test_the_lines_of_the_page_install_back_up_restore_and_upgrade(
    machine: Machine, postgres_server: PostgresServer
) -> None:
    name = str(make_url(machine.url).database)
    for line in LINES:
        if line.startswith(INSTALL):
            continue
        if line.startswith(EDIT):
            _edit(machine)
        elif line.startswith("pg_restore "):  # into an empty database
            with postgres_server.connect() as by_hand:
                by_hand.autocommit = True
                by_hand.execute(f"DROP DATABASE {name} WITH (FORCE)")
                by_hand.execute(f"CREATE DATABASE {name} OWNER {name} ENCODING 'UTF8' TEMPLATE template0")
            await machine.type(line)
        else:
            await machine.type(line)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (machine.folder / "etc").iterdir()}
    assert modes == {"shoal.toml": 0o644, "database-password": 0o640, "worker.env": 0o600}
    await machine.type(f"{PROGRAM} workflow apply examples/hello.yaml")
    await machine.type(f"{PROGRAM} run hello --wait --timeout 60s")
    with postgres_server.connect() as by_hand:
        by_hand.autocommit = True
        by_hand.execute(SQL[1].replace("shoal", name))
        machine.give_the_workers("another-secret", f"{name}_2")
        for word in ("worker drain", "systemctl restart shoal-worker", "worker undrain"):
            await machine.type(next(line for line in LINES if word in line))
        by_hand.execute(f"ALTER ROLE {name} PASSWORD 'a-new-secret'")
        (machine.folder / "etc" / "database-password").write_text("a-new-secret\n")
        by_hand.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        await machine.type(f"{PROGRAM} run hello --wait --timeout 60s")


def _edit(machine: Machine) -> None:
    file = machine.folder / "etc" / "shoal.toml"
    text, count = re.subn(r'(?m)^database_url = ".*"$', f'database_url = "{machine.url}"', file.read_text())
    assert count == 1
    file.write_text(f'log_format = "json"\n{text}')


def test_the_password_is_written_as_systemd_reads_it(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("systemd-sysusers") is None:
        pytest.skip("as root, with systemd")
    command, environment = [str(ROOT / "deploy" / "systemd" / "install")], {**os.environ, "DESTDIR": str(tmp_path)}
    none = subprocess.run(command, env=environment, input="", capture_output=True, text=True, check=False)
    assert (none.returncode, "there is no password on standard input" in none.stderr) == (1, True)
    for given in ('a "q\\ $x', "another"):  # what is there stays
        subprocess.run(command, env=environment, input=f"{given}\n", check=True, text=True, capture_output=True)
        assert (tmp_path / "etc/shoal/database-password").read_text() == 'a "q\\ $x\n'
        assert (tmp_path / "etc/shoal/worker.env").read_text() == 'SHOAL_DATABASE_PASSWORD="a \\"q\\\\ $x"\n'
