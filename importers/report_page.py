"""The report as a page of Markdown: what is to be done first, then each workflow with its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from importers.report import Grade, Line, Report
from service.words import counted, plain

_MEANING = {
    Grade.SAME: "means the same here",
    Grade.CHANGED: "works, and differs as the line says",
    Grade.LOST: "has no counterpart and is left out",
    Grade.TODO: "a person has to do it; until then `shoal workflow apply` refuses the workflow",
}


def page_of(report: Report, files: Sequence[str]) -> str:
    """The page; `files` are those that were written beside it."""
    return "\n".join([*_head(report), *_todo(report), *_workflows(report), *_files(files)]) + "\n"


def _head(report: Report) -> Iterator[str]:
    grades, counts = report.grades(), report.counts
    yield "# Import report"
    yield ""
    yield "| grade | workflows, schedules and tasks | |"
    yield "|---|---|---|"
    for grade in Grade:
        yield f"| {grade} | {grades[grade]} | {_MEANING[grade]} |"
    yield ""
    if counts.fields:
        yield (
            f"Of {counted(counts.fields, 'field')} in {counted(len(report.forms), 'file')}, {counts.mapped} are mapped,"
            f" {counts.irrelevant} say nothing about what runs, and {counts.reported} are reported below."
        )
        yield ""
    for file, form in report.forms.items():
        yield f"- `{_cell(file)}`: {form}"


def _todo(report: Report) -> Iterator[str]:
    found = [line for line in report.lines() if line.grade is Grade.TODO]
    if not found:
        return
    yield ""
    yield "## To do"
    yield ""
    for line in found:
        yield f"- [ ] {_place(line)}{_cell(line.sentence)}"


def _workflows(report: Report) -> Iterator[str]:
    found: dict[tuple[str, str], list[Line]] = {}
    for line in report.lines():
        found.setdefault((line.file, line.workflow), []).append(line)
    for (file, workflow), lines in found.items():
        yield ""
        yield f"## {_cell(workflow)}" if workflow else f"## All of {_cell(file)}"
        yield ""
        yield "| | grade | field | |"
        yield "|---|---|---|---|"
        for line in lines:
            yield f"| {_cell(line.task)} | {line.grade} | {_cell(line.field)} | {_cell(line.sentence)} |"


def _files(files: Sequence[str]) -> Iterator[str]:
    yield ""
    yield "## Files"
    yield ""
    for file in files:
        yield f"- `{file}`"


def _place(line: Line) -> str:
    parts = [part for part in (line.workflow or line.file, line.task) if part]
    return f"**{_cell(' / '.join(parts))}**: "


def _cell(text: str) -> str:
    """One line that ends no cell of a table and begins no markup."""
    return plain(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
