"""Which account an identity of a provider gets, and what its groups may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from model.accounts.rights import Role
from service.accounts import project_access
from service.accounts.project_access import MemberRole
from tests.accounts.office import ROOT, Office
from tests.api.hostile_provider import HostileProvider
from tests.api.serving import BASE, Serving
from tests.api.test_oidc_login import ME, at, log_in

ROLES = ("data=etl:EDITOR", "cn=ops,dc=acme=etl:OPERATOR", "data=reports:VIEWER")


@pytest.fixture
def provider() -> Iterator[HostileProvider]:
    with HostileProvider() as running:
        yield running


async def may_now(api: Serving, provider: HostileProvider, **claims: Any) -> tuple[bool, dict[str, str]]:
    """Whether somebody is an admin after a login with these claims, and the roles."""
    provider.claims |= claims
    async with api.client() as client:
        answer = await log_in(client, provider)
        assert answer.status_code == 303, answer.text
        found = (await client.get(ME)).json()
    return found["is_admin"], found["roles"]


async def test_groups_give_roles_at_each_login_and_owners_elsewhere(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider, roles=ROLES) as api:
        office = Office(api.backend)
        ops = "cn=ops,dc=acme"
        assert await may_now(api, provider, groups=[ops]) == (False, {"etl": "OPERATOR"})
        await office.ask(ROOT, project_access.put_member, "own", "anna", MemberRole(role=Role.OWNER))
        await office.ask(ROOT, project_access.put_member, "reports", "anna", MemberRole(role=Role.OWNER))
        both = {"etl": "EDITOR", "reports": "VIEWER", "own": "OWNER"}
        assert await may_now(api, provider, groups=[ops, "data", "unknown"]) == (False, both)
        assert await may_now(api, provider, groups="data") == (False, both), "a single group may come as a text"
        assert await may_now(api, provider, groups=None) == (False, {"own": "OWNER"})
        assert await office.sql(
            "SELECT project, before, after FROM audit WHERE action IN ('put_member', 'remove_member') "
            "AND actor = 'anna' AND project = 'etl' ORDER BY id"
        ) == [
            ("etl", None, {"by": "oidc", "role": "OPERATOR"}),
            ("etl", {"by": "oidc", "role": "OPERATOR"}, {"by": "oidc", "role": "EDITOR"}),
            ("etl", {"by": "oidc", "role": "EDITOR"}, None),
        ]


async def test_admins_follow_their_group_but_the_last_one_stays(database_url: str, provider: HostileProvider) -> None:
    async with at(database_url, provider, admins=("root",), groups_claim="realm_access.roles") as api:
        office = Office(api.backend)
        assert await may_now(api, provider, realm_access={"roles": ["root"]}) == (True, {})
        assert await may_now(api, provider, realm_access={"roles": []}) == (True, {}), "nobody else could log in"
        await office.account("local", is_admin=True)
        assert await may_now(api, provider, realm_access={}) == (False, {})
        shown = await office.sql("SELECT after FROM audit WHERE action = 'change_user' AND actor = 'anna' ORDER BY id")
        assert shown == [{"is_admin": True, "by": "oidc"}, {"is_admin": False, "by": "oidc"}]


async def test_only_who_is_in_a_group_may_log_in(database_url: str, provider: HostileProvider) -> None:
    async with at(database_url, provider, groups=("staff", "guests")) as api, api.client() as client:
        for groups, why in ((["others"], "you are in none of them"), (None, "the claim groups is missing")):
            provider.claims["groups"] = groups
            answer = await log_in(client, provider)
            assert (answer.status_code, why in answer.text) == (403, True)
        provider.userinfo = {"sub": "another", "groups": ["staff"]}
        assert (await log_in(client, provider)).status_code == 403
        provider.userinfo["sub"] = "4711"
        assert (await log_in(client, provider)).status_code == 303
        assert {"path": "/userinfo", "authorization": "Bearer opens-userinfo"} in provider.asked


async def test_an_account_belongs_to_an_identity_and_not_to_a_name(
    database_url: str, provider: HostileProvider
) -> None:
    async with at(database_url, provider) as api:
        async with api.client() as client:
            await log_in(client, provider)
            first = (await client.get(ME)).json()
        async with api.client() as renamed:
            provider.claims["preferred_username"] = "berta"
            await log_in(renamed, provider)
            assert (await renamed.get(ME)).json()["account"] == first["account"]
        async with api.client() as other:
            provider.claims |= {"preferred_username": "ANNA", "sub": "another"}
            answer = await log_in(other, provider)
            assert (answer.status_code, "is not that of Acme" in answer.text) == (403, True)


@pytest.mark.parametrize(
    ("has_password", "is_admin", "status"), [(True, False, 403), (False, True, 403), (False, False, 303)]
)
async def test_only_an_account_that_nobody_else_has_the_key_of_is_taken(
    database_url: str, provider: HostileProvider, has_password: bool, is_admin: bool, status: int
) -> None:
    async with at(database_url, provider, create_accounts=False) as api, api.client() as client:
        office = Office(api.backend)
        missing = await log_in(client, provider)
        assert (missing.status_code, "there is no account" in missing.text) == (403, True)
        await office.account("Anna", is_admin=is_admin)
        if not has_password:
            await office.sql("UPDATE account SET password_hash = NULL")
        assert (await log_in(client, provider)).status_code == status
        assert await office.sql("SELECT subject FROM account") == ["4711" if status == 303 else None]


async def test_who_was_disabled_here_does_not_log_in(database_url: str, provider: HostileProvider) -> None:
    async with at(database_url, provider) as api, api.client() as client:
        await log_in(client, provider)
        office = Office(api.backend)
        (anna,) = await office.sql("SELECT id FROM account")
        await office.change(anna, disabled=True)
        answer = await log_in(client, provider)
        assert (answer.status_code, "disabled" in answer.text) == (401, True)


async def test_an_unverified_address_is_no_name(database_url: str, provider: HostileProvider) -> None:
    provider.claims |= {"email": "anna@example.org", "email_verified": False}
    async with at(database_url, provider, name_claim="email") as api, api.client() as client:
        assert "is not verified" in (await log_in(client, provider)).text
        provider.claims["email_verified"] = True
        assert (await log_in(client, provider)).status_code == 303


async def test_a_recent_login_makes_a_token_and_sets_no_password(database_url: str, provider: HostileProvider) -> None:
    """A password of its own would let somebody in whom the provider no longer knows."""
    async with at(database_url, provider) as api, api.client() as client:
        await log_in(client, provider)
        session = (await client.get(f"{BASE}/sessions/current")).json()
        tokens, csrf = f"{BASE}/users/{session['account']}/tokens", {"X-CSRF-Token": session["csrf"]}
        made = await client.post(tokens, json={"name": "ci", "scopes": ["runs:read"]}, headers=csrf)
        assert made.status_code == 201, made.text
        password = await client.put(f"{BASE}/me/password", json={"password": "correct horse"}, headers=csrf)
        assert (password.status_code, "logs in at" in password.text) == (422, True)
        office = Office(api.backend)
        await office.sql("UPDATE login_session SET created_at = created_at - interval '5 minutes'")
        late = await client.post(tokens, json={"name": "late", "scopes": ["runs:read"]}, headers=csrf)
        assert (late.status_code, "5 minutes old" in late.text) == (422, True)
