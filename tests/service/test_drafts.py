"""Drafts and layouts: kept for each person, published only onto what they began from, and no part of any meaning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from pydantic import ValidationError

from dao.definitions import definitions, drafts, versions
from dao.definitions.drafts import DraftHead
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from model.definitions.layout import Layout, Note, Place
from model.errors import NotFound, Refused
from service.secrets.key_settings import SecretSettings
from service.workflows.apply_saving import Saved, save_all
from service.workflows.drafts import (
    BYTES_MAX,
    DefinitionChanged,
    DraftChanged,
    DraftTooLarge,
    document_of,
    drop_draft,
    publish_draft,
    read_draft,
    save_draft,
)
from service.workflows.layouts import read_layout, save_layout
from service.workflows.saved_workflow import exported, versions_differ
from service.workflows.workflow_file import BadWorkflowFile, parse_workflows
from tests.dao.scene import Scene
from worker.tasks.catalog import TaskCatalog

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def text_of(script: str, *, name: str = "w", more: str = "") -> str:
    return f'name: {name}\ntasks:\n  - {{name: a, type: SHELL, params: {{script: "{script}"}}}}\n{more}'


class People:
    """Each call is a transaction of somebody."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.scene = Scene(database)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        async with self.database.writing() as connection:
            yield connection

    async def do(self, function: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
        async with self.writing() as connection:
            return await function(connection, *given, **named)

    async def apply(self, text: str, by: str | None = None) -> Saved:
        documents = parse_workflows(text.encode(), "file", TaskCatalog())
        return (await self.do(save_all, documents, SecretSettings(), NOW, by=by))[0]

    async def save(self, who: str, text: str, name: str = "w", **named: Any) -> DraftHead:
        return await self.do(save_draft, who, "default", name, text, **named)

    async def publish(self, who: str, revision: int, name: str = "w") -> Saved:
        draft = await self.do(read_draft, who, "default", name)
        document = await document_of(draft, TaskCatalog())
        values = {"secrets": SecretSettings(), "now": NOW, "by": who}
        return await self.do(publish_draft, replace(draft.head, revision=revision), document, **values)


@pytest_asyncio.fixture
async def people(database_url: str) -> AsyncIterator[People]:
    """People at a database without workflows."""
    database = Database(database_url, application_name="shoal-test")
    yield People(database)
    await database.close()


async def test_a_draft_becomes_the_next_version_by_its_author_and_is_gone(people: People) -> None:
    await people.apply(text_of("one"))
    made = await people.save("anna", "name: w\ntasks: half of", base_version=1)
    assert (made.base_version, made.revision) == (1, 1)
    with pytest.raises(BadWorkflowFile, match="draft:"):
        await people.publish("anna", 1)
    changed = await people.save("anna", text_of("two"), revision=1)
    assert (changed.base_version, changed.revision, changed.size) == (1, 2, len(text_of("two")))
    saved = await people.publish("anna", 2)
    assert (saved.head.version, saved.is_new_version) == (2, True)
    found = await people.do(versions.authorship, saved.head.code, 2)
    assert found.created_by == "anna"
    with pytest.raises(NotFound, match="you have no draft"):
        await people.do(read_draft, "anna", "default", "w")


async def test_a_draft_is_refused_once_somebody_else_changed_the_workflow(people: People) -> None:
    """Who and when is said, and with the present version as its base it is published."""
    await people.apply(text_of("one"))
    await people.save("anna", text_of("anna's"), base_version=1)
    await people.publish("ben", (await people.save("ben", text_of("ben's"), base_version=1)).revision)
    with pytest.raises(DefinitionChanged, match=r"ben saved version 2 at .* UTC") as refused:
        await people.publish("anna", 1)
    error = refused.value
    assert (error.base_version, error.version, error.changed_by) == (1, 2, "ben")
    assert error.changed_at is not None
    both = await people.save("anna", text_of("both"), revision=1, base_version=2)
    assert (await people.publish("anna", both.revision)).head.version == 3


async def test_of_two_who_publish_at_once_one_is_refused(people: People) -> None:
    for name in ("w", "new"):
        if name == "w":
            await people.apply(text_of("one"))
        base = 1 if name == "w" else None
        made = {
            who: await people.save(who, text_of(who, name=name), name, base_version=base) for who in ("anna", "ben")
        }
        publishing = (people.publish(who, draft.revision, name) for who, draft in made.items())
        both = await asyncio.gather(*publishing, return_exceptions=True)
        assert sorted(type(each).__name__ for each in both) == ["DefinitionChanged", "Saved"], both


async def test_a_draft_of_a_workflow_that_does_not_exist_yet_makes_it(people: People) -> None:
    assert (await people.save("anna", text_of("one", name="new"), "new")).base_version is None
    saved = await people.publish("anna", 1, "new")
    assert (saved.head.version, saved.before) == (1, None)
    made = await people.save("anna", text_of("one", name="gone"), "gone")
    await people.apply(text_of("else", name="gone"))
    with pytest.raises(DefinitionChanged, match="names no version from which it began"):
        await people.publish("anna", made.revision, "gone")


async def test_drafts_are_each_person_s_and_change_only_from_the_revision_that_was_seen(people: People) -> None:
    await people.save("anna", text_of("anna's"))
    await people.save("ben", text_of("ben's"))
    await people.save("anna", text_of("x", name="v"), "v")
    assert [each.head.name for each in await people.do(drafts.drafts_of, "anna", 9)] == ["v", "w"]
    assert "ben's" in (await people.do(read_draft, "ben", "default", "w")).content
    with pytest.raises(DraftChanged, match="it has revision 1"):
        await people.save("anna", text_of("again"))
    second = await people.save("anna", text_of("second"), revision=1)
    for late in (
        people.save("anna", text_of("late"), revision=1),
        people.publish("anna", 1),
        people.do(drop_draft, "anna", "default", "w", 1),
    ):
        with pytest.raises(DraftChanged, match=f"it has revision {second.revision}"):
            await late
    with pytest.raises(DraftChanged, match="it is gone"):
        await people.save("cora", text_of("none"), revision=1)
    await people.do(drop_draft, "anna", "default", "w", second.revision)
    with pytest.raises(NotFound):
        await people.do(drop_draft, "anna", "default", "w", second.revision)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("w", "x" * (BYTES_MAX + 1), "more than 1048576"),
        ("w", "ü" * (BYTES_MAX // 2 + 1), "more than 1048576"),
        ("w", "a\0b", "NUL"),
        ("w", "\ud800", "half a character"),
        ("", "x", "1 to 200 printable"),
        ("a\nb", "x", "1 to 200 printable"),
        ("x" * 201, "x", "1 to 200 printable"),
    ],
)
async def test_what_no_draft_can_be_is_refused(people: People, name: str, content: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        await people.save("anna", content, name)
    assert isinstance(refused.value, DraftTooLarge) == ("more than" in why)
    await people.save("anna", "x" * BYTES_MAX)


async def test_a_draft_must_have_its_workflow_and_no_other(people: People) -> None:
    await people.save("anna", text_of("one", name="other"))
    with pytest.raises(Refused, match='it has "other" of project "default"'):
        await people.publish("anna", 1)
    with pytest.raises(NotFound, match="no version 7"):
        await people.save("anna", text_of("one"), revision=1, base_version=7)


# ------------------------------------------------------------------------------------------------- layouts

LAYOUT = Layout(tasks={"a": Place(x=1, y=2.5)}, notes=(Note(text="why", x=0, y=0, w=10, h=5),))


async def test_a_layout_makes_no_version_and_goes_with_the_next_one(people: People) -> None:
    saved = await people.apply(text_of("one"))
    await people.do(save_layout, saved.head, LAYOUT)
    assert await people.do(read_layout, saved.head) == LAYOUT
    again = await people.apply(text_of("one"))
    assert (again.head.version, again.is_new_version) == (1, False)
    assert await people.do(read_layout, again.head) == LAYOUT
    following = await people.apply(text_of("two"))
    assert following.head.version == 2
    assert await people.do(read_layout, following.head) == LAYOUT
    renamed = await people.apply(text_of("two").replace("name: a,", "name: b,"))
    assert await people.do(read_layout, renamed.head) == Layout(notes=LAYOUT.notes)
    assert await people.do(versions_differ, saved.head, 1, 2) == [
        line for line in await people.do(versions_differ, saved.head, 1, 2) if "layout" not in line
    ]


async def test_a_file_may_have_a_layout_and_an_export_has_it_on_request(people: People) -> None:
    more = "layout:\n  tasks: {a: {x: 1, y: 2.5}}\n  notes: [{text: why, x: 0, y: 0, w: 10, h: 5}]\n"
    saved = await people.apply(text_of("one", more=more))
    assert await people.do(read_layout, saved.head) == LAYOUT
    moved = await people.apply(text_of("one", more=more.replace("x: 1", "x: 7")))
    assert (moved.head.version, moved.is_new_version) == (1, False)
    assert (await people.do(read_layout, saved.head)).tasks["a"].x == 7
    assert "layout" not in (await people.do(exported, saved.head)).yaml
    written = (await people.do(exported, saved.head, layout=True)).yaml
    copy = await people.apply(written.replace("name: w", "name: copy"))
    assert await people.do(read_layout, copy.head) == await people.do(read_layout, saved.head)
    with pytest.raises(BadWorkflowFile, match='a place for the task "b", and there is no such task'):
        await people.apply(text_of("one", more="layout: {tasks: {b: {x: 1, y: 1}}}\n"))


async def test_a_layout_is_refused_that_no_canvas_can_have(people: People) -> None:
    saved = await people.apply(text_of("one"))
    with pytest.raises(Refused, match='has no task "b"'):
        await people.do(save_layout, saved.head, Layout(tasks={"b": Place(x=1, y=1)}))
    with pytest.raises(NotFound, match="no version 9"):
        await people.do(save_layout, saved.head, LAYOUT, 9)
    for wrong in (
        {"tasks": {"a": {"x": "nan", "y": 1}}},
        {"tasks": {"a": {"x": 1e7, "y": 1}}},
        {"tasks": {"a": {"x": 1}}},
        {"tasks": {"a": {"x": 1, "y": 1, "z": 1}}},
        {"notes": [{"text": "a\0b", "x": 1, "y": 1, "w": 1, "h": 1}]},
        {"notes": [{"text": "a", "x": 1, "y": 1, "w": -1, "h": 1}]},
        {"notes": [{"text": "a" * 5_001, "x": 1, "y": 1, "w": 1, "h": 1}]},
        {"notes": [{"text": "a", "x": 1, "y": 1, "w": 1, "h": 1}] * 501},
        {"other": 1},
    ):
        with pytest.raises(ValidationError):
            Layout.model_validate(wrong)


async def test_what_a_version_means_cannot_be_changed_though_its_layout_can(people: People) -> None:
    saved = await people.apply(text_of("one"))
    for column, value in (("spec", "'{}'"), ("created_by", "'x'"), ("version", "7")):
        with pytest.raises(Exception, match="never changes once written"):
            await people.scene.sql(f"UPDATE workflow_version SET {column} = {value}")
    await people.scene.sql("""UPDATE workflow_version SET layout = '{"tasks": 7}'""")
    assert await people.do(read_layout, saved.head) == Layout()
    assert (await people.do(definitions.find, "w")).version == 1
