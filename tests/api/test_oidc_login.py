"""Logging in at an OpenID Connect provider, and what a hostile one, or a hostile page, tries."""

from __future__ import annotations

import hashlib
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI

from api.oidc_login import add_oidc_login
from model.errors import InvalidSettings
from service.oidc.settings import OidcSettings
from tests.accounts.office import Office
from tests.api.hostile_provider import CLIENT, SECRET, HostileProvider, Key, signed_with_what_all_know, unsigned
from tests.api.serving import BASE, Serving, serving

START, CALLBACK, ME = "/login/oidc", "/login/oidc/callback", f"{BASE}/me"
URL = "http://localhost:7465"


@pytest.fixture
def provider() -> Iterator[HostileProvider]:
    with HostileProvider() as running:
        yield running


@asynccontextmanager
async def at(database_url: str, provider: HostileProvider, **settings: Any) -> AsyncIterator[Serving]:
    """An API that trusts this provider."""
    given = {"issuer": provider.url, "client_id": CLIENT, "url": URL, "name": "Acme", **settings}
    async with serving(database_url, oidc=OidcSettings(**given)) as api:
        yield api


async def begin(client: httpx.AsyncClient, provider: HostileProvider, back: str = "/") -> dict[str, str]:
    """Begin a login: what the provider is asked."""
    answer = await client.get(START, params={"back": back})
    assert answer.status_code == 303, answer.text
    place = urlsplit(answer.headers["Location"])
    assert place.path == "/authorize"
    asked = {name: values[0] for name, values in parse_qs(place.query).items()}
    provider.nonce = asked["nonce"]
    return asked


async def log_in(client: httpx.AsyncClient, provider: HostileProvider) -> httpx.Response:
    """The answer to a whole login."""
    asked = await begin(client, provider)
    return await client.get(CALLBACK, params={"code": "c0de", "state": asked["state"]})


