"""One MariaDB server of our own: private folder, port and socket, an unprivileged user when we are root.

Its one user, `shoal`, wants a password.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from pathlib import Path

import pymysql

from tests.servers.child import Child, PrivateFolder, ServerFailed, as_user, free_port

_USER = "shoal"
_PROGRAM = Path("/usr/sbin/mariadbd")
"""Not on the path of an ordinary user."""


class MariadbServer:
    """Starts on construction. Use it as a context or `close` it."""

    def __init__(self) -> None:
        if shutil.which("mariadbd") is None and not _PROGRAM.exists():
            raise ServerFailed("there is no MariaDB on this machine; run tests/servers/install")
        self.port = free_port()
        self.password = secrets.token_urlsafe(12)
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._folder = PrivateFolder("shoal-mariadb-", owner=self._user)
        self._child: Child | None = None
        try:
            self._initialise()
            self._start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str) -> str:
        """A database's URL over TCP, password included."""
        return f"mysql://{_USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str | None = None) -> pymysql.Connection[pymysql.cursors.Cursor]:
        """An ordinary connection in autocommit, as the superuser."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=_USER,
            password=self.password,
            database=database,
            autocommit=True,
            connect_timeout=5,
        )

    def create_database(self, name: str) -> str:
        """Create an empty database and return its URL."""
        self.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database."""
        self.execute(f"DROP DATABASE IF EXISTS `{name}`")

    def execute(self, statement: str, database: str | None = None) -> tuple[tuple[object, ...], ...]:
        """Run one statement; its rows."""
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchall())

    def serves(self) -> bool:
        """Whether it answers now."""
        try:
            self.execute("SELECT 1")
        except pymysql.MySQLError:
            return False
        return True

    def close(self) -> None:
        """Leave nothing behind: neither process nor folder."""
        if self._child is not None:
            self._child.kill()
            self._child = None
        self._folder.close()

    def __enter__(self) -> MariadbServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _initialise(self) -> None:
        done = subprocess.run(
            [
                *as_user(self._user),
                *("--", "mariadb-install-db", "--no-defaults", f"--datadir={self._folder.path / 'data'}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
            ],
            cwd=self._folder.path,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServerFailed(f"mariadb-install-db failed with {done.returncode}: {done.stdout}{done.stderr}")

    def _start(self, timeout_s: float = 60) -> None:
        folder = self._folder.path
        first = folder / "first.sql"
        first.touch(mode=0o600)
        first.write_text(
            f"CREATE USER '{_USER}'@'127.0.0.1' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO '{_USER}'@'127.0.0.1' WITH GRANT OPTION;\nDROP USER 'root'@'localhost';\n"
        )
        if self._user is not None:
            os.chown(first, self._user.pw_uid, self._user.pw_gid)
        self._child = Child.of(
            [
                *(shutil.which("mariadbd") or str(_PROGRAM), "--no-defaults", f"--datadir={folder / 'data'}"),
                *(f"--socket={folder / 'socket'}", f"--port={self.port}", "--bind-address=127.0.0.1"),
                *(f"--pid-file={folder / 'pid'}", f"--init-file={first}", f"--tmpdir={folder}"),
                *("--skip-name-resolve", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M"),
                "--innodb-flush-log-at-trx-commit=0",
            ],
            cwd=folder,
            log=folder / "log",
            death_signal=signal.SIGKILL,
            user=self._user,
        )
        self._child.wait_until(self.serves, timeout_s)
