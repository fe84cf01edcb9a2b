"""Shared by the tests of the embedded PostgreSQL: own one, query it, look at its processes and folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
from sqlalchemy import make_url

from shoal.embedded import account, locks
from shoal.embedded.leftover import living_postmaster

REPO = Path(__file__).parents[2]
NOBODY_UID = 65534

OWNER = """
import asyncio, sys
from pathlib import Path
from shoal.embedded.server import EmbeddedPostgres
async def main():
    server = EmbeddedPostgres(Path(sys.argv[1]))
    print(await server.start(), flush=True)
    await (asyncio.sleep(3600) if sys.argv[2] == "stay" else server.stop())
asyncio.run(main())
"""


def copy_database(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    account.give_to(target / "postgres/data", account.of_server())


def connect(url: str) -> psycopg.Connection:
    """Connect by the parts that SQLAlchemy reads from the URL, as Shoal does."""
    parsed = make_url(url)
    return psycopg.connect(
        host=str(parsed.query["host"]), user=parsed.username, password=parsed.password, dbname=parsed.database
    )


def ask(url: str, sql: str) -> object:
    with connect(url) as connection:
        row = connection.execute(sql.encode()).fetchone()
        return row[0] if row else None


def tell(url: str, sql: str) -> None:
    with connect(url) as connection:
        connection.execute(sql.encode())


def processes_in(folder: Path) -> list[psutil.Process]:
    """The server and its children, as long as the server lives."""
    server = living_postmaster(folder / "postgres/data")
    return [server, *server.children(recursive=True)] if server else []


def users_of(processes: list[psutil.Process]) -> set[int]:
    """Their users; one that has ended meanwhile, such as that of an autovacuum, has none."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.add(process.uids().effective)
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """The processes that did not end; zombies have ended."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def is_free(folder: Path) -> bool:
    """No process holds the server's lock."""
    held = locks.take(folder / "postgres/server.lock")
    if held is not None:
        os.close(held)
    return held is not None


def eventually(holds: Callable[[], object], what: str, within_s: float = 5) -> None:
    limit = time.monotonic() + within_s
    while not (value := holds()):
        assert time.monotonic() < limit, f"after {within_s} s it is not so that {what}: {value!r}"
        time.sleep(0.02)


def start_owner(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that owns the database in `folder`, and the URL."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, folder, "stay"], cwd=REPO, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    url = owner.stdout.readline().strip()
    assert url.startswith("postgresql+psycopg://"), f"the owner did not start: {url}"
    return owner, url


def modes(paths: list[Path]) -> dict[Path, tuple[int, int, int]]:
    return {path: ((s := path.stat()).st_mode, s.st_uid, s.st_gid) for path in paths}
