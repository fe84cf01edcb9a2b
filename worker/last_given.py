"""The last id that the database has given to an attempt, as a worker finds it before it begins a life."""

from __future__ import annotations

from dao.cluster import went_back
from dao.cluster.went_back import LastGiven
from dao.postgres.database import Database


async def last_given(database_url: str) -> LastGiven:
    """To be compared with the ids of which a worker's folder has logs.

    Asked before the life begins: it fences the former one, and masters give new attempts at once in place of those
    which that had. On a database that was restored, these may have the very ids of which there are logs.

    Raises:
        Unavailable: the database does not answer.
    """
    database = Database(database_url, application_name="shoal-starting", connections_max=1)
    try:
        async with database.reading() as connection:
            return await went_back.last_given(connection)
    finally:
        await database.close()
