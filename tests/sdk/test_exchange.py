"""What the clients of the SDK ask, and what they make of answers and of none."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

import shoal_sdk
from shoal_sdk.exchange import BASE, Server
from tests.test_repository import ROOT

NOT_IN_QUERY = {"key", "version", "body"}


def test_a_failure_without_words_is_named_by_its_kind() -> None:
    said = Server("http://127.0.0.1:1", "shoal_x").answer(httpx.ReadTimeout(""))
    assert str(said) == "the server http://127.0.0.1:1 does not answer: ReadTimeout"


def _requests() -> Iterator[tuple[str, str, set[str]]]:
    """Method, path with `{}` for each part that varies, and the names in the query, of each request in the source."""
    for path in Path(shoal_sdk.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("get" | "pages" as kind), [where, *_], keywords):
                    method = "GET"
                case ast.Call(ast.Name("change" as kind), [ast.Constant(str(method)), where, *_], keywords):
                    pass
                case _:
                    continue
            if isinstance(where, ast.Constant | ast.JoinedStr):
                parts = where.values if isinstance(where, ast.JoinedStr) else [where]
                text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts)
                named = {each.arg for each in keywords if each.arg is not None} - NOT_IN_QUERY
                yield method, text, named | ({"limit", "cursor"} if kind == "pages" else set())


def test_each_request_is_one_of_the_openapi_document() -> None:
    document = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text("utf-8"))
    known: dict[tuple[str, str], Any] = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path)): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    found = list(_requests())
    assert len(found) > 8
    for method, path, query in found:
        operation = known[method, BASE + path]
        taken = {each.get("name") for each in operation["parameters"]}
        assert query <= taken, f"{method} {path}: {query}"
