"""Resource pools over the API: versions, two people at once, what each caller may see, pages, and live events."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from model.accounts.rights import Role, Scope
from tests.api.people import member
from tests.api.serving import BASE, Serving, token_of
from tests.eventually import eventually
from tests.shoal.pool_scene import PoolScene

POOLS = f"{BASE}/resource-pools"
PROXIES = {"resources": {"p1": {"password": "swordfish"}, "p2": {"password": "swordfish"}}}
CHECKED = {**PROXIES, "check": {"url": "http://u:swordfish@10.0.0.1/${name}"}}


async def admin(api: Serving) -> str:
    return await token_of(api.backend, "root", is_admin=True)


async def test_a_pool_is_changed_only_by_who_has_read_it(api: Serving) -> None:
    async with api.client(await admin(api)) as client:
        made = await client.put(f"{POOLS}/proxies", json={"spec": PROXIES})
        assert (made.status_code, made.headers["ETag"]) == (200, '"1"'), made.text
        blind = await client.put(f"{POOLS}/proxies", json={"spec": {"count": 3}})
        assert (blind.status_code, blind.json()["code"]) == (428, "SH-1005")
        changed = await client.put(f"{POOLS}/proxies", json={"spec": {"count": 3}}, headers={"If-Match": '"1"'})
        assert changed.json() == {
            **{"file": "", "name": "proxies", "version": 2, "is_new_version": True, "version_before": 1},
            **{"total": 3, "added": 3, "removed": 2, "leaving": 0},
        }
        late = await client.put(f"{POOLS}/proxies", json={"spec": PROXIES}, headers={"If-Match": '"1"'})
        assert (late.status_code, late.json()["code"]) == (412, "SH-1004")
        assert "saved by root" in late.json()["detail"]
        gone = await client.delete(f"{POOLS}/proxies", headers={"If-Match": '"1"'})
        assert gone.status_code == 412
        assert (await client.delete(f"{POOLS}/proxies", headers={"If-Match": '"2"'})).status_code == 204
        again = await client.put(f"{POOLS}/proxies", json={"spec": PROXIES}, headers={"If-Match": '"2"'})
        assert again.status_code == 412
        assert "it was deleted" in again.json()["detail"]


async def test_two_who_make_or_change_a_pool_at_once_do_not_overwrite_each_other(api: Serving) -> None:
    async with api.client(await admin(api)) as client:
        made = await asyncio.gather(
            *(client.put(f"{POOLS}/proxies", json={"spec": {"count": number}}) for number in range(1, 6))
        )
        assert sorted(each.status_code for each in made).count(200) == 1, [each.text for each in made]
        assert {each.status_code for each in made} <= {200, 422, 428}
        changed = await asyncio.gather(
            *(
                client.put(f"{POOLS}/proxies", json={"spec": {"count": number}}, headers={"If-Match": "1"})
                for number in range(10, 15)
            )
        )
        assert sorted(each.status_code for each in changed) == [200, 412, 412, 412, 412]
        twins = await asyncio.gather(
            *(client.put(f"{POOLS}/{name}", json={"spec": {"count": 1}}) for name in ("a-b", "a_b", "A.B"))
        )
        assert sorted(each.status_code for each in twins) == [200, 422, 422], [each.text for each in twins]
        assert any("would be one variable of a task, SHOAL_RESOURCE_A_B" in each.text for each in twins)
        asides = await asyncio.gather(
            *(client.post(f"{POOLS}/proxies/set-aside", json={"resource": "1", "reason": f"r{n}"}) for n in range(4))
        )
        assert sorted(each.json()["is_new"] for each in asides) == [False, False, False, True]
        assert len({each.json()["set_aside_why"] for each in asides}) == 1
        backs = await asyncio.gather(
            *(client.post(f"{POOLS}/proxies/take-back", json={"resource": "1"}) for _ in range(3))
        )
        assert sorted(each.status_code for each in backs) == [200, 422, 422]


async def test_data_goes_to_who_may_change_the_pool_only(api: Serving, sql: Any) -> None:
    for project in ("etl", "bi"):
        sql(f"INSERT INTO workflow_definition (project, name) VALUES ('{project}', '{project}_load')")
    viewer = await member(api.backend, "viewer", "etl", Role.VIEWER)
    root = await admin(api)
    async with api.client(root) as client:
        assert (await client.put(f"{POOLS}/proxies", json={"spec": CHECKED})).status_code == 200
    scene = PoolScene(sql)
    scene.gets(scene.waits(scene.run("etl_load"), "seen", '{"proxies": 1}'), "p1")
    scene.gets(scene.waits(scene.run("bi_load"), "hidden", '{"proxies": 1}'), "p2")
    scene.waits(scene.run("bi_load"), "waits", '{"proxies": 1}')
    paths = ("", "/proxies", "/proxies/resources", "/proxies/line")
    async with api.client(viewer) as client:
        answers = [await client.get(f"{POOLS}{path}") for path in paths]
        assert [each.status_code for each in answers] == [200] * 4
        scene.waits(scene.run("bi_load"), "waits_too", '{"proxies": 1}')
        cursor = (await client.get(f"{POOLS}/proxies/line?limit=1")).json()["next_cursor"]
        assert base64.b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}") == b"after 1", "no id of a run that is hidden"
        assert not any(word in each.text for each in answers for word in ("swordfish", "hidden", '"waits"', "bi_load"))
        first, second = answers[2].json()["items"]
        assert (first["task"]["name"], first["state"], "data" in first) == ("seen", "TAKEN", False)
        assert (second["state"], "task" in second, second["worker"]) == ("TAKEN", False, "w1")
        assert answers[3].json()["items"][0]["place"] == 1
        assert answers[1].json()["check"] == {"kind": "URL", "timeout_s": 10, "every_s": 60}
        for method, path, body in (
            ("PUT", "/proxies", {"spec": {"count": 1}}),
            ("POST", ":apply", {"files": [{"name": "a", "content": "kind: pool\nname: a\ncount: 1\n"}]}),
            ("DELETE", "/proxies", None),
            ("POST", "/proxies/set-aside", {"resource": "p1"}),
            ("POST", "/proxies/take-back", {"resource": "p1"}),
        ):
            refused = await client.request(method, f"{POOLS}{path}", json=body)
            assert refused.status_code == 403, (method, path)
    async with api.client(root) as client:
        resources = (await client.get(f"{POOLS}/proxies/resources")).json()["items"]
        assert [each["data"]["password"] for each in resources] == ["swordfish"] * 2
        shown = (await client.get(f"{POOLS}/proxies")).json()
        assert "swordfish" in shown["yaml"]
        assert shown["check"]["url"].startswith("http://u:swordfish@")
    assert "swordfish" not in str(sql("SELECT before, after FROM audit"))


async def test_a_pool_that_is_to_be_new_replaces_none(api: Serving, sql: Any) -> None:
    body = {"files": [{"name": "f", "content": "kind: pool\nname: p\ncount: 1\n"}], "are_new": True}
    async with api.client(await admin(api)) as client:
        assert (await client.post(f"{POOLS}:apply", json=body)).status_code == 200
        for dry_run in (True, False):
            refused = await client.post(f"{POOLS}:apply", json={**body, "dry_run": dry_run})
            assert refused.status_code == 422
            assert 'there is a pool "p" already, in version 1' in refused.json()["detail"]
        assert (await client.post(f"{POOLS}:apply", json={**body, "are_new": False})).status_code == 200
    assert sql("SELECT count(*) FROM resource_pool") == [(1,)]


async def test_an_editor_saves_no_pool_beside_a_workflow(api: Serving, sql: Any) -> None:
    editor = await member(
        api.backend, "editor", "etl", Role.EDITOR, frozenset({Scope.DEFINITIONS_WRITE, Scope.CLUSTER_READ})
    )
    workflow = "name: w\nproject: etl\ntasks: [{name: a, type: FAKE, resources: {nix: 1}}]\n"
    both = {"files": [{"name": "f", "content": f"{workflow}---\nkind: pool\nname: p\ncount: 1\n"}]}
    async with api.client(editor) as client:
        for verb in ("apply", "validate"):
            refused = await client.post(f"{BASE}/workflow-definitions:{verb}", json=both)
            assert refused.status_code == 403, refused.text
        assert sql("SELECT count(*) FROM workflow_definition") == [(0,)]
        alone = {"files": [{"name": "f", "content": workflow}]}
        checked = (await client.post(f"{BASE}/workflow-definitions:validate", json=alone)).json()
        assert [each["sentence"] for each in checked["warnings"]] == [
            'task "a": there is no resource pool "nix"; it waits until there is one'
        ]
    async with api.client(await admin(api)) as client:
        checked = (await client.post(f"{BASE}/workflow-definitions:validate", json=both)).json()
        assert checked["valid"]
        assert sql("SELECT count(*) FROM resource_pool") == [(0,)]
        saved = (await client.post(f"{BASE}/workflow-definitions:apply", json=both)).json()
        assert [each["name"] for each in saved["pools"]] == ["p"]
    assert sorted(row[0] for row in sql("SELECT object_kind FROM audit WHERE outcome = 'DONE'")) == [
        "resource-pool",
        "workflow-definition",
    ]


async def test_problems_of_a_pool_have_their_place(api: Serving) -> None:
    async with api.client(await admin(api)) as client:
        wrong = await client.put(f"{POOLS}/p", json={"spec": {"resources": {"a": 1, "b/c": 2}, "every": 3}})
        assert wrong.status_code == 422
        assert {each["pointer"] for each in wrong.json()["errors"]} == {
            "/spec/resources/a",
            "/spec/resources/b~1c",
            "/spec/every",
        }
        named = await client.put(f"{POOLS}/a%20b", json={"spec": {"count": 1}})
        assert (named.status_code, 'the name "a b" is none of a pool' in named.text.replace("\\", "")) == (422, True)
        neither = await client.put(f"{POOLS}/p", json={})
        assert "either as `yaml` or as `spec`" in neither.json()["detail"]
        other = await client.put(f"{POOLS}/p", json={"yaml": "kind: pool\nname: q\ncount: 1\n"})
        assert 'the file must have the pool "p" and nothing else' in other.json()["detail"].replace("\\", "")


@pytest.mark.parametrize(
    "name", ["nix", "a%20b", "%E4%BB%A3%E7%90%86", "..%2F..%2Fetc", "a%00b", "%F0%9F%9A%80", "x" * 300]
)
async def test_a_name_in_an_address_is_unknown_and_nothing_else(api: Serving, name: str) -> None:
    async with api.client(await admin(api)) as client:
        for path in ("", "/resources", "/line"):
            assert (await client.get(f"{POOLS}/{name}{path}")).status_code in (404, 422)
        aside = await client.post(f"{POOLS}/{name}/set-aside", json={"resource": "\u2028"})
        assert aside.status_code in (404, 422)


async def test_pages_of_resources_and_of_a_line_follow_each_other(api: Serving, sql: Any) -> None:
    sql("INSERT INTO workflow_definition (project, name) VALUES ('etl', 'load')")
    async with api.client(await admin(api)) as client:
        spec = {"resources": [f"r{number}" for number in range(25)]}
        assert (await client.put(f"{POOLS}/many", json={"spec": spec})).status_code == 200
        scene = PoolScene(sql)
        run = scene.run("load")
        for number in range(25):
            scene.waits(run, f"t{number}", '{"many": 30}', "HIGH" if number % 2 else "LOW")

        async def pages(path: str, **query: object) -> list[Any]:
            items: list[Any] = []
            cursor = None
            while True:
                page = await client.get(
                    f"{POOLS}/{path}", params={"limit": 10, **query, **({"cursor": cursor} if cursor else {})}
                )
                assert page.status_code == 200, page.text
                items += page.json()["items"]
                if (cursor := page.json().get("next_cursor")) is None:
                    return items

        assert [each["name"] for each in await pages("many/resources")] == spec["resources"]
        assert await pages("many/resources", state="TAKEN") == []
        assert [each["name"] for each in await pages("many/resources", q="R2")] == ["r2", *(f"r2{n}" for n in range(5))]
        line = await pages("many/line")
        assert [each["place"] for each in line] == list(range(1, 26))
        order = [f"t{n}" for n in range(1, 25, 2)] + [f"t{n}" for n in range(0, 25, 2)]
        assert [each["task"]["name"] for each in line] == order
        scene.waits(run, "lost", '{"nowhere": 1}')
        assert [each["task"]["name"] for each in await pages("nowhere/line")] == ["lost"], "of a pool that is not"
        beyond = base64.b64encode(b"after 100000").decode().rstrip("=")
        forged = base64.b64encode(b"pair\n500 HIGHEST 0\nHIGHEST 0").decode().rstrip("=")
        for given in (beyond, forged):
            assert (await client.get(f"{POOLS}/many/line", params={"cursor": given})).status_code == 422
        last = base64.b64encode(b"after 99999").decode().rstrip("=")
        assert (await client.get(f"{POOLS}/many/line", params={"cursor": last})).json()["items"] == []
        for cursor in ("nonsense", "cGFpcgphCmI"):
            for path in ("many/resources", "many/line", ""):
                wrong = await client.get(f"{POOLS}/{path}".rstrip("/"), params={"cursor": cursor})
                assert wrong.status_code == 422, (path, cursor)


async def test_the_audit_says_why_a_resource_is_set_aside_and_how_it_was(api: Serving, sql: Any) -> None:
    async with api.client(await admin(api)) as client:
        assert (await client.put(f"{POOLS}/proxies", json={"spec": PROXIES})).status_code == 200
        sql("UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'its check failed' WHERE name = 'p2'")
        for resource, reason in (("p1", "first"), ("p1", "again"), ("p2", "mine")):
            body = {"resource": resource, "reason": reason}
            assert (await client.post(f"{POOLS}/proxies/set-aside", json=body)).status_code == 200
    first, mine = ({"set_aside": True, "why": why, "by": "root"} for why in ("first", "mine"))
    assert sql("SELECT before, after FROM audit WHERE action = 'set_aside_resource' ORDER BY id") == [
        ({"set_aside": False}, {"resource": "p1", **first}),
        (first, {"resource": "p1", **first}),
        ({"set_aside": True, "why": "its check failed", "by": "its check"}, {"resource": "p2", **mine}),
    ]


async def test_a_mistyped_name_among_many_is_found_soon_and_without_the_pool(api: Serving, sql: Any) -> None:
    """A comparison with all of them, letter by letter, stopped the whole process, with the pool locked."""
    long = "".join(chr(ord("a") + number * number % 23) for number in range(190))
    names = [f"{long}{number:05}" for number in range(10_000)]
    async with api.client(await admin(api)) as client:
        assert (await client.put(f"{POOLS}/many", json={"spec": {"resources": names}})).status_code == 200
        sql("BEGIN")
        sql("SELECT FROM resource_pool WHERE name = 'many' FOR UPDATE")
        for verb in ("set-aside", "take-back"):
            answer = await client.post(f"{POOLS}/many/{verb}", json={"resource": f"{names[42]}xyz"})
            assert answer.status_code == 404, answer.text
            assert f'did you mean "{long}' in answer.json()["detail"]
        sql("COMMIT")


async def test_who_watches_hears_of_pools(api: Serving, sql: Any) -> None:
    heard: list[dict[str, Any]] = []
    listens = asyncio.Event()
    async with api.client(await admin(api)) as client:

        async def listen() -> None:
            async with client.stream("GET", f"{BASE}/events", params={"topics": "pools"}) as stream:
                async for line in stream.aiter_lines():
                    listens.set()
                    heard.extend([json.loads(line.removeprefix("data: "))] if line.startswith("data: ") else [])

        async def told(free: int, aside: int) -> bool:
            pools = [pool for each in heard for pool in each.get("pools", ())]
            return bool(pools) and (pools[-1]["free"], pools[-1]["set_aside"]) == (free, aside)

        async with asyncio.TaskGroup() as group:
            listening = group.create_task(listen())
            await listens.wait()
            await client.put(f"{POOLS}/proxies", json={"spec": {"count": 2}})
            await eventually(lambda: told(2, 0))
            await client.post(f"{POOLS}/proxies/set-aside", json={"resource": "1"})
            await eventually(lambda: told(1, 1))
            await client.delete(f"{POOLS}/proxies")

            async def gone() -> bool:
                return bool(heard) and heard[-1].get("gone") == ["proxies"]

            await eventually(gone)
            listening.cancel()
