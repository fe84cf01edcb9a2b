"""The final report of `shoal demo`, and whether the demo succeeded. Pure: counts go in, lines come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dao.commands.demo import Proof, Tally


@dataclass(frozen=True)
class Summary:
    """The result of a demo.

    `by_master` counts the commands that each master took, by its name; `rebalance_s` is the time from the kill until
    the others had recomputed their slots and nothing still belonged to the killed master.
    """

    inserted: int
    proof: Proof
    tally: Tally
    by_master: Mapping[str, int]
    rebalance_s: float
    took_s: float

    @property
    def faults(self) -> list[str]:
        """The failed checks, a sentence each; empty when all passed."""
        proof = self.proof
        checks = [
            (proof.waiting, "commands still wait"),
            (proof.refused, "commands were refused"),
            (abs(proof.starts_handled - self.inserted), f"more or fewer starts were handled than {self.inserted}"),
            (abs(proof.runs - self.inserted), f"more or fewer runs there are than {self.inserted}"),
            (proof.starts_without_one_run, "start commands did not become exactly one run"),
            (proof.runs_without_start, "runs come from no start command"),
            (proof.runs_unfinished, "runs have not ended"),
            (proof.tasks_unfinished, "tasks have not ended"),
            (proof.tasks_succeeded_twice, "tasks succeeded twice"),
            (proof.failed_unexpectedly, "runs failed that should not have"),
            (proof.attempts_overlapping, "attempts ran while an earlier one of the same task still ran"),
        ]
        return [f"{count} {what}" for count, what in checks if count]

    @property
    def passed(self) -> bool:
        """Whether every command was handled exactly once, and all its runs have ended."""
        return not self.faults

    def lines(self) -> list[str]:
        proof = self.proof
        verdict = (
            f"✓ every command was handled exactly once: {self.inserted} inserted, {proof.starts_handled} started, "
            f"{proof.runs} runs, 0 lost, 0 doubled"
            if self.passed
            else f"✗ the check failed: {'; '.join(self.faults)}"
        )
        return [
            verdict,
            f"  runs by state      {_counts(self.tally.runs)} (one workflow of the seed fails on purpose)",
            f"  tasks run          {proof.tasks} attempts: {_counts(self.tally.tasks)}",
            f"  commands taken     {_counts(self.by_master)}, {proof.takeovers_handled} of them failovers",
            f"  time to rebalance  {self.rebalance_s:.1f} s from kill -9 until the slots were rebalanced and "
            f"the killed master owned nothing",
            f"  all of it          {self.took_s:.1f} s",
            "  the web page       shoal up --open   (in Shoal's folder: make up, with examples that have run)",
        ]

    def as_fields(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "faults": self.faults,
            "commands_inserted": self.inserted,
            "starts_handled": self.proof.starts_handled,
            "takeovers_handled": self.proof.takeovers_handled,
            "runs_by_state": dict(self.tally.runs),
            "task_attempts": self.proof.tasks,
            "tasks_by_state": dict(self.tally.tasks),
            "commands_by_master": dict(self.by_master),
            "rebalance_s": round(self.rebalance_s, 3),
            "took_s": round(self.took_s, 3),
        }


def _counts(numbers: Mapping[Any, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(numbers.items())) or "none"
