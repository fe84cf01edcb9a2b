"""The inputs of an import from Airflow: DAG files, and files of serialized DAGs."""

from __future__ import annotations

import re
from pathlib import PurePath

from importers.airflow import containers, serialized
from importers.airflow.reader import Reader
from importers.airflow.values import Dag, Unknown
from importers.passwords import Passwords
from importers.report import Report
from model.errors import Refused

FORM = "DAG file"
_WORDS = ("dag", "airflow")
"""A file without one of them is none for Airflow (`dag_discovery_safe_mode`): a module that DAG files import."""
_NAME_OF_FILE = re.compile(
    r"(?:\w+\.)?Path\(__file__\)\.stem"
    r"|(?:os\.path\.)?basename\(__file__\)"
    r"(?:\.replace\('\.py', ''\)|\[:-3\]|\.split\('\.'\)\[0\]|\.removesuffix\('\.py'\))"
    r"|(?:os\.path\.)?splitext\((?:os\.path\.)?basename\(__file__\)\)\[0\]"
)


class Inputs:
    """The inputs of an import; what could not be read of them is in its report."""

    def __init__(self) -> None:
        self.report, self.passwords = Report(), Passwords()
        self.report.mask = self.passwords.masked
        self.readers: dict[str, Reader] = {}
        """Of the DAG files that could be read."""
        self.found: list[tuple[Dag, Reader, str]] = []
        """The DAGs, with what reads their functions and the file that they come from."""

    def read(self, file: str, data: bytes) -> None:
        text = data.decode("utf-8-sig", "replace")
        about = self.report.about(file)
        self.report.forms[file] = FORM
        try:
            reader = Reader(text)
            self.passwords.learn(text, set(containers.names_of_secrets(reader.tree)))
            found = reader.read()
            for dag in found:
                _named(dag, file)
        except (SyntaxError, ValueError, RecursionError) as error:
            self.passwords.learn(text)
            about.refuse(f"it cannot be read as Python: {error}")
            self.report.forms[file] = "none"
            return
        self.readers[file] = reader
        for line in reader.unreached() if found else ():
            about.lost("DAG", f"line {line}: the DAG that is made there is left out: no code that is followed makes it")
        self.found += [(dag, reader, file) for dag in found]

    def read_serialized(self, file: str, data: bytes) -> None:
        """Read the DAGs of a file as Airflow stores them; they replace those of DAG files."""
        about = self.report.about(file)
        self.report.forms[file] = "none"
        try:
            trees = list(serialized.dags_in(data))
        except Refused as error:
            about.refuse(str(error))
            return
        if not trees:
            about.refuse("it is empty")
        for tree in trees:
            self.passwords.learn(tree)
            known = serialized.known_of(tree, self.readers)
            try:
                dag = serialized.dag_of(tree, known)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                about.refuse(f"it is no serialized DAG of Airflow: a field of it is not what it is there: {error}")
                continue
            self.report.forms[file] = serialized.FORM.format(2 if tree["__version"] == 1 else 3)
            self.found = [each for each in self.found if each[2] not in self.readers or each[0].id != dag.id]
            self.found.append((dag, known.reader, file))

    def say_empty(self) -> None:
        """Say which DAG files gave nothing, not even functions."""
        used = {id(reader) for _, reader, _ in self.found}
        for file, reader in self.readers.items():
            if id(reader) in used:
                continue
            about, text = self.report.about(file), reader.text.lower()
            if self.found and not reader.early and not all(word in text for word in _WORDS):
                about.begin("no DAG; Airflow finds none in it either")
                self.report.forms[file] = "a module"
                continue
            why = "".join(f"; line {line}: {sentence}" for line, sentence in reader.early)
            about.refuse(f"no DAG was found in it; one that other files make is imported with these only{why}")


def _named(dag: Dag, file: str) -> None:
    """Give a DAG that is named after its file its name."""
    written = dag.given.get("dag_id")
    if isinstance(written, Unknown) and _NAME_OF_FILE.fullmatch(written.text) is not None:
        dag.given["dag_id"], dag.is_named_by_file = PurePath(file).stem, True
