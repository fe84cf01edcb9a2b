"""What the audit says of many runs that were changed at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dao.runs.bulk import RunState
from service.call import Subject
from service.words import counted

RUN = "workflow-instance"
AUDITED_MAX = 20


def subjects_of(runs: Sequence[RunState]) -> list[Subject]:
    """A subject for each project, so that each one's audit says what was done with its runs."""

    def project_of(run: RunState) -> str:
        return run.project or ""

    subjects = []
    for project, group in groupby(sorted(runs, key=project_of), project_of):
        ids = [str(run.id) for run in group]
        after = {"runs": len(ids), "first": ids[:AUDITED_MAX]}
        subjects.append(Subject(RUN, None, project or None, counted(len(ids), "run"), after))
    return subjects
