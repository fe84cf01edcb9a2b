"""The OpenAPI document: as committed, complete, and with examples that fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from api.app import create_app
from api.openapi import text_of
from api.settings import ApiSettings
from api.web_page import Page
from dao.postgres.database import Database
from service.live.hub import Hub
from service.operations import ALL
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from shoal.version import shoal_version

FILE = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def app() -> Any:
    url = "postgresql+psycopg://nobody@127.0.0.1:1/none"  # nothing is asked of it
    database = Database(url, application_name="shoal-test")
    backend = backend_of(database, load_settings({"database_url": url}))
    return create_app(backend, Hub(database), shoal_version(), ApiSettings(), Page.installed())


def test_the_document_is_the_committed_one(app: Any) -> None:
    """`SHOAL_WRITE=1 pytest tests/api/test_openapi.py` writes it."""
    if os.environ.get("SHOAL_WRITE"):
        FILE.write_text(text_of(app), "utf-8")
    assert FILE.read_text("utf-8") == text_of(app), "docs/reference/openapi.json is of another version"


def test_each_operation_is_in_it_with_its_problems_and_examples(app: Any) -> None:
    found = app.openapi()
    assert found["openapi"].startswith("3.1")
    operations = {
        operation["operationId"]: operation for path in found["paths"].values() for operation in path.values()
    }
    assert {operation.name for operation in ALL} <= operations.keys()
    for name, operation in operations.items():
        assert operation.get("summary"), name
        assert operation["tags"], name
        if operation["security"]:
            assert {"401", "403", "404", "422", "503"} <= operation["responses"].keys(), name


def test_each_example_fits_its_schema(app: Any) -> None:
    found = app.openapi()
    checked = 0
    for path in found["paths"].values():
        for operation in path.values():
            for body in (operation.get("requestBody", {}), *operation["responses"].values()):
                for content in body.get("content", {}).values():
                    if "example" in content:
                        schema = {**content["schema"], "components": found["components"]}
                        jsonschema_rs.validator_for(schema).validate(content["example"])
                        checked += 1
    assert checked > len(ALL)
