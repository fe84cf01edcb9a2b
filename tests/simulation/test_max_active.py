"""Lines in which several runs go on at once, disturbed; and proof that the simulation would see a wrong number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from master.claim.serial import Lines
from tests.simulation.definitions import MANY, specs
from tests.simulation.run import run
from tests.simulation.workload import go_on_together

SEEDS = 8


@pytest.mark.timeout(300)
def test_as_many_go_on_as_may_however_they_are_disturbed() -> None:
    verdicts = [run(seed, also=go_on_together) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def one_more(lines: Lines, line: Any) -> int:
    """A master that counts wrongly."""
    return max(0, lines.max_active(line) + 1 - len(lines._live.get(line, ())))


def as_before(lines: Lines, line: Any) -> int:
    """One at a time, whatever the workflow says."""
    return 0 if lines._live.get(line) else 1


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("number", "wrong"), [("I18", one_more), ("I32", as_before)])
def test_a_wrong_number_of_runs_is_seen(
    monkeypatch: pytest.MonkeyPatch, number: str, wrong: Callable[..., int]
) -> None:
    monkeypatch.setattr(Lines, "room", wrong)
    found = (run(seed, also=go_on_together).violation or "" for seed in range(12))
    assert any(violation.startswith(number) for violation in found)


def test_every_kind_of_line_is_simulated() -> None:
    kinds = {(str(specs()[code].execution_type), specs()[code].serial_key is not None) for code in MANY}
    assert kinds == {
        *(("SERIAL_WAIT", False), ("SERIAL_WAIT", True), ("SERIAL_DISCARD", False), ("SERIAL_PRIORITY", False)),
        ("PARALLEL", False),
    }
