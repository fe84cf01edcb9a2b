"""Which values in the data of resources are secrets: a pool does not declare them, so their names decide.

Logs and reasons are read by people who may not read the data of resources, so a task or check that prints its resources
must not reveal them. Like the masking of secret parameters, this protects against carelessness only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"passw|passphrase|secret|token|credential|(api|private|access)[_-]?key", re.IGNORECASE)
_IN_URL = re.compile(r"://[^\s/@:]*:([^\s/@]+)@")


def secrets_of(data: Mapping[str, Any]) -> set[str]:
    """The secret texts in the data of a resource: values with the name of a secret, and passwords in URLs."""
    return set(_secrets(data, is_secret=False))


def secrets_held(leases: str | None) -> set[str]:
    """The secrets of all resources that an attempt holds; `leases` is the JSON object of a `ClaimedTask`."""
    if leases is None:
        return set()
    return {secret for held in json.loads(leases).values() for each in held for secret in secrets_of(each["data"])}


def _secrets(value: Any, *, is_secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _secrets(each, is_secret=is_secret or _NAME.search(name) is not None)
    elif isinstance(value, list):
        for each in value:
            yield from _secrets(each, is_secret=is_secret)
    elif isinstance(value, str):
        yield from _IN_URL.findall(value)
        if is_secret:
            yield value
    elif is_secret and isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
