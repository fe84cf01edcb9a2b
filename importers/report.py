"""What an import says of itself: a grade for each workflow, schedule and task, and a sentence for what differs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from importers.ledger import Counts


class Grade(StrEnum):
    """How well something was imported."""

    SAME = "same"
    CHANGED = "changed"
    """It works, and differs as the sentence says."""
    LOST = "lost"
    """It has no counterpart, and is left out."""
    TODO = "todo"
    """A person has to decide or to give something; until then `apply` refuses the workflow."""


Subject = tuple[str, str, str]
"""File, workflow and task; the last, or the last two, may be empty."""
_WEIGHT = {grade: weight for weight, grade in enumerate(Grade)}


@dataclass(frozen=True)
class Line:
    """One remark. Without a workflow it is about the whole file, without a task about the workflow."""

    grade: Grade
    file: str
    workflow: str = ""
    task: str = ""
    field: str = ""
    sentence: str = ""


@dataclass(frozen=True)
class About:
    """Where remarks belong, and the report that they go to."""

    report: Report
    file: str
    workflow: str = ""
    task: str = ""

    def of_task(self, name: str) -> About:
        """The place of a task of this workflow."""
        return About(self.report, self.file, self.workflow, name)

    def begin(self, what: str) -> None:
        """This was imported: the same, unless something is said of it. `what` it is: SHELL, a workflow, ..."""
        self.report.subjects.setdefault((self.file, self.workflow, self.task), what)

    def changed(self, field: str, sentence: str) -> None:
        """It works, and differs."""
        self._say(Grade.CHANGED, field, sentence)

    def lost(self, field: str, sentence: str) -> None:
        """It is left out."""
        self._say(Grade.LOST, field, sentence)

    def todo(self, field: str, sentence: str) -> None:
        """A person has to do something."""
        self._say(Grade.TODO, field, sentence)

    def refuse(self, sentence: str) -> None:
        """Nothing of it was imported, which counts as one thing to do."""
        self.begin("no workflow")
        self.todo("", sentence)

    def _say(self, grade: Grade, field: str, sentence: str) -> None:
        self.report.say(Line(grade, self.file, self.workflow, self.task, field, without_line(sentence)))


def without_line(sentence: str) -> str:
    """A sentence without the number of a line that there is not, such as in a serialized DAG."""
    return sentence.removeprefix("line 0: ")


@dataclass
class Report:
    """All remarks of an import. `subjects`: each -> what was imported there."""

    said: dict[Subject, dict[Line, None]] = field(default_factory=dict)
    """The remarks of each subject in their order, each once."""
    subjects: dict[Subject, str] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    """File -> the form of export that it was recognized as."""
    counts: Counts = field(default_factory=Counts)
    mask: Callable[[str], str] = str
    """Replaces passwords; what is said is shown only through it."""

    def about(self, file: str, workflow: str = "") -> About:
        """The place of a file, or of a workflow in it."""
        return About(self, file, workflow)

    def say(self, line: Line) -> None:
        """Add a remark, unless it was made before."""
        self.said.setdefault((line.file, line.workflow, line.task), {})[line] = None

    def lines(self) -> list[Line]:
        """Remarks, and a line with the grade `same` for each subject without any, in the order of the subjects."""
        found = [line for subject, own in self.said.items() if subject not in self.subjects for line in own]
        for subject, what in self.subjects.items():
            found += self.said.get(subject) or [Line(Grade.SAME, *subject, "", what)]
        return [self._masked(line) for line in found]

    def todos(self, file: str, workflow: str) -> list[str]:
        """What is to be done about a workflow, in sentences that name its tasks."""
        own = [line for of, lines in self.said.items() if of[:2] == (file, workflow) for line in lines]
        open_ = [line for line in own if line.grade is Grade.TODO]
        found = [f'task "{line.task}": {line.sentence}' if line.task else line.sentence for line in open_]
        return list(map(self.mask, found))

    @property
    def has_todo(self) -> bool:
        return any(line.grade is Grade.TODO for lines in self.said.values() for line in lines)

    def grades(self) -> Counter[Grade]:
        """How many subjects have each grade: the worst of what is said of them."""
        return Counter(map(self.grade_of, self.subjects))

    def grade_of(self, subject: Subject) -> Grade:
        """The worst grade of what is said of a subject."""
        return max((line.grade for line in self.said.get(subject, ())), key=_WEIGHT.__getitem__, default=Grade.SAME)

    def _masked(self, line: Line) -> Line:
        return replace(
            line, workflow=self.mask(line.workflow), task=self.mask(line.task), sentence=self.mask(line.sentence)
        )

    def as_json(self, files: Sequence[str]) -> str:
        """The report for programs; `files` are those that were written."""
        grades = self.grades()
        content: dict[str, Any] = {
            "grades": {grade: grades[grade] for grade in Grade},
            "fields": asdict(self.counts),
            "inputs": self.forms,
            "files": list(files),
            "lines": [asdict(line) for line in self.lines()],
        }
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
