"""Logging in and out over HTTP: the cookie, the second secret, limits on guessing, and what strangers may try."""

from __future__ import annotations

import json
from http.cookies import SimpleCookie

import httpx
import pytest

from model.accounts.rights import Role
from tests.accounts.office import PASSWORD, Office
from tests.api.serving import BASE, Serving, client_of, serving

SESSIONS = f"{BASE}/sessions"
CURRENT = f"{SESSIONS}/current"
LOGIN = {"name": "anna", "password": PASSWORD}


@pytest.fixture
async def office(api: Serving) -> Office:
    """With anna, who owns a project."""
    made = Office(api.backend)
    await made.account("anna", etl=Role.OWNER)
    return made


async def log_in(client: httpx.AsyncClient, **more: str) -> str:
    """Log in; the second secret."""
    answer = await client.post(SESSIONS, json=LOGIN, headers=more)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["csrf"])


def cookie_of(answer: httpx.Response) -> dict[str, str]:
    """The attributes of the session's cookie, and its value."""
    (morsel,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    assert morsel.key == "shoal_session"
    return {**{name: value for name, value in morsel.items() if value}, "value": morsel.value}


async def test_a_login_gives_a_cookie_that_no_script_reads_and_a_log_out_takes_it(api: Serving, office: Office) -> None:
    async with api.client() as client:
        answer = await client.post(SESSIONS, json=LOGIN)
        cookie = cookie_of(answer)
        secret = cookie.pop("value")
        assert cookie == {"httponly": True, "samesite": "strict", "path": "/", "max-age": "2592000"}
        assert secret not in answer.text
        csrf = answer.json()["csrf"]
        assert (await client.get(f"{BASE}/me")).json()["roles"] == {"etl": "OWNER"}
        shown = (await client.get(CURRENT)).json()
        assert (shown["csrf"], shown["name"]) == (csrf, "anna")
        assert (await client.delete(CURRENT)).status_code == 403
        gone = await client.delete(CURRENT, headers={"X-CSRF-Token": csrf})
        assert (gone.status_code, cookie_of(gone)["max-age"]) == (204, "0")
        stolen = await client.get(f"{BASE}/me", headers={"Cookie": f"shoal_session={secret}"})
        assert (stolen.status_code, stolen.json()["code"]) == (401, "SH-1001")
    assert [action for _, action in await office.audited()][-2:] == ["log_in", "log_out"]


async def test_behind_a_trusted_proxy_with_tls_the_cookie_is_secure_and_below_its_path(database_url: str) -> None:
    by_tls = {"X-Forwarded-Proto": "https"}
    async with serving(database_url, proxies=("127.0.0.1",), root_path="/shoal") as running:
        await Office(running.backend).account()
        async with client_of(running.url.removesuffix("/shoal")) as client:
            cookie = cookie_of(await client.post(SESSIONS, json=LOGIN, headers=by_tls))
    assert (cookie["secure"], cookie["path"]) == (True, "/shoal")


async def test_whoever_is_no_trusted_proxy_does_not_say_how_a_request_came(api: Serving, office: Office) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    async with api.client() as client:
        assert "secure" not in cookie_of(await client.post(SESSIONS, json=LOGIN, headers=headers))
    assert await office.sql("SELECT DISTINCT address FROM login_session") == ["127.0.0.1"]


async def test_what_changes_something_needs_the_second_secret_of_the_same_session(api: Serving, office: Office) -> None:
    member = f"{BASE}/projects/etl/members/anna"
    async with api.client() as here, api.client() as there:
        own, other = await log_in(here), await log_in(there)
        for headers in ({}, {"X-CSRF-Token": "wrong"}, {"X-CSRF-Token": other}, {"X-CSRF-Token": b"\xe9" * 60}):
            refused = await here.put(member, json={"role": "VIEWER"}, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "SH-1002")
        assert (await here.get(f"{BASE}/projects/etl/members")).json()["items"][0]["role"] == "OWNER"
        done = await here.put(member, json={"role": "VIEWER"}, headers={"X-CSRF-Token": own})
        assert done.status_code == 200, done.text


async def test_an_account_that_is_disabled_is_out_at_its_next_request(api: Serving, office: Office) -> None:
    async with api.client() as client:
        await log_in(client)
        assert (await client.get(f"{BASE}/me")).status_code == 200
        (anna,) = await office.sql("SELECT id FROM account")
        await office.account("root", is_admin=True)
        await office.change(anna, disabled=True)
        assert (await client.get(f"{BASE}/me")).status_code == 401
        assert (await client.post(SESSIONS, json=LOGIN)).status_code == 401


async def test_a_guess_says_nothing_and_the_sixth_must_wait(api: Serving, office: Office) -> None:
    async with api.client() as client:
        said = set()
        for name in ("anna", "nobody"):
            for _ in range(5):
                wrong = await client.post(SESSIONS, json={"name": name, "password": "a wrong one"})
                said.add((wrong.status_code, wrong.json()["detail"], wrong.headers["WWW-Authenticate"]))
            limited = await client.post(SESSIONS, json={"name": name, "password": PASSWORD})
            assert (limited.status_code, limited.json()["code"]) == (429, "SH-1006")
            assert 25 <= int(limited.headers["Retry-After"]) <= 30
        assert len(said) == 1
    assert await office.sql("SELECT count(*) FROM login_session") == [0]
    assert await office.sql("SELECT count(*) FROM audit WHERE actor = 'anna'") == [0], "a stranger fills no table"


@pytest.mark.parametrize(("body", "statuses"), [
    ({}, {422}), ({"name": "anna"}, {422}), ({**LOGIN, "link": "x"}, {422}), ({**LOGIN, "is_admin": True}, {422}),
    ({"name": "an\0na", "password": "x"}, {401}), ({"name": "\ud800", "password": "\ud800"}, {422}),
    ({"name": "anna", "password": "x" * 1001}, {422}), ({"name": "x" * 1_000_000, "password": "x"}, {413}),
    ({"link": "\0"}, {401}), ({"link": "x" * 1_000_000}, {413}), ({"link": 1}, {422}), ([], {422}), (None, {422}),
    (b'{"name": "\xff"}', {400}), (b"\xff\xfe", {400, 422}),
])  # fmt: skip
async def test_a_login_that_cannot_be_read_is_a_problem_of_the_sender(
    api: Serving, body: object, statuses: set[int]
) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with api.client() as client:
        answer = await client.post(SESSIONS, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in statuses, answer.text


@pytest.mark.parametrize(
    "header",
    [
        {"Cookie": "shoal_session=" + "x" * 20_000}, {"Cookie": b"shoal_session=\xff\xfe"}, {"Cookie": "shoal_session"},
        {"Authorization": b"Bearer \xff"}, {"Authorization": "Bearer"}, {"Authorization": "Basic YTpi"},
        {"Cookie": "shoal_session=\u00e9".encode("latin-1")}, {"Cookie": 'shoal_session="a\\000b"'},
    ],
)  # fmt: skip
async def test_a_cookie_or_header_that_is_none_is_refused(api: Serving, header: dict[str, str | bytes]) -> None:
    async with api.client() as client:
        answer = await client.get(f"{BASE}/me", headers=header)
    assert answer.status_code == 401


async def test_a_header_of_a_megabyte_is_refused(api: Serving) -> None:
    async with api.client() as client:
        try:
            answer = await client.get(f"{BASE}/me", headers={"Cookie": "shoal_session=" + "x" * 1_000_000})
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            pass  # the connection was closed before all of it was sent
        else:
            assert 400 <= answer.status_code < 500
        assert (await client.get("/healthz")).status_code == 200


async def test_a_page_of_another_site_logs_nobody_in(api: Serving, office: Office) -> None:
    own = api.url.removeprefix("http://")
    async with api.client() as client:
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://evil"},
                        {"Origin": "null"}):  # fmt: skip
            for path, given in ((SESSIONS, {"json": LOGIN}), ("/login", {"data": LOGIN})):
                refused = await client.post(path, headers=headers, **given)  # type: ignore[arg-type]
                assert (refused.status_code, "Set-Cookie" in refused.headers) == (403, False)
        for headers in ({"Origin": f"http://{own}"}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://proxied"}):
            await log_in(client, **headers)


async def test_a_link_logs_in_once_by_the_form_of_its_page_and_not_by_being_read(api: Serving, office: Office) -> None:
    (anna,) = await office.sql("SELECT id FROM account")
    link = (await office.link(anna)).secret
    async with api.client() as client:
        for _ in range(2):
            page = await client.get("/login", params={"link": link})
            assert (page.status_code, link in page.text) == (200, True)
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; form-action 'self'")
        assert "<script" not in page.text
        hostile = await client.get("/login", params={"link": '"><script>alert(1)</script>'})
        assert "<script" not in hostile.text
        done = await client.post(f"/login?link={link}", data={"link": link})
        assert (done.status_code, "You are logged in as anna" in done.text) == (200, True)
        assert (await client.get(f"{BASE}/me")).json()["name"] == "anna"
        again = await client.post("/login", data={"link": link})
        assert (again.status_code, "used already" in again.text) == (401, True)
        for content in (b"", b"\xff=1", b"link=%ff", b"a=b", b"x" * 20_000, b"&".join([b"link=a"] * 9)):
            assert (await client.post("/login", content=content)).status_code == 422
