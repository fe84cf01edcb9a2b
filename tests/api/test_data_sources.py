"""Data sources, environments and keys over the API: nothing secret is ever answered, and no inner host is probed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from sqlalchemy import make_url

from dao.postgres.sql import Sql
from dao.secrets.vault import new_key
from model.accounts.rights import Role, Scope
from service.cluster.reach import may_reach
from tests.api.people import member
from tests.api.serving import BASE, Serving, serving, token_of
from tests.every import every
from tests.shoal.command_line import CommandLine

PASSWORD = "hunter22"

SENTENCE = "is saved with plain line ends"


@pytest.fixture
async def api(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serving]:
    """An API with a key that may connect to one inside address."""
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", new_key())
    monkeypatch.setenv("SHOAL_API__REACH", "127.0.0.1, 10.1.0.0/16")
    async with serving(database_url) as running:
        yield running


async def test_a_data_source_is_saved_tested_and_deleted_and_its_password_never_shown(
    api: Serving, database_url: str
) -> None:
    url = make_url(database_url).set(drivername="postgresql")
    whole = url.render_as_string(hide_password=False)
    wrong = url.set(password=PASSWORD).render_as_string(hide_password=False)
    told = []
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        tried = await client.post(f"{BASE}/data-sources:test", json={"url": whole})
        assert tried.json() == {"answers": True, "is_reached": True, "dialect": "postgresql"}
        saved = await client.put(f"{BASE}/data-sources/shop", json={"url": whole})
        assert (saved.status_code, saved.json()["name"]) == (200, "shop"), saved.text
        answers = await client.post(f"{BASE}/data-sources/shop:test")
        assert answers.json()["answers"]
        replaced = await client.put(f"{BASE}/data-sources/shop", json={"url": wrong})
        denied = await client.post(f"{BASE}/data-sources/shop:test")
        assert (denied.status_code, denied.json()["answers"]) == (200, False)
        away = await client.post(f"{BASE}/data-sources:test", json={"url": f"mysql://a:{PASSWORD}@127.0.0.1:1/x"})
        assert (away.json()["answers"], away.json()["is_reached"]) == (False, False)
        listed, one = await client.get(f"{BASE}/data-sources"), await client.get(f"{BASE}/data-sources/shop")
        assert listed.json()["items"] == [one.json()]
        secrets, keys = await client.get(f"{BASE}/secrets"), await client.get(f"{BASE}/secrets/keys")
        assert [(each["kind"], each["name"]) for each in secrets.json()["items"]] == [("DATA_SOURCE", "shop")]
        assert [(each["is_here"], each["encrypts"], each["secrets"]) for each in keys.json()["items"]] == [
            (True, True, 1)
        ]
        rotated = await client.post(f"{BASE}/secrets:rotate")
        assert rotated.json() == {
            "key_id": keys.json()["items"][0]["key_id"],
            "data_sources": 0,
            "environments": 0,
            "alert_channels": 0,
        }
        gone = [await client.delete(f"{BASE}/data-sources/shop") for _ in range(2)]
        assert [each.status_code for each in gone] == [204, 404]
        for name, body in (("a b", {"url": whole}), ("x", {"url": "nonsense"}), ("x", {}), ("x", {"url": "\x00"})):
            refused = await client.put(f"{BASE}/data-sources/{name}", json=body)
            assert refused.status_code == 422, refused.text
            told.append(refused)
        told += [tried, saved, answers, replaced, denied, away, listed, one, secrets, keys, rotated, *gone]
    async with api.database.reading() as connection:
        audit = (await connection.execute(Sql("SELECT row_to_json(a)::text FROM audit a ORDER BY id"))).scalars()
    assert [json.loads(row)["action"] for row in audit] == [
        *("check_data_source_url", "save_data_source", "check_data_source", "save_data_source", "check_data_source"),
        *("check_data_source_url", "rotate_secrets", "delete_data_source"),
    ]
    for said in (*(each.text for each in told), *audit):
        assert PASSWORD not in said
        assert f":{url.password}" not in said


async def test_an_environment_is_saved_and_its_script_never_shown_and_editors_change_none_of_it(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        saved = await client.put(f"{BASE}/environments/spark", json={"script": f"export TOKEN={PASSWORD}"})
        assert (saved.status_code, sorted(saved.json())) == (
            200,
            ["created_at", "key_id", "name", "updated_at", "warnings"],
        )
        windows = await client.put(f"{BASE}/environments/win", json={"script": "\ufeffexport A=1\r\nexport B=2\r\n"})
        assert [SENTENCE in each for each in windows.json()["warnings"]] == [True]
        await client.delete(f"{BASE}/environments/win")
        bad = await client.put(f"{BASE}/environments/spark", json={"script": "a\x00b"})
        large = await client.put(f"{BASE}/environments/spark", json={"script": "x" * 1_000_001})
        assert (bad.status_code, large.status_code) == (422, 422)
        told = [saved, bad, large, await client.get(f"{BASE}/environments"), await client.get(f"{BASE}/secrets")]
    scopes = frozenset({Scope.ADMIN})
    async with api.client(await member(api.backend, "edith", "default", Role.OWNER, scopes)) as client:
        assert (await client.get(f"{BASE}/environments/spark")).json() | {"warnings": []} == saved.json()
        assert (await client.get(f"{BASE}/data-sources")).json() == {"items": []}
        for method, path, body in (
            ("PUT", "/environments/spark", {"script": "x"}),
            ("DELETE", "/environments/spark", None),
            ("PUT", "/data-sources/shop", {"url": "sqlite:////x"}),
            ("DELETE", "/data-sources/shop", None),
            ("POST", "/data-sources/shop:test", None),
            ("POST", "/data-sources:test", {"url": "postgresql://a:b@127.0.0.1/x"}),
            ("POST", "/secrets:rotate", None),
            ("GET", "/secrets/keys", None),
        ):
            answer = await client.request(method, BASE + path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "SH-1002"), path
    async with api.client(await token_of(api.backend, "toor", is_admin=True)) as client:
        assert [(await client.delete(f"{BASE}/environments/spark")).status_code for _ in range(2)] == [204, 404]
        assert (await client.get(f"{BASE}/environments/spark")).status_code == 404
    assert not any(PASSWORD in each.text for each in told)


INSIDE = [
    *("127.0.0.2", "10.2.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "2130706434", "0x7f000002"),
    *("[::1]", "[::ffff:127.0.0.2]", "[fd00::1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "224.0.0.1"),
]
PUBLIC = "postgresql://a:hunter22@93.184.215.14"
NOT_TESTED = {
    **{f"postgresql://a:hunter22@{host}:1/x": "is not at a public address" for host in INSIDE},
    "mysql://a:hunter22@10.2.0.1/x": "is not at a public address",
    "sqlite:////etc/passwd": "tests PostgreSQL, MySQL and MariaDB only",
    "duckdb:////tmp/made-by-a-test.db": "tests PostgreSQL, MySQL and MariaDB only",
    "postgresql://a:hunter22@/x": "with one host",
    "postgresql://a:hunter22@1.2.3.4,10.2.0.1/x": "with one host",
    f"{PUBLIC}/x?host=10.2.0.1": "with the option 'host'",
    f"{PUBLIC}/x?hostaddr=10.2.0.1": "with the option 'hostaddr'",
    f"{PUBLIC}/x?service=other": "with the option 'service'",
    f"{PUBLIC}/x?sslrootcert=/etc/passwd": "with the option 'sslrootcert'",
    "mysql://a:hunter22@93.184.215.14/x?local_infile=1": "with the option 'local_infile'",
    "mysql://a:hunter22@93.184.215.14/x?unix_socket=/tmp/s": "with the option 'unix_socket'",
    "mysql://a:hunter22@93.184.215.14/x?read_default_file=/etc/passwd": "with the option 'read_default_file'",
    "postgresql://a@93.184.215.14/x": "with user and password only",
}


async def test_the_api_does_not_connect_to_inside_addresses_files_and_other_servers(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        for url, says in NOT_TESTED.items():
            answer = await client.post(f"{BASE}/data-sources:test", json={"url": url})
            assert (answer.status_code, says in answer.text) == (422, True), (url, answer.text)
            assert PASSWORD not in answer.text
        odd = await client.post(
            f"{BASE}/data-sources:test", json={"url": "mysql://a:b@127.0.0.1/x?connect_timeout=soon"}
        )
        assert (odd.status_code, "a value that its driver does not take" in odd.json()["reason"]) == (200, True)
        nowhere = await client.post(f"{BASE}/data-sources:test", json={"url": "mysql://a:b@nowhere.invalid/x"})
        assert (nowhere.status_code, nowhere.json()["is_reached"]) == (200, False)
    assert not Path("/tmp/made-by-a-test.db").exists()


@every(
    ("address", "allowed", "may"),
    [
        ("93.184.215.14", "", True),
        ("2606:2800:21f::1", "", True),
        ("10.1.2.3", "", False),
        ("10.1.2.3", "10.1.0.0/16", True),
        ("10.2.0.0", "10.1.0.0/16", False),
        ("::ffff:10.1.2.3", "10.1.0.0/16", True),
        ("64:ff9b::10.1.2.3", "", False),
        ("fd00::1", "fd00::/8", True),
        ("fe80::1", "10.0.0.0/8", False),
        ("ff02::1", "", False),
        ("100.64.0.1", "", False),
        ("100.64.0.1", "100.64.0.0/10", True),
        *(
            (each, "", False)
            for each in ("fd00:ec2::254", "fd00::1", "fec0::1", "::1", "::", "::10.1.2.3", "::127.0.0.1")
        ),
        *((each, "", False) for each in ("64:ff9b:1::a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1")),
        *((each, "", False) for each in ("100.100.100.200", "192.0.0.192", "168.63.129.16", "2001::1", "3fff::1")),
        *((each, "", False) for each in ("5f00::1", "100::1", "240.0.0.1", "0.0.0.0", "255.255.255.255")),
    ],
)
def test_an_address_is_reached_if_it_is_public_or_allowed(address: str, allowed: str, may: bool) -> None:
    assert may_reach(ip_address(address), [ip_network(allowed)] if allowed else []) is may


async def test_the_verbs_about_secrets_do_the_same_over_the_api_and_local_ones_refuse_it(
    api: Serving, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await token_of(api.backend, "root", is_admin=True)
    key = api.backend.settings.secrets.keys[0].get_secret_value()  # type: ignore[attr-defined]
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    (tmp_path / "spark.sh").write_text("export A=1\n")
    ways = (
        CommandLine.at(database_url, SHOAL_SECRETS__KEYS=key),
        CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=token),
    )
    said = []
    for way in ways:
        process = await way.start("datasource", "set", "shop", stdin=asyncio.subprocess.PIPE)
        out, _ = await process.communicate(url.encode())
        answers = await way.each(
            "datasource test shop",
            "datasource test nix",
            f"environment set spark {tmp_path}/spark.sh",
            "environment list",
            "datasource list",
            "config rotate-keys",
            "environment delete spark",
            "environment delete spark",
            "datasource delete shop",
            "datasource list",
        )
        printed = [(answer.code, re.sub(r"\d+ s ago", "", answer.out).split(), answer.err) for answer in answers]
        said.append([(process.returncode, out.decode(), ""), *printed])
    assert said[0] == said[1]
    assert [each[0] for each in said[0]] == [0, 0, 5, 0, 0, 0, 0, 0, 5, 0, 0]
    local = ("db check", "config show", "master", "up", "demo", "api", "worker", "config add-key x", "project seal x")
    for answer in await ways[0].each(*(f"{verb} --server {api.url}" for verb in local)):
        assert (answer.code, "leave out --server" in answer.sentence) == (2, True), answer
    assert (await ways[1]("config", "show")).code == 0
