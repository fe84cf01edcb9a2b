"""How the server's process answers, whatever is asked."""

from __future__ import annotations

import re
from typing import Any

from service.operations import ALL
from tests.api.serving import BASE, serving, token_of


async def test_each_operation_refuses_a_parameter_that_is_unknown(database_url: str, sql: Any) -> None:
    """Such as `?dry_run=true`, which stands in the body: it passed silently, and what was only to be shown was done."""
    async with serving(database_url) as api:
        token = await token_of(api.backend, "root", is_admin=True)
        async with api.client(token) as client:
            for operation in ALL:
                path = BASE + re.sub(r"\{\w+\}", "1", operation.path)
                answer = await client.request(operation.method, path, params={"surely_not": "true"})
                assert answer.status_code == 422, (operation.name, answer.text)
                said = {"pointer": "query/surely_not", "detail": "Extra inputs are not permitted"}
                assert (answer.json()["code"], said in answer.json()["errors"]) == ("SH-1010", True), operation.name
            spec = {"spec": {"count": 3}}
            assert (await client.put(f"{BASE}/resource-pools/num?dry_run=true", json=spec)).status_code == 422
            files = {"files": [{"name": "a", "content": "kind: pool\nname: num\ncount: 1\n"}]}
            assert (await client.post(f"{BASE}/resource-pools:apply?dry_run=true", json=files)).status_code == 422
            assert sql("SELECT FROM resource_pool") == []
            for path in ("/healthz?probe=1", "/login?next=%2Fruns", "/?x=1", f"{BASE}/openapi.json?x=1"):
                assert (await client.get(path)).status_code == 200, f"{path} is no operation"
