"""Warnings about triggers whose starts would be refused."""

from __future__ import annotations

from typing import Any

from model.definitions.workflow import WorkflowSpec
from service.workflows.workflow_warnings import doubts
from tests.every import every


@every(
    ("params", "triggers", "said"),
    [
        (
            {"day": {"required": True}},
            [{"dataset": "a"}],
            ['triggers give no "day", which is required; give it a value'],
        ),
        ({"day": {"required": True}}, [], []),
        ({"day": {"required": True, "value": "x"}}, [{"dataset": "a"}], []),
        ({"event": {"required": True, "description": "what happened"}}, [{"dataset": "a"}], []),
        (
            {"key": "open to all"},
            [{"webhook": "key"}],
            ['the key "key" of a webhook is no SECRET; write key: {type: S'],
        ),
        ({"key": {"type": "SECRET", "value": "hidden"}}, [{"webhook": "key"}], []),
        ({}, [{"webhook": "of_the_project"}], []),
    ],
)
def test_a_trigger_that_starts_nothing_is_doubted(params: Any, triggers: Any, said: list[str]) -> None:
    spec = WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE"}], "params": params, "triggers": triggers})
    found = list(doubts(spec))
    assert [each.startswith(begins) for each, begins in zip(found, said, strict=True)] == [True] * len(said)
