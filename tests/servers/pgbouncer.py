"""One PgBouncer of our own before a PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from typing import Literal

from sqlalchemy import make_url

from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port
from tests.servers.postgres import PostgresServer, unprivileged_user


class PgBouncer:
    """Starts on construction. Use it as a context or `close` it.

    Args:
        server: whose databases it offers, to the server's own user.
        pool_mode: how long a client keeps its session.
        ignores: startup parameters that it drops; a client that sends others is refused.
    """

    def __init__(
        self, server: PostgresServer, pool_mode: Literal["session", "transaction", "statement"], ignores: str = ""
    ) -> None:
        self.port = free_port()
        user, url = unprivileged_user(), make_url(server.url())
        self._folder = PrivateFolder("shoal-pgbouncer-", owner=user)
        self._ini = self._folder.path / "ini"
        folder = self._folder.path
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        try:
            if program is None:
                raise ServerFailed("there is no pgbouncer on this machine; run tests/servers/install")
            (folder / "users").write_text(f'"{url.username}" "{url.password}"\n')
            self._ini.write_text(
                f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = scram-sha-256\n"
                f"auth_file = {folder / 'users'}\npool_mode = {pool_mode}\nignore_startup_parameters = {ignores}\n"
                "default_pool_size = 50\n"
            )
            self._child = Child.of([program, str(self._ini)], cwd=folder, log=folder / "log", user=user)
        except BaseException:
            self._folder.close()
            raise
        try:
            self._child.wait_until(self._listens, 30)
        except BaseException:
            self.close()
            raise

    def url(self, database_url: str) -> str:
        """The URL of a database of the server, through this."""
        return make_url(database_url).set(port=self.port).render_as_string(hide_password=False)

    def change(self, *lines: str) -> None:
        """Add these lines to its configuration, of which the last one counts, and have it read again."""
        with self._ini.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self._child.send(signal.SIGHUP)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Leave nothing behind."""
        self._child.end(signal.SIGTERM, timeout_s=10)
        self._folder.close()

    def __enter__(self) -> PgBouncer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
