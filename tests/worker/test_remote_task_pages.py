"""The examples on the pages of HTTP, SPARK, MR and K8S are checked as when they are saved, and run."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from model.runs.states import TaskState
from service.workflows.workflow_file import WorkflowDocument, parse_workflows
from tests.worker.http_server import http_server, says
from tests.worker.kubernetes_server import kubernetes_server
from tests.worker.scene import Scene
from tests.worker.test_k8s_task import until
from tests.worker.test_mr_task import home, words, words_jar
from tests.worker.test_spark_task import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import Task

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "tasks"
__all__ = ["home", "words", "words_jar"]


def examples(page: str) -> list[WorkflowDocument]:
    text = (PAGES / page).read_text("utf-8")
    blocks = re.findall(r"(?ms)^```yaml\n(name: .*?)^```", text)
    found = [parse_workflows(block.encode(), page, TaskCatalog()) for block in blocks]
    return [document for documents in found for document in documents]


def task_of(example: WorkflowDocument, **values: str) -> Task:
    """The first task of an example, with the workflow's own parameters unless others are given."""
    task = example.spec.tasks[0]
    return TaskCatalog().make(task.type, json.dumps(task.params), {**dict(example.spec.params), **values})


@pytest.mark.parametrize("page", ["http.md", "spark.md", "mr.md", "k8s.md"])
def test_a_page_begins_with_an_example_that_can_be_saved(page: str) -> None:
    title, _, rest = (PAGES / page).read_text("utf-8").partition("\n")
    assert title.startswith(f"# {page.removesuffix('.md').upper()}: ")
    assert rest.lstrip().startswith("```yaml")
    assert examples(page)


@pytest.mark.parametrize("page", ["http.md", "spark.md", "mr.md", "k8s.md"])
def test_a_page_names_every_field_of_its_type(page: str) -> None:
    text = (PAGES / page).read_text("utf-8")
    task_type = type(task_of(examples(page)[0]))
    assert not [name for name in task_type.Params.model_fields if f"`{name}`" not in text]


async def test_the_example_of_http_runs_as_it_stands(scene: Scene) -> None:
    (example,) = examples("http.md")
    answer = says("201 Created", '{"load": {"id": 7, "state": "accepted"}}')
    async with http_server({"/api/loads/2026-01-31": answer}) as server:
        result = await task_of(example, warehouse=f"{server.address}/api").run(context(scene))
    assert result.outputs["load_id"] == "7"
    assert json.loads(server.seen[0].body) == {"day": "2026-01-31", "force": False}
    assert server.seen[0].header("Authorization") == "Bearer change-me"


async def test_the_example_of_k8s_runs_as_it_stands(scene: Scene, tmp_path: Path) -> None:
    (example,) = examples("k8s.md")
    async with kubernetes_server(tmp_path) as cluster:
        task = example.spec.tasks[0]
        params = {**task.params, "kubeconfig": str(cluster.kubeconfig)}
        made = TaskCatalog().make("K8S", json.dumps(params), {"day": "2026-01-31"})
        running = asyncio.ensure_future(made.run(context(scene)))
        await until(lambda: cluster.jobs, running)
        cluster.end()
        assert (await running).state is TaskState.SUCCESS
        (container,) = cluster.job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["--day=2026-01-31"]


@pytest.mark.soak
async def test_the_example_of_spark_runs_as_it_stands(scene: Scene) -> None:
    result = await task_of(examples("spark.md")[0]).run(context(scene))
    assert result.state is TaskState.SUCCESS, scene.log.text[-3000:]
    assert "the sum is 499500\n" in scene.log.text


@pytest.mark.slow
async def test_the_example_of_mr_runs_as_it_stands(scene: Scene, words: Path) -> None:
    shutil.copy(words / "words.jar", scene.cwd / "words.jar")
    (scene.cwd / "in.txt").write_text("a fish a\n")
    (example,) = examples("mr.md")
    result = await task_of(example).run(context(scene, {"HADOOP_HOME": str(words)}))
    assert result.state is TaskState.SUCCESS, scene.log.text[-3000:]
    assert (scene.cwd / "out" / "part-r-00000").read_text() == "a\t2\nfish\t1\n"
