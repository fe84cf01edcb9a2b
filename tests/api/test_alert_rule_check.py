"""A rule in words is checked while it is written: whether it can be read, and what it names that is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.api.serving import BASE, Serving, token_of

Sql = Callable[[str], list[tuple[Any, ...]]]


async def test_what_is_not_understood_or_not_there_is_said_and_nothing_is_saved(api: Serving, sql: Sql) -> None:
    sql("INSERT INTO workflow_definition (project, name) VALUES ('p', 'load'), ('other', 'elsewhere')")
    sql("INSERT INTO alert_group (name) VALUES ('data')")
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:

        async def checked(text: str) -> Mapping[str, Any]:
            answer = await client.post(f"{BASE}/alert-rules:check", json={"project": "p", "text": text})
            assert answer.status_code == 200, answer.text
            found: Mapping[str, Any] = answer.json()
            return found

        fine = {"workflow": "load", "group": "data", "has_workflow": True, "has_group": True}
        assert await checked("any run of load fails -> group data") == fine
        assert await checked("any run of elsewhere fails -> group nobody") == {
            **fine,
            **{"workflow": "elsewhere", "group": "nobody", "has_workflow": False, "has_group": False},
        }
        assert await checked("any run of this project fails -> group data") == {
            **{"group": "data", "has_workflow": True, "has_group": True}
        }
        [(name, said)] = (await checked("any run of load fals -> group data")).items()
        assert name == "fault"
        assert said.startswith('"any run of load fals" is not understood; write one of: any run of NAME fails')
        assert "says not who is notified" in (await checked("any run of load fails"))["fault"]
        assert (await checked("   "))["fault"].startswith("the rule is empty")
    assert sql("SELECT count(*) FROM alert_rule") == [(0,)]
