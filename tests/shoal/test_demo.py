"""`shoal demo`: it ends by itself, and only says that all is well when it is."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from rich.console import Console

from dao.commands.demo import Proof, Tally
from model.ids import Epoch
from model.runs.states import TaskState, WorkflowState
from shoal.local.demo_summary import Summary
from shoal.local.demo_view import MasterPicture, Picture, PlainView, drawn
from tests.every import every
from tests.shoal.command_line import CommandLine

PROOF = Proof(300, 4, 300, 900, 0, 0, 0, 0, 0, 0, 0, 0, 0)
TALLY = Tally(0, {Epoch(1): 304}, {}, {WorkflowState.SUCCESS: 300}, {TaskState.SUCCESS: 900})
SUMMARY = Summary(300, PROOF, TALLY, {"m1": 304}, 1.46, 26.0)
HARMLESS = {"takeovers_handled", "tasks"}


def test_a_good_end_is_said_with_its_numbers() -> None:
    assert SUMMARY.passed
    said = "\n".join(SUMMARY.lines())
    assert "every command was handled exactly once: 300 inserted, 300 started, 300 runs, 0 lost, 0 doubled" in said
    assert "300 SUCCESS" in said
    assert "time to rebalance  1.5 s" in said
    assert SUMMARY.as_fields()["passed"] is True


@every("name", [field.name for field in fields(Proof) if field.name not in HARMLESS])
def test_any_number_that_is_off_by_one_is_a_fault(name: str) -> None:
    wrong = replace(SUMMARY, proof=replace(PROOF, **{name: getattr(PROOF, name) + 1}))
    assert not wrong.passed
    assert wrong.lines()[0].startswith("✗ the check failed: 1 ")


def test_both_views_show_the_dead_master() -> None:
    masters = [MasterPicture("m1", True, "0/2", 80, 12), MasterPicture("m2", False, "", 49, 0)]
    picture = Picture(15.0, 300, 200, 2, masters, {WorkflowState.RUNNING_EXECUTION: 12}, 900)
    console = Console(width=100, record=True, quiet=False, file=None)
    with console.capture() as captured:
        console.print(drawn(picture, [" 13.1 s  kill -9 m2"]))
        plain = PlainView(console)
        plain.show(picture)
        plain.show(replace(picture, at_s=15.1))
    said = captured.get()
    assert "✝ m2" in said
    assert "13.1 s  kill -9 m2" in said
    assert said.count("m2 dead took 49 owns 0") == 1


@pytest.mark.soak  # `make demo` and docs/reference/cli.md, typed by tests/newcomer, run it on each change
async def test_the_demo_kills_a_master_and_nothing_is_lost() -> None:
    """Goal: `make demo` passes. Method: a smaller real demo."""
    shoal = CommandLine.at()
    done = await shoal("demo", "--commands", "40", "--seconds", "5", "--json", within_s=100)
    assert done.code == 0, done.err + done.out
    assert done.json["passed"] is True
    assert done.json["starts_handled"] == 40
    assert done.json["rebalance_s"] < 10
