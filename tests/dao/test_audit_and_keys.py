"""The audit, idempotency keys, limits of logins, and what is deleted when it has expired."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from dao.accounts import audit, expired, idempotency, login_attempts, login_links, sessions
from dao.accounts.audit import AuditEntry, AuditFilter
from dao.accounts.idempotency import Answer, KeyedRequest
from model.accounts.audits import ActorKind, Outcome
from model.errors import OtherRequest, Refused, StillRunning
from model.ids import AccountId
from tests.dao.scene import Scene
from tests.dao.test_account_rows import an_account

HASH, OTHER = b"h" * 32, b"o" * 32
ANSWER = Answer(202, {"Location": "/api/v1/commands/7"}, b'{"command_id": "7"}')


def an_entry(number: int = 1, project: str | None = "etl", actor: str = "anna") -> AuditEntry:
    return AuditEntry(
        *(ActorKind.SESSION, actor, AccountId(1), "start_run", "run", str(number), "load", project),
        after={"password": "x", "note": 'it\'s "5"', "count": number},
        address="10.0.0.1",
        request_id="r1",
    )


# ---------------------------------------------------------------------------------------------------- audit


async def test_an_entry_is_read_as_it_was_written_but_for_its_secrets(scene: Scene) -> None:
    denied = AuditEntry(ActorKind.SYSTEM_USER, "root", None, "drop", "queue", outcome=Outcome.DENIED)
    async with scene.writing() as connection:
        await audit.insert(connection, [an_entry(), denied])
    async with scene.database.reading() as connection:
        second, first = await audit.page(connection, AuditFilter(), 10)
    assert second.entry == denied
    assert first.entry.after == {"password": "******", "note": 'it\'s "5"', "count": 1}
    assert (first.entry.actor_kind, first.entry.outcome) == (ActorKind.SESSION, Outcome.DONE)
    assert first.at.tzinfo is not None
    assert first.id < second.id


async def test_a_change_that_is_undone_leaves_no_entry(scene: Scene) -> None:
    with pytest.raises(Refused):
        async with scene.writing() as connection:
            await audit.insert(connection, [an_entry()])
            raise Refused("for another reason")
    assert await scene.sql("SELECT count(*) FROM audit") == [0]


@pytest.mark.parametrize(("wanted", "found"), [
    (AuditFilter(), [8, 7, 6, 5, 4, 3, 2, 1]),
    (AuditFilter(projects={"etl"}), [7, 4, 1]),
    (AuditFilter(projects={"etl", "bi", "none"}), [8, 7, 5, 4, 2, 1]),
    (AuditFilter(projects=()), []),
    (AuditFilter(actor="berta"), [8, 6, 4, 2]),
    (AuditFilter(projects={"bi"}, actor="berta"), [8, 2]),
    (AuditFilter(object_kind="run", object_id="3"), [3]),
    (AuditFilter(object_kind="workflow", object_id="3"), []),
])  # fmt: skip
async def test_a_page_has_the_newest_first_and_the_next_goes_on(
    scene: Scene, wanted: AuditFilter, found: list[int]
) -> None:
    projects = ["etl", "bi", None]
    async with scene.writing() as connection:
        await audit.insert(
            connection, [an_entry(n, projects[(n - 1) % 3], ("anna", "berta")[(n - 1) % 2]) for n in range(1, 9)]
        )
    seen: list[int] = []
    before = None
    async with scene.database.reading() as connection:
        while rows := await audit.page(connection, wanted, 2, before):
            seen += [int(row.entry.object_id or 0) for row in rows]
            before = rows[-1].id
    assert seen == found


# ------------------------------------------------------------------------------------------ idempotency keys


async def test_the_same_request_gets_the_first_answer_again(scene: Scene) -> None:
    async with scene.writing() as connection:
        assert await idempotency.begin(connection, KeyedRequest("account 1", "k", HASH)) is None
        await idempotency.finish(connection, [(KeyedRequest("account 1", "k", HASH), ANSWER)])
    async with scene.writing() as connection:
        assert await idempotency.begin(connection, KeyedRequest("account 1", "k", HASH)) == ANSWER
        assert await idempotency.begin(connection, KeyedRequest("account 2", "k", OTHER)) is None, (
            "a key belongs to its actor"
        )
    with pytest.raises(OtherRequest, match="another request"):
        async with scene.writing() as connection:
            await idempotency.begin(connection, KeyedRequest("account 1", "k", OTHER))


async def test_while_the_first_is_under_way_the_second_is_refused_and_if_it_fails_the_next_begins(scene: Scene) -> None:
    with pytest.raises(Refused, match="the first failed"):
        async with scene.writing() as first:
            assert await idempotency.begin(first, KeyedRequest("a", "k", HASH)) is None
            with pytest.raises(StillRunning, match="still under way"):
                async with scene.writing() as second:
                    await idempotency.begin(second, KeyedRequest("a", "k", HASH))
            await idempotency.finish(first, [(KeyedRequest("a", "k", HASH), ANSWER)])
            raise Refused("the first failed")
    async with scene.writing() as connection:
        assert await idempotency.begin(connection, KeyedRequest("a", "k", HASH)) is None


async def test_after_a_day_a_key_is_free_again(scene: Scene) -> None:
    async with scene.writing() as connection:
        await idempotency.finish(connection, [(KeyedRequest("a", "k", HASH), ANSWER)])
    await scene.sql("UPDATE idempotency_key SET created_at = clock_timestamp() - interval '24 h'")
    async with scene.writing() as connection:
        assert await idempotency.begin(connection, KeyedRequest("a", "k", OTHER)) is None
        await idempotency.finish(connection, [(KeyedRequest("a", "k", OTHER), ANSWER)])
    async with scene.writing() as connection:
        assert await idempotency.begin(connection, KeyedRequest("a", "k", OTHER)) == ANSWER


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "\0", "\ud800"])
async def test_a_key_that_cannot_be_one_is_refused(scene: Scene, key: str) -> None:
    with pytest.raises(Refused, match="1 to 255 bytes"):
        async with scene.writing() as connection:
            await idempotency.begin(connection, KeyedRequest("a", key, HASH))


# ------------------------------------------------------------------------------------------ limits of logins


async def attempt(scene: Scene, name: str, address: str = "10.0.0.1") -> timedelta | None:
    """The time to wait; None = it was allowed, and counted."""
    async with scene.writing() as connection:
        found = await login_attempts.begin(connection, name, address)
    return found if isinstance(found, timedelta) else None


async def test_the_sixth_failure_of_a_name_waits_and_each_further_one_twice_as_long(scene: Scene) -> None:
    for number in range(5):
        assert await attempt(scene, "Anna", f"10.0.0.{number}") is None
    waits = []
    for _ in range(4):
        left = await attempt(scene, "anna", "10.0.1.1")
        assert left is not None
        waits.append(round(left.total_seconds(), -1))
        await scene.sql("UPDATE login_attempt SET at = at - CAST(:left AS interval)", left=f"{left.total_seconds()} s")
        assert await attempt(scene, "ANNA", "10.0.1.1") is None
    assert waits == [30, 60, 120, 240]
    assert await attempt(scene, "berta") is None, "another name"


async def test_the_thirty_first_failure_of_an_address_waits_whatever_its_names(scene: Scene) -> None:
    for number in range(30):
        assert await attempt(scene, f"name {number}", f"2001:db8::{number}") is None
    assert await attempt(scene, "one more", "2001:db8::ffff:1:2:3") is not None
    assert await attempt(scene, "one more", "2001:db8:0:1::1") is None, "another network"


async def test_many_attempts_at_once_are_counted_as_many(scene: Scene) -> None:
    waits = await asyncio.gather(*(attempt(scene, "anna", f"10.0.0.{number}") for number in range(20)))
    assert waits.count(None) == 5


async def test_success_makes_the_attempts_of_that_name_count_no_more(scene: Scene) -> None:
    for _ in range(5):
        assert await attempt(scene, "anna") is None
        assert await attempt(scene, "berta") is None
    async with scene.writing() as connection:
        await login_attempts.succeeded(connection, "ANNA")
    assert await attempt(scene, "anna") is None
    assert await attempt(scene, "berta") is not None


# --------------------------------------------------------------------------------------- what has expired


async def test_what_has_expired_is_deleted_and_nothing_else(scene: Scene) -> None:
    anna = await an_account(scene)
    tables = {
        "login_attempt": "at = clock_timestamp() - interval '15 min'",
        "login_link": "expires_at = clock_timestamp() - interval '1 day'",
        "login_session": "last_seen_at = clock_timestamp() - interval '12 h'",
        "idempotency_key": "created_at = clock_timestamp() - interval '24 h'",
    }
    async with scene.writing() as connection:
        for secret in (HASH, OTHER):
            await login_links.insert(connection, anna.id, secret, timedelta(minutes=5))
            await sessions.insert(connection, anna.id, secret, secret, "", "")
            await login_attempts.begin(connection, secret.decode(), "10.0.0.1")
            await idempotency.finish(connection, [(KeyedRequest("a", secret.decode(), HASH), ANSWER)])
        assert await expired.delete(connection) == 0
    for table, old in tables.items():
        await scene.sql(f"UPDATE {table} SET {old} WHERE ctid = (SELECT min(ctid) FROM {table})")
    async with scene.writing() as connection:
        assert await expired.delete(connection) == len(tables)
    for table in tables:
        assert await scene.sql(f"SELECT count(*) FROM {table}") == [1], table
    await scene.sql("UPDATE login_session SET expires_at = clock_timestamp() - interval '1 s'")
    async with scene.writing() as connection:
        assert await expired.delete(connection) == 1
