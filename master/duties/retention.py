"""The duty `retention`: deletes what has exceeded its project's retention, a small part in each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dao.definitions import references
from dao.postgres.database import FencedTransaction
from dao.retention import old_audit, old_commands, old_runs
from dao.retention.old_runs import OldRuns
from model.cluster import duties
from model.cluster.duties import Step
from model.ids import WorkflowCode
from model.runs.retention_pace import ATTEMPTS_FIRST, ATTEMPTS_MAX, ATTEMPTS_MIN, PAUSE_SHARE, Part, attempts_of_next


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a round: the current part, the last id, and the deleted rows so far.

    `attempts_max`: how many attempts the next step deletes. Runs up to `alone_to` are deleted one by one, since one of
    them cannot be deleted; `stuck` were quarantined until the next round, the first because of `why`. `left_after`: up
    to this deleted run, all attempts were deleted, as far as possible.
    """

    _NUMBERS: ClassVar = (
        *("after", "runs", "attempts", "commands", "audit"),
        *("attempts_max", "alone_to", "stuck", "left_after"),
    )

    part: Part
    after: int
    runs: int
    attempts: int
    commands: int
    audit: int
    named: list[int]
    waited: list[int]
    attempts_max: int
    alone_to: int = 0
    stuck: int = 0
    why: str = ""
    left_after: int = 0

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Progress | None:
        """The progress as an earlier step wrote it; None at the beginning, or if somebody else wrote it."""
        try:
            numbers: dict[str, Any] = {name: int(given[name]) for name in cls._NUMBERS}
            if not ATTEMPTS_MIN <= numbers["attempts_max"] <= ATTEMPTS_MAX:
                return None
            lists: dict[str, Any] = {name: [int(each) for each in given[name]] for name in ("named", "waited")}
            return cls(part=Part(given["part"]), why=str(given["why"])[:500], **numbers, **lists)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def written(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def result(self) -> str:
        """Describe what was deleted."""
        done = (
            f"deleted {self.runs} runs with {self.attempts} attempts, {self.commands} other commands and "
            f"{self.audit} audit rows"
        )
        return done if not self.stuck else f"{done}; {self.stuck} runs could not be deleted: {self.why}"

    def quarantined(self, run: int, why: str | None) -> Progress:
        """Quarantine a run that cannot be deleted until the next round."""
        return replace(self, stuck=self.stuck + 1, why=self.why or f"run {run}: {why}"[:500])


async def delete_old(connection: FencedTransaction, kept_days: int, given: Mapping[str, Any]) -> Step:
    """Do one step: runs first, then commands, then the audit. `kept_days`: for projects without a setting."""
    progress = Progress.read(given) or await _beginning(connection)
    pause_share = duties.PAUSE_SHARE
    match progress.part:
        case Part.RUNS:
            before = progress
            progress, is_over = await _delete_runs(connection, kept_days, progress)
            after = progress.after
            if progress.attempts > before.attempts or progress.runs > before.runs:
                pause_share = PAUSE_SHARE  # a step that only skips runs writes nothing
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
        return Step(progress.result, is_fine=not progress.stuck)
    return _not_yet(replace(progress, part=following, after=0), pause_share)


async def _delete_runs(connection: FencedTransaction, kept_days: int, progress: Progress) -> tuple[Progress, bool]:
    """Delete the rest of large runs, then the next runs; returns whether that was all."""
    left = await old_runs.left_over(connection, progress.left_after)
    if left is not None:
        gone = await old_runs.delete_left(connection, left)
        if gone.why_not is not None:
            progress = replace(progress.quarantined(left, gone.why_not), left_after=left)
        return replace(progress, attempts=progress.attempts + gone.attempts), False
    is_alone = progress.after < progress.alone_to
    named, waited = (list(map(WorkflowCode, codes)) for codes in (progress.named, progress.waited))
    attempts_max = 1 if is_alone else progress.attempts_max
    found = await old_runs.find(connection, progress.after, kept_days, named, waited, attempts_max)
    if is_alone and len(found.ids) > 1:
        found = OldRuns(found.ids[:1], found.ended_at[:1], found.ids[0], is_over=False)
    gone = await old_runs.delete(connection, found)
    if gone.why_not is not None:
        if len(found.ids) > 1:
            return replace(progress, alone_to=found.after), False
        progress = progress.quarantined(found.ids[0], gone.why_not)
    elif not is_alone:
        progress = replace(progress, attempts_max=attempts_of_next(attempts_max, gone.attempts, gone.took_s))
    runs, attempts = progress.runs + gone.runs, progress.attempts + gone.attempts
    return replace(progress, after=found.after, runs=runs, attempts=attempts), found.is_over


def _not_yet(progress: Progress, pause_share: int) -> Step:
    return Step(progress.result, is_over=False, progress=progress.written(), pause_share=pause_share)


async def _beginning(connection: FencedTransaction) -> Progress:
    named, waited = await references.needed_by_dependents(connection)
    return Progress(Part.RUNS, 0, 0, 0, 0, 0, sorted(named), sorted(waited), ATTEMPTS_FIRST)
