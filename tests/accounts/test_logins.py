"""Logging in by password and by link, how often, and what ends a session."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from model.errors import Forbidden, Refused, ShoalError, TooMany, Unauthenticated, Unavailable
from service.accounts import logins, own_account, own_sessions, people
from service.accounts.logins import LoggedIn
from service.accounts.own_account import OwnPassword
from service.accounts.passwords import Passwords
from tests.accounts.conftest import CountingHasher
from tests.accounts.office import HERE, PASSWORD, ROOT, Office


async def test_the_right_password_logs_in_whatever_the_case_of_the_name(office: Office) -> None:
    await office.account()
    logged_in = await office.log_in("ANNA")
    caller = await office.session(logged_in.secret)
    assert (caller.name, caller.kind, caller.address) == ("anna", "SESSION", "10.0.0.1")
    assert caller.has_csrf(logged_in.csrf)
    assert not caller.has_csrf(logged_in.secret)
    assert not ROOT.has_csrf("")
    secrets = {logged_in.secret, logged_in.csrf}
    assert not [secret for secret in secrets if secret in repr(logged_in) + repr(caller)]
    (stored,) = await office.sql("SELECT s::text || a::text FROM login_session s JOIN account a ON a.id = account_id")
    assert not [secret for secret in {*secrets, PASSWORD} if secret in stored]


@pytest.mark.parametrize("made", ["unknown", "disabled", "without password", "wrong"])
async def test_whoever_may_not_log_in_learns_nothing_and_costs_the_same(
    office: Office, hasher: CountingHasher, made: str
) -> None:
    if made != "unknown":
        anna = await office.account()
        change = {"disabled": "disabled_at = now()", "without password": "password_hash = NULL"}.get(made)
        if change:
            await office.sql(f"UPDATE account SET {change} WHERE id = :id", id=anna.id)
    password = "a wrong one" if made == "wrong" else PASSWORD
    for _ in range(5):
        with pytest.raises(Unauthenticated, match="the name or the password is wrong; try again"):
            await office.log_in("anna", password)
    with pytest.raises(TooMany, match=r"try again in (29|30) s") as refused:
        await office.log_in("anna", password)
    assert refused.value.after_s <= 30
    costs = {verified.rpartition("$")[0].rpartition("$")[0] for verified in hasher.verified}
    assert (len(hasher.verified), costs) == (5, {"$argon2id$v=19$m=64,t=1,p=1"})


@pytest.mark.parametrize("name", ["", "\0", "\ud800", "anna\0", "a" * 101, "x" * 1_000_000])
async def test_a_name_that_nobody_can_have_is_answered_as_any_other(office: Office, name: str) -> None:
    await office.account("a" * 100)
    for _ in range(5):
        with pytest.raises(Unauthenticated, match="the name or the password is wrong"):
            await office.log_in(name)
    with pytest.raises(TooMany):
        await office.log_in(name)


async def test_many_wrong_passwords_at_once_are_limited(office: Office, hasher: CountingHasher) -> None:
    await office.account()

    async def attempt(number: int) -> type[ShoalError]:
        with pytest.raises(Refused) as refused:
            await office.log_in("anna", f"wrong password {number}", f"10.0.0.{number}")
        return refused.type

    found = await asyncio.gather(*(attempt(number) for number in range(15)))
    assert (found.count(Unauthenticated), found.count(TooMany)) == (5, 10)
    assert len(hasher.verified) == 5


async def test_after_the_wait_the_right_password_logs_in(office: Office) -> None:
    await office.account()
    for _ in range(5):
        with pytest.raises(Unauthenticated):
            await office.log_in("anna", "a wrong one")
    with pytest.raises(TooMany):
        await office.log_in()
    await office.sql("UPDATE login_attempt SET at = at - interval '31 s'")
    await office.log_in()
    assert await office.sql("SELECT count(*) FROM login_attempt") == [0]


async def test_a_hash_with_other_costs_is_replaced_at_the_next_login(office: Office) -> None:
    await office.account()
    dearer = Passwords()
    try:
        await logins.log_in(office.database, dearer, "anna", PASSWORD, HERE)
    finally:
        dearer.close()
    assert await office.sql("SELECT left(password_hash, 30) FROM account") == ["$argon2id$v=19$m=65536,t=3,p=4"]
    await office.log_in()


async def test_too_many_passwords_at_once_are_refused_for_now(hasher: CountingHasher) -> None:
    passwords = Passwords(hasher, waiting_max=3)
    try:
        found = await asyncio.gather(*(passwords.verify(None, PASSWORD) for _ in range(4)), return_exceptions=True)
        assert [type(each) for each in found] == [bool, bool, bool, Unavailable]
        assert await passwords.verify(await passwords.hash(PASSWORD), PASSWORD)
    finally:
        passwords.close()


# ---------------------------------------------------------------------------------------------------- links


async def test_only_one_of_several_that_make_the_first_admin_at_once_makes_it(office: Office) -> None:
    async def make(name: str) -> people.LoginLink | None:
        async with office.writing() as connection:
            return await people.make_first_admin(connection, ROOT, name)

    made = [link for link in await asyncio.gather(*(make(f"admin{n}") for n in range(6))) if link]
    assert len(made) == 1
    assert await office.sql("SELECT name, is_admin FROM account") == [(made[0].name, True)]
    assert made[0].secret not in repr(made[0])
    async with office.writing() as connection:
        logged_in = await logins.log_in_by_link(connection, made[0].secret, HERE)
    assert (await office.session(logged_in.secret)).is_admin
    assert await office.audited() == [
        ("root", "create_user"), ("root", "make_login_link"), (made[0].name, "log_in"),
    ]  # fmt: skip


async def test_a_link_works_once_of_two_uses_at_once_one_wins(office: Office) -> None:
    link = await office.link((await office.account()).id)

    async def use() -> LoggedIn:
        async with office.writing() as connection:
            return await logins.log_in_by_link(connection, link.secret, HERE)

    found = await asyncio.gather(*(use() for _ in range(6)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in found) == ["LoggedIn", *["Unauthenticated"] * 5]
    assert await office.sql("SELECT count(*) FROM login_session") == [1]


async def test_a_link_lives_for_five_minutes_and_the_next_one_replaces_it(office: Office) -> None:
    anna = await office.account()
    first = await office.link(anna.id)
    (lives,) = await office.sql("SELECT expires_at - clock_timestamp() FROM login_link")
    assert timedelta(minutes=4) < lives <= timedelta(minutes=5)
    await office.link(anna.id)
    with pytest.raises(Unauthenticated, match="used already or has expired"):
        async with office.writing() as connection:
            await logins.log_in_by_link(connection, first.secret, HERE)


# ------------------------------------------------------------------------------------------- what ends a session


async def test_a_session_ends_by_log_out(office: Office) -> None:
    await office.account()
    here, there = await office.log_in(), await office.log_in()
    async with office.writing() as connection:
        await logins.log_out(connection, await office.session(here.secret))
    with pytest.raises(Unauthenticated, match="log in again"):
        await office.session(here.secret)
    assert (await office.session(there.secret)).name == "anna"


async def test_a_new_password_ends_all_other_sessions_and_needs_the_old_one(office: Office) -> None:
    await office.account()
    here, there = await office.log_in(), await office.log_in()
    caller = await office.session(here.secret)

    async def change(current: str, password: str) -> None:
        wanted = OwnPassword(current=current, password=password)
        await office.ask(caller, own_account.change_own_password, wanted)

    with pytest.raises(Unauthenticated):
        await change("a wrong one", "new password")
    with pytest.raises(Refused, match="fewer than 10 characters"):
        await change(PASSWORD, "short")
    await change(PASSWORD, "new password")
    assert (await office.session(here.secret)).name == "anna"
    with pytest.raises(Unauthenticated):
        await office.session(there.secret)
    with pytest.raises(Unauthenticated):
        await office.log_in()
    assert (await office.log_in(password="new password")).name == "anna"


async def test_an_account_that_is_disabled_is_out_at_once_and_its_sessions_do_not_come_back(office: Office) -> None:
    anna = await office.account()
    logged_in = await office.log_in()
    await office.change(anna.id, disabled=True)
    with pytest.raises(Unauthenticated):
        await office.session(logged_in.secret)
    with pytest.raises(Unauthenticated):
        await office.log_in()
    await office.change(anna.id, disabled=False)
    with pytest.raises(Unauthenticated):
        await office.session(logged_in.secret)
    await office.log_in()


async def test_an_account_sees_and_ends_its_sessions_and_no_others(office: Office) -> None:
    await office.account()
    berta = await office.account("berta")
    await office.log_in()
    caller, other = await office.caller(), await office.caller("berta")
    assert caller.account is not None
    assert len((await office.ask(caller, own_sessions.list_sessions, caller.account)).items) == 2
    with pytest.raises(Forbidden):
        await office.ask(caller, own_sessions.list_sessions, berta.id)
    assert other.session is not None
    with pytest.raises(Refused, match="no session"):
        await office.ask(caller, own_sessions.end_session, caller.account, other.session)
    assert (await office.ask(caller, own_sessions.end_other_sessions, caller.account)).ended == 1
    (left,) = (await office.ask(caller, own_sessions.list_sessions, caller.account)).items
    assert (left.id, left.is_this) == (caller.session, True)


async def test_the_last_admin_stays_one_even_if_two_end_each_other(office: Office) -> None:
    admins = [await office.account(name, is_admin=True) for name in ("anna", "berta")]

    disabled = [office.change(admin.id, disabled=True) for admin in admins]
    found = await asyncio.gather(*disabled, return_exceptions=True)
    assert sorted(type(each).__name__ for each in found) == ["Refused", "UserAnswer"]
    assert [str(each)[:22] for each in found if isinstance(each, Refused)] == ["this is the last admin"]
