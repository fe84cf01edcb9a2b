"""The task type SPARK: what it submits, told by a script that stands for spark-submit, and real runs of real Spark."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import subprocess
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState
from tests.worker.scene import QUICK_JAVA, MemoryLog, Scene
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskContext, TaskResult

RECORDER = """#!/bin/bash
printf '%s\\0' "$@" >> "$SPARK_HOME/arguments"
if [ "$1" = --properties-file ]; then cp "$2" "$SPARK_HOME/properties"; fi
. "$SPARK_HOME/then"
"""


def context(scene: Scene, env: Mapping[str, str] | None = None) -> TaskContext:
    return TaskContext(
        workflow_instance_id=WorkflowInstanceId(1),
        task_instance_id=TaskInstanceId(2),
        task_name="sums",
        attempt=1,
        values={},
        log=scene.log,
        processes=scene.launcher,
        make_folder=lambda: scene.cwd,
        make_environment=lambda: {**scene.env, "JAVA_TOOL_OPTIONS": QUICK_JAVA, **(env or {})},
    )


class Stand:
    """A folder that looks like Spark's; its spark-submit writes down what it was given, then does `then`."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self.home = folder
        (folder / "bin").mkdir(parents=True)
        submit = folder / "bin" / "spark-submit"
        submit.write_text(RECORDER)
        submit.chmod(0o755)
        self.then("")

    def then(self, script: str) -> None:
        (self.home / "then").write_text(script)

    async def run(self, values: dict[str, str] | None = None, **params: Any) -> TaskResult:
        task = TaskCatalog().make("SPARK", json.dumps(params), values or {})
        return await task.run(context(self.scene, {"SPARK_HOME": str(self.home)}))

    @property
    def arguments(self) -> list[str]:
        return (self.home / "arguments").read_text().split("\0")[:-1]

    @property
    def properties(self) -> str:
        return (self.home / "properties").read_text()


