"""A saved workflow written as YAML is read back as the same definition, whatever its texts hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from model.choices import ReleaseState
from model.definitions.workflow import WorkflowSpec
from service.workflows.workflow_text import WorkflowContent, comparable_yaml_of, to_yaml, yaml_of
from service.workflows.yaml_lines import Number, read_documents

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
TEXTS = ANY_TEXT | st.text("ab: #'\"\\\n\t -|>@`%&*!?,[]{}", max_size=20)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def read(text: str) -> Any:
    (document,) = read_documents(text.encode())

    def plain(value: Any) -> Any:
        if isinstance(value, Number):
            return value.value
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return plain(document.content)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_any_data_is_read_back_as_it_was(data: dict[str, Any]) -> None:
    assert read(to_yaml(data)) == data


def test_a_script_is_written_as_a_block_and_the_rest_as_a_person_would() -> None:
    spec = WorkflowSpec.parse(
        {
            "time_zone": "Europe/Berlin",
            "timeout_minutes": "5m",
            "params": {"day": "2026-01-31"},
            "tasks": [
                {"name": "a", "type": "SHELL", "params": {"script": "echo 1\n  echo 2\n"}, "retry_interval": 0.5},
                {"name": "b", "type": "FAKE", "after": ["a"]},
            ],
        }
    )
    written = yaml_of(WorkflowContent("sales", "daily", ReleaseState.OFFLINE, spec.coded()))
    assert written == (
        "name: daily\nproject: sales\nrelease_state: OFFLINE\ntimeout_minutes: 5\ntime_zone: Europe/Berlin\n"
        "params:\n  day: '2026-01-31'\ntasks:\n"
        "  - name: a\n    type: SHELL\n    params:\n      script: |\n        echo 1\n          echo 2\n"
        "    retry_interval: 0.5\n"
        "  - name: b\n    type: FAKE\n    after: [a]\n"
    )


def test_codes_are_written_where_a_new_save_would_give_others() -> None:
    spec = WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE"}, {"name": "b", "type": "FAKE"}]})
    content = WorkflowContent("default", "w", ReleaseState.ONLINE, spec.coded({"a": 3}))
    assert "code: 3" in yaml_of(content)
    assert "code" not in comparable_yaml_of(content)
