"""The text of a workflow over the API: what survives publishing, export and import."""

from __future__ import annotations

import json
from typing import Any

import httpx

from model.accounts.rights import Role
from tests.api.serving import BASE, Serving
from tests.api.test_definitions import admin as admin
from tests.api.test_definitions import api as api
from tests.api.test_definitions import applied, member

COMMENTED = "# Why it is there.\nname: kept   # by hand\ntasks:\n  - {name: a, type: FAKE}   # the only one\n"


async def test_the_comments_of_a_text_survive_publishing(admin: httpx.AsyncClient, sql: Any) -> None:
    (first,) = await applied(admin, COMMENTED)
    path = f"{BASE}/workflow-definitions/{first['code']}"

    async def exported(**query: object) -> dict[str, Any]:
        answer = await admin.get(f"{path}/export", params=query)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    assert await exported() == {"name": "kept", "version": 1, "yaml": COMMENTED, "is_as_written": True}
    assert (await exported(canonical=True))["yaml"] == "name: kept\ntasks:\n  - name: a\n    type: FAKE\n"
    await admin.put(f"{path}/release-state", json={"release_state": "OFFLINE"})
    assert (await exported())["yaml"] == COMMENTED.replace("tasks:", "release_state: OFFLINE\ntasks:")
    await admin.put(f"{path}/release-state", json={"release_state": "ONLINE"})

    # Another comment is no other version, and is kept.
    (again,) = await applied(admin, COMMENTED.replace("Why", "What"))
    assert (again["version"], again["is_new_version"]) == (1, False)
    assert (await exported())["yaml"] == COMMENTED.replace("Why", "What")

    (second,) = await applied(admin, COMMENTED.replace("only one", "first").replace("name: a", "name: b"))
    assert second["version"] == 2
    diff = (await admin.get(f"{path}/diff")).json()["diff"]
    assert "-  - {name: a, type: FAKE}   # the only one" in diff
    back = await admin.post(f"{path}/roll-back", json={"version": 1}, headers={"If-Match": '"2"'})
    assert back.json()["version"] == 3
    assert (await exported())["yaml"] == COMMENTED.replace("Why", "What")

    # A definition that comes as JSON has no text.
    spec = {"tasks": [{"name": "c", "type": "FAKE"}]}
    await admin.put(path, json={"spec": spec}, headers={"If-Match": '"3"'})
    assert not (await exported())["is_as_written"]
    diff = (await admin.get(f"{path}/diff")).json()["diff"]
    assert "-  - name: a" in diff
    # Whoever writes the rows by hand may write anything.
    sql("UPDATE workflow_version SET source_text = 'name: [' WHERE version = 4")
    assert not (await exported())["is_as_written"]


async def test_a_secret_in_a_text_is_stored_sealed_and_shown_to_nobody(
    api: Serving, admin: httpx.AsyncClient, sql: Any
) -> None:
    text = (
        "name: hides\n# a word\nparams:\n  password: {type: SECRET, value: hunter22}\ntasks: [{name: a, type: FAKE}]\n"
    )
    (head,) = await applied(admin, text)
    ((stored,),) = sql("SELECT source_text FROM workflow_version")
    assert "hunter22" not in stored
    assert "# a word" in stored
    path = f"{BASE}/workflow-definitions/{head['code']}/export"
    async with await member(api, "eve", default=Role.VIEWER) as viewer:
        shown = (await viewer.get(path)).json()
    assert shown["is_as_written"]
    assert shown["yaml"] == text.replace("hunter22", '"******"')
    own = (await admin.get(path)).json()["yaml"]
    assert own == shown["yaml"]
    ((again,),) = [await applied(admin, own)]
    assert not again["is_new_version"]


async def test_codes_of_64_bits_lose_no_digit_on_their_way_out_and_back(admin: httpx.AsyncClient, sql: Any) -> None:
    codes = [2**63 - 1, 10873254534240]
    tasks = [{"name": f"t{code}", "type": "FAKE", "code": code} for code in codes]
    (saved,) = await applied(admin, json.dumps({"name": "imported", "tasks": tasks}))
    path = f"{BASE}/workflow-definitions/{saved['code']}"
    spec = (await admin.get(path)).json()["spec"]
    assert [task["code"] for task in spec["tasks"]] == [str(code) for code in codes]
    put = await admin.put(path, json={"spec": spec}, headers={"If-Match": '"1"'})
    assert (put.status_code, put.json()["is_new_version"]) == (200, False), put.text
    exported = (await admin.get(f"{path}/export?canonical=true")).json()["yaml"]
    assert all(f"code: {code}\n" in exported for code in codes)
    (again,) = await applied(admin, exported)
    assert not again["is_new_version"]
    (moved,) = await applied(admin, exported.replace("name: imported", "name: moved"))
    assert moved["is_new_version"]
    ((stored,),) = sql("SELECT DISTINCT spec FROM workflow_version")
    assert [task["code"] for task in stored["tasks"]] == codes
