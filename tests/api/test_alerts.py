"""Alerts over the API: channels without their secrets, versions, silences, rules, history, and who may see what."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from dao.postgres.sql import Sql
from dao.secrets.vault import Vault, new_key
from model.accounts.rights import Role, Scope
from tests.alert.conftest import Desk, sending
from tests.alert.conftest import web as web
from tests.alert.receivers import HttpReceiver
from tests.api.people import member
from tests.api.serving import BASE, Serving, serving, token_of
from tests.eventually import eventually

SECRET = "hunter22-TOKEN"
KEY = new_key()


@pytest.fixture
async def api(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serving]:
    """An API with a key."""
    monkeypatch.setenv("SHOAL_SECRETS__KEYS", KEY)
    async with serving(database_url) as running:
        yield running


async def test_a_channel_is_saved_changed_tested_and_deleted_and_its_secret_never_shown(
    api: Serving, web: HttpReceiver
) -> None:
    told = []
    url = web.url(SECRET, f"ada:{SECRET}@")
    async with api.client(await token_of(api.backend, "root", is_admin=True)) as client:
        path = f"{BASE}/alert-channels/hook"
        missing = await client.put(path, json={"description": "new"})
        assert (missing.status_code, missing.json()["detail"]) == (422, 'the channel "hook" is new: give its url')
        wrong = await client.put(path, json={"url": f"slack://{SECRET}"})
        assert "the URL is not one of slack://" in wrong.json()["detail"]
        saved = await client.put(path, json={"url": url})
        assert (saved.status_code, saved.headers["ETag"]) == (200, '"1"'), saved.text
        assert saved.json()["url"] == f"json://ada:***@127.0.0.1:{web.port}/***"
        blind = await client.put(path, json={"enabled": False})
        assert blind.status_code == 428
        changed = await client.put(path, json={"subject_template": "${subject}!"}, headers={"If-Match": '"1"'})
        assert (changed.status_code, changed.json()["version"]) == (200, 2), changed.text
        late = await client.put(path, json={"enabled": False}, headers={"If-Match": '"1"'})
        assert (late.status_code, "version 2 is there now" in late.json()["detail"]) == (412, True)
        mistake = await client.put(path, json={"text_template": "${"}, headers={"If-Match": '"2"'})
        assert mistake.status_code == 422
        nobody = await client.post(f"{path}:test", params={"wait": 0.5})
        assert nobody.json()["state"] == "WAIT"
        assert "is `shoal alert` running?" in nobody.json()["reason"]
        async with sending(Desk(api.database, Vault([KEY]))):
            sent = await client.post(f"{path}:test")
            assert (sent.json()["state"], web.titles[-1]) == ("SENT", 'test of channel "hook"!'), sent.text
            web.status = 500
            failed = await client.post(f"{path}:test")
        assert (failed.json()["state"], failed.json()["reason"]) == ("FAILED", "it answered 500 Internal Server Error")
        group = await client.put(f"{BASE}/alert-groups/default", json={"channels": ["hook"]})
        assert group.json()["channels"] == ["hook"]
        unknown = await client.put(f"{BASE}/alert-groups/data", json={"channels": ["hok"]})
        assert (unknown.status_code, "did you mean" in unknown.json()["detail"]) == (404, True)
        rotated = await client.post(f"{BASE}/secrets:rotate")
        assert rotated.json()["alert_channels"] == 0
        secrets = await client.get(f"{BASE}/secrets")
        assert [each["kind"] for each in secrets.json()["items"]] == ["ALERT_CHANNEL"]
        told += [missing, wrong, saved, blind, changed, late, sent, failed, await client.get(path)]
        told += [await client.get(f"{BASE}/alert-channels"), await client.get(f"{BASE}/audit"), secrets]
        async with api.database.writing() as connection:
            await connection.execute(
                Sql(
                    "INSERT INTO alert_delivery (alert_id, channel_id) SELECT min(a.id), 1 FROM alert a "
                    "ON CONFLICT (alert_id, channel_id) DO UPDATE SET state = 'WAIT'"
                )
            )
        refused = await client.delete(path)
        assert (refused.status_code, "alerts wait for" in refused.json()["detail"]) == (422, True)
        assert (await client.delete(path, params={"force": True})).status_code == 204
    assert not [each.text for each in told if SECRET in each.text]


async def test_who_sees_which_alerts_and_may_have_them_sent_again(api: Serving, web: HttpReceiver) -> None:
    desk = Desk(api.database, Vault([KEY]))
    await desk.channel("hook", web.url(), "data")
    insert = (
        "INSERT INTO alert (kind, severity, project, subject, alert_group) "
        "VALUES (:kind, 'WARNING', :project, :subject, 'data')"
    )
    for kind, project in (("RULE", "etl"), ("RULE", "other"), ("FAILOVER", None), ("ERROR_COMMANDS", None)):
        await desk.run(insert, kind=kind, project=project, subject=f"{kind} of {project}")
    web.status = 500
    async with sending(desk, retry_for=timedelta(seconds=0.5), group_from=100):
        await eventually(desk.states, until=["FAILED"] * 4, within_s=60)
    admin = await token_of(api.backend, "root", is_admin=True)
    viewer = await member(api.backend, "vera", "etl", Role.VIEWER)
    operator = await member(api.backend, "olga", "etl", Role.OPERATOR)
    async with api.client(admin) as client:
        every = (await client.get(f"{BASE}/alerts", params={"result": "FAILED"})).json()["items"]
        assert [each["id"] for each in every] == ["4", "3", "2", "1"]
        assert every[0]["deliveries"][0]["error"] == "it answered 500 Internal Server Error"
        pages = [await client.get(f"{BASE}/alerts", params={"limit": 3})]
        pages.append(await client.get(f"{BASE}/alerts", params={"limit": 3, "cursor": pages[0].json()["next_cursor"]}))
        assert [len(page.json()["items"]) for page in pages] == [3, 1]
    async with api.client(viewer) as client:
        seen = (await client.get(f"{BASE}/alerts")).json()["items"]
        assert [each["subject"] for each in seen] == ["FAILOVER of None", "RULE of etl"]
        codes = [(await client.get(f"{BASE}/alerts/{id_}")).status_code for id_ in (1, 2, 3, 4)]
        assert codes == [200, 404, 200, 404]
        assert (await client.post(f"{BASE}/alerts/1/retry", json={})).status_code == 403
    async with api.client(operator) as client:
        again = await client.post(f"{BASE}/alerts/1/retry", json={})
        assert (again.status_code, again.json()) == (202, {"id": "1", "channels": 1})
        twice = await client.post(f"{BASE}/alerts/1/retry", json={})
        assert (twice.status_code, "only what failed is sent again" in twice.json()["detail"]) == (422, True)
        assert (await client.post(f"{BASE}/alert-silences", json={"lasts_s": 60})).status_code == 403
        async with api.client(admin) as root:
            everywhere = (await root.post(f"{BASE}/alert-silences", json={"lasts_s": 60})).json()["id"]
        assert everywhere in [each["id"] for each in (await client.get(f"{BASE}/alert-silences")).json()["items"]]
        assert (await client.post(f"{BASE}/alert-silences/{everywhere}/end")).status_code == 403
        async with api.client(admin) as root:
            assert (await root.post(f"{BASE}/alert-silences/{everywhere}/end")).status_code == 200
        made = await client.post(f"{BASE}/alert-silences", json={"lasts_s": 60, "project": "etl"})
        assert made.status_code == 201, made.text
        for wrong in (
            {},
            {"lasts_s": 1, "ends_at": "2030-01-01T00:00:00Z"},
            {"lasts_s": 1, "workflow": "w"},
            {"ends_at": "2020-01-01T00:00:00Z", "project": "etl"},
        ):
            assert (await client.post(f"{BASE}/alert-silences", json=wrong)).status_code == 422, wrong
        ended = await client.post(f"{BASE}/alert-silences/{made.json()['id']}/end")
        assert ended.status_code == 200
        assert (await client.get(f"{BASE}/alert-silences")).json()["items"] == []
        rule = await client.put(f"{BASE}/projects/etl/alert-rules/r", json={"text": "any run of a fails -> group data"})
        assert rule.status_code == 403
    web.status = 204
    async with sending(desk):
        await eventually(lambda: web.titles, until=["[Shoal] RULE of etl"], within_s=30)


async def test_a_rule_is_saved_in_words_and_refused_with_a_sentence(api: Serving) -> None:
    editor = await member(api.backend, "eva", "etl", Role.EDITOR, frozenset({Scope.DEFINITIONS_WRITE}))
    path = f"{BASE}/projects/etl/alert-rules/twice"
    async with api.client(editor) as client:
        wrong = await client.put(path, json={"text": "if it breaks call me"})
        assert (wrong.status_code, bool(re.search("-> group", wrong.json()["detail"]))) == (422, True)
        saved = await client.put(path, json={"text": "any run of  load fails -> group data"})
        assert (saved.json()["text"], saved.json()["group"]) == ("any run of load fails -> group data", "data")
        changed = await client.put(
            path, json={"text": "any run of load fails -> group ops", "enabled": False}, headers={"If-Match": '"1"'}
        )
        assert (changed.json()["version"], changed.json()["enabled"]) == (2, False), changed.text
        listed = await client.get(f"{BASE}/alert-rules")
        assert [each["name"] for each in listed.json()["items"]] == ["twice"]
        assert (await client.delete(path)).status_code == 204
        assert (await client.get(path)).status_code == 404
