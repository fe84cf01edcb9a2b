"""The operation that turns definitions of other schedulers into files of Shoal; it runs and saves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from model.accounts.rights import Right
from model.cost import spend
from model.fields import Name as ProjectName
from service.call import Call
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.workflows.requests import BYTES_MAX, FILES_MAX, Yaml

COST_US = 1_000_000
"""Loops of a file are unrolled, so its length does not tell; always more than an API does itself."""


class InputFile(Asked):
    """A file of another scheduler."""

    name: Annotated[
        Text, Field(min_length=1, max_length=4_096, description="stands in the report", examples=["crontab.txt"])
    ]
    content: Annotated[str, Field(max_length=BYTES_MAX, examples=["30 2 * * 1-5 /opt/jobs/load.sh\n"])]


class ImportFiles(Asked):
    """What is to be imported, and how."""

    source: Annotated[
        Literal["dolphinscheduler", "airflow", "crontab"],
        Field(
            description="of Airflow files with DAGs, and `.json` with the column data of serialized_dag",
            examples=["crontab"],
        ),
    ]
    files: Annotated[Sequence[InputFile], Field(min_length=1, max_length=FILES_MAX)]
    project: Annotated[ProjectName, Field(description="for workflows whose own has no name in the files")] = "default"
    names: Annotated[Yaml | None, Field(description="a filled `catalog`: the names behind ids")] = None
    online: Annotated[bool, Field(description="keep ONLINE what is ONLINE there, and let schedules fire")] = False
    lenient: Annotated[bool, Field(description="also what only looks like an export of DolphinScheduler")] = False
    system: Annotated[bool, Field(description="a user stands before each command of a crontab")] = False


class ImportLine(Answer):
    """A line of the report. Without `workflow` it is about a file, without `task` about the workflow."""

    grade: Literal["same", "changed", "lost", "todo"]
    file: str
    workflow: str
    task: str
    field: str
    sentence: str


class ImportedWorkflow(Answer):
    """A workflow as a file of Shoal; while it has `todo`, it can be a draft and not be saved."""

    file: Annotated[str, Field(description="from which it comes")]
    workflow: Annotated[str, Field(description="what the report calls it")]
    name: str
    project: str
    grade: Annotated[Literal["same", "changed", "lost", "todo"], Field(description="the worst of its lines")]
    content: str


class ImportAnswer(Answer):
    """What an import gives."""

    workflows: Sequence[ImportedWorkflow]
    lines: Sequence[ImportLine]
    pools: Annotated[str | None, Field(description="a file with the pools that they need")] = None
    catalog: Annotated[str | None, Field(description="names behind ids, to fill in and to give as `names`")] = None
    missing: Annotated[int, Field(description="how many names of the catalog are to be filled in")]


Importer = Callable[[ImportFiles], ImportAnswer]


@operation("POST", "/workflow-definitions:import", Right.EDIT, "workflow-definitions", reads=True)
async def import_workflows(call: Call, body: ImportFiles) -> ImportAnswer:
    """Turn files of DolphinScheduler, Airflow or cron into YAML, with a report of what differs; nothing is saved."""
    call.permit(body.project)
    spend(COST_US)
    return await asyncio.to_thread(call.backend.importer, body)
