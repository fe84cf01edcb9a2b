"""`dao/definitions/definitions.py`: what can be started, with the parameters of its project."""

from __future__ import annotations

from typing import cast

import pytest

from dao.definitions import definitions
from dao.definitions.definitions import Whereabouts
from dao.postgres.pool import AsyncConnection
from model.choices import ReleaseState
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound
from model.ids import WorkflowCode
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

SPEC = WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE"}]})


async def save(scene: Scene, name: str, project: str = "default") -> WorkflowCode:
    async with scene.writing() as connection:
        head, _ = await definitions.save(connection, project, name, ReleaseState.ONLINE, SPEC)
    return head.code


async def test_a_definition_brings_the_parameters_of_its_project(scene: Scene) -> None:
    [project] = await scene.sql("INSERT INTO project (name, params) VALUES ('etl', '{\"day\": \"1\"}') RETURNING code")
    inside, outside = await save(scene, "in", "etl"), await save(scene, "out")
    async with scene.database.reading() as connection:
        heads = await definitions.heads(connection, [inside, outside, WorkflowCode(4711)])
        found = await definitions.find(connection, "in", "etl")
        listed = await definitions.page(connection, 10)
        where = await definitions.whereabouts(connection, [inside, outside])
    assert {code: head.project_params for code, head in heads.items()} == {inside: '{"day": "1"}', outside: "{}"}
    assert found == heads[inside]
    assert listed == [heads[inside], heads[outside]]
    assert where == {inside: Whereabouts("in", "etl", project), outside: Whereabouts("out", "default", 0)}


async def test_what_a_project_says_now_counts_and_not_what_it_said_when_the_workflow_was_saved(scene: Scene) -> None:
    code = await save(scene, "in", "etl")
    await scene.sql("INSERT INTO project (name, params) VALUES ('etl', '{\"day\": \"2\"}')")
    async with scene.database.reading() as connection:
        assert (await definitions.heads(connection, [code]))[code].project_params == '{"day": "2"}'


async def test_a_name_is_looked_for_in_its_project(scene: Scene) -> None:
    code = await save(scene, "in", "etl")
    async with scene.database.reading() as connection:
        with pytest.raises(NotFound, match='there is no workflow "in" in project "default"'):
            await definitions.find(connection, "in")
        assert (await definitions.find(connection, str(code))).code == code


async def test_a_code_that_somebody_gave_by_sql_is_passed_over(scene: Scene) -> None:
    first = await save(scene, "first")
    await scene.sql(
        f"INSERT INTO workflow_definition (code, name) SELECT {first} + n, n::text FROM generate_series(1, 3) AS n "
        "RETURNING code"
    )
    assert await save(scene, "second") == first + 4
    assert await save(scene, "first") == first


async def test_a_page_of_definitions_is_read_by_the_key_however_many_there_are(scene: Scene) -> None:
    await scene.sql("""
        INSERT INTO workflow_definition (code, project, name)
        SELECT n, 'p' || n % 7, 'w' || n FROM generate_series(1, 20000) AS n RETURNING code
    """)
    await scene.sql("ANALYZE workflow_definition")
    async with scene.writing() as connection:
        explaining = Explaining(connection)
        found = await definitions.page(
            cast(AsyncConnection, explaining), 51, definitions.Wanted(visible=["p1", "p2"]), 10_000
        )
        assert [found[0].code, len(found)] == [10_004, 51]
    assert "workflow_definition" not in explaining.plan.whole_tables
    assert explaining.plan.read["workflow_definition_pkey"] <= 400
