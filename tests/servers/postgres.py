"""One PostgreSQL server of our own: private folder, port and socket, an unprivileged user when we are root.

It keeps what it promises: fsync is on unless asked otherwise. Over TCP it wants a password, so that tests meet one;
over the socket, which lies in the private folder, it trusts.

Databases are created and dropped on one connection that is kept: to connect takes a third of that work.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

from tests.servers.child import Child, PrivateFolder, ServerFailed, as_user, free_port

_OLDEST = 15
_USER = "shoal"
_STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
StopMode = Literal["smart", "fast", "immediate"]


def binaries() -> Path:
    """The folder of the newest PostgreSQL server programs (15 or newer). Raises `ServerFailed`."""
    found = {int(folder.parent.name): folder for folder in Path("/usr/lib/postgresql").glob("[0-9]*/bin")}
    on_path = shutil.which("postgres")
    if found and max(found) >= _OLDEST:
        return found[max(found)]
    if on_path is not None:
        return Path(on_path).resolve().parent
    raise ServerFailed(f"there is no PostgreSQL {_OLDEST} or newer on this machine; run tests/servers/install")


class PostgresServer:
    """Starts on construction. Use it as a context or `close` it.

    Args:
        fsync: whether commits wait for the disk.
        settings: further lines of postgresql.conf, name -> value.
        on_disk: whether its folder lies on the disk, also if there is room in memory.
        primary: it is the standby of this one, which does not wait for it, until it is promoted.
    """

    def __init__(
        self,
        *,
        fsync: bool = True,
        settings: dict[str, str] | None = None,
        on_disk: bool = False,
        primary: PostgresServer | None = None,
    ) -> None:
        self.port = free_port()
        self.password: str = primary.password if primary else secrets.token_urlsafe(12)
        self._bin = binaries()
        self._user = unprivileged_user()
        self._folder = PrivateFolder("shoal-pg-", owner=self._user, on_disk=on_disk)
        self._data = self._folder.path / "data"
        self._child: Child | None = None
        self._kept: psycopg.Connection[tuple[object, ...]] | None = None
        try:
            if primary is None:
                self._initialise()
            else:
                self._copy(primary)
            self._configure({"fsync": "on" if fsync else "off", **(settings or {})})
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str = "postgres") -> str:
        """A database's URL over TCP, password included, in SQLAlchemy's form."""
        return f"postgresql+psycopg://{_USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def socket_url(self, database: str = "postgres") -> str:
        """A database's URL over the private socket, without password."""
        return f"postgresql+psycopg://{_USER}@/{database}?host={self._folder.path}&port={self.port}"

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database, as a copy of `template` if given (which must have no connections), and return its URL."""
        statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template is not None:
            # File by file: writing every page to the log as well is for templates larger than ours.
            statement += sql.SQL(" TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(template))
        self._administer(statement)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, disconnecting its clients."""
        self._administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """An ordinary connection over the socket, in autocommit, as the superuser."""
        return psycopg.connect(
            host=str(self._folder.path),
            port=self.port,
            user=_USER,
            dbname=database,
            autocommit=True,
            connect_timeout=30,
        )

    def start(self, timeout_s: float = 120) -> None:
        """Start the server, unless it runs, and wait until it serves. Raises `ServerFailed`."""
        if self._child is None or not self._child.running:
            self._child = Child.of(
                [str(self._bin / "postgres"), "-D", str(self._data)],
                cwd=self._folder.path,
                log=self._folder.path / "log",
                death_signal=signal.SIGQUIT,  # the immediate stop: it still frees its shared memory
                user=self._user,
            )
        self._child.wait_until(self.serves, timeout_s)

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server as `pg_ctl stop -m` would; "immediate" is a crash. Nothing to do if it is not running."""
        self._let_go()
        if self._child is not None:
            self._child.end(_STOP_SIGNALS[mode], timeout_s=60)
            self._child = None

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop, start and wait until it serves again, on the same port."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """End all its processes by SIGKILL, as a power cut would."""
        self._let_go()
        if self._child is None:
            return
        self._child.kill()
        self._child = None
        self._free_shared_memory()

    def pause(self) -> None:
        """Stop answering without closing connections, as a server cut off by the network does."""
        assert self._child is not None
        self._child.pause()

    def resume(self) -> None:
        """Go on after `pause`; nothing to do if it runs."""
        if self._child is not None:
            self._child.resume()

    def close(self) -> None:
        """Leave nothing behind: no process, no folder, no shared memory."""
        with contextlib.suppress(ServerFailed):
            self.stop("immediate")
        self._folder.close()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the server's log."""
        return "\n".join((self._folder.path / "log").read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _administer(self, statement: sql.Composed) -> None:
        """Execute it on the connection that is kept, or on a new one if a test has ended that."""
        if self._kept is not None and not self._kept.closed:
            try:
                self._kept.execute(statement)
            except psycopg.OperationalError:
                if not self._kept.closed:
                    raise
            else:
                return
        self._kept = self.connect()
        self._kept.execute(statement)

    def _let_go(self) -> None:
        """Close the connection that is kept: a smart stop would wait for it."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def promote(self) -> None:
        """Make a primary of a standby, which then has what it has received."""
        with self.connect() as connection:
            connection.execute("SELECT pg_promote()")

    def part_from_primary(self) -> None:
        """Receive nothing more from the primary, as a standby."""
        with self.connect() as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")

    def _copy(self, primary: PostgresServer) -> None:
        where = [f"--host={primary._folder.path}", f"--port={primary.port}", f"--username={_USER}"]
        self._run_program(
            "pg_basebackup",
            *where,
            f"--pgdata={self._data}",
            "--write-recovery-conf",
            *("--checkpoint=fast", "--no-sync"),
        )

    def _run_program(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [*as_user(self._user), "--", str(self._bin / name), *arguments],
            cwd=self._folder.path,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServerFailed(f"{name} failed with {done.returncode}: {done.stdout}{done.stderr}")

    def _initialise(self) -> None:
        password_file = self._folder.path / "password"
        password_file.write_text(secret_of(self.password))
        if self._user is not None:
            os.chown(password_file, self._user.pw_uid, self._user.pw_gid)
        self._run_program(
            *("initdb", "-D", str(self._data), "-U", _USER),
            *("--pwfile", str(password_file), "--auth-local=trust", "--auth-host=scram-sha-256"),
            *("--encoding=UTF8", "--locale=C", "--no-sync"),
        )
        password_file.unlink()

    def _configure(self, settings: dict[str, str]) -> None:
        lines = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self._folder.path),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "shared_buffers": "64MB",
            "dynamic_shared_memory_type": "mmap",  # in the private folder, so that nothing stays behind in /dev/shm
            "client_connection_check_interval": "1s",
            **settings,
        }
        with (self._data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def serves(self) -> bool:
        """Whether it answers now."""
        try:
            with self.connect() as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _free_shared_memory(self) -> None:
        """Remove the one small System V segment that a killed server leaves; its id stands in postmaster.pid."""
        with contextlib.suppress(OSError):
            match = re.search(r"^ *\d+ +(\d+) *$", (self._data / "postmaster.pid").read_text(), re.MULTILINE)
            if match:
                subprocess.run(["ipcrm", "-m", match[1]], check=False, capture_output=True)


def secret_of(password: str) -> str:
    """The stored form of a password, with 1 iteration in place of 4096.

    Those cost each connection of a test 6 ms of processor time, and are no safer for a server that lives for minutes.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256$1:{b64encode(salt).decode()}${b64encode(client).decode()}:{b64encode(server).decode()}"


def unprivileged_user() -> pwd.struct_passwd | None:
    """The user to run as, since PostgreSQL refuses root. None: ourselves."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")
