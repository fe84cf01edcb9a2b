"""An import that is asked of the API: the same as that of the command line, in an answer instead of a folder."""

from __future__ import annotations

from importers import documents
from importers.airflow.convert import Options as DagOptions
from importers.airflow.convert import import_dags
from importers.catalog import read_catalog
from importers.crontab import Form, import_crontabs
from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.convert import import_files
from importers.imported import CATALOG, FOLDER, Imported, Origin
from importers.report import Grade
from service.workflows.importing import ImportAnswer, ImportedWorkflow, ImportFiles, ImportLine
from service.workflows.workflow_file import TaskTypes

SERIALIZED = ".json"


def imported(asked: ImportFiles, types: TaskTypes) -> ImportAnswer:
    """What an import of these files gives. Raises `Refused` for a catalog that cannot be read."""
    found = _imported(asked, types)
    pools = found.files.get(f"{FOLDER}/{documents.POOLS}")
    return ImportAnswer(
        workflows=[_workflow(found, path, origin) for path, origin in found.origins.items()],
        lines=[ImportLine.model_validate(line) for line in found.report.lines()],
        pools=pools,
        catalog=found.files.get(CATALOG),
        missing=found.missing,
    )


def _imported(asked: ImportFiles, types: TaskTypes) -> Imported:
    files = [(each.name, each.content.encode("utf-8", "replace")) for each in asked.files]
    match asked.source:
        case "dolphinscheduler":
            given = read_catalog(asked.names.encode("utf-8", "replace"), CATALOG) if asked.names else {}
            return import_files(files, given, types, Options(asked.online, asked.lenient, asked.project))
        case "airflow":
            dags = [each for each in files if not each[0].endswith(SERIALIZED)]
            stored = [each for each in files if each[0].endswith(SERIALIZED)]
            return import_dags(dags, types, DagOptions(asked.online, asked.project), stored)
        case "crontab":
            return import_crontabs(files, types, Form(asked.system, asked.online, asked.project))


def _workflow(found: Imported, path: str, origin: Origin) -> ImportedWorkflow:
    report = found.report
    own = [subject for subject in report.subjects if subject[:2] == (origin.file, origin.workflow)]
    grade = max(map(report.grade_of, own), key=list(Grade).index, default=Grade.SAME)
    return ImportedWorkflow(
        file=origin.file,
        workflow=report.mask(origin.workflow),
        name=report.mask(origin.name),
        project=origin.project,
        grade=grade.value,
        content=found.files[path],
    )
