"""Accounts, tokens, members and the audit over HTTP: fields that nobody may set, versions, denials, secrets."""

from __future__ import annotations

from api.denials import A_MINUTE_MAX
from model.accounts.rights import Role, Scope
from tests.accounts.office import PASSWORD, Office
from tests.api.serving import BASE, Serving, token_of

USERS = f"{BASE}/users"


async def test_an_admin_makes_an_account_that_chooses_its_password_and_makes_a_token(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as ada, api.client() as anna:
        made = await ada.post(USERS, json={"name": "anna"})
        assert (made.status_code, made.json()["has_password"], made.headers["ETag"]) == (201, False, '"1"')
        id_ = made.json()["id"]
        assert (await ada.get(f"{USERS}:find", params={"name": "ANNA"})).json()["id"] == id_
        link = (await ada.post(f"{USERS}/{id_}/login-link")).json()
        session = await anna.post(f"{BASE}/sessions", json={"link": link["secret"]})
        anna.headers["X-CSRF-Token"] = session.json()["csrf"]
        assert (await anna.put(f"{BASE}/me/password", json={"password": PASSWORD})).status_code == 204
        wrong = await anna.put(f"{BASE}/me/password", json={"current": "not that", "password": "another one"})
        assert wrong.status_code == 401
        new = {"name": "ci", "scopes": ["runs:read"], "password": PASSWORD}
        token = await anna.post(f"{USERS}/{id_}/tokens", json=new)
        assert token.status_code == 201, token.text
        listed = (await anna.get(f"{USERS}/{id_}/tokens")).json()["items"]
        assert [(each["name"], "token" in each) for each in listed] == [("ci", False)]
        sessions = (await anna.get(f"{USERS}/{id_}/sessions")).json()["items"]
        assert [each["is_this"] for each in sessions] == [True]
        async with api.client(token.json()["token"]) as ci:
            me = (await ci.get(f"{BASE}/me")).json()
            assert (me["name"], me["kind"], me["scopes"], me["account"]) == ("anna", "TOKEN", ["runs:read"], id_)
            assert (await ci.delete(f"{USERS}/{id_}/tokens/{me['token']}")).status_code == 200
            assert (await ci.get(f"{BASE}/me")).status_code == 401
    stored = await Office(api.backend).sql("SELECT string_agg(a::text || coalesce(k::text, ''), '') FROM audit a "
                                           "FULL JOIN idempotency_key k ON false")  # fmt: skip
    for secret in (link["secret"], token.json()["token"], PASSWORD):
        assert secret not in stored[0]


async def test_an_account_is_changed_only_by_who_has_read_its_version(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as ada:
        user = f"{USERS}/{(await ada.post(USERS, json={'name': 'anna'})).json()['id']}"
        blind = await ada.patch(user, json={"is_admin": True})
        assert (blind.status_code, blind.json()["code"]) == (428, "SH-1005")
        etag = (await ada.get(user)).headers["ETag"]
        done = await ada.patch(user, json={"is_admin": True}, headers={"If-Match": etag})
        assert (done.json()["is_admin"], done.headers["ETag"]) == (True, '"2"')
        late = await ada.patch(user, json={"disabled": True}, headers={"If-Match": etag})
        assert (late.status_code, late.json()["code"]) == (412, "SH-1004")
        missing = await ada.get(f"{USERS}/4711")
        assert (missing.status_code, "4711" in missing.json()["detail"]) == (404, True)


async def test_nobody_sets_a_field_that_is_not_his(api: Serving) -> None:
    office = Office(api.backend)
    anna = await office.account("anna", etl=Role.OWNER)
    token = (await office.token(await office.caller(), Scope.ADMIN)).token
    tokens, member = f"{USERS}/{anna.id}/tokens", f"{BASE}/projects/etl/members/anna"
    new = {"name": "x", "scopes": ["admin"]}
    async with api.client(token, **{"If-Match": "*"}) as client:
        for method, path, body, pointer in (
            ("PUT", f"{BASE}/me/password", {"password": "long enough", "is_admin": True}, "/is_admin"),
            ("POST", tokens, {**new, "account": "1"}, "/account"),
            ("POST", tokens, {**new, "scopes": ["admin", "root"]}, "/scopes/1"),
            ("POST", tokens, {**new, "lives_s": 1e12}, "/lives_s"),
            ("PUT", member, {"role": "OWNER", "is_admin": True}, "/is_admin"),
            ("PUT", member, {"role": "ADMIN"}, "/role"),
            ("POST", tokens, {**new, "name": "a\0"}, "/name"),
        ):
            answer = await client.request(method, path, json=body)
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer), answer.text
        for path, body in ((f"{USERS}/{anna.id}", {"is_admin": True}), (f"{USERS}/999", {"is_admin": True})):
            assert (await client.patch(path, json=body)).status_code == 403
        assert (await client.post(USERS, json={"name": "x", "is_admin": True})).status_code == 403
    assert await office.sql("SELECT is_admin FROM account") == [False]


async def test_who_may_not_see_an_account_does_not_learn_whether_it_exists(api: Serving) -> None:
    office = Office(api.backend)
    await office.account("anna", etl=Role.VIEWER)
    berta = await office.account("berta")
    token = (await office.token(await office.caller(), Scope.ADMIN)).token
    async with api.client(token) as client:
        said = set()
        for id_ in (berta.id, 999_999):
            for path in ("", "/tokens", "/sessions"):
                answer = await client.get(f"{USERS}/{id_}{path}")
                said.add((path, answer.status_code, answer.json()["detail"]))
        for name in ("berta", "nobody"):
            answer = await client.get(f"{USERS}:find", params={"name": name})
            said.add(("find", answer.status_code, answer.json()["detail"]))
            answer = await client.put(f"{BASE}/projects/etl/members/{name}", json={"role": "OWNER"})
            said.add(("put", answer.status_code, answer.json()["detail"]))
    assert len(said) == 5
    assert {status for _, status, _ in said} == {403}


async def test_what_was_denied_is_audited_for_its_owner_and_fills_no_table(api: Serving) -> None:
    office = Office(api.backend)
    await office.account("anna", etl=Role.VIEWER)
    await office.account("olga", etl=Role.OWNER)
    anna, olga = [(await office.token(await office.caller(name), Scope.ADMIN)).token for name in ("anna", "olga")]
    member = f"{BASE}/projects/etl/members/anna"
    async with api.client(anna) as client, api.client(olga) as owner:
        for _ in range(2 * A_MINUTE_MAX):
            assert (await client.put(member, json={"role": "OWNER"})).status_code == 403
        assert (await client.get(f"{BASE}/audit?project=etl")).status_code == 403
        page = (await owner.get(f"{BASE}/audit?outcome=DENIED")).json()
        assert (await owner.get(f"{BASE}/audit?project=bi")).status_code == 404
    assert len(page["items"]) == A_MINUTE_MAX
    last = page["items"][0]
    fields = ("actor", "action", "object_kind", "object_name", "project", "address", "actor_kind")
    assert [last[name] for name in fields] == ["anna", "put_member", "member", "anna", "etl", "127.0.0.1", "TOKEN"]


async def test_a_token_is_used_only_for_its_scopes_and_projects(api: Serving) -> None:
    office = Office(api.backend)
    await office.account("anna", etl=Role.OWNER, bi=Role.OWNER)
    owner = await office.caller()
    reads = (await office.token(owner, Scope.PROJECTS_READ)).token
    writes = (await office.token(owner, Scope.PROJECTS_WRITE, projects={"etl"}, name="writes")).token

    async def statuses(token: str, project: str) -> list[int]:
        members = f"{BASE}/projects/{project}/members"
        async with api.client(token) as client:
            listed = await client.get(members)
            put = await client.put(f"{members}/anna", json={"role": "OWNER"})
            return [listed.status_code, put.status_code, (await client.get(f"{BASE}/workflow-instances")).status_code]

    assert await statuses(reads, "etl") == [200, 403, 403]
    assert await statuses(writes, "etl") == [200, 200, 403]
    assert await statuses(writes, "bi") == [404, 404, 403]


async def test_a_project_is_limited_by_an_admin_and_by_no_owner(api: Serving) -> None:
    office = Office(api.backend)
    await office.account("anna", etl=Role.OWNER)
    token = (await office.token(await office.caller(), Scope.ADMIN)).token
    limits = f"{BASE}/projects/etl/limits"
    body = {"tenants": ["etl"], "worker_groups": ["big", "default"]}
    async with api.client(token) as anna, api.client(await token_of(api.backend, "ada", is_admin=True)) as ada:
        assert (await anna.put(limits, json={"tenants": ["root"]})).status_code == 403
        assert (await ada.put(limits, json=body)).json() == body
        assert (await anna.get(limits)).json() == body
        wrong = await ada.put(limits, json={"tenants": ["ro ot"]})
        assert (wrong.status_code, wrong.json()["errors"][0]["pointer"]) == (422, "/tenants/0")


async def test_a_limited_project_uses_no_other_tenant_or_worker_group(api: Serving) -> None:
    limited = {"tenants": ["etl"], "worker_groups": ["default"]}

    def file(*, tenant: str = "etl", group: str = "default", schedule: str = "default") -> dict[str, object]:
        tasks = f"[{{name: a, type: SHELL, tenant: {tenant}, worker_group: {group}, params: {{script: 'true'}}}}]"
        schedules = f"[{{cron: '0 0 5 * * ?', worker_group: {schedule}}}]"
        content = f"name: w\nproject: etl\ntasks: {tasks}\nschedules: {schedules}\n"
        return {"files": [{"name": "w.yaml", "content": content}]}

    async with api.client(await token_of(api.backend, "ada", is_admin=True), **{"If-Match": "*"}) as ada:
        apply, limits = f"{BASE}/workflow-definitions:apply", f"{BASE}/projects/etl/limits"
        first = await ada.post(apply, json=file(tenant="root"))
        workflow = f"{BASE}/workflow-definitions/{first.json()['workflows'][0]['code']}"
        await ada.put(limits, json=limited)
        old = await ada.post(f"{workflow}/runs", json={})
        assert (old.status_code, 'may not use the tenant "root", only etl' in old.json()["detail"]) == (422, True)
        assert (await ada.post(apply, json=file())).status_code == 200
        assert (await ada.post(f"{workflow}/runs", json={})).status_code == 202
        for path, body in (
            (apply, file(tenant="root")), (apply, file(group="gpu")), (apply, file(schedule="gpu")),
            (f"{workflow}/runs", {"worker_group": "gpu"}), (f"{workflow}/runs", {"version": 1}),
            (f"{workflow}/roll-back", {"version": 1}),
            (f"{workflow}/schedules", {"cron": "0 0 6 * * ?", "worker_group": "gpu"}),
        ):  # fmt: skip
            refused = await ada.post(path, json=body)
            assert (refused.status_code, "may not use the" in refused.json()["detail"]) == (422, True), refused.text
        schedule = (await ada.get(f"{BASE}/schedules?project=etl")).json()["items"][0]["id"]
        assert (await ada.patch(f"{BASE}/schedules/{schedule}", json={"worker_group": "gpu"})).status_code == 422
        await ada.put(limits, json={"tenants": ["other"]})
        off = await ada.post(f"{BASE}/schedules/{schedule}/off")
        down = await ada.put(f"{workflow}/release-state", json={"release_state": "OFFLINE"})
        assert (off.status_code, down.status_code) == (200, 200), "what stops is never limited"
        for method, path, change in (
            ("POST", f"{BASE}/schedules/{schedule}/on", None),
            ("PATCH", f"{BASE}/schedules/{schedule}", {"cron": "0 0 7 * * ?"}),
            ("PATCH", f"{BASE}/schedules/{schedule}", {"state": "ONLINE"}),
            ("PUT", f"{workflow}/release-state", {"release_state": "ONLINE"}),
        ):
            refused = await ada.request(method, path, json=change)
            assert (refused.status_code, 'may not use the tenant "etl"' in refused.json()["detail"]) == (422, True), (
                path
            )
        await ada.put(limits, json={})
        assert (await ada.post(apply, json=file(group="gpu"))).status_code == 200
