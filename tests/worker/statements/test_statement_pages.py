"""The examples of the pages of SQL and PROCEDURE are saved and run, and log what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

from model.runs.states import TaskState
from service.workflows.workflow_file import WorkflowDocument, parse_workflows
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.worker.statements.targets import Attempt, Target, target
from worker.tasks.catalog import TaskCatalog

PAGES = Path(__file__).parents[3] / "docs" / "reference" / "tasks"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", (PAGES / page).read_text("utf-8"))


def example_of(page: str) -> WorkflowDocument:
    (document,) = parse_workflows(blocks(page, "yaml")[0].encode(), page, TaskCatalog())
    return document


async def test_the_example_of_the_page_about_sql_is_run_and_logs_what_it_shows(
    tmp_path: Path, postgres_server: PostgresServer, mariadb_server: MariadbServer
) -> None:
    example = example_of("sql.md")
    with target("duckdb", tmp_path, postgres_server, mariadb_server) as shop:
        for task in example.spec.tasks:
            attempt = Attempt(shop.url, task.type, values=dict(example.spec.params))
            result = await attempt.run(**{**task.params, "datasource": "shop"})
            assert result.state is TaskState.SUCCESS, attempt.log.text
    assert result.outputs == {"items": "2", "total": "5.75"}
    shown = (PAGES / "sql.md").read_text("utf-8").partition("$ shoal log daily_sales/total\n")[2].partition("```")[0]
    assert attempt.log.text.strip().endswith(shown.strip().splitlines()[-1])
    assert "items  total" in attempt.log.text


async def test_the_example_of_the_page_about_procedures_is_run_and_gives_what_it_shows(postgres: Target) -> None:
    postgres.rows(blocks("procedure.md", "sql")[0])
    example = example_of("procedure.md")
    (task,) = example.spec.tasks
    attempt = Attempt(postgres.url, task.type, values=dict(example.spec.params))
    result = await attempt.run(**{**task.params, "datasource": "shop"})
    assert result.outputs == {"items": "2", "said": "closed 2026-01-31"}
    assert "CALL close_day, 3 arguments" in attempt.log.text
