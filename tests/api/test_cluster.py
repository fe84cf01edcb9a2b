"""The cluster over the API: slots, nodes, groups, the queue, the doctor and the settings in force."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from model.accounts.rights import Role, Scope
from registry.protocol import Registry
from service.cluster import registered_masters
from tests.api.people import member
from tests.api.serving import BASE, Serving, serving, token_of
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path) as made:
        yield made


async def test_the_cluster_is_shown_to_any_account_and_the_verbs_print_the_same_as_on_the_database(
    api: Serving, cluster: Cluster, database_url: str
) -> None:
    await cluster.master()
    await cluster.worker()
    token = await token_of(api.backend, "eve", scopes=frozenset({Scope.CLUSTER_READ}))
    async with api.client(token) as client:

        async def get(path: str) -> dict[str, Any]:
            answer = await client.get(BASE + path)
            assert answer.status_code == 200, answer.text
            found: dict[str, Any] = answer.json()
            return found

        slots = await get("/slots")
        assert (slots["total"], [each["slot"] for each in slots["masters"]]) == (1, [0])
        assert len((await get("/masters"))["items"]) == len((await get("/workers"))["items"]) == 1
        [group] = (await get("/worker-groups"))["items"]
        assert (group["worker_group"], group["waiting"], group["workers"]) == ("default", 0, 1)
        assert group["free_places"] == group["places"] > 0
        refused = await client.get(f"{BASE}/doctor")
        assert (refused.status_code, refused.json()["code"]) == (403, "SH-1002"), "it names runs of all projects"
        settings = await get("/settings")
        values = {each["name"]: each["value"] for each in settings["settings"]}
        assert (values["database_url"], values["api.reach"]) == ("***", "-")
        assert settings["timing"]["worker_fence_after"] > 0
        for path in ("/queue?limit=0", "/commands?limit=1001"):
            wrong = await client.get(BASE + path)
            assert wrong.status_code in (403, 422), wrong.text
    direct = CommandLine.at(database_url)
    root = await token_of(api.backend, "root", is_admin=True)
    async with api.client(root) as client:
        assert (await client.get(f"{BASE}/doctor")).json()["failed"] == []
    remote = CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
    admins = CommandLine.at(SHOAL_SERVER=api.url, SHOAL_TOKEN=root)
    for asker, verb in (
        (remote, "master list --utc"),
        (remote, "worker list --utc"),
        (remote, "queue"),
        (admins, "doctor"),
    ):
        [here], [there] = await direct.each(verb), await asker.each(verb)
        assert (here.code, there.code, there.err) == (0, 0, "")
        assert _words(here.out) == _words(there.out)
    away = await CommandLine.at(SHOAL_SERVER="http://127.0.0.1:1", SHOAL_TOKEN=token)("doctor")
    assert (away.code, "the server http://127.0.0.1:1 does not answer" in away.sentence) == (3, True)


async def test_what_duties_found_is_named_only_to_whoever_may_see_all_projects(
    api: Serving, cluster: Cluster, database_url: str
) -> None:
    named = 'overdue failovers: 1; task 6 ("holder-b-secretname" of run 3) is RUNNING_EXECUTION on worker 9'
    results = {
        "left_work": (named, False),
        "other": ("task secretname hangs; so", False),
        "retention": ("0 runs", True),
    }
    for name, (result, is_fine) in results.items():
        cluster.rows(
            "INSERT INTO duty (name, every_s, failures, error, error_at) VALUES (%s, 60, 1, 'run secretname', now())",
            name,
        )
        cluster.rows(
            "INSERT INTO duty_done VALUES (%s, now(), 7, 'm1', now(), now(), 1, false, %s, %s)", name, is_fine, result
        )

    async def seen(token: str) -> tuple[list[str], set[str]]:
        async with api.client(token) as client:
            found = (await client.get(f"{BASE}/duties")).json()["items"]
        return [each["last"]["result"] for each in found], {each["error"] for each in found}

    reads = frozenset({Scope.CLUSTER_READ, Scope.RUNS_READ})
    anyone = await token_of(api.backend, "eve", scopes=reads)
    admin = await token_of(api.backend, "root", is_admin=True, scopes=reads)
    found = ["overdue failovers: 1; an admin sees what", "it found something; an admin sees what", "0 runs"]
    assert await seen(anyone) == (found, {"an admin sees why"})
    assert await seen(admin) == ([each for each, _ in results.values()], {"run secretname"})
    here = await CommandLine.at(database_url)("master", "duties")
    assert here.out.count("secretname") == len(results), "a failure stands in the place of the result"


def _words(text: str) -> list[str]:
    """What stands there besides figures that change."""
    changing = {"ahead", "behind"}
    return [word for word in text.split() if word not in changing and not any(letter.isdigit() for letter in word)]


async def _is_taken(look: Callable[[], Awaitable[dict[str, Any]]]) -> bool:
    return not (await look())["waits"]


async def test_of_the_queue_one_sees_the_commands_of_ones_own_projects_and_the_number_of_all(
    api: Serving, cluster: Cluster
) -> None:
    cluster.define(7, "w", tasks=TASKS)
    cluster.define(8, "x", tasks=TASKS)
    cluster.rows("INSERT INTO project (name) VALUES ('sales') ON CONFLICT DO NOTHING")
    cluster.rows("UPDATE workflow_definition SET project = 'sales' WHERE code = 8")
    mine, other, odd = (
        cluster.one(f"INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', {code}) RETURNING id")
        for code in (7, 8, -9)
    )
    token = await member(api.backend, "ada", "default", Role.VIEWER)
    async with api.client(token) as client:
        queue = (await client.get(f"{BASE}/queue")).json()
        assert ([each["id"] for each in queue["commands"]], queue["total"]) == ([str(mine)], 0)
        listed = (await client.get(f"{BASE}/commands")).json()
        assert [each["workflow"] for each in listed["items"]] == ["w"]
        hidden = await client.get(f"{BASE}/commands/{other}/slot")
        assert (hidden.status_code, hidden.json()["code"]) == (404, "SH-1003")
        asked = (await client.get(f"{BASE}/commands/{mine}/slot")).json()
        assert (asked["waits"], "because no master is alive" in asked["why"]) == (True, True)
        assert (await client.get(f"{BASE}/commands/999999/slot")).status_code == 404
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        first = (await client.get(f"{BASE}/commands?limit=2")).json()
        rest = (await client.get(f"{BASE}/commands?limit=2&cursor={first['next_cursor']}")).json()
        assert [each["id"] for each in (*first["items"], *rest["items"])] == [str(mine), str(other), str(odd)]
        assert rest["items"][0]["workflow_code"] == "-9"
        await cluster.master()

        async def taken() -> dict[str, Any]:
            found: dict[str, Any] = (await client.get(f"{BASE}/commands/{mine}/slot")).json()
            return found

        await eventually(lambda: _is_taken(taken), within_s=20)
        answer = await taken()
        assert (answer["taken_slot"], bool(answer["run_id"]), bool(answer["taken_by"])) == ("0/1", True, True)


async def test_changes_of_slots_are_listed_for_a_replay_with_members_and_reasons(
    api: Serving, cluster: Cluster
) -> None:
    """Also the owner that a command had when it was asked for."""
    cluster.define(7, "w", tasks=TASKS)
    for number, ago, members, changes in (
        (1, "3 h", [("1", "m1")], [("1", "m1", "JOINED")]),
        (2, "2 h", [("1", "m1"), ("2", "m2")], [("2", "m2", "JOINED")]),
        (3, "1 h", [("2", "m2")], [("1", "m1", "FENCED")]),
    ):
        had = [{"epoch": int(e), "name": n, "slot": slot} for slot, (e, n) in enumerate(members)]
        moved = [{"epoch": int(e), "name": n, "reason": why} for e, n, why in changes]
        cluster.one(
            f"INSERT INTO slot_change (number, at, members, changes) VALUES ({number}, now() - interval '{ago}', "
            f"'{json.dumps(had)}', '{json.dumps(moved)}') RETURNING number"
        )
    async with api.client(await token_of(api.backend, "eve", scopes=frozenset({Scope.CLUSTER_READ}))) as client:
        path = f"{BASE}/slot-changes"
        found = (await client.get(path)).json()
        assert [(each["number"], each["total"]) for each in found["items"]] == [(1, 1), (2, 2), (3, 1)]
        assert found["items"][2]["changes"] == [{"epoch": "1", "name": "m1", "reason": "FENCED"}]
        assert found["items"][1]["members"][1] == {"epoch": "2", "name": "m2", "slot": 1}
        assert [each["number"] for each in (await client.get(f"{path}?since=90m")).json()["items"]] == [2, 3]
        before = {"changed_before": found["items"][2]["at"]}
        assert [each["number"] for each in (await client.get(path, params=before)).json()["items"]] == [1, 2]
        first = (await client.get(f"{path}?limit=2")).json()
        rest = (await client.get(f"{path}?limit=2&cursor={first['next_cursor']}")).json()
        assert ([each["number"] for each in rest["items"]], rest["has_more"]) == ([3], False)
        assert (await client.get(f"{path}?since=long")).status_code == 422
    command = cluster.one(
        "INSERT INTO command (type, workflow_code, created_at) "
        "VALUES ('START_PROCESS', 7, now() - interval '100 min') RETURNING id"
    )
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        where = (await client.get(f"{BASE}/commands/{command}/slot")).json()
        assert (where["slot_then"], where["owner_then"]) == (f"{command % 2}/2", ("m1", "m2")[command % 2])


async def test_a_registry_that_hangs_delays_only_those_who_ask_for_slots(database_url: str) -> None:
    """Method: its port accepts connections and never answers; more requests than the pool has connections wait."""
    connections = 0

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await ended.wait()
        writer.close()

    ended = asyncio.Event()
    listening = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"zookeeper://127.0.0.1:{listening.sockets[0].getsockname()[1]}/shoal"
    async with listening, serving(database_url, registry_url=url) as api:
        async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
            asking = [asyncio.create_task(client.get(f"{BASE}/{path}")) for path in ("slots", "queue") * 8]
            await eventually(lambda: connections)
            listed = await client.get(f"{BASE}/workflow-instances")
            assert (listed.status_code, any(each.done() for each in asking)) == (200, False)
            answers = await asyncio.gather(*asking)
            assert {answer.status_code for answer in answers} == {200}
            fault = answers[0].json()["registry_fault"]
            assert "answered within 3 s" in fault
        ended.set()


async def test_the_registry_is_read_once_for_all_who_ask_at_once(api: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = 0
    make = registered_masters.make_registry

    def counted(url: str, **given: Any) -> Registry:
        nonlocal reads
        reads += 1
        return make(url, **given)

    monkeypatch.setattr(registered_masters, "make_registry", counted)
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        answers = await asyncio.gather(*(client.get(f"{BASE}/slots") for _ in range(8)))
    assert ({answer.status_code for answer in answers}, reads) == ({200}, 1)
