"""The servers of the tests leave nothing behind, however the process that started them ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

_STARTER = """
import os, sys
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer
servers = PostgresServer(), ZooKeeperServer(), MariadbServer()
print(*(server._child.pid for server in servers), *(server._folder.path for server in servers), flush=True)
sys.stdin.read()
"""


def _ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_servers_and_folders_go_when_their_process_is_killed() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    postgres, zookeeper, mariadb, *folders = starter.stdout.readline().split()
    backends = psutil.Process(int(postgres)).children(recursive=True)
    assert len(backends) > 3
    pids = [int(postgres), int(zookeeper), int(mariadb), *(backend.pid for backend in backends)]
    starter.kill()
    starter.communicate()
    await eventually(lambda: all(map(_ended, pids)), within_s=5)
    await eventually(lambda: not any(Path(folder).exists() for folder in folders), within_s=5)


def test_a_killed_postgres_starts_again_and_keeps_what_was_committed() -> None:
    with PostgresServer() as server:
        server.create_database("shop")
        with server.connect("shop") as connection:
            connection.execute("CREATE TABLE sold (id int)")
            connection.execute("INSERT INTO sold VALUES (1)")
        server.kill()
        assert not server.serves()
        server.start()
        with server.connect("shop") as connection:
            assert connection.execute("SELECT id FROM sold").fetchall() == [(1,)]


def test_databases_are_made_and_dropped_after_whatever_ended_the_connection_for_it() -> None:
    with PostgresServer() as server:
        server.create_database("first")
        with server.connect() as connection:
            others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
        server.drop_database("first")
        server.restart("smart")
        server.create_database("second")
        server.kill()
        server.start()
        server.drop_database("second")
        with psycopg.connect(server.url().replace("+psycopg", "")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url().replace("+psycopg", "").replace(server.password, "wrong"))
