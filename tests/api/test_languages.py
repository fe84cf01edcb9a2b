"""Problems are said in the language that the client prefers, as far as there are translations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.chinese import DETAILS, TEMPLATES, TITLES
from api.languages import preferred, translated
from model import errors
from model.accounts.project_limits import Resource
from service.error_codes import KINDS
from tests.api.serving import BASE, serving, token_of
from tests.every import every

ROOT = Path(__file__).parents[2]
ERRORS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, errors.ShoalError)}
NO_ANSWERS = {
    "the API's server ended",
    "api.oidc.issuer needs a library; install it with the extra oidc: pip install 'shoal[oidc]'",
}
"""Said by a process in its own log and exit, not to a client."""


@every(
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
            half = await client.get(f"{BASE}/saved-views/77")
            faulty = await client.post(f"{BASE}/users", json={"name": ""})
            fine = await client.get(f"{BASE}/workflow-instances")
    assert (whole.json()["code"], whole.json()["title"]) == ("SH-1001", "无法确认请求者的身份")
    assert whole.json()["detail"].startswith("请说明请求者")
    assert (whole.headers["Content-Language"], whole.headers["Vary"]) == ("zh", "Accept-Language")
    assert (english.json()["title"], english.headers["Content-Language"]) == ("Not logged in", "en")
    assert english.headers["Vary"] == "Accept-Language"
    assert (half.json()["title"], half.json()["detail"].split(";")[0]) == ("不存在", "there is no saved view 77")
    assert half.headers["Content-Language"] == "zh, en"
    assert faulty.json()["detail"] == "/name：至少需要 1 个字符"
    assert [each["detail"] for each in faulty.json()["errors"]] == ["至少需要 1 个字符"]
    assert "Content-Language" not in fine.headers


def test_each_kind_of_problem_has_a_title_in_chinese() -> None:
    assert TITLES.keys() == {kind.code for kind in KINDS}


def _raised(part: str) -> Iterator[str]:
    """The sentences of the errors that this part raises; what they name stands as {}."""
    for path in (ROOT / part).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            error = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(error, ast.Call) and isinstance(error.func, ast.Name) and error.func.id in ERRORS:
                yield from map(_template, error.args[:1])


def _template(text: ast.expr) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)


def _said() -> str:
    """All texts of what answers requests, with {} for what they name."""
    of_limits = [f'the {kind} "{{}}"' for kind in Resource]
    return "\n".join(of_limits) + "\n".join(
        re.sub(r"\{\w+\}", "{}", _template(node))  # those of `missing` are templates themselves
        for part in ("api", "service", "dao", "model", "importers")
        for path in (ROOT / part).rglob("*.py")
        if path != ROOT / "api" / "chinese.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )


def test_each_sentence_without_names_that_is_an_answer_is_translated() -> None:
    said = {sentence for part in ("api", "service") for sentence in _raised(part) if "{}" not in sentence}
    assert sorted(said - DETAILS.keys() - NO_ANSWERS) == []


def test_each_sentence_that_is_translated_is_one_that_the_api_says() -> None:
    said = _said()
    assert [sentence for sentence in DETAILS if sentence not in said] == []
    assert [each for each in TEMPLATES if re.sub(r"\{\w+\}", "{}", each) not in said] == []


def test_a_template_and_its_translation_name_the_same() -> None:
    for english, chinese in TEMPLATES.items():
        assert set(re.findall(r"\{(\w+)\}", chinese)) == set(re.findall(r"\{(\w+)\}", english)), english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ('there is no worker "w1"; known: w2, w3', "没有名为“w1”的 worker；已知的有：w2, w3"),
        (
            'there is no master "a"; b"; none is alive or drained; start one: shoal master',
            '没有名为“a"; b”的 master；没有存活或已排空的节点；请启动一个：shoal master',
        ),
        ('there is a project "{name}" already', "项目“{name}”已存在"),
        ("there is no saved view 77", None),
    ],
)
def test_a_sentence_with_names_is_translated_with_them(english: str, chinese: str | None) -> None:
    problem = {"code": "SH-1003", "title": "There is no such thing", "detail": english}
    assert translated(problem, "zh")[0]["detail"] == (chinese or english)


async def test_faults_within_an_answer_are_said_in_chinese_too(database_url: str) -> None:
    switch = {"cases": [{"when": "${x} == 1", "then": ["a"]}]}
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        said = {}
        for language in ("zh-CN", "en"):
            async with api.client(token, **{"Accept-Language": language}) as client:
                body = {"project": "default", "params": switch, "values": {}}
                answer = await client.post(f"{BASE}/task-definitions:choose", json=body)
                assert (answer.status_code, answer.headers["Vary"]) == (200, "Accept-Language")
                said[language] = answer.json()
    assert said["zh-CN"] == {**said["en"], "fault": "分支 1，${x} == 1：没有参数 x；请给它一个值，或移除 ${x}"}
