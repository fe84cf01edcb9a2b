"""The OpenAPI document: FastAPI's, with the ways to log in, and an example for each body.

docs/reference/openapi.json is a copy of it, from which clients are generated; tests/api/test_openapi.py compares and
writes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from api.authentication import COOKIE, CSRF_HEADER, HEADER_LENGTH_MAX, IDEMPOTENCY_KEY, IF_MATCH
from api.preferences import APPLIED, PREFER
from api.problems import Problem
from service.runs.requests import WAIT_S_MAX

_METHODS = ("get", "post", "put", "patch", "delete")
_OPEN = {"get_health", "get_readiness", "get_version", "log_in"}
"""Operations for which nobody has to say who they are."""
_HEADERS = {
    IDEMPOTENCY_KEY: "the same key and request: the first answer, and nothing is done again",
    IF_MATCH: "the ETag of what is changed, as it was read; * = whatever it is",
    CSRF_HEADER: "with a session: its second secret",
}
"""Of requests that change something."""
_PREFERENCE = (
    f"`wait=5` (RFC 7240): seconds that the answer may wait for a master, unless `wait` says it; at most {WAIT_S_MAX}"
)
_ALL_HEADERS = {**_HEADERS, PREFER: _PREFERENCE}
_DEPTH_MAX = 8
_TEXTS = {"date-time": "2026-01-31T14:00:00.000Z", "binary": "", "uri": "https://shoal.example.org"}
_VALUES: Mapping[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "string": "hello"}


def serve_document(app: FastAPI, path: str) -> None:
    """Make the application answer with the whole document at a path. It is made when it is first asked for, which
    takes a second of processor: in a thread, so that other requests go on."""
    plain = app.openapi
    whole = cache(lambda: document(plain()))
    app.openapi = whole  # type: ignore[method-assign]

    async def answer(request: Request) -> JSONResponse:
        found = await asyncio.to_thread(whole)
        root = request.scope.get("root_path")
        return JSONResponse({**found, "servers": [{"url": root}]} if root else found)

    app.add_route(path, answer, include_in_schema=False)


def document(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document, of FastAPI's."""
    found: dict[str, Any] = json.loads(json.dumps(plain))
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    found["components"]["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
    found["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "a token of a user: shoal_..."},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "the session of a browser"},
    }
    found["components"]["parameters"] = {name: _header(name, text) for name, text in _ALL_HEADERS.items()}
    for path in found["paths"].values():
        for method, operation in path.items():
            if method in _METHODS:
                _complete(operation, method, found["components"])
    return found


def _complete(operation: dict[str, Any], method: str, components: dict[str, Any]) -> None:
    schemas = components["schemas"]
    _trim(operation, schemas)
    operation["security"] = [] if operation["operationId"] in _OPEN else [{"token": []}, {"session": []}]
    if method != "get" and operation["operationId"] not in _OPEN:
        operation.setdefault("parameters", []).extend({"$ref": f"#/components/parameters/{name}"} for name in _HEADERS)
    if APPLIED in operation["responses"].get("202", {}).get("headers", {}):
        operation["parameters"].append({"$ref": f"#/components/parameters/{PREFER}"})
    bodies = [operation["requestBody"]] if "requestBody" in operation else []
    for body in (*bodies, *operation["responses"].values()):
        for media, content in body.get("content", {}).items():
            if media.endswith("json") and "schema" in content:
                content.setdefault("example", _example(content["schema"], schemas))
    for status, answer in operation["responses"].items():
        if status >= "400" and "application/json" in answer.get("content", {}):
            answer["content"] = {"application/problem+json": answer["content"]["application/json"]}
            shared = components.setdefault("responses", {})
            if shared.setdefault(name := f"Problem{status}", answer) == answer:
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}


def _trim(operation: Mapping[str, Any], schemas: dict[str, Any]) -> None:
    """A list whose items may be trimmed by `fields` has whole ones, or some of their fields."""
    if not any(each.get("name") == "fields" for each in operation.get("parameters", ())):
        return
    page = schemas[_named(operation["responses"]["200"]["content"]["application/json"]["schema"])]
    items = page["properties"]["items"]
    if "$ref" in items["items"]:
        whole = _named(items["items"])
        some = {key: value for key, value in schemas[whole].items() if key not in ("required", "description", "title")}
        schemas[f"Some{whole}"] = {**some, "title": f"Some{whole}", "description": "With `fields`: only these."}
        items["items"] = {"anyOf": [items["items"], {"$ref": f"#/components/schemas/Some{whole}"}]}


def _named(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rsplit("/", 1)[1]


def _header(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string"} | ({} if name == PREFER else {"maxLength": HEADER_LENGTH_MAX}),
    }


def _example(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that fits a schema: its own example, else the simplest value of its type."""
    if "$ref" in schema:
        return _example(schemas[_named(schema)], schemas, depth)
    if schema.get("examples"):
        return schema["examples"][0]
    for fixed in ("default", "const"):
        if schema.get(fixed) is not None:
            return schema[fixed]
    if "enum" in schema:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _example(next(each for each in schema[choice] if each.get("type") != "null"), schemas, depth)
    if schema.get("type") == "array":
        return [_example(schema["items"], schemas, depth + 1)] if depth < _DEPTH_MAX and "items" in schema else []
    if schema.get("type") == "object":
        wanted = schema.get("required", ()) if depth > 2 else schema.get("properties", {})
        properties = schema.get("properties", {})
        return {name: _example(properties[name], schemas, depth + 1) for name in wanted if name in properties}
    if "[0-9]" in schema.get("pattern", ""):
        return "1042"
    value = _TEXTS.get(schema.get("format", ""), _VALUES.get(schema.get("type", ""), {}))
    if schema.get("type") in ("integer", "number"):
        return max(value, schema.get("minimum", value))
    return value


def text_of(app: FastAPI) -> str:
    """The document as it stands in the file."""
    return json.dumps(app.openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
