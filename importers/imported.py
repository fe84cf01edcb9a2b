"""What an import gives: files by name, and the report; the same for every scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from importers.catalog import Names
from importers.report import Report
from importers.report_page import page_of

REPORT, REPORT_JSON, CATALOG = "import-report.md", "import-report.json", "catalog.yaml"
FOLDER = "workflows"
"""Of the files that `shoal workflow apply` takes, without the others."""


@dataclass(frozen=True)
class Origin:
    """A workflow as it is called here, with the file that it comes from and what the report calls it."""

    project: str
    name: str
    file: str
    workflow: str


@dataclass(frozen=True)
class Imported:
    """The texts of files by name, the report, and how many names are missing."""

    files: Mapping[str, str]
    report: Report
    missing: int
    origins: Mapping[str, Origin]
    """Of the workflow of each file."""


def finished(workflows: Mapping[str, str], report: Report, names: Names, origins: Mapping[str, Origin]) -> Imported:
    """The files of an import: those of its workflows, by name, with the report and the catalog beside them."""
    written = {f"{FOLDER}/{name}": text for name, text in workflows.items()}
    if catalog := names.yaml():
        written[CATALOG] = report.mask(catalog)
    listed = sorted(written)
    written[REPORT] = page_of(report, listed)
    written[REPORT_JSON] = report.as_json(listed)
    found = {f"{FOLDER}/{name}": origin for name, origin in origins.items()}
    return Imported(written, report, names.missing(), found)
