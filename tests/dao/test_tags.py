"""Tags of workflows, whatever is written in their versions."""

from __future__ import annotations

import pytest

from dao.definitions import definitions
from tests.dao.scene import Scene


@pytest.mark.parametrize("written", ["null", "[]", '"x"', "{}", '["b", 7]'])
async def test_whatever_a_version_says_is_a_list(scene: Scene, written: str) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (1001, 'w')")
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1001, 1, CAST(:spec AS jsonb))",
        spec=f'{{"tags": {written}}}',
    )
    async with scene.database.reading() as connection:
        assert len(await definitions.page(connection, 10, definitions.Wanted(tags=["b"]))) == ("b" in written)
        assert len(await definitions.page(connection, 10)) == 1
