"""Imports on this machine: reads the inputs, and writes the results into a folder of their own.

The report there names each file with its digest. So the next import into the same folder replaces what it wrote itself,
and refuses to replace what a person has changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from importers.airflow.convert import Options as DagOptions
from importers.airflow.convert import import_dags
from importers.catalog import read_catalog
from importers.crontab import Form, import_crontabs
from importers.dolphinscheduler.context import Options
from importers.dolphinscheduler.convert import import_files
from importers.dolphinscheduler.database import with_names
from importers.imported import CATALOG, REPORT_JSON, Imported
from model.errors import NotFound, Refused
from shoal import import_database
from worker.tasks.catalog import TaskCatalog

DIGESTS = "digests"


def import_dolphinscheduler(
    inputs: Sequence[Path], database: str | None, names: Path | None, out: Path, options: Options
) -> Imported:
    """Import files of DolphinScheduler, and its database if a URL is given, into a folder.

    Raises:
        NotFound: an input does not exist.
        Refused: one cannot be read, or the folder has files that an import must not replace.
        Unavailable: the database does not answer.
    """
    files = [(str(path), _read(path)) for path in inputs]
    given = read_catalog(_read(names), str(names)) if names is not None else {}
    if database is not None:
        export, found_names = import_database.read_database(database)
        files.append((import_database.NAME, export))
        given = with_names(found_names, given)
    found = import_files(files, given, TaskCatalog(), options)
    _write(found.files, out, names)
    return found


def import_airflow(inputs: Sequence[Path], stored: Sequence[Path], out: Path, options: DagOptions) -> Imported:
    """Import DAG files of Airflow, and files of serialized DAGs, into a folder. Raises as above."""
    files, others = ([(str(path), _read(path)) for path in paths] for paths in (inputs, stored))
    found = import_dags(files, TaskCatalog(), options, others)
    _write(found.files, out, None)
    return found


def import_crontab(inputs: Sequence[Path], out: Path, form: Form) -> Imported:
    """Import crontabs into a folder. Raises as above."""
    found = import_crontabs([(str(path), _read(path)) for path in inputs], TaskCatalog(), form)
    _write(found.files, out, None)
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None


def _write(files: Mapping[str, str], out: Path, names: Path | None) -> None:
    contents = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    report: dict[str, Any] = json.loads(contents[REPORT_JSON])
    report[DIGESTS] = {name: _digest(data) for name, data in contents.items() if name != REPORT_JSON}
    contents[REPORT_JSON] = (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
    try:
        before = _written_before(out)
        _refuse_changed(before, contents, out, names)
        out.mkdir(parents=True, exist_ok=True)
        for name in before.keys() - contents.keys():
            (out / name).unlink(missing_ok=True)
        for name, data in contents.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(data)
    except OSError as error:
        raise Refused(f"{out} cannot be written ({error.strerror}); give another folder by --out") from None


def _written_before(out: Path) -> dict[str, str]:
    """The files that the last import wrote there, and their digests."""
    if not out.exists() or not any(out.iterdir()):
        return {}
    try:
        digests = json.loads((out / REPORT_JSON).read_text("utf-8"))[DIGESTS]
        return {str(name): str(digest) for name, digest in digests.items() if out in (out / name).parents}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        raise Refused(f"{out} has other files; give a new or empty folder by --out") from None


def _refuse_changed(before: Mapping[str, str], contents: Iterable[str], out: Path, names: Path | None) -> None:
    """Raises `Refused` if a person has changed a file that would be replaced or removed."""
    for name in sorted({*before, *contents} - {REPORT_JSON}):
        path = out / name
        if not path.exists() or _digest(path.read_bytes()) == before.get(name):
            continue
        if name == CATALOG:
            if names is not None and names.resolve() == path.resolve():
                continue
            raise Refused(f"{path} has names that somebody filled in; give them by --names {path}")
        raise Refused(f"{path} was changed since it was written; give another folder by --out, or move it away")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
