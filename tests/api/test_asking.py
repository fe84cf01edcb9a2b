"""What asks for something says where its outcome can be read, who will do it, and waits if it is asked to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.preferences import preferred_wait_s
from tests.api.serving import BASE, Serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.every import every

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]
START = f"{BASE}/workflow-definitions/7/runs"


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        made.define(7, "w", tasks=TASKS)
        yield made


async def test_without_a_master_the_slot_is_unknown_and_the_command_is_a_resource(
    api: Serving, cluster: Cluster
) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        asked = await client.post(START, json={})
        assert asked.status_code == 202, asked.text
        command = asked.json()["command_id"]
        assert asked.headers["Location"] == f"{BASE}/commands/{command}"
        assert not {"slot", "owner", "run"} & asked.json().keys()
        waiting = (await client.get(asked.headers["Location"])).json()
        assert (waiting["id"], "handled_at" in waiting, "run_id" in waiting) == (command, False, False)


async def test_the_answer_names_the_slot_and_its_master_and_the_command_names_the_run_later(
    api: Serving, cluster: Cluster
) -> None:
    await cluster.master()
    await cluster.master()
    await cluster.worker()
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:

        async def slots() -> int:
            return int((await client.get(f"{BASE}/slots")).json()["total"])

        await eventually(slots, until=2, within_s=20)
        asked = await client.post(START, json={})
        slot = int(asked.json()["command_id"]) % 2
        (owner,) = (
            each["address"]
            for each in (await client.get(f"{BASE}/slots")).json()["masters"]
            if each.get("slot") == slot
        )
        assert (asked.json()["slot"], asked.json()["owner"]) == (f"{slot}/2", owner)

        async def is_named() -> bool:
            return "run_id" in (await client.get(asked.headers["Location"])).json()

        await eventually(is_named, within_s=20)


@pytest.mark.parametrize(
    ("query", "header", "applied"), [("?wait=20", "", None), ("", "respond-async, wait=20", "wait=20")]
)
async def test_an_answer_that_waited_is_200_with_the_run(
    api: Serving, cluster: Cluster, query: str, header: str, applied: str | None
) -> None:
    await cluster.master()
    await cluster.worker()
    headers = {"Prefer": header} if header else {}
    async with api.client(await token_of(api.backend, "ada", is_admin=True), **headers) as client:
        begun = await client.post(f"{START}{query}", json={})
        assert (begun.status_code, begun.headers.get("Preference-Applied")) == (200, applied), begun.text
        run = begun.json()["run"]
        assert (run["id"], run["workflow"]) == (begun.json()["run_id"], "w")

        async def state() -> str:
            return str((await client.get(f"{BASE}/workflow-instances/{run['id']}")).json()["state"])

        await eventually(state, until="SUCCESS", within_s=20)
        again = await client.post(f"{BASE}/workflow-instances/{run['id']}/rerun{query}")
        assert (again.status_code, again.json()["run"]["id"]) == (200, run["id"])
        await eventually(state, until="SUCCESS", within_s=20)
        filled = await client.post(f"{BASE}/workflow-definitions/7/backfills{query}", json={"dates": ["2026-01-01"]})
        assert (filled.status_code, filled.json()["run"]["id"]) == (200, filled.json()["first_run_id"]), filled.text
        assert filled.headers["Location"] == f"{BASE}/commands/{filled.json()['command_id']}"


async def test_what_a_master_refuses_is_no_success_and_a_retry_of_it_is_another_command(
    api: Serving, cluster: Cluster
) -> None:
    await cluster.master()
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        refused = await client.post(f"{START}?wait=20", json={"version": 5})
        assert (refused.status_code, refused.json()["is_taken"], "run" in refused.json()) == (202, True, False)
        assert "version 5" in refused.json()["reason"]
        path = f"{BASE}/error-commands/{refused.json()['command_id']}/retry"
        right = await client.post(f"{path}?wait=20", json={"version": 1})
        assert right.status_code == 200, right.text
        assert right.headers["Location"] == f"{BASE}/commands/{right.json()['command_id']}"


async def test_an_address_that_says_how_long_counts_more_than_a_preference(api: Serving, cluster: Cluster) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True), Prefer="wait=20") as client:
        asked = await client.post(f"{START}?wait=0", json={})
        assert (asked.status_code, "Preference-Applied" in asked.headers) == (202, False)
        listed = await client.get(f"{BASE}/workflow-instances")
        assert (listed.status_code, "Preference-Applied" in listed.headers) == (200, False)


async def test_an_answer_that_is_sent_again_has_the_same_address(api: Serving, cluster: Cluster) -> None:
    token = await token_of(api.backend, "ada", is_admin=True)
    async with api.client(token, **{"Idempotency-Key": "k"}) as client:
        first, again = [await client.post(START, json={}) for _ in range(2)]
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.headers["Location"] == first.headers["Location"] == f"{BASE}/commands/{first.json()['command_id']}"


@every(
    ("given", "wait_s"),
    [
        *(("wait=5", 5), ("respond-async, wait=7", 7), ("return=minimal; foo, Wait = 3", 3), ('wait="4"', 4)),
        *(("wait=9000000000", None), ("wait=100", 30), ("wait=2, wait=9", 2)),
        *(("await=5", None), ("wait", None), ("wait=-1", None), ("wait=x", None), ("", None), (None, None)),
    ],
)
def test_only_a_whole_number_of_seconds_is_a_preference(given: str | None, wait_s: int | None) -> None:
    assert preferred_wait_s(given) == wait_s
