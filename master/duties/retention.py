"""The duty `retention`: deletes what has ended longer ago than its project keeps it, a small part in each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dao.definitions import references
from dao.postgres.database import FencedTransaction
from dao.retention import old_audit, old_commands, old_runs
from model import duties
from model.duties import Step
from model.ids import WorkflowCode
from model.retention import ATTEMPTS_FIRST, ATTEMPTS_MAX, ATTEMPTS_MIN, PAUSE_SHARE, Part, attempts_of_next


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a round has come: which part, after which id, and what was deleted so far.

    `attempts_max`: how many attempts the next step deletes.
    """

    part: Part
    after: int
    runs: int
    attempts: int
    commands: int
    audit: int
    named: list[int]
    waited: list[int]
    attempts_max: int

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Progress | None:
        """The progress as an earlier step wrote it; None at the beginning, or if somebody else wrote it."""
        try:
            after, runs, attempts, commands, audit = (
                int(given[name]) for name in ("after", "runs", "attempts", "commands", "audit")
            )
            named, waited = ([int(each) for each in given[name]] for name in ("named", "waited"))
            attempts_max = int(given.get("attempts_max", ATTEMPTS_FIRST))  # a master of a version before wrote none
            if not ATTEMPTS_MIN <= attempts_max <= ATTEMPTS_MAX:
                return None
            return cls(Part(given["part"]), after, runs, attempts, commands, audit, named, waited, attempts_max)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def written(self) -> dict[str, Any]:
        """As JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def result(self) -> str:
        """What was deleted, in words."""
        return (
            f"deleted {self.runs} runs with {self.attempts} attempts, {self.commands} other commands and "
            f"{self.audit} audit rows"
        )


async def delete_old(connection: FencedTransaction, kept_days: int, given: Mapping[str, Any]) -> Step:
    """One step: of runs, then of commands, then of the audit. `kept_days`: of projects that say nothing."""
    progress = Progress.read(given) or await _beginning(connection)
    pause_share = duties.PAUSE_SHARE
    match progress.part:
        case Part.RUNS:
            named, waited = (list(map(WorkflowCode, codes)) for codes in (progress.named, progress.waited))
            found = await old_runs.find(connection, progress.after, kept_days, named, waited, progress.attempts_max)
            gone = await old_runs.delete(connection, found)
            runs, attempts = progress.runs + gone.runs, progress.attempts + gone.attempts
            after, is_over = found.after, found.is_over
            attempts_max = attempts_of_next(progress.attempts_max, gone.attempts, gone.took_s)
            progress = replace(progress, runs=runs, attempts=attempts, attempts_max=attempts_max)
            if gone.runs:  # one that walks past runs that stay writes nothing
                pause_share = PAUSE_SHARE
        case Part.COMMANDS:
            commands = await old_commands.delete(connection, progress.after, kept_days)
            after, is_over = commands.after, commands.is_over
            progress = replace(progress, commands=progress.commands + commands.count)
        case Part.AUDIT:
            audit = await old_audit.delete(connection, progress.after, kept_days)
            after, is_over = audit.after, audit.is_over
            progress = replace(progress, audit=progress.audit + audit.count)
    if not is_over:
        return _not_yet(replace(progress, after=after), pause_share)
    following = progress.part.next
    if following is None:
        return Step(progress.result)
    return _not_yet(replace(progress, part=following, after=0), pause_share)


def _not_yet(progress: Progress, pause_share: int) -> Step:
    return Step(progress.result, is_over=False, progress=progress.written(), pause_share=pause_share)


async def _beginning(connection: FencedTransaction) -> Progress:
    named, waited = await references.needed_by_dependents(connection)
    return Progress(Part.RUNS, 0, 0, 0, 0, 0, sorted(named), sorted(waited), ATTEMPTS_FIRST)
