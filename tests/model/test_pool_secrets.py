"""Which values of the data of resources are secrets."""

from __future__ import annotations

import json
from typing import Any

from model.pools.secrets import secrets_held, secrets_of
from tests.every import every


@every(
    ("data", "secrets"),
    [
        ({}, set()),
        ({"host": "10.0.0.1", "port": 3128, "key": "k"}, set()),
        (
            {"password": "a", "Passwd": "b", "API-KEY": "c", "accessToken": "d", "my_secret": 12345678},
            {"a", "b", "c", "d", "12345678"},
        ),
        ({"credentials": {"user": "a", "all": ["b", None, True, {"x": 1.5}]}}, {"a", "b", "1.5"}),
        ({"proxy": "http://me:pass@host:1/", "more": ["https://:x@h", "http://me@host"]}, {"pass", "x"}),
    ],
)
def test_names_and_urls_say_what_is_secret(data: dict[str, Any], secrets: set[str]) -> None:
    assert secrets_of(data) == secrets


def test_all_that_an_attempt_holds_is_read() -> None:
    leases = {
        "a": [{"name": "1", "data": {"token": "x"}}, {"name": "2", "data": {}}],
        "b": [{"name": "3", "data": {"token": "y"}}],
    }
    assert secrets_held(json.dumps(leases)) == {"x", "y"}
    assert secrets_held(None) == set()
