"""`dao/definitions/files.py`: each content once, and only as long as something names it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dao.definitions import files
from dao.postgres.errors import BadData
from model.errors import NotFound
from tests.dao.scene import Scene

NOW = timedelta(0)
SPEC = """INSERT INTO workflow_version (workflow_code, version, spec)
          VALUES (1, 1, jsonb_build_object('file_contents', jsonb_build_object('a.sql', CAST(:hash AS text))))"""


async def put(scene: Scene, path: str, content: bytes, project: str = "p") -> bool:
    async with scene.writing() as connection:
        return await files.put(connection, project, path, content, "me")


async def swept(scene: Scene, kept: timedelta = NOW) -> int:
    async with scene.writing() as connection:
        return await files.delete_unnamed(connection, kept, 100)


async def test_a_file_changes_only_with_its_content(scene: Scene) -> None:
    assert await put(scene, "a.sql", b"1")
    assert not await put(scene, "a.sql", b"1")
    assert await put(scene, "a.sql", b"2")
    assert await put(scene, "a.sql", b"2", "q")
    assert await scene.sql("SELECT count(*) FROM file_content") == [2]
    async with scene.database.reading() as connection:
        found, content = await files.find(connection, "p", "a.sql")
        assert (found.hash, found.size, found.changed_by, content) == (files.hash_of(b"2"), 1, "me", b"2")
        with pytest.raises(NotFound, match='there is no file "b" in project "p"'):
            await files.find(connection, "p", "b")


async def test_files_are_found_by_path_and_by_folder(scene: Scene) -> None:
    for path in ("a", "sql/a", "sql/b/c", "sqlite", "z"):
        await put(scene, path, path.encode())
    async with scene.database.reading() as connection:
        assert (await files.hashes(connection, "p", ["a", "no"], ["sql/"])).keys() == {"a", "sql/a", "sql/b/c"}
        assert [each.path for each in await files.page(connection, "p", 2, after="a", under="")] == ["sql/a", "sql/b/c"]
        assert [each.path for each in await files.page(connection, "p", 9, after="", under="sql/")] == [
            "sql/a",
            "sql/b/c",
        ]


async def test_a_content_stays_while_a_project_or_a_version_names_it(scene: Scene) -> None:
    await put(scene, "a.sql", b"1")
    assert await swept(scene) == 0
    await scene.sql(SPEC, hash=files.hash_of(b"1"))
    async with scene.writing() as connection:
        await files.delete(connection, "p", "a.sql")
    assert await swept(scene) == 0
    await scene.sql("DELETE FROM workflow_version")
    assert await swept(scene, timedelta(days=1)) == 0, "somebody may be about to name it"
    assert await swept(scene) == 1


async def test_the_schema_refuses_a_content_under_a_wrong_name(scene: Scene) -> None:
    with pytest.raises(BadData):
        await scene.sql("INSERT INTO file_content (hash, content) VALUES (repeat('0', 64), 'x')")
    with pytest.raises(BadData):
        await scene.sql(SPEC, hash=files.hash_of(b"nobody has it"))


async def test_workflows_with_another_content_are_named(scene: Scene) -> None:
    await put(scene, "a.sql", b"1")
    await scene.sql("INSERT INTO workflow_definition (code, project, name) VALUES (1, 'p', 'load')")
    await scene.sql(SPEC, hash=files.hash_of(b"1"))
    async with scene.database.reading() as connection:
        assert await files.outdated(connection, "p", "a.sql", files.hash_of(b"1"), 9) == []
        found = await files.outdated(connection, "p", "a.sql", files.hash_of(b"2"), 9)
        assert [each.name for each in found] == ["load"]
