"""The certificates with which connections are made may be replaced, on a server that lets nobody in without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from dao.postgres.address import Address
from dao.postgres.connection import Connection
from dao.secrets.kept import read_all_again
from tests.cluster.tls import certificate
from tests.servers.postgres import PostgresServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """It trusts the two certificates of `tmp_path`, and is known by the first one."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        certificate(tmp_path / name, name)
    texts = [(tmp_path / name / "server.pem").read_text() for name in ("first", "second")]
    with PostgresServer(fsync=False) as made, made.connect() as connection:
        [folder] = connection.execute("SHOW data_directory").fetchone() or ()
        hba = ["local all all trust", "hostssl all all 127.0.0.1/32 cert map=any"]
        for name, text in {
            "pg_hba.conf": "\n".join(hba),
            "pg_ident.conf": "any first shoal\nany second shoal",
            "server.pem": texts[0],
            "trusted.pem": "".join(text[text.index("-----BEGIN CERT") :] for text in texts),
        }.items():
            program = f"umask 077; cat > {folder}/{name}"
            lines = sql.SQL("COPY (SELECT unnest({}::text[])) TO PROGRAM {}")
            connection.execute(lines.format(text.splitlines(), program))
        for name in ("ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.pem'", "ssl_ca_file = 'trusted.pem'"):
            connection.execute(sql.SQL("ALTER SYSTEM SET " + name))
        connection.execute("ALTER SYSTEM SET ssl = on")
        connection.execute("SELECT pg_reload_conf()")
        yield made


async def connects(address: Address) -> bool:
    try:
        made = await Connection.connect_within(address, {}, application_name="shoal-test", answer_within_s=10)
    except psycopg.OperationalError:
        return False
    assert made.pgconn.ssl_in_use
    await made.close()
    return True


async def test_a_new_certificate_is_used_and_a_wrong_one_is_not(server: PostgresServer, tmp_path: Path) -> None:
    own = tmp_path / "client.pem"
    own.touch(0o600)
    own.write_text((tmp_path / "first" / "server.pem").read_text())
    of_server = tmp_path / "first" / "server.pem"
    url = f"{server.url()}?sslmode=verify-ca&sslcert={own}&sslkey={own}&sslrootcert={of_server}"
    address = Address.of(url)
    assert await connects(address)
    own.write_text("no certificate")
    read_all_again()
    assert await connects(address), "the former one stays in use"
    own.write_text((tmp_path / "second" / "server.pem").read_text())
    read_all_again()
    assert await connects(address)
    certificate(tmp_path / "second", "second")
    own.write_text((tmp_path / "second" / "server.pem").read_text())
    assert not await connects(address), "the server does not know this one"


async def test_a_file_that_is_not_there_is_said_by_libpq(server: PostgresServer, tmp_path: Path) -> None:
    url = f"{server.url()}?sslmode=require&sslcert={tmp_path / 'nix.pem'}&sslkey={tmp_path / 'nix.pem'}"
    assert not await connects(Address.of(url))
