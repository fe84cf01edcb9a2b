"""Problems are said in the language that the client prefers, as far as there are translations."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.chinese import DETAILS, TITLES
from api.languages import preferred
from service.problems import KINDS
from tests.api.serving import BASE, serving, token_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        *(("", "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("ZH-Hant-TW", "zh"), ("fr, zh;q=0.2", "zh")),
        *(("en-GB, zh;q=0.9", "en"), ("en, zh", "en"), ("zh, en", "zh"), ("*", "en"), ("zh;q=0", "en"), ("fr", "en")),
        *(("*, zh;q=0.1", "en"), ("en;q=0.1, *", "zh"), ("zhx", "en"), ("zh;q=2", "en"), ("zh;q=high", "en")),
    ],
)
def test_the_language_with_the_greatest_weight_is_preferred(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


async def test_a_problem_is_said_in_chinese_and_its_code_stays_the_same(database_url: str) -> None:
    async with serving(database_url) as api:
        async with api.client(**{"Accept-Language": "zh-CN"}) as client:
            whole = await client.get(f"{BASE}/workflow-instances")
        async with api.client(**{"Accept-Language": "de"}) as client:
            english = await client.get(f"{BASE}/workflow-instances")
        token = await token_of(api.backend, "ada", is_admin=True)
        async with api.client(token, **{"Accept-Language": "zh"}) as client:
            half = await client.get(f"{BASE}/workflow-instances/77")
            fine = await client.get(f"{BASE}/workflow-instances")
    assert (whole.json()["code"], whole.json()["title"]) == ("SH-1001", "无法确认请求者的身份")
    assert whole.json()["detail"].startswith("请说明请求者")
    assert (whole.headers["Content-Language"], whole.headers["Vary"]) == ("zh", "Accept-Language")
    assert (english.json()["title"], english.headers["Content-Language"]) == ("It is not known who asks", "en")
    assert english.headers["Vary"] == "Accept-Language"
    assert (half.json()["title"], half.json()["detail"].split(";")[0]) == ("不存在", "there is no run 77")
    assert half.headers["Content-Language"] == "zh, en"
    assert "Content-Language" not in fine.headers


def test_each_kind_of_problem_has_a_title_in_chinese() -> None:
    assert TITLES.keys() == {kind.code for kind in KINDS}


def test_each_sentence_that_is_translated_is_one_that_the_api_says() -> None:
    said = "\n".join(path.read_text("utf-8") for part in ("api", "service") for path in (ROOT / part).rglob("*.py"))
    assert [sentence for sentence in DETAILS if said.count(f'"{sentence}"') < 2] == []
