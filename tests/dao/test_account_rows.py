"""Accounts and what hangs on them: links, sessions, tokens, members; what ends each, and who wins of two at once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dao.accounts import accounts, login_links, members, sessions, tokens
from dao.accounts.rows import Account, TokenRow
from dao.accounts.tokens import NewToken
from model.accounts.project_limits import ProjectLimits
from model.accounts.rights import Role, Scope
from model.errors import Changed, NotFound, Refused
from model.ids import AccountId
from tests.dao.scene import Scene

SECRET, OTHER = b"a" * 32, b"b" * 32
FIVE = timedelta(minutes=5)


async def an_account(scene: Scene, name: str = "anna", is_admin: bool = False) -> Account:
    async with scene.writing() as connection:
        return await accounts.insert(connection, name, is_admin)


async def has_session(scene: Scene, secret: bytes = SECRET) -> bool:
    async with scene.database.reading() as connection:
        return await sessions.find(connection, secret) is not None


async def has_token(scene: Scene) -> bool:
    async with scene.database.reading() as connection:
        return SECRET in await tokens.find(connection, {SECRET: "10.0.0.9"})


async def a_session(scene: Scene, account: AccountId, secret: bytes = SECRET) -> None:
    async with scene.writing() as connection:
        await sessions.insert(connection, account, secret, OTHER, "10.0.0.1", "Firefox")


async def a_token(scene: Scene, account: AccountId, name: str = "ci") -> TokenRow:
    async with scene.writing() as connection:
        new = NewToken(name, SECRET, {Scope.RUNS_READ}, None, timedelta(days=1))
        return await tokens.insert(connection, account, new)


async def test_a_name_is_taken_in_upper_and_lower_case(scene: Scene) -> None:
    anna = await an_account(scene)
    with pytest.raises(Refused, match='account "ANNA" already'):
        await an_account(scene, "ANNA")
    async with scene.database.reading() as connection:
        assert await accounts.by_name(connection, "Anna") == anna
        with pytest.raises(NotFound, match='no account "berta"'):
            await accounts.by_name(connection, "berta")


async def test_of_two_changes_of_one_version_the_second_is_refused(scene: Scene) -> None:
    anna = await an_account(scene)
    async with scene.writing() as connection:
        changed = await accounts.change(connection, anna.id, anna.version, is_admin=True)
    assert (changed.is_admin, changed.version) == (True, anna.version + 1)
    with pytest.raises(Changed, match="somebody else changed"):
        async with scene.writing() as connection:
            await accounts.change(connection, anna.id, anna.version, disabled=True)


async def test_a_link_logs_in_once_even_if_used_twice_at_once(scene: Scene) -> None:
    anna = await an_account(scene)
    async with scene.writing() as connection:
        await login_links.insert(connection, anna.id, SECRET, FIVE)

    async def use() -> AccountId | None:
        async with scene.writing() as connection:
            return await login_links.use(connection, SECRET)

    assert sorted(map(str, await asyncio.gather(*(use() for _ in range(8))))) == sorted([str(anna.id), *["None"] * 7])


@pytest.mark.parametrize("ended", [
    "UPDATE login_link SET expires_at = clock_timestamp()",
    "UPDATE account SET disabled_at = clock_timestamp()",
])  # fmt: skip
async def test_a_link_that_expired_or_is_of_a_disabled_account_logs_nobody_in(scene: Scene, ended: str) -> None:
    anna = await an_account(scene)
    async with scene.writing() as connection:
        await login_links.insert(connection, anna.id, SECRET, FIVE)
    await scene.sql(ended)
    async with scene.writing() as connection:
        assert await login_links.use(connection, SECRET) is None


@pytest.mark.parametrize("ended", [
    "UPDATE login_session SET expires_at = clock_timestamp()",
    "UPDATE login_session SET last_seen_at = clock_timestamp() - interval '12 h'",
    "UPDATE account SET disabled_at = clock_timestamp()",
    "DELETE FROM login_session",
])  # fmt: skip
async def test_a_session_ends(scene: Scene, ended: str) -> None:
    await a_session(scene, (await an_account(scene)).id)
    assert await has_session(scene)
    assert not await has_session(scene, OTHER)
    await scene.sql(ended)
    assert not await has_session(scene)


async def test_a_session_is_seen_once_a_minute_and_lives_on_while_it_is_used(scene: Scene) -> None:
    await a_session(scene, (await an_account(scene)).id)
    seen = "SELECT last_seen_at > clock_timestamp() - CAST(:age AS interval) FROM login_session"
    move = "UPDATE login_session SET last_seen_at = clock_timestamp() - CAST(:age AS interval)"
    await scene.sql(move, age="20 s")
    assert await has_session(scene)
    assert await scene.sql(seen, age="20 s") == [False]
    await scene.sql(move, age="11 h 59 min")
    assert await has_session(scene)
    assert await scene.sql(seen, age="40 s") == [True]


async def test_a_request_waits_for_no_other_of_the_same_session_or_token(scene: Scene) -> None:
    anna = await an_account(scene)
    await a_session(scene, anna.id)
    await a_token(scene, anna.id)
    await scene.sql("UPDATE login_session SET last_seen_at = clock_timestamp() - interval '1 h'")
    async with scene.writing() as connection:
        assert await sessions.find(connection, SECRET) is not None
        assert SECRET in await tokens.find(connection, {SECRET: "10.0.0.9"})
        # A wait for the first transaction would be an error after lock_timeout.
        assert await has_session(scene)
        assert await has_token(scene)


@pytest.mark.parametrize("ended", [
    "UPDATE token SET expires_at = clock_timestamp()",
    "UPDATE token SET revoked_at = clock_timestamp()",
    "UPDATE account SET disabled_at = clock_timestamp()",
])  # fmt: skip
async def test_a_token_ends(scene: Scene, ended: str) -> None:
    await a_token(scene, (await an_account(scene)).id)
    assert await has_token(scene)
    await scene.sql(ended)
    assert not await has_token(scene)


async def test_the_last_use_of_a_token_is_written_once_a_minute_with_the_address(scene: Scene) -> None:
    await a_token(scene, (await an_account(scene)).id)
    used = "SELECT last_used_from, last_used_at > clock_timestamp() - interval '30 s' FROM token"
    assert await scene.sql(used) == [(None, None)]
    assert await has_token(scene)
    assert await scene.sql(used) == [("10.0.0.9", True)]
    await scene.sql("UPDATE token SET last_used_at = clock_timestamp() - interval '30 s', last_used_from = 'before'")
    assert await has_token(scene)
    assert await scene.sql(used) == [("before", False)]
    await scene.sql("UPDATE token SET last_used_at = clock_timestamp() - interval '61 s'")
    assert await has_token(scene)
    assert await scene.sql(used) == [("10.0.0.9", True)]


async def test_the_name_of_a_token_is_free_again_when_it_is_revoked(scene: Scene) -> None:
    anna = await an_account(scene)
    first = await a_token(scene, anna.id)
    with pytest.raises(Refused, match='a token "ci" already'):
        await a_token(scene, anna.id)
    async with scene.writing() as connection:
        assert await tokens.revoke(connection, anna.id, first.id) is not None
        assert await tokens.revoke(connection, anna.id, first.id) is None
        second = await tokens.insert(connection, anna.id, NewToken("ci", OTHER, set(Scope), {"etl"}, timedelta(days=1)))
        assert [row.id for row in await tokens.of_account(connection, anna.id, 10)] == [second.id, first.id]
        assert [row.id for row in await tokens.of_account(connection, anna.id, 10, second.id)] == [first.id]
        found = (await tokens.find(connection, {OTHER: ""}))[OTHER]
        assert (found.projects, found.scopes) == (frozenset({"etl"}), frozenset(Scope))


async def test_a_role_that_is_given_or_taken_away_counts_at_the_next_request(scene: Scene) -> None:
    anna = await an_account(scene)
    await a_session(scene, anna.id)
    await a_token(scene, anna.id)

    async def roles() -> list[object]:
        async with scene.database.reading() as connection:
            session, found = await sessions.find(connection, SECRET), await tokens.find(connection, {SECRET: ""})
            assert session is not None
            assert session.roles == found[SECRET].roles
            return sorted(session.roles.items())

    async with scene.writing() as connection:
        await members.put(connection, anna.id, "etl", Role.VIEWER)
        await members.put(connection, anna.id, "etl", Role.EDITOR)
        await members.put(connection, anna.id, "bi", Role.OWNER)
    assert await roles() == [("bi", Role.OWNER), ("etl", Role.EDITOR)]
    async with scene.database.reading() as connection:
        assert await members.of_account(connection, anna.id) == {"bi": Role.OWNER, "etl": Role.EDITOR}
    async with scene.writing() as connection:
        assert await members.remove(connection, anna.id, "bi")
        assert not await members.remove(connection, anna.id, "bi")
        assert [(each.name, each.role) for each in await members.of_project(connection, "etl")] == [("anna", "EDITOR")]
    assert await roles() == [("etl", Role.EDITOR)]


async def test_a_project_may_use_all_tenants_and_groups_until_it_is_limited(scene: Scene) -> None:
    async with scene.writing() as connection:
        assert await members.limits(connection, "etl") == ProjectLimits()
        limited = ProjectLimits(frozenset({"etl"}), frozenset({"big", "small"}), alert_groups=frozenset({"data"}))
        assert await members.set_limits(connection, "etl", limited) == ProjectLimits()
        assert await members.limits(connection, "etl") == limited
        assert await members.set_limits(connection, "etl", ProjectLimits()) == limited
        assert await members.limits(connection, "etl") == ProjectLimits()
