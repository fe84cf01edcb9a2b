"""Each part of a database URL reaches each connection, in whichever form it is written, and no secret is shown."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from dao.checks import server_checks
from dao.postgres.address import Address
from dao.postgres.database import Database, connect
from dao.postgres.query_line import QueryLine
from dao.postgres.sql import Sql
from model.errors import Refused, ShoalError
from registry.belonging import place_of
from shoal.psql import psql_environment
from tests.cluster.cluster import PATIENT, Cluster
from tests.every import every
from tests.servers.child import free_port
from tests.servers.postgres import PostgresServer, binaries
from tests.shoal.command_line import CommandLine

ODD = "p@ss w'\\%/?#&=+é*"
MANY = {"host": "a,b", "port": "1,2"}


def of(url: str) -> dict[str, str]:
    return dict(Address.of(url).arguments)


@every(
    ("url", "expected"),
    [
        ("postgresql+psycopg://u:p%40ss%20w@h/My%20db", {"password": "p@ss w", "dbname": "My db", "host": "h"}),
        ("postgresql://u@/d?host=a:1&host=b:2", MANY),
        ("postgresql://u@/d?host=a,b&port=1,2", MANY),
        ("postgresql://u@/d?host=a:1,b:2", MANY),
        ("postgresql://u@a:1,b:2/d", MANY),
        ("postgresql://u:s,e/c@a:1,b:2", {**MANY, "password": "s,e/c"}),
        ("postgresql://a,[::1]:7?user=u", {"user": "u", "host": "a,::1", "port": ",7"}),
        ("postgresql://[::1]:7/d", {"host": "::1", "port": "7"}),
        ("postgresql://u@/d?host=::1", {"host": "::1"}),
        ("postgresql://u@%2Frun%2Fpg/d", {"host": "/run/pg"}),
        ("postgres://u@:7/d?host=/run/a:b", {"host": "/run/a:b", "port": "7"}),
        ("postgresql://h/d?ssl=true", {"sslmode": "require"}),
        ("postgresql://h/d?sslmode=verify-full&keepalives_idle=9", {"sslmode": "verify-full", "keepalives_idle": "9"}),
        ("postgresql://a,b/d", {"target_session_attrs": "read-write"}),
        ("postgresql://a,b/d?target_session_attrs=any", {"target_session_attrs": "any"}),
        (" postgresql://h/d\n", {"dbname": "d"}),
    ],
)
def test_a_url_is_read_in_every_form(url: str, expected: dict[str, str]) -> None:
    assert expected.items() <= of(url).items()


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("-csearch_path=shoal", {"search_path": "shoal"}),
        ("-c a.b=1\\ 2 --work-mem=3", {"a.b": "1 2", "work_mem": "3"}),
    ],
)
def test_options_are_settings_of_the_session(options: str, settings: dict[str, str]) -> None:
    assert Address.of(f"postgresql://h/d?options={quote(options)}").settings == settings


@every(
    ("url", "sentence"),
    [
        ("", "cannot be read"),
        ("postgresql://u:s3cret@h:x/d", "cannot be read"),
        ("postgresql://u:s3cret@h1:x,h2:y/d", "write host:port"),
        ("postgresql://u:s3cret@h:99999/d", "not a number from 1 to 65535"),
        ("postgresql://u:s3cret@x@h/d", "an @ too many"),
        ("mysql://u:s3cret@h/d", "begins with mysql://"),
        ("postgresql://u:s3cret@h/d?sslmod=require", "'sslmod', which libpq does not know; did you mean sslmode?"),
        ("postgresql://u:s3cret@/d?host=a:1&port=2", "ports with its hosts and apart"),
        ("postgresql://u:s3cret@/d?host=a,b&port=1,2,3", "3 ports for 2 hosts"),
        ("postgresql://u:s3cret@h/d?user=a&user=b", "user twice"),
        ("postgresql://u:s3cret%00@h/d", "the password of the database URL has a character"),
        ("postgresql://u:s3cret\udcff@h/d", "the password of the database URL has a character"),
        ("postgresql://u:s3cret@h/d?connect_timeout=soon", "connect_timeout of the database URL is not a whole number"),
        ("postgresql://u:s3cret@h/d?target_session_attrs=standby", "needs one that accepts writes"),
        ("postgresql://u:s3cret@h/d?options=-fs", "write each as -c name=value"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_in_a_sentence_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence.replace("?", r"\?")) as refused:
        Address.of(url)
    assert "s3cret" not in str(refused.value)


def test_no_secret_is_shown_and_no_user_recorded() -> None:
    url = "postgresql://anna:s3cret@h/d?sslpassword=s3cret&passfile=/s3cret&sslmode=require"
    assert Address.of(url).shown.count("***") == 3
    place = place_of(url, "postgresql://x/y")
    assert "s3cret" not in Address.of(url).shown + place + repr(Address.of(url))
    assert "anna" not in place
    assert place_of("postgresql://h/d?user=a&password=b", "postgres://c:d@h/d") == "database"


@given(password=st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1))
def test_what_other_clients_are_given_means_the_same_to_libpq(password: str) -> None:
    written = quote(password, safe="")
    found = Address.of(f"postgresql://ada:{written}@a:1,b:2/My%20db?options=-csearch_path%3Dx%2Cy")
    assert conninfo_to_dict(found.url()) == found.arguments
    assert found.arguments["password"] == password


@pytest.fixture
def odd_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Of a database whose name, user and password have characters that every syntax quotes in its own way."""
    name, user = "My odd 'db'", "an na"
    postgres_server.create_database(name, template="shoal_template")
    with postgres_server.connect() as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(sql.Identifier(user), sql.Literal(ODD))
        )
        whole = f"{quote(user)}:{quote(ODD, safe='')}@127.0.0.1:{postgres_server.port}/{quote(name)}"
        yield f"postgresql+psycopg://{whole}"
        postgres_server.drop_database(name)
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(user)))


