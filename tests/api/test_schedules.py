"""Schedules over the API: tried, saved, changed by who has read them, listed, and when they fire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dao.accounts import members
from model.accounts.rights import Role
from tests.api.serving import BASE, Serving, token_of
from tests.api.verbs import assert_same, through
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

TASKS = [{"name": "a", "type": "FAKE", "params": {}}]
OF_W = f"{BASE}/workflow-definitions/7/schedules"


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        made.define(7, "w", tasks=TASKS, params={"day": "1"}, time_zone="Europe/Berlin")
        yield made


async def test_a_schedule_is_tried_saved_changed_and_deleted(api: Serving, cluster: Cluster) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        tried = await client.post(
            f"{BASE}/schedules:preview",
            json={"cron": "0 12 * * *", "time_zone": "Europe/Berlin", "start_time": "2090-03-25", "count": 3},
        )
        assert tried.status_code == 200, tried.text
        assert (tried.json()["rule"], tried.json()["time_zone"]) == ("At 12:00 every day", "Europe/Berlin")
        assert [(each["utc"], each.get("day_h")) for each in tried.json()["fires"]] == [
            ("2090-03-25T11:00:00.000Z", None),
            ("2090-03-26T10:00:00.000Z", 23.0),
            ("2090-03-27T10:00:00.000Z", None),
        ]
        made = await client.post(OF_W, json={"cron": "0 5 * * *", "start_time": "2090-01-01", "params": {"day": "2"}})
        assert made.status_code == 201, made.text
        path = f"{BASE}/schedules/{made.json()['id']}"
        assert (made.json()["first_fire_at"], made.json()["is_workflow_zone"]) == ("2090-01-01T04:00:00.000Z", True)
        shown = await client.get(f"{path}?next=2")
        assert (shown.json()["params"], len(shown.json()["next_fires"])) == ({"day": "2"}, 2)
        assert shown.headers["ETag"] == made.headers["ETag"]
        unsaid = await client.patch(path, json={"cron": "0 6 * * *"})
        seen = {"If-Match": shown.headers["ETag"]}
        changed = await client.patch(path, json={"cron": "0 6 * * *", "start_time": None}, headers=seen)
        late = await client.patch(path, json={"cron": "0 7 * * *"}, headers=seen)
        assert [each.status_code for each in (unsaid, changed, late)] == [428, 200, 412]
        assert (changed.json()["rule"], "start_time" in changed.json()) == ("At 06:00 every day", False)
        equal = await client.post(OF_W, json={"cron": "0 0 6 * * ?", "params": {"day": "2"}})
        assert (equal.status_code, "is the same" in equal.json()["detail"]) == (422, True)
        off = await client.post(f"{path}/off")
        listed = (await client.get(f"{BASE}/schedules?state=OFFLINE")).json()
        assert (off.json()["state"], [each["id"] for each in listed["items"]]) == ("OFFLINE", [made.json()["id"]])
        assert (await client.get(f"{BASE}/schedules?state=ONLINE")).json()["items"] == []
        once = {"If-Match": off.headers["ETag"], "Idempotency-Key": "k1"}
        gone = await client.delete(path, headers=once)
        again = await client.delete(path, headers=once)
        missing = await client.get(path)
        other = await client.delete(path, headers={**once, "Idempotency-Key": "k2"})
        assert (again.json(), again.headers["Idempotency-Replayed"]) == (gone.json(), "true")
        assert [each.status_code for each in (gone, again, missing, other)] == [200, 200, 404, 404]
    actions = "SELECT action, project FROM audit ORDER BY id"
    assert cluster.rows(actions) == [
        (action, "default") for action in ("add_schedule", "change_schedule", "turn_off_schedule", "delete_schedule")
    ]
    changed_row = cluster.one("SELECT before || after FROM audit WHERE action = 'change_schedule'")
    assert (changed_row["crontab"], changed_row["changed"]) == ("0 6 * * *", ["cron", "start_time"])


async def test_a_fire_does_not_change_the_version_of_a_schedule(api: Serving, cluster: Cluster) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        made = await client.post(OF_W, json={"cron": "* * * * * ?"})
        await cluster.master()

        async def last() -> Any:
            return cluster.one("SELECT last_fire_at FROM schedule")

        await eventually(last, within_s=20)
        path = f"{BASE}/schedules/{made.json()['id']}"
        changed = await client.patch(path, json={"priority": "HIGH"}, headers={"If-Match": made.headers["ETag"]})
    assert changed.status_code == 200, changed.text


async def test_the_next_fires_of_all_schedules_are_in_one_list(api: Serving, cluster: Cluster) -> None:
    cluster.define(8, "v", tasks=TASKS)
    cluster.rows(
        "INSERT INTO schedule (workflow_code, crontab, state, start_time)"
        " VALUES (7, '0 5 * * *', 'ONLINE', '2090-01-01'),"
        " (8, '0 4 * * *', 'ONLINE', '2090-01-01'), (8, '0 3 * * *', 'OFFLINE', '2090-01-01'), (8, 'x', 'ONLINE', NULL)"
    )
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        found = (await client.get(f"{BASE}/schedules:next?count=3")).json()
        of_one = (await client.get(f"{BASE}/schedules:next?workflow_code=8&count=1")).json()
    assert [(each["schedule_id"], each["utc"][:13]) for each in found["fires"]] == [
        ("2", "2090-01-01T04"),
        ("1", "2090-01-01T05"),
        ("2", "2090-01-02T04"),
    ]
    assert [each["schedule_id"] for each in of_one["fires"]] == ["3", "2"]
    assert (of_one["offline"], of_one["schedules"]) == (["3"], 3)
    assert "schedule 4: cron" in of_one["faults"][0]


async def test_rights_decide_what_is_seen_and_changed(api: Serving, cluster: Cluster) -> None:
    cluster.define(8, "v", tasks=TASKS)
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = 8")
    cluster.rows("INSERT INTO schedule (workflow_code, crontab) VALUES (7, '@daily'), (8, '@daily'), (99, '@daily')")
    token = await token_of(api.backend, "olga")
    async with api.database.writing() as connection:
        account = cluster.one("SELECT id FROM account WHERE name = 'olga'")
        await members.put(connection, account, "default", Role.OPERATOR)
    any_ = {"If-Match": "*"}
    async with api.client(token) as client:
        listed = (await client.get(f"{BASE}/schedules")).json()
        fires = (await client.get(f"{BASE}/schedules:next")).json()
        answers = [
            await client.get(f"{BASE}/schedules/1"),
            await client.post(f"{BASE}/schedules:preview", json={"cron": "@daily"}),
            await client.get(f"{BASE}/schedules/2"),
            await client.get(f"{BASE}/schedules/3"),
            await client.get(f"{BASE}/schedules:next?workflow_code=8"),
            await client.post(OF_W, json={"cron": "@weekly"}),
            await client.patch(f"{BASE}/schedules/1", json={"cron": "@weekly"}, headers=any_),
            await client.post(f"{BASE}/schedules/1/off"),
            await client.delete(f"{BASE}/schedules/1", headers=any_),
        ]
    assert [each["id"] for each in listed["items"]] == ["1"]
    assert {each["schedule_id"] for each in fires["fires"]} == {"1"}
    assert [each.status_code for each in answers] == [200, 200, 404, 404, 404, 403, 403, 403, 403]
    assert cluster.one("SELECT count(*) FROM schedule WHERE state = 'ONLINE' AND crontab = '@daily'") == 3


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "pointer"),
    [
        ("POST", OF_W, {}, 422, "/cron"),
        ("POST", OF_W, {"cron": "every day"}, 422, None),
        ("POST", OF_W, {"cron": "@daily", "time_zone": "Mars"}, 422, None),
        ("POST", OF_W, {"cron": "@daily", "misfire": "NEVER"}, 422, "/misfire"),
        ("POST", OF_W, {"cron": "@daily", "worker_group": "a b"}, 422, None),
        ("POST", OF_W, {"cron": "@daily", "params": {"nix": "1"}}, 422, None),
        ("POST", OF_W, {"cron": "@daily", "end_time": "2020-01-01"}, 422, None),
        ("POST", f"{BASE}/workflow-definitions/9/schedules", {"cron": "@daily"}, 404, None),
        ("PATCH", f"{BASE}/schedules/1", {}, 422, None),
        ("PATCH", f"{BASE}/schedules/1", {"misfire": None}, 422, None),
        ("PATCH", f"{BASE}/schedules/1", {"state": "MAYBE"}, 422, "/state"),
        ("PATCH", f"{BASE}/schedules/77", {"cron": "@daily"}, 404, None),
        ("POST", f"{BASE}/schedules/77/on", None, 404, None),
        ("POST", f"{BASE}/schedules:preview", {"cron": "@daily", "count": 101}, 422, "/count"),
        ("POST", f"{BASE}/schedules:preview", {"cron": "@daily", "start_time": "soon"}, 422, None),
        ("GET", f"{BASE}/schedules:next?workflow_code=77", None, 404, None),
        ("GET", f"{BASE}/schedules?state=x", None, 422, "query/state"),
    ],
)
async def test_what_is_wrong_is_a_sentence_with_a_pointer(
    api: Serving, cluster: Cluster, method: str, path: str, body: Any, status: int, pointer: str | None
) -> None:
    cluster.rows("INSERT INTO schedule (workflow_code, crontab) VALUES (7, '@daily')")
    async with api.client(await token_of(api.backend, "ada", is_admin=True), **{"If-Match": "*"}) as client:
        answer = await client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert pointer is None or [each["pointer"] for each in answer.json()["errors"]] == [pointer], answer.text
    assert cluster.one("SELECT count(*) FROM schedule WHERE crontab = '@daily'") == 1


async def test_the_verbs_print_the_same_through_the_api(
    api: Serving, cluster: Cluster, database_url: str, tmp_path: Path
) -> None:
    direct, remote = CommandLine.at(database_url), await through(api)
    added = await remote("schedule", "add", "w", "0 5 * * *", "--start", "2090-01-01", "-p", "day=3")
    edited = await remote("schedule", "edit", "1", "--cron", "0 6 * * *", "--start", "none", "--off")
    assert (added.code, edited.code) == (0, 0), added.err + edited.err
    assert "First at 2090-01-01T04:00:00.000Z; then: shoal schedule next w" in added.out
    cluster.rows(
        "INSERT INTO schedule (workflow_code, crontab, next_fire_at, start_time)"
        " VALUES (7, '@daily', 'infinity', '2090-01-01')"
    )
    calls = (
        "schedule list",
        "schedule list --json --state online",
        "schedule next w",
        "schedule next --json",
        "schedule on 77",
        "schedule next nix",
    )
    await assert_same(direct, remote, *calls, "schedule add w x", "schedule edit 1 --start soon")
    gone = await remote("schedule", "delete", "1")
    assert (gone.code, cluster.one("SELECT count(*) FROM schedule")) == (0, 1), gone.err