async def test_a_login_makes_an_account_and_a_session(
    database_url: str, provider: HostileProvider, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text(f"{SECRET}\n")
    async with at(database_url, provider, client_secret_file=file) as api, api.client() as client:
        asked = await begin(client, provider, back="/runs?state=FAILURE&name=a b")
        answer = await client.get(CALLBACK, params={"code": "c0de", "state": asked["state"]})
        assert answer.headers["Location"] == f"{URL}/runs?state=FAILURE&name=a%20b"
        (session,) = (each for each in answer.headers.get_list("set-cookie") if each.startswith("shoal_session="))
        assert "HttpOnly" in session
        assert "SameSite=strict" in session
        found = (await client.get(ME)).json()
        assert (found["name"], found["is_admin"], found["roles"]) == ("anna", False, {})
        csrf = (await client.get(f"{BASE}/sessions/current")).json()["csrf"]
        assert (await client.delete(f"{BASE}/sessions/current", headers={"X-CSRF-Token": csrf})).status_code == 204
        assert (await client.get(ME)).status_code == 401
        office = Office(api.backend)
        assert await office.audited() == [("anna", "log_in"), ("anna", "log_out")]
        assert await office.sql("SELECT after FROM audit WHERE action = 'log_in'") == [{"by": "oidc"}]
    (sent,) = (each for each in provider.asked if "code" in each)
    challenge = urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert (asked["code_challenge"], asked["code_challenge_method"]) == (challenge, "S256")
    assert sent["redirect_uri"] == asked["redirect_uri"] == URL + CALLBACK
    assert (sent["code"], sent["basic"]) == ("c0de", f"{CLIENT}:{SECRET}")
    assert "client_secret" not in sent


NOW = int(time.time())
FOREIGN: list[tuple[dict[str, Any], str]] = [
    ({"nonce": "another"}, "another login"),
    ({"nonce": None}, "no claim nonce"),
    ({"aud": "another"}, "another client"),
    ({"aud": [CLIENT, "another"]}, "several clients"),
    ({"aud": [CLIENT, "another"], "azp": "another"}, "several clients"),
    ({"azp": "another"}, "several clients"),
    ({"iss": "https://evil.example.org"}, "another issuer"),
    ({"exp": NOW - 3600}, "clock"),
    ({"exp": None}, "no claim exp"),
    ({"iat": NOW + 7200, "exp": NOW + 9000}, "clock"),
    ({"nbf": NOW + 7200}, "clock"),
    ({"sub": None}, "no claim sub"),
    ({"sub": ""}, "subject"),
    ({"preferred_username": None}, "preferred_username"),
    ({"preferred_username": "../../etc"}, "not a name for an account"),
    ({"preferred_username": ["anna"]}, "preferred_username"),
]


async def refuse(client: httpx.AsyncClient, provider: HostileProvider, why: str, *statuses: int) -> None:
    """A login is refused for this reason, which contains no token, and begins no session."""
    answer = await log_in(client, provider)
    assert answer.status_code in statuses, answer.text
    assert why in answer.text, answer.text
    assert "eyJ" not in answer.text
    assert "shoal_session" not in answer.headers.get("Set-Cookie", "")


async def test_an_id_token_that_is_not_for_this_login_logs_nobody_in(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        usual = provider.claims
        for claims, why in FOREIGN:
            provider.claims = {**usual, **claims}
            await refuse(client, provider, why, 401, 422)
        assert await Office(api.backend).sql("SELECT name FROM account") == []
        provider.claims = usual
        assert (await log_in(client, provider)).status_code == 303


async def test_a_token_that_no_key_of_the_provider_has_signed_logs_nobody_in(
    database_url: str, provider: HostileProvider
) -> None:
    other, key = Key("first"), provider.key
    async with at(database_url, provider) as api, api.client() as client:
        for sign in (unsigned, other.sign, lambda claims: signed_with_what_all_know(key, claims), lambda _: "no.token"):
            provider.sign = sign
            await refuse(client, provider, "not signed by one of its keys", 401)
        provider.sign, provider.published = Key("unknown").sign, [{"kty": "oct", "k": "c2VjcmV0", "kid": "unknown"}]
        await refuse(client, provider, "no key with the id", 401)
        assert await Office(api.backend).sql("SELECT name FROM account") == []


async def test_a_clock_that_is_a_little_off_logs_in(database_url: str, provider: HostileProvider) -> None:
    provider.claims |= {"iat": int(time.time()) + 30, "exp": int(time.time()) - 30}
    async with at(database_url, provider) as api, api.client() as client:
        assert (await log_in(client, provider)).status_code == 303


async def test_new_keys_of_the_provider_are_found_without_a_restart(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        assert (await log_in(client, provider)).status_code == 303
        provider.key = Key("second")
        assert (await log_in(client, provider)).status_code == 303
        assert [each["path"] for each in provider.asked if "path" in each].count("/keys") == 2


async def test_an_answer_counts_once_and_only_in_the_browser_that_asked(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider) as api, api.client() as mine, api.client() as other:
        asked = await begin(mine, provider)
        answer = {"code": "c0de", "state": asked["state"]}
        kept = mine.cookies["shoal_oidc"]
        stranger = await other.get(CALLBACK, params=answer)
        assert (stranger.status_code, "no login was begun" in stranger.text) == (401, True)
        await begin(other, provider)
        provider.nonce = asked["nonce"]
        forced = await other.get(CALLBACK, params=answer)
        assert (forced.status_code, "another login" in forced.text) == (401, True)
        assert (await mine.get(CALLBACK, params=answer)).status_code == 303
        again = await mine.get(CALLBACK, params=answer)
        assert (again.status_code, "no login was begun" in again.text) == (401, True)
        replayed = await other.get(CALLBACK, params=answer, headers={"Cookie": f"shoal_oidc={kept}"})
        assert (replayed.status_code, "ended already" in replayed.text) == (401, True)
        assert await Office(api.backend).sql("SELECT count(*) FROM login_session") == [1]


async def test_a_page_of_another_site_begins_no_login(database_url: str, provider: HostileProvider) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        answer = await client.get(START, headers={"Sec-Fetch-Site": "cross-site", "Accept-Language": "zh"})
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (403, False)
    assert "此登录请求来自其他网站的页面" in answer.text


async def test_a_login_leads_only_to_the_public_url(database_url: str, provider: HostileProvider) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        for back in (
            "https://evil.example.org",
            "//evil.example.org",
            "/\\evil.example.org",
            "@evil.example.org",
            "/\r\nX: y",
        ):
            asked = await begin(client, provider, back)
            answer = await client.get(CALLBACK, params={"code": "c0de", "state": asked["state"]})
            assert urlsplit(answer.headers["Location"])[:2] == ("http", "localhost:7465")
            assert "X" not in answer.headers


async def test_an_answer_without_a_code_of_this_issuer_logs_nobody_in(
    database_url: str, provider: HostileProvider
) -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"error": "access_denied", "error_description": "<script>"}, "access_denied"),
        ({"error": "<script>"}, "it does not say why"),
        ({}, "it does not say why"),
        ({"code": "c0de", "iss": "https://evil.example.org"}, "not of http://127.0.0.1"),
    ]
    async with at(database_url, provider) as api, api.client() as client:
        for answer, why in cases:
            asked = await begin(client, provider)
            found = await client.get(CALLBACK, params={**answer, "state": asked["state"]})
            assert (found.status_code, why in found.text, "<script>" in found.text) == (401, True, False), found.text