async def users(url: str, statement: str) -> dict[str, str]:
    """What the statement gives on the connection of each kind of user."""
    database, line = Database(url, application_name="shoal-test"), QueryLine(url, "shoal-test", 5)
    try:
        async with database.reading() as reading:
            found = {"pool": (await reading.execute(Sql(statement))).scalar_one()}
        async with await connect(url, "shoal-test") as connection:
            row = await (await connection.execute(statement.encode())).fetchone()
            assert row is not None
            found["listen"] = row[0]
        found["line"] = (await line.ask(statement))[0][0]  # type: ignore[arg-type]
        await server_checks.dangers(database)
    finally:
        await database.close()
        await line.close()
    psql = psql_environment(url, os.environ)
    file = psql.get("PGSERVICEFILE", "").rpartition("/")[2]
    done = await asyncio.to_thread(
        subprocess.run,
        ["psql", "-XAtc", statement],
        env=psql,
        pass_fds=[int(file)] if file else [],
        capture_output=True,
        check=True,
    )
    found["psql"] = done.stdout.decode().strip()
    return found


async def test_each_connection_has_all_of_the_url(odd_url: str) -> None:
    url = f"{odd_url}?options=-csearch_path%3Dpg_temp%20-cwork_mem%3D123kB&keepalives_idle=9&sslmode=disable"
    found = await users(url, "SELECT current_user || '|' || current_database() || '|' || current_setting('work_mem')")
    assert set(found.values()) == {"an na|My odd 'db'|123kB"}


def test_pg_dump_takes_what_db_url_prints(odd_url: str) -> None:
    done = subprocess.run([binaries() / "pg_dump", "-s", Address.of(odd_url).url()], capture_output=True, check=True)
    assert b"CREATE TABLE" in done.stdout


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


FORMS = [
    "{user}@{first},{last}/{name}",
    "{user}@/{name}?host={first}&host={last}",
    "{user}@/{name}?host=127.0.0.1,127.0.0.1&port={ports}",
]


@pytest.mark.parametrize("form", FORMS)
async def test_a_silent_host_yields_to_the_next(form: str, silent: int, database_url: str) -> None:
    url = make_url(database_url)
    first, last = (f"127.0.0.1:{port}" for port in (silent, url.port))
    several = "postgresql+psycopg://" + form.format(
        user=f"{url.username}:{url.password}",
        first=first,
        last=last,
        name=url.database,
        ports=f"{silent},{url.port}",
    )
    line = QueryLine(several, "shoal-test", 4)
    assert await line.ask("SELECT 1") == [(1,)]
    await line.close()
    database = Database(several, application_name="shoal-test")
    async with database.reading() as connection:
        assert (await connection.execute(Sql("SELECT 2"))).scalar_one() == 2
    await database.close()
    with pytest.raises(ShoalError) as kept:
        await connect(several.replace(str(url.port), str(free_port())), "shoal-test", 1)
    assert "no connection to 127.0.0.1 within" in str(kept.value)
    assert "refused" in str(kept.value)
    assert str(url.password) not in str(kept.value)


async def test_of_several_hosts_the_one_that_takes_writes_is_chosen(database_url: str) -> None:
    url = make_url(database_url)
    with PostgresServer(fsync=False, settings={"default_transaction_read_only": "on"}) as other:
        with other.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(url.username), sql.Literal(url.password))
            )
        several = database_url.replace(f":{url.port}/", f":{other.port},127.0.0.1:{url.port}/")
        several = several.replace(f"/{url.database}", "/postgres")
        found = await users(several, "SELECT current_setting('port')")
    assert set(found.values()) == {str(url.port)}


async def test_nodes_join_and_verbs_work_by_several_hosts_and_odd_names(
    odd_url: str, silent: int, tmp_path: Path
) -> None:
    before, _, where = odd_url.partition("@")
    host, _, name = where.partition("/")
    several = f"{before}@/{name}?host=127.0.0.1:{silent}&host={host}&options=-csearch_path%3Dpublic"
    with Cluster(several, several, tmp_path, PATIENT) as cluster:
        node = await cluster.master()
        answer = await CommandLine.at(several)("db", "check")
        assert answer.code == 0, answer.err
        assert "an%20na:***@" in answer.out
        assert "p@ss" not in node.log.read_text() + answer.out
