"""The examples of docs/reference/tasks are run: their logs are what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from model.choices import Direct
from model.runs.states import TaskState
from service.workflows.workflow_file import parse_workflows
from tests.worker.errand import Errands, claimed
from worker.tasks.catalog import TaskCatalog

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "tasks"


@pytest.mark.parametrize("page", ["shell", "python", "fake"])
async def test_what_a_page_shows_is_what_happens(errands: Errands, page: str) -> None:
    """Run task by task, in order; a master would do no more for them than pass the declared values on."""
    text = (PAGES / f"{page}.md").read_text("utf-8")
    example, shown = re.findall(r"```(?:yaml|text)\n(.*?)```", text, re.DOTALL)[:2]
    (document,) = parse_workflows(example.encode(), f"{page}.md", TaskCatalog())
    values = dict(document.spec.params)
    for task in document.spec.tasks:
        end = await errands.run(claimed(task.type, params=task.params, values=values, name=task.name))
        assert (end.state, end.reason) == (TaskState.SUCCESS, "")
        given = json.loads(end.outputs or "{}")
        assert given.keys() == {param.name for param in task.local_params if param.direct is Direct.OUT}
        values |= given
    assert errands.log == shown
