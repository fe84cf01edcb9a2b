"""What every answer says to browsers, and that the page on security names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from structlog.contextvars import get_contextvars

from api.authentication import CSRF_HEADER, HEADER_LENGTH_MAX, IDEMPOTENCY_KEY, IF_MATCH
from service.call import Call
from tests.api.serving import BASE, serving, token_of

ROOT = Path(__file__).parents[2]


async def test_no_answer_lets_another_site_read_it(database_url: str) -> None:
    async with serving(database_url) as api, api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        for path in (f"{BASE}/workflow-instances", f"{BASE}/nowhere", "/healthz", f"{BASE}/openapi.json"):
            answer = await client.get(path, headers={"Origin": "https://evil.example.org"})
            assert not [name for name in answer.headers if name.startswith("access-control-")], path
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
            assert answer.headers["Content-Type"].partition(";")[0] in ("application/json", "application/problem+json")


@pytest.mark.parametrize("name", [CSRF_HEADER, IDEMPOTENCY_KEY, IF_MATCH])
async def test_a_header_that_is_too_long_is_refused_even_where_nobody_needs_it(database_url: str, name: str) -> None:
    async with serving(database_url) as api, api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        project = {"name": "sales"}
        refused = await client.post(f"{BASE}/projects", json=project, headers={name: "x" * (HEADER_LENGTH_MAX + 1)})
        assert refused.status_code == 422, refused.text
        assert name in refused.json()["detail"]
        longest = {} if name == IF_MATCH else {name: "x" * HEADER_LENGTH_MAX}  # one that is no ETag of it is refused
        assert (await client.post(f"{BASE}/projects", json=project, headers=longest)).is_success


def test_each_test_that_the_page_on_security_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "concepts" / "security.md").read_text("utf-8")))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(named) > 20
    assert named <= there, named - there


async def test_lines_of_the_api_have_the_request_and_the_trace_that_it_came_with(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    seen: list[dict[str, object]] = []
    monkeypatch.setattr(
        "api.authentication.Call",
        lambda *given, **named: (seen.append(dict(get_contextvars())), Call(*given, **named))[1],
    )
    async with serving(database_url) as api, api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        for given, said in ((f"00-{trace}-00f067aa0ba902b7-01", trace), ("nonsense", None), ("", None)):
            answer = await client.get(f"{BASE}/workflow-instances", headers={"traceparent": given})
            assert seen[-1] == {"request": answer.headers["X-Request-Id"], **({"trace": said} if said else {})}
