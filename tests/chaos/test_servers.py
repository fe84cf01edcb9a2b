"""The proxy and the ensemble do what the chaos relies on."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from tests.chaos.ensemble import Ensemble
from tests.chaos.proxy import Gate, Proxies
from tests.eventually import eventually


@pytest.fixture
def proxies() -> Iterator[Proxies]:
    with Proxies() as made:
        yield made


@pytest.fixture
def gate(proxies: Proxies, database_url: str) -> Gate:
    return proxies.gate(int(make_url(database_url).port or 0))


def _connect(gate: Gate, database_url: str) -> psycopg.Connection[tuple[object, ...]]:
    url = make_url(database_url).set(drivername="postgresql", port=gate.port)
    return psycopg.connect(url.render_as_string(hide_password=False), connect_timeout=3)


def test_an_open_gate_passes_and_a_slow_one_delays(gate: Gate, database_url: str) -> None:
    with _connect(gate, database_url) as connection:
        gate.delay(0.2)
        began = time.monotonic()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert time.monotonic() - began >= 0.4
        gate.open()


def test_a_dropped_connection_is_gone_and_the_next_one_works(gate: Gate, database_url: str) -> None:
    with _connect(gate, database_url) as connection:
        connection.execute("SELECT 1")
        assert gate.drop() == 1
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    gate.refuse()
    with pytest.raises(psycopg.OperationalError):
        _connect(gate, database_url)
    gate.open()
    with _connect(gate, database_url) as connection:
        connection.execute("SELECT 1")


@pytest.mark.parametrize("gently", [True, False])
def test_who_waits_for_an_answer_hears_that_the_server_is_gone(proxies: Proxies, gently: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gate = proxies.gate(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", gate.port), timeout=5) as near:
            near.sendall(b"hello")
            far, _ = server.accept()
            if not gently:
                far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01" + bytes(7))
            assert far.recv(5) == b"hello"
            far.close()
            try:
                assert near.recv(1) == b""
            except ConnectionResetError:
                assert not gently


def test_what_is_held_arrives_when_the_hold_ends(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gate = proxies.gate(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", gate.port)) as near:
            far, _ = server.accept()
            gate.hold()
            near.sendall(b"hello")
            far.settimeout(0.3)
            with pytest.raises(TimeoutError):
                far.recv(5)
            gate.open()
            far.settimeout(5)
            assert far.recv(5) == b"hello"
            far.close()


@pytest.mark.parametrize("late_s", [0.0, 1.0])
async def test_a_lost_commit_is_committed_though_its_client_saw_it_fail(
    gate: Gate, database_url: str, late_s: float
) -> None:
    with _connect(gate, database_url) as connection:
        connection.execute("CREATE TABLE mark (id int)")
        connection.commit()
        gate.lose_commits(1, late_s)
        connection.execute("INSERT INTO mark VALUES (1)")
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
    assert gate.commits_to_lose == 0

    def marks() -> int:
        with _connect(gate, database_url) as other:
            return len(other.execute("SELECT id FROM mark").fetchall())

    assert marks() == 0 or not late_s
    await eventually(marks, until=1)


@pytest.mark.slow
def test_an_ensemble_without_its_leader_chooses_another() -> None:
    with Ensemble() as ensemble:
        first = ensemble.leader()
        assert first is not None
        first.kill()
        asyncio.run(eventually(lambda: ensemble.leader(), within_s=20))
        first.start()
        ensemble.wait_ready()
