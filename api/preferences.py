"""What a client would like, in the header Prefer (RFC 7240): `wait=5`, how long the answer may wait for an outcome.

A preference is no demand: one that is not known, or cannot be read, is left out, and the answer does not name it in
Preference-Applied.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import Request

from service.operation import QUERY, Operation
from service.runs.requests import WAIT_S_MAX, WaitQuery

PREFER = "Prefer"
APPLIED = "Preference-Applied"

_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?=[,;]|$)", re.IGNORECASE)


def may_wait(operation: Operation[Any, Any]) -> bool:
    """Whether the answer of an operation may wait for an outcome."""
    query = operation.signature.parameters.get(QUERY)
    return query is not None and query.annotation is WaitQuery


def preferred_wait_s(given: str | None) -> int | None:
    """The seconds of `wait` in a Prefer header, the first if there are several; None: there are none."""
    found = _WAIT.search(given or "")
    return None if found is None else min(int(found[1]), WAIT_S_MAX)


def apply_wait(request: Request, given: dict[str, Any]) -> dict[str, str]:
    """Let the query of a request wait as its header prefers, unless its address says how long.

    Returns the headers of the answer.
    """
    header = ",".join(request.headers.getlist(PREFER))
    if "wait" in request.query_params or (wait_s := preferred_wait_s(header)) is None:
        return {}
    given[QUERY] = WaitQuery(wait=wait_s)
    return {APPLIED: f"wait={wait_s}"}
