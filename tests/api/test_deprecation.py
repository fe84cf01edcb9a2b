"""An operation that will be removed says so with each answer, and in the document."""

from __future__ import annotations

from datetime import date

import pytest

from model.accounts.rights import Right
from service.call import Call
from service.deprecation import Deprecation
from service.fields import Answer, Id
from service.operation import operation
from service.operations import ALL
from tests.api.serving import BASE, serving, token_of

PAGE = "https://shoal.example.org/changes"


class OldAnswer(Answer):
    id: Id


@operation(
    "GET", "/old-things/{id}", Right.VIEW, "clock", deprecated=Deprecation(date(2026, 7, 1), date(2027, 1, 31), PAGE)
)
async def get_old_thing(call: Call, id: Id) -> OldAnswer:
    """Show what will be removed."""
    call.permit_known()
    return OldAnswer(id=id)


async def test_each_answer_of_it_says_since_when_and_until_when(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.app.ALL", (*ALL, get_old_thing))
    async with serving(database_url) as api:
        async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
            answers = [await client.get(f"{BASE}/old-things/7"), await client.get(f"{BASE}/workflow-instances")]
            document = (await client.get(f"{BASE}/openapi.json")).json()
        async with api.client() as stranger:
            answers.append(await stranger.get(f"{BASE}/old-things/7"))
    old, other, refused = answers
    assert [each.status_code for each in answers] == [200, 200, 401]
    for answer in (old, refused):
        assert answer.headers["Deprecation"] == "@1782864000"
        assert answer.headers["Sunset"] == "Sun, 31 Jan 2027 00:00:00 GMT"
        assert answer.headers["Link"] == f'<{PAGE}>; rel="deprecation"; type="text/html"'
    assert not {"deprecation", "sunset", "link"} & {name.lower() for name in other.headers}
    assert document["paths"][f"{BASE}/old-things/{{id}}"]["get"]["deprecated"] is True


def test_nothing_is_deprecated_now() -> None:
    assert [each.name for each in ALL if each.deprecated is not None] == []


def test_what_is_not_decided_is_not_said() -> None:
    assert Deprecation(date(2026, 7, 1)).headers == {"Deprecation": "@1782864000"}
