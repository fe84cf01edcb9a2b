"""`login_attempt`: logins by password that failed or are being checked, counted for each name and each address.

An attempt is written before the password is checked, and deleted if it was right. So many at once are counted as many
one after the other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NewType

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.accounts.accounts import sent_name
from model.accounts.login_limits import FREE_OF_ADDRESS, FREE_OF_NAME, WINDOW, counted_address, wait

AttemptId = NewType("AttemptId", int)

# Always the name first: two that hold one and wait for the other would wait for ever.
_ONE_AT_A_TIME = Sql("""
    SELECT pg_advisory_xact_lock(hashtextextended('shoal login name ' || :name, 0)),
           pg_advisory_xact_lock(hashtextextended('shoal login address ' || :address, 1))
""")
# index: login_attempt_name, login_attempt_address, searched by a time that does not move during the statement
_COUNT = Sql("""
    SELECT count(*) FILTER (WHERE counted_by = 'name'),
           clock_timestamp() - max(at) FILTER (WHERE counted_by = 'name'),
           count(*) FILTER (WHERE counted_by = 'address'),
           clock_timestamp() - max(at) FILTER (WHERE counted_by = 'address')
    FROM (
        SELECT 'name' AS counted_by, at FROM login_attempt
        WHERE name = :name AND at BETWEEN statement_timestamp() - :window AND statement_timestamp()
        UNION ALL
        SELECT 'address', at FROM login_attempt
        WHERE address = :address AND at BETWEEN statement_timestamp() - :window AND statement_timestamp()
    ) counted
""")
_INSERT = Sql("INSERT INTO login_attempt (name, address) VALUES (:name, :address) RETURNING id")
_SUCCEEDED = Sql("DELETE FROM login_attempt WHERE name = :name")


async def begin(connection: AsyncConnection, name: str, address: str) -> AttemptId | timedelta:
    """Count an attempt; or, if there were too many, the time until the next is allowed, by the database's time."""
    values = {"name": _counted_name(name), "address": counted_address(address)}
    await connection.execute(_ONE_AT_A_TIME, values)
    of_name, since_name, of_address, since_address = (
        await connection.execute(_COUNT, {**values, "window": WINDOW})
    ).one()
    none = timedelta(0)
    left = max(
        wait(of_name, since_name or none, FREE_OF_NAME), wait(of_address, since_address or none, FREE_OF_ADDRESS)
    )
    if left > none:
        return left
    return AttemptId((await connection.execute(_INSERT, values)).scalar_one())


async def succeeded(connection: AsyncConnection, name: str) -> None:
    """The password was right: the attempts for this name count no more, for it and for their addresses."""
    await connection.execute(_SUCCEEDED, {"name": _counted_name(name)})


def _counted_name(name: str) -> str:
    return sent_name(name).lower()
