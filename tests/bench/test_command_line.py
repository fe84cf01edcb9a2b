"""The figures of short verbs: what is measured. Their values are no test's business."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench import command_line
from bench.cluster import BenchFailed
from bench.server import BenchServer
from bench.sizes import QUICK


@pytest.fixture(scope="module")
def server() -> Iterator[BenchServer]:
    with BenchServer() as started:
        yield started


def test_version_and_lists_are_measured_against_their_targets(server: BenchServer) -> None:
    figures = command_line.verbs(server, replace(QUICK, verb_calls=1))
    assert {each.key: str(each.target) for each in figures} == {
        "verb_version_ms": "≤ 200",
        "verb_runs_ms": "≤ 600",
        "verb_workflow_list_ms": "≤ 600",
    }
    assert all(each.value > 10 and each.unit == "ms" for each in figures)


def test_a_verb_that_fails_is_no_figure(server: BenchServer) -> None:
    with pytest.raises(BenchFailed, match=r'shoal runs ended with exit code 77: .*"nowhere" does not exist'):
        command_line._call_ms("runs", server.url("nowhere"))
