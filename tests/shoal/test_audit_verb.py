"""`shoal user audit`: how a change is written."""

from __future__ import annotations

from typing import Any

import pytest

from model.accounts.audits import ActorKind, Outcome
from service.accounts.audit_pages import AuditAnswer
from shoal.cli.audit import change_of


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ({"kept_days": None}, {"kept_days": 5}, "kept_days: - → 5"),
        (None, {"params": ["day", "who"], "set": ["day"], "removed": []}, "params: day, who; set: day"),
        ({"tasks": ["old"], "drained": False}, {"tasks": [], "drained": True}, "tasks: old → -; drained: no → yes"),
        ({"name": "same"}, {"name": "same", "places": {"a": 1, "b": 2}}, "places: a 1, b 2"),
        ({"name": "gone"}, None, "name: gone → -"),
    ],
)
def test_a_change_is_written_as_a_person_would(
    before: dict[str, Any] | None, after: dict[str, Any] | None, written: str
) -> None:
    entry = AuditAnswer.model_validate(
        {"id": 1, "at": "2026-11-20T10:00:00Z", "actor_kind": next(iter(ActorKind)), "actor": "anna"}
        | {"action": "change", "object_kind": "project", "outcome": Outcome.DONE, "before": before, "after": after}
    )
    assert change_of(entry) == written
