"""Signed webhooks: each event starts its workflow once, and nobody without a key starts anything."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from dao.postgres.sql import Sql
from dao.secrets.vault import new_key
from model.runs.webhooks import BODY_BYTES_MAX, signature
from tests.api.serving import BASE, Serving, serving, token_of
from tests.api.test_definitions import applied

KEY = "the key of the shop"
NEXT = "whsec_" + base64.b64encode(b"the next key").decode()
BODY = b'{"order": {"id": 7, "note": "a \\"b\\" ${x}"}}'


class Hook:
    """A workflow with a webhook, and the sender of its events."""

    def __init__(self, api: Serving, admin: httpx.AsyncClient) -> None:
        self.api = api
        self.admin = admin
        self.code = 0

    async def define(self, name: str = "orders", *, triggers: tuple[str, ...] = ("SHOP",), **more: Any) -> int:
        """Save a workflow that the project's SECRETs of these names start."""
        spec = {
            "name": name,
            "triggers": [{"webhook": each} for each in triggers],
            "tasks": [{"name": "a", "type": "FAKE", "params": {"write": "${event.body.order.id}"}}],
            **more,
        }
        (head,) = await applied(self.admin, json.dumps(spec))
        return int(head["code"])

    async def send(
        self,
        id_: str = "msg_1",
        body: bytes = BODY,
        *,
        key: str = KEY,
        ago: timedelta = timedelta(0),
        code: int | None = None,
        **headers: str | bytes,
    ) -> httpx.Response:
        """Send an event, signed with a key; headers may be other ones."""
        timestamp = str(int((datetime.now(UTC) - ago).timestamp()))
        given = {
            "webhook-id": id_,
            "webhook-timestamp": timestamp,
            "webhook-signature": f"v1,{signature(key, id_, timestamp, body)}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        address = f"{BASE}/workflow-definitions/{code or self.code}/webhook"
        async with self.api.client() as client:
            return await client.post(address, content=body, headers=given)


@pytest.fixture
async def hook(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hook]:
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", new_key())
    async with (
        serving(database_url) as api,
        api.client(await token_of(api.backend, "root", is_admin=True)) as admin,
    ):
        secrets = {"SHOP": KEY, "NEXT": NEXT}
        answer = await admin.patch(f"{BASE}/projects/default", json={"secrets": secrets}, headers={"If-Match": "*"})
        assert answer.status_code == 200, answer.text
        made = Hook(api, admin)
        made.code = await made.define()
        yield made


async def params(hook: Hook) -> list[Any]:
    async with hook.api.database.reading() as connection:
        rows = await connection.execute(Sql("SELECT params, created_by FROM command ORDER BY id"))
        return [(json.loads(row[0]), row[1]) for row in rows.all()]


async def test_an_event_starts_its_workflow_once_however_often_it_is_sent(hook: Hook) -> None:
    answers = await asyncio.gather(*(hook.send() for _ in range(8)))
    first = [answer for answer in answers if answer.status_code == 202]
    assert {answer.status_code for answer in answers} <= {202, 409}, "one that is under way is not answered yet"
    again = await hook.send(ago=timedelta(minutes=2))
    assert (again.status_code, again.json()["command_id"]) == (202, first[0].json()["command_id"])
    ((given, by),) = await params(hook)
    event = json.loads(given["event"])
    assert datetime.fromisoformat(event.pop("sent_at"))
    assert event == {"kind": "webhook", "id": "msg_1", "body": json.loads(BODY)}
    assert by == f"webhook {hook.code}"
    await hook.send("msg_2", b"no JSON")
    assert json.loads((await params(hook))[1][0]["event"])["body"] == "no JSON"


async def test_the_start_stands_in_the_audit_without_what_was_sent(hook: Hook) -> None:
    await hook.send()
    entry = (await hook.admin.get(f"{BASE}/audit", params={"action": "start_run"})).json()["items"][0]
    assert (entry["actor_kind"], entry["actor"], entry["project"]) == ("WEBHOOK", f"webhook {hook.code}", "default")
    assert entry["after"]["event"] == "msg_1"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"key": "another key"}, "has no webhook with this signature"),
        ({"webhook_signature": "v1,AAAA"}, "has no webhook with this signature"),
        ({"webhook_signature": "v1,\u00e9".encode("latin-1")}, "has no webhook with this signature"),
        ({"webhook_signature": "v2,AAAA"}, "webhook-signature has no signature"),
        ({"webhook_signature": ""}, "webhook-signature has no signature"),
        ({"webhook_signature": " ".join(["v1,A"] * 11)}, "webhook-signature has no signature"),
        ({"webhook_id": "msg_2"}, "has no webhook with this signature"),
        ({"webhook_id": ""}, "webhook-id has 1 to 200"),
        ({"webhook_timestamp": "yesterday"}, "webhook-timestamp is not a time"),
        ({"webhook_timestamp": "9" * 30}, "webhook-timestamp is not a time"),
        ({"ago": timedelta(minutes=6)}, "more than 5 min from now"),
        ({"ago": timedelta(minutes=-6)}, "more than 5 min from now"),
        ({"code": 12345}, "has no webhook with this signature"),
    ],
)
async def test_what_is_not_signed_for_it_now_starts_nothing(hook: Hook, how: dict[str, Any], said: str) -> None:
    answer = await hook.send(**how)
    assert (answer.status_code, answer.json()["code"]) == (401, "SH-1001")
    assert said in answer.json()["detail"]
    assert await params(hook) == []


