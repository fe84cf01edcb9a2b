"""The contents that a worker keeps: read once, checked at each use, the least recently used deleted."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from dao.definitions import files
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.errors import Refused
from worker.files.file_cache import FileCache

LARGE = 1_000_000


@pytest_asyncio.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application_name="shoal-test")
    yield opened
    await opened.close()


async def put(database: Database, content: bytes) -> str:
    async with database.writing() as connection:
        await files.put(connection, "p", "a", content, "me")
    return files.hash_of(content)


@pytest.fixture
def cache(database: Database, tmp_path: Path) -> FileCache:
    return FileCache(database, tmp_path / "files", 10 * LARGE)


def kept(folder: Path) -> set[str]:
    return {each.name for each in (folder / "files").iterdir()}


async def test_a_content_is_read_once_and_checked_at_each_use(
    database: Database, cache: FileCache, tmp_path: Path
) -> None:
    content = await put(database, b"#!/bin/sh\n")
    await cache.put_into(tmp_path / "1", {"bin/run": content, "data": content})
    assert [each.read_bytes() for each in (tmp_path / "1/bin/run", tmp_path / "1/data")] == [b"#!/bin/sh\n"] * 2
    assert (tmp_path / "1/bin/run").stat().st_mode & 0o777 == 0o700
    async with database.writing() as connection:
        await connection.execute(Sql("DELETE FROM project_file"))
        await connection.execute(Sql("DELETE FROM file_content"))
    await cache.put_into(tmp_path / "2", {"run": content})
    (tmp_path / "files" / content).write_bytes(b"damaged")
    with pytest.raises(Refused, match='the content of the file "run" is gone; save the workflow again'):
        await cache.put_into(tmp_path / "3", {"run": content})
    assert kept(tmp_path) == set()


async def test_what_was_used_least_recently_makes_room(database: Database, tmp_path: Path) -> None:
    cache = FileCache(database, tmp_path / "files", 2 * LARGE)
    first, second, third = [await put(database, bytes([number]) * LARGE) for number in range(3)]
    for place, each in enumerate((first, second)):
        await cache.put_into(tmp_path / str(place), {"a": each})
        os.utime(tmp_path / "files" / each, (place, place))
    await cache.put_into(tmp_path / "again", {"a": first})
    await cache.put_into(tmp_path / "third", {"a": third})
    assert kept(tmp_path) == {first, third}


async def test_no_path_leads_out_of_the_folder_of_the_task(
    database: Database, cache: FileCache, tmp_path: Path
) -> None:
    content = await put(database, b"x")
    for path in ("../out", "/tmp/out", "a/../../out", "script.sh"):
        with pytest.raises(Refused, match="the file"):
            await cache.put_into(tmp_path / "1", {path: content})
    with pytest.raises(Refused, match='no content of "a"; save the workflow again'):
        await cache.put_into(tmp_path / "1", {"a": ""})


async def test_a_link_in_the_folder_is_not_followed(database: Database, cache: FileCache, tmp_path: Path) -> None:
    content, outside = await put(database, b"x"), tmp_path / "outside"
    (tmp_path / "1").mkdir()
    (tmp_path / "1/a").symlink_to(outside)
    with pytest.raises(OSError):
        await cache.put_into(tmp_path / "1", {"a": content})
    assert not outside.exists()
