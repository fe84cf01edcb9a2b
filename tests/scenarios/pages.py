"""Pages of docs/ are run as they stand: what is in their blocks is saved, typed, asked, and compared.

| block | what is done |
|---|---|
| ```yaml | its workflows are saved |
| ```sql | its statements run one by one; a command must be handled before the next |
| ```text after ```sql | what the last statement gives: asked again and again until it does |
| ```sh | its lines are typed; `shoal` must end with exit code 0 |

A page calls its workflows 1001, 1002 ... in their order, and their runs 42, 43 ...; here they have other numbers.
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from service.workflows.workflow_file import parse_workflows
from tests.eventually import eventually
from tests.scenarios.engine import WITHIN_S, Engine
from tests.shoal.command_line import CommandLine
from worker.tasks.catalog import TaskCatalog

DOCS = Path(__file__).parents[2] / "docs"
FIRST_CODE, FIRST_RUN = 1001, 42
_BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```")
_NUMBER = re.compile(r"\b(?:100[1-9]|4[2-9])\b")


class Page:
    """One page while it is run."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._codes: list[int] = []

    async def run(self) -> int:
        """Run its blocks in order; how many results were compared."""
        last, compared = "", 0
        for kind, text in _BLOCK.findall(self._path.read_text("utf-8")):
            match kind:
                case "yaml":
                    self._save(text)
                case "sh":
                    await self._type(text)
                case "sql":
                    for statement in filter(None, (part.strip() for part in re.split(r";\n", text))):
                        last = statement
                        if not statement.startswith("SELECT"):
                            await self._do(statement)
                case "text" if last.startswith("SELECT"):
                    await self._compare(last, text)
                    compared += 1
        return compared

    def _save(self, text: str) -> None:
        for document in parse_workflows(text.encode(), self._path.name, TaskCatalog()):
            rows = self._engine.cluster.rows(
                "INSERT INTO workflow_definition (code, project, name) "
                "SELECT coalesce(max(code), 1000) + 1, %s, %s FROM workflow_definition RETURNING code",
                document.project,
                document.name,
            )
            self._codes.append(rows[0][0])
            self._engine.cluster.rows(
                "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)",
                self._codes[-1],
                document.spec.model_dump_json(exclude_unset=True),
            )

    async def _do(self, statement: str) -> None:
        """One statement that changes something; a command is waited for, so that the next finds it handled."""
        await eventually(lambda: "NULL" not in self._numbered(statement), within_s=WITHIN_S)
        statement = self._numbered(statement)
        if not statement.startswith("INSERT INTO command"):
            self._engine.cluster.rows(statement)
            return
        rows = self._engine.cluster.rows(f"{statement} RETURNING id")
        query = "SELECT count(*) FROM command_history WHERE command_id = %s"
        for (command,) in rows:
            await eventually(partial(self._engine.cluster.one, query, command), within_s=WITHIN_S)

    async def _type(self, text: str) -> None:
        url = self._engine.cluster.environment["SHOAL_DATABASE_URL"]
        lines = [self._numbered(line) for line in text.splitlines() if line]
        assert all(line.startswith("shoal ") for line in lines), lines
        for line in lines:
            answer = await CommandLine.at(url)(*shlex.split(line)[1:])
            assert answer.code == 0, f"{line}: {answer.out}{answer.err}"

    async def _compare(self, query: str, text: str) -> None:
        """Compare repeatedly until it fits, since requests take their time."""
        head, _, *rows = [line for line in text.splitlines() if line.strip()]

        def difference() -> object:
            wanted = [_cells(head), *(_cells(self._numbered(row)) for row in rows)]
            found = self._result(query)
            return "none" if found == wanted else {"found": found, "wanted": wanted}

        await eventually(difference, until="none", within_s=WITHIN_S)

    def _result(self, query: str) -> list[list[str]]:
        with psycopg.connect(self._engine.cluster.psql_url, autocommit=True) as connection:
            cursor = connection.execute(self._numbered(query).encode())
            names = [column.name for column in cursor.description or ()]
            return [names, *([_shown(value) for value in row] for row in cursor)]

    def _numbered(self, text: str) -> str:
        """Insert the actual numbers of workflows and runs; NULL for a run that does not exist yet."""
        query = "SELECT id FROM workflow_instance WHERE workflow_code = ANY(%s) ORDER BY id"
        runs = [id_ for (id_,) in self._engine.cluster.rows(query, self._codes)]
        numbers = {
            **{FIRST_CODE + place: code for place, code in enumerate(self._codes)},
            **{FIRST_RUN + place: run for place, run in enumerate(runs)},
        }
        return _NUMBER.sub(lambda match: str(numbers.get(int(match[0]), "NULL")), text)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _shown(value: Any) -> str:
    """Format a value as psql does."""
    if isinstance(value, bool):
        return "t" if value else "f"
    return "" if value is None else str(value)
