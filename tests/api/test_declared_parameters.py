"""Starts over the API whose values are not as their workflow declares: which field is wrong, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.serving import BASE, Serving, token_of
from tests.api.verbs import assert_same, through
from tests.shoal.command_line import CommandLine

W = """
name: load
params:
  day: {type: DATE, required: true, description: The day to load}
  size: {type: INTEGER, value: 10, min: 1, max: 100}
  region/a: {enum: [eu, us], value: eu}
tasks:
  - {name: a, description: It loads, type: SHELL, params: {script: "echo ${day} ${size} ${region}"}}
"""


async def test_a_wrong_start_names_its_fields(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        applied = await client.post(f"{BASE}/workflow-definitions:apply", json={"files": [{"name": "f", "content": W}]})
        assert applied.status_code == 200, applied.text
        code = applied.json()["workflows"][0]["code"]
        path = f"{BASE}/workflow-definitions/{code}"

        async def fields(verb: str, **body: Any) -> dict[str, str]:
            answer = await client.post(f"{path}/{verb}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "SH-1007"), answer.text
            return {each["pointer"]: each["detail"] for each in answer.json()["errors"]}

        lacks = 'the required parameter "day" (a date such as 2026-01-31) has no value; give it one with the start'
        assert await fields("runs") == {"/params/day": lacks}
        assert await fields("backfills", **{"from": "2026-01-01", "to": "2026-01-02"}) == {"/params/day": lacks}
        assert await fields("schedules", cron="0 0 * * *") == {"/params/day": lacks}
        assert await fields("runs", params={"size": "0", "region/a": "asia", "day": "2026-01-31"}) == {
            "/params/size": (
                'parameter "size" is INTEGER and must be a whole number such as 42, from 1 to 100; it is "0"'
            ),
            "/params/region~1a": 'parameter "region/a" must be one of "eu", "us"; it is "asia"',
        }
        right = await client.post(f"{path}/runs", json={"params": {"day": "$[yyyy-MM-dd]", "size": "100"}})
        assert right.status_code == 202, right.text
        spec = (await client.get(path)).json()["spec"]
    assert spec["params"] == {"size": "10", "region/a": "eu"}
    assert spec["declared"]["day"] == {"type": "DATE", "required": True, "description": "The day to load"}


async def test_verbs_say_the_same_through_the_api(api: Serving, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(W)
    direct = CommandLine.at(database_url)
    assert (await direct("workflow", "apply", str(tmp_path / "w.yaml"))).code == 0
    await assert_same(
        direct,
        await through(api),
        "workflow show load",
        "workflow export load",
        "run load",
        "run load -p day=yesterday",
        "backfill load --date 2026-01-01",
        'schedule add load "0 0 * * *" -p size=0',
    )