async def test_another_body_does_not_have_the_signature(hook: Hook) -> None:
    timestamp = str(int(datetime.now(UTC).timestamp()))
    stolen = signature(KEY, "msg_1", timestamp, BODY)
    answer = await hook.send(body=b"{}", webhook_timestamp=timestamp, webhook_signature=f"v1,{stolen}")
    assert answer.status_code == 401


async def test_a_key_is_changed_without_a_gap(hook: Hook) -> None:
    code = await hook.define("rotated", triggers=("SHOP", "NEXT"))
    assert (await hook.send("msg_1", code=code)).status_code == 202
    assert (await hook.send("msg_2", code=code, key=NEXT)).status_code == 202
    both = f"v1a,AAAA v1,AAAA v1,{signature(KEY, 'msg_3', (now := str(int(datetime.now(UTC).timestamp()))), BODY)}"
    sent = await hook.send("msg_3", code=code, webhook_timestamp=now, webhook_signature=both)
    assert sent.status_code == 202
    assert (await hook.send("msg_4", key=NEXT)).status_code == 401, "not a key of this one"


async def test_without_a_secret_of_that_name_there_is_no_webhook(hook: Hook) -> None:
    open_ = await hook.define("open", triggers=("PLAIN",), params={"PLAIN": KEY})
    none = await hook.define("none", triggers=("MISSING",))
    other = await hook.define("other", triggers=())
    for code in (open_, none, other):
        assert (await hook.send(code=code)).status_code == 401
    own = await hook.define("own", triggers=("MINE",), params={"MINE": "a key of its own"}, secrets=["MINE"])
    assert (await hook.send(code=own, key="a key of its own")).status_code == 202


async def test_one_that_cannot_start_says_why(hook: Hook) -> None:
    needy = await hook.define("needy", params={"day": {"type": "VARCHAR", "required": True}})
    answer = await hook.send(code=needy)
    assert answer.status_code == 422
    assert "day" in answer.json()["detail"]
    assert (await hook.send("msg_2", b"\xff")).status_code == 422
    assert (await hook.send("msg_3", b"x" * (BODY_BYTES_MAX + 1))).status_code == 413
    await hook.send("msg_4")
    changed = await hook.send("msg_4", b"{}")
    assert (changed.status_code, changed.json()["code"]) == (422, "SH-1015")
    async with hook.api.database.writing() as connection:
        await connection.execute(Sql("UPDATE workflow_definition SET release_state = 'OFFLINE'"))
    refused = await hook.send("msg_5")
    assert (refused.status_code, "OFFLINE" in refused.json()["detail"]) == (422, True)
