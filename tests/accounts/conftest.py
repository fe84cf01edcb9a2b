"""A database with our schema, and people who use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from argon2 import PasswordHasher

from dao.postgres.database import Database
from service.accounts.passwords import Passwords
from tests.accounts.office import Office


class CountingHasher(PasswordHasher):
    """Cheap, and says which hashes were verified."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=64, parallelism=1)
        self.verified: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:
        self.verified.append(str(hash))
        return super().verify(hash, password)


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()


@pytest.fixture
def hasher() -> CountingHasher:
    return CountingHasher()


@pytest.fixture
def office(database: Database, hasher: CountingHasher) -> Iterator[Office]:
    passwords = Passwords(hasher)
    yield Office.of(database, passwords)
    passwords.close()