async def test_what_the_provider_refuses_is_said(database_url: str, provider: HostileProvider) -> None:
    cases: list[tuple[int, Any, int, str]] = [
        (400, {"error": "invalid_grant"}, 401, "invalid_grant"),
        (401, {"error": "invalid_client"}, 503, "api.oidc.client_id"),
        (500, {}, 503, "answered 500"),
        (200, {}, 401, "not signed"),
        (200, [], 401, "not signed"),
    ]
    async with at(database_url, provider) as api, api.client() as client:
        for answered, content, status, why in cases:
            provider.refusal = (answered, content)
            await refuse(client, provider, why, status)


async def test_a_provider_that_is_another_one_is_refused(database_url: str, provider: HostileProvider) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"issuer": "https://evil.example.org"}, "another issuer"),
        ({"token_endpoint": "http://evil.example.org/token"}, "no token_endpoint with https"),
        ({"jwks_uri": None}, "no jwks_uri with https"),
        ({"filler": "x" * (2 << 20)}, "more than"),
    ]
    async with at(database_url, provider) as api, api.client() as client:
        for more, why in cases:
            provider.more = more
            answer = await client.get(START)
            assert (answer.status_code, why in answer.text) == (503, True), answer.text
        provider.more = {}
        assert (await client.get(START)).status_code == 303


def test_without_the_extra_nothing_of_it_is_loaded_and_an_issuer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("service.oidc.provider", "service.oidc.id_token"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "jwt", None)
    add_oidc_login(FastAPI(), backend=cast(Any, None), settings=OidcSettings())
    settings = OidcSettings(issuer="https://sso.example.org", client_id=CLIENT, url=URL)
    with pytest.raises(InvalidSettings, match="pip install 'shoal\\[oidc\\]'"):
        add_oidc_login(FastAPI(), backend=cast(Any, None), settings=settings)


async def test_a_provider_that_is_down_is_said_and_a_password_still_logs_in(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        await Office(api.backend).account("root", is_admin=True)
        provider.__exit__()
        try:
            answer = await client.get(START)
        finally:
            provider.__enter__()
        assert (answer.status_code, "Acme does not answer" in answer.text) == (503, True)
        by_password = {"name": "root", "password": "correct horse"}
        assert (await client.post(f"{BASE}/sessions", json=by_password)).status_code == 201