@pytest.fixture
def stand(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Stand:
    return Stand(scene, tmp_path_factory.mktemp("spark") / "home")


async def test_all_settings_go_through_a_file_that_only_we_can_read(stand: Stand) -> None:
    result = await stand.run(
        application="hdfs:///jobs/sum.jar",
        main_class="org.example.Sum",
        args=["--day", "2026-01-31", ""],
        master="yarn",
        deploy_mode="cluster",
        driver_memory="1g",
        executor_cores=2,
        num_executors=3,
        jars=["a.jar", "b.jar"],
        conf={"spark.hadoop.fs.s3a.secret.key": "hunter22", "spark.speculation": True, "spark.x": 1.5},
    )
    assert result.state is TaskState.SUCCESS
    path = stand.scene.cwd / "shoal-spark.conf"
    assert stand.arguments == [
        *("--properties-file", str(path), "--class", "org.example.Sum", "hdfs:///jobs/sum.jar"),
        *("--day", "2026-01-31", ""),
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(stand.properties.split("\n")) == {
        "",
        "spark.ui.port=0",
        "spark.standalone.submit.waitAppCompletion=true",
        "spark.master=yarn",
        "spark.submit.deployMode=cluster",
        "spark.app.name=sums",
        "spark.driver.memory=1g",
        "spark.executor.cores=2",
        "spark.executor.instances=3",
        "spark.jars=a.jar,b.jar",
        "spark.hadoop.fs.s3a.secret.key=hunter22",
        "spark.speculation=true",
        "spark.x=1.5",
    }


async def test_sparks_own_defaults_stay_between_ours_and_the_definitions(stand: Stand) -> None:
    (stand.home / "conf").mkdir()
    (stand.home / "conf" / "spark-defaults.conf").write_text("spark.ui.port 4040\nspark.eventLog.enabled true\\")
    await stand.run(application="a.py", conf={"spark.eventLog.dir": "/logs"})
    lines = stand.properties.splitlines()
    assert lines.index("spark.ui.port=0") < lines.index("spark.ui.port 4040") < lines.index("spark.master=local[*]")
    assert lines[lines.index("spark.eventLog.enabled true\\") + 1] == ""


@pytest.mark.parametrize(
    ("master", "printed", "expected"),
    [
        ("yarn", "INFO YarnClientImpl: Submitted application {}", "application_1700000000000_0042"),
        ("spark://h:7077", "Connected to Spark cluster with app ID {}", "app-20260131120000-0007"),
        ("k8s://https://h", "application ID spark-1f and submission ID {} into", "jobs:sum-1-driver"),
        ("local[1]", "{}", "local-1700000000000"),
    ],
)
async def test_the_applications_id_is_given_out(stand: Stand, master: str, printed: str, expected: str) -> None:
    printed = printed.format(expected)
    stand.then(f"echo noise; printf '%s' '{printed[:30]}'; sleep 0.05; echo '{printed[30:]}'; echo more")
    result = await stand.run(application="a.py", master=master)
    assert result.outputs == {"application_id": expected}
    assert printed in stand.scene.log.text


async def test_a_failure_tells_the_error_and_not_what_spark_says_after_it(stand: Stand) -> None:
    stand.then("echo 'ValueError: no such day'; echo 'INFO ShutdownHookManager: Deleting directory'; exit 1")
    result = await stand.run(application="a.py")
    assert (result.reason, result.exit_code) == ("exit code 1: ValueError: no such day", 1)


async def test_a_driver_that_failed_on_kubernetes_is_a_failure_though_spark_submit_ends_well(stand: Stand) -> None:
    stand.then("echo '  exit code: 1'; echo '  termination reason: Error'")
    params: dict[str, Any] = {"application": "local:///a.py", "master": "k8s://https://h"}
    failed = await stand.run(**params, deploy_mode="cluster")
    assert (failed.state, failed.exit_code) == (TaskState.FAILURE, 1)
    assert (await stand.run(**params)).state is TaskState.SUCCESS


async def kill_when(stand: Stand, is_time: Callable[[], bool], **params: Any) -> None:
    task = asyncio.ensure_future(stand.run(application="a.jar", **params))
    async with asyncio.timeout(20):
        while not is_time():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("master", "conf", "printed", "expected"),
    [
        (
            "spark://h:7077",
            {"spark.master.rest.enabled": True},
            "driver-20260131120000-0007",
            ["--master", "spark://h:7077", "--properties-file", "FILE", "--kill", "driver-20260131120000-0007"],
        ),
        (
            "k8s://https://h",
            {},
            "submission ID jobs:sum-1-driver",
            ["--master", "k8s://https://h", "--properties-file", "FILE", "--kill", "jobs:sum-1-driver"],
        ),
    ],
)
async def test_a_kill_asks_spark_to_end_the_driver_on_the_cluster(
    stand: Stand, master: str, conf: dict[str, bool], printed: str, expected: list[str]
) -> None:
    stand.then(f'if [[ "$*" != *--kill* ]]; then echo "{printed}"; sleep 1000; fi')
    await kill_when(stand, lambda: printed in stand.scene.log.text, master=master, deploy_mode="cluster", conf=conf)
    settings = str(stand.scene.cwd / "shoal-spark.conf")
    assert stand.arguments[3:] == [settings if each == "FILE" else each for each in expected]
    assert f"{expected[-1]}: it was asked to end" in stand.scene.log.text


async def test_a_kill_on_yarn_uses_yarn_or_says_what_to_do(stand: Stand) -> None:
    stand.then("echo 'Submitted application application_1700000000000_0042'; sleep 1000")
    printed = lambda: "application_17" in stand.scene.log.text  # noqa: E731
    await kill_when(stand, printed, master="yarn", deploy_mode="cluster")
    assert "end it there: yarn application -kill application_1700000000000_0042" in stand.scene.log.text


async def test_a_kill_before_the_cluster_answered_says_so(stand: Stand) -> None:
    stand.then("echo begun; sleep 1000")
    await kill_when(stand, lambda: "begun" in stand.scene.log.text, master="yarn", deploy_mode="cluster")
    assert "killed before the cluster named the application" in stand.scene.log.text


@pytest.mark.parametrize(
    ("params", "value", "sentence"),
    [
        ({"application": "a.py", "args": ["x", "${v}"]}, "--jars=evil.jar", 'args[1] begins with the value of "v"'),
        ({"application": "${v}"}, "--kill", "would become an option"),
        ({"application": "--kill"}, "", "begins with no -"),
        ({"application": "a.jar", "main_class": "${v}"}, "A --jars", "not the name of a class"),
        ({"application": "a.py", "jars": ["${v}"]}, "a.jar,evil.jar", "a name contains a comma"),
        ({"application": "a.py", "conf": {"spark.a": "x${v}"}}, "${env:HOME}", "could read other settings"),
        (
            {"application": "a.py", "conf": {"spark.driver.extraJavaOptions": "-Dx=${v}"}},
            "1 -XX:OnError=evil",
            "is split into options",
        ),
        ({"application": "a.py", "conf": {"spark.a\nb": "x"}}, "", "is not the name of a setting"),
        ({"script": 'print(r"${v}")'}, '");evil("', "could become code; pass it in args"),
    ],
)
async def test_a_value_that_would_break_out_is_refused(
    stand: Stand, params: dict[str, Any], value: str, sentence: str
) -> None:
    with pytest.raises(Refused) as refused:
        await stand.run({"v": value}, **params)
    assert sentence in str(refused.value)


async def test_a_negative_number_and_odd_texts_are_arguments(stand: Stand) -> None:
    odd = "a b;$(touch x)\n'\"\\ü"
    await stand.run({"n": "-5", "odd": odd}, application="a.py", args=["${n}", "${odd}", "--x=${n}", "-v"])
    assert stand.arguments[3:] == ["-5", odd, "--x=-5", "-v"]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "give either application"),
        ({"application": "a", "script": "b"}, "give either application"),
        ({"script": "b", "main_class": "A"}, "a script has no main_class"),
        ({"script": "b", "conf": {"spark.master": "yarn"}}, "conf has spark.master, which is a field"),
        ({"script": "b", "deploy_mode": "moon"}, "deploy_mode: Input should be"),
        ({"script": "b", "num_executors": 0}, "num_executors"),
    ],
)
def test_wrong_fields_are_refused_when_the_definition_is_saved(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make("SPARK", json.dumps(params), {})
    assert sentence in str(refused.value)


async def test_a_spark_home_without_spark_is_named(scene: Scene) -> None:
    task = TaskCatalog().make("SPARK", '{"application": "a.py"}', {})
    result = await task.run(context(scene, {"SPARK_HOME": "/no/such"}))
    assert "no spark-submit; set SPARK_HOME or PATH" in result.reason


# ------------------------------------------------------------------------------------------------- real Spark

SCRIPT = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
total = spark.range(int(sys.argv[1])).selectExpr("sum(id)").first()[0]
print("total is", total)
print("name is", spark.conf.get("spark.app.name"))
print("odd is", ascii(spark.conf.get("spark.test.odd")), ascii(sys.argv[2]))
print("application is", spark.sparkContext.applicationId)
spark.stop()
"""
ODD = "a=b:c # 'x' \"y\" \\ ü 🐟"


@pytest.mark.slow
async def test_real_spark_runs_a_script_locally_and_gives_out_its_id(scene: Scene) -> None:
    params = {"script": SCRIPT, "master": "local[1]", "args": ["${n}", ODD], "conf": {"spark.test.odd": ODD}}
    result = await TaskCatalog().make("SPARK", json.dumps(params), {"n": "1000"}).run(context(scene))
    assert result.state is TaskState.SUCCESS, scene.log.text[-3000:]
    assert "total is 499500\n" in scene.log.text
    assert "name is sums\n" in scene.log.text
    assert f"odd is {ODD!a} {ODD!a}\n" in scene.log.text
    assert f"application is {result.outputs['application_id']}\n" in scene.log.text


@pytest.mark.slow
async def test_real_spark_that_is_killed_leaves_no_process_and_nothing_outside_its_folder(scene: Scene) -> None:
    script = "import time\nfrom pyspark import SparkContext\nSparkContext()\nprint('it runs')\ntime.sleep(1000)"
    params = {"script": script, "master": "local[1]"}
    task = asyncio.ensure_future(TaskCatalog().make("SPARK", json.dumps(params), {}).run(context(scene)))
    async with asyncio.timeout(90):
        while "it runs" not in scene.log.text:
            assert not task.done(), scene.log.text[-3000:]
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert scene.alive() == set()
    assert f"Created local directory at {scene.cwd}/blockmgr" in scene.log.text


@pytest.mark.slow
async def test_real_spark_that_fails_says_why(scene: Scene) -> None:
    params = {"script": "raise ValueError('no such day')", "master": "local[1]"}
    result = await TaskCatalog().make("SPARK", json.dumps(params), {}).run(context(scene))
    assert (result.reason, result.exit_code) == ("exit code 1: ValueError: no such day", 1)


SLEEPER = "public class Sleeper { public static void main(String[] a) throws Exception { Thread.sleep(1000000); } }"


@pytest.mark.soak
async def test_a_kill_ends_the_driver_on_a_real_standalone_cluster(scene: Scene, tmp_path: Path) -> None:
    """Goal: `deploy_mode: cluster` leaves nothing behind. Method: Spark's own master and worker; its log judges."""
    (tmp_path / "Sleeper.java").write_text(SLEEPER)
    subprocess.run(["javac", "Sleeper.java"], cwd=tmp_path, check=True, timeout=180)
    subprocess.run(["jar", "cf", "sleeper.jar", "Sleeper.class"], cwd=tmp_path, check=True, timeout=180)
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    log = MemoryLog()
    env = {**scene.env, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(tmp_path)}

    def start(name: str, *arguments: str) -> asyncio.Future[int]:
        argv = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--webui-port", "0", *arguments]
        return asyncio.ensure_future(scene.launcher.run(argv, env=env, cwd=tmp_path, log=log))

    running = [start("master.Master", "--host", "127.0.0.1", "--port", "0")]
    try:
        async with asyncio.timeout(120):
            while not (found := re.search(r"Starting Spark master at (spark://\S+)", log.text)):
                await asyncio.sleep(0.05)
            running.append(start("worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g", found[1]))
            params = {
                "application": str(tmp_path / "sleeper.jar"),
                "main_class": "Sleeper",
                "master": found[1],
                "deploy_mode": "cluster",
                "driver_memory": "512m",
            }
            task = asyncio.ensure_future(TaskCatalog().make("SPARK", json.dumps(params), {}).run(context(scene, env)))
            while "Launching driver" not in log.text or "successfully submitted as" not in scene.log.text:
                assert not task.done(), scene.log.text[-3000:]
                await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert "it was asked to end" in scene.log.text, scene.log.text[-3000:]
            while not re.search(r"Removing driver: driver-\S+ \(KILLED", log.text):
                await asyncio.sleep(0.05)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
