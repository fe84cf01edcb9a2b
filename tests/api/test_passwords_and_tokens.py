"""Tokens of sessions: made only with the password, and ended with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from httpx import AsyncClient

from model.accounts.login_limits import FREE_OF_NAME
from model.accounts.rights import Scope
from service.accounts.own_tokens import NewToken, make_token
from service.accounts.people import NewUser, create_user
from tests.accounts.office import PASSWORD, ROOT, Office
from tests.api.serving import BASE, Serving, token_of

USERS = f"{BASE}/users"


@asynccontextmanager
async def _logged_in(api: Serving, **how: str) -> AsyncIterator[AsyncClient]:
    """A client with the session of a login."""
    async with api.client() as client:
        begun = await client.post(f"{BASE}/sessions", json=how)
        client.headers["X-CSRF-Token"] = begun.json()["csrf"]
        yield client


async def _token(client: AsyncClient, account: int, name: str, **proof: str) -> str:
    made = await client.post(f"{USERS}/{account}/tokens", json={"name": name, "scopes": ["admin"], **proof})
    assert made.status_code == 201, made.text
    return str(made.json()["token"])


async def _valid(api: Serving, tokens: dict[str, str]) -> set[str]:
    """Which of these are let in."""
    valid = set()
    for name, token in tokens.items():
        async with api.client(token) as client:
            valid |= {name} if (await client.get(f"{BASE}/me")).status_code == 200 else set()
    return valid


async def test_a_session_makes_no_token_without_the_password(api: Serving) -> None:
    office = Office(api.backend)
    anna, ada = await office.account("anna"), await office.account("ada", is_admin=True)
    new = {"name": "ci", "scopes": ["admin"]}
    async with (
        _logged_in(api, name="anna", password=PASSWORD) as mine,
        _logged_in(api, name="ada", password=PASSWORD) as admin,
    ):
        for client, account in ((mine, anna.id), (admin, ada.id), (admin, anna.id)):
            path = f"{USERS}/{account}/tokens"
            bare = await client.post(path, json=new)
            assert (bare.status_code, "password" in bare.json()["detail"]) == (422, True)
            assert (await client.post(path, json={**new, "password": "a wrong one"})).status_code == 401
        assert await office.sql("SELECT count(*) FROM token") == [0]
        ci = await _token(mine, anna.id, "ci", password=PASSWORD)
    async with api.client(ci) as program:
        assert await _token(program, anna.id, "another")


async def test_a_password_guessed_for_a_token_counts_as_one_guessed_at_a_login(api: Serving) -> None:
    anna = await Office(api.backend).account("anna")
    async with _logged_in(api, name="anna", password=PASSWORD) as client:
        new = {"name": "ci", "scopes": ["admin"], "password": "a wrong one"}
        said = [(await client.post(f"{USERS}/{anna.id}/tokens", json=new)).status_code for _ in range(FREE_OF_NAME)]
        assert said == [401] * FREE_OF_NAME
        right = await client.post(f"{USERS}/{anna.id}/tokens", json={**new, "password": PASSWORD})
        assert right.status_code == 429
        login = await client.post(f"{BASE}/sessions", json={"name": "anna", "password": PASSWORD})
        assert login.status_code == 429


async def test_an_account_without_a_password_sets_one_before_it_makes_a_token(api: Serving) -> None:
    office = Office(api.backend)
    anna = await office.ask(ROOT, create_user, NewUser(name="anna"))
    async with _logged_in(api, link=(await office.link(anna.id)).secret) as client:
        new = {"name": "ci", "scopes": ["admin"], "password": PASSWORD}
        none = await client.post(f"{USERS}/{anna.id}/tokens", json=new)
        assert (none.status_code, "no password yet" in none.json()["detail"]) == (422, True)
        assert (await client.put(f"{BASE}/me/password", json={"password": PASSWORD})).status_code == 204
        assert (await client.post(f"{USERS}/{anna.id}/tokens", json=new)).status_code == 201


async def test_the_link_of_a_login_stands_for_the_password_once(api: Serving) -> None:
    office = Office(api.backend)
    anna, berta = await office.account("anna"), await office.account("berta")
    link, other = (await office.link(anna.id)).secret, (await office.link(berta.id)).secret
    async with _logged_in(api, link=link) as client, _logged_in(api, link=other):
        new = {"name": "ci", "scopes": ["admin"]}
        path = f"{USERS}/{anna.id}/tokens"
        unused = (await office.link(berta.id)).secret
        answers = [(await client.post(path, json={**new, "link": each})).status_code for each in (other, unused, link)]
        assert answers == [401, 401, 201]
        assert (await client.post(path, json={**new, "name": "again", "link": link})).status_code == 401


@pytest.mark.parametrize("by_admin", [False, True])
@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({}, {"of a program"}),
        ({"end_tokens": "MADE_BY_SESSIONS"}, {"of a program"}),
        ({"end_tokens": "ALL"}, set()),
        ({"end_tokens": "NONE"}, {"of a program", "of a session", "of its token"}),
    ],
)
async def test_the_tokens_that_end_with_a_password(
    api: Serving, chosen: dict[str, str], left: set[str], by_admin: bool
) -> None:
    office = Office(api.backend)
    anna = await office.account("anna")
    await office.account("berta")
    made = await office.ask(ROOT, make_token, anna.id, NewToken(name="of a program", scopes=[Scope.ADMIN]))
    others = {"of another": (await office.token(await office.caller("berta"), Scope.ADMIN)).token}
    async with _logged_in(api, name="anna", password=PASSWORD) as client:
        mine = {"of a program": made.token, "of a session": await _token(client, anna.id, "s", password=PASSWORD)}
        async with api.client(mine["of a session"]) as program:
            mine["of its token"] = await _token(program, anna.id, "t")
        if by_admin:
            async with api.client(await token_of(api.backend, "ada", is_admin=True)) as admin:
                done = await admin.put(f"{USERS}/{anna.id}/password", json={"password": "another one", **chosen})
        else:
            new = {"current": PASSWORD, "password": "another one", **chosen}
            done = await client.put(f"{BASE}/me/password", json=new)
        assert done.status_code == 204, done.text
    assert await _valid(api, mine) == left
    assert await _valid(api, others) == {"of another"}
