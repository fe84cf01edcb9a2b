"""The figures of the API: what is measured. Their values are no test's business."""

from __future__ import annotations

from dataclasses import replace

from bench import api
from bench.server import BenchServer
from bench.sizes import QUICK


def test_lists_starts_events_and_listeners_are_measured_against_their_targets() -> None:
    with BenchServer() as server:
        figures = api.api(server, replace(QUICK, api_lists=1, api_events=1))
    targets = {each.key: str(each.target) for each in figures}
    lists = {key for key in targets if key.startswith(("api_list_", "api_attempts_"))}
    assert {f"api_list_{name}_p99_ms" for name in ("first", "next", "state", "workflow", "project", "since")} < lists
    assert {"api_list_state_since_p99_ms", "api_attempts_first_p99_ms"} < lists
    assert {targets.pop(key) for key in lists} == {"≤ 50"}
    assert targets == {
        "api_starts_per_s": "≥ 500",
        "api_keyed_starts_per_s": "≥ 500",
        "api_event_p50_ms": "≤ 100",
        "api_listeners_mb": "≤ 200",
    }
    assert all(each.value > 0 for each in figures if each.key != "api_listeners_mb")
