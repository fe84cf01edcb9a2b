"""The task type MR: what it runs, told by a script that stands for hadoop, and a real MapReduce job on this machine.

The real job runs in Hadoop's own local runner (`LocalJobRunner`), from the client classes that pyspark brings along;
the jar is compiled by the test. There is no YARN here: what is done with it is told by scripts.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from model.errors import Refused
from model.runs.states import TaskState
from tests.worker.scene import QUICK_JAVA, Scene
from tests.worker.test_spark_task import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskResult

SUBMITTED = "echo 'INFO impl.YarnClientImpl: Submitted application application_1700000000000_0042'"


def command(home: Path, name: str, script: str) -> None:
    (home / "bin").mkdir(parents=True, exist_ok=True)
    path = home / "bin" / name
    path.write_text(f'#!/bin/bash\nprintf "%s\\0" {name} "$@" >> {home}/arguments\n{script}\n')
    path.chmod(0o755)


def arguments(home: Path) -> list[str]:
    return (home / "arguments").read_text().split("\0")[:-1]


async def run(scene: Scene, home: Path, values: dict[str, str] | None = None, **params: Any) -> TaskResult:
    task = TaskCatalog().make("MR", json.dumps(params), values or {})
    return await task.run(context(scene, {"HADOOP_HOME": str(home)}))


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hadoop")
    command(home, "hadoop", "")
    return home


async def test_the_command_is_jar_class_configuration_and_arguments(scene: Scene, home: Path) -> None:
    secret = "hunter22 <&> ü"
    conf = {"fs.s3a.secret.key": "${secret}", "mapreduce.map.speculative": False, "mapreduce.job.reduces": 2}
    result = await run(
        scene,
        home,
        {"secret": secret},
        jar="/jobs/words.jar",
        main_class="org.example.Words",
        conf=conf,
        args=["in", "out dir"],
    )
    assert result == TaskResult.success(exit_code=0)
    path = scene.cwd / "shoal-conf.xml"
    assert arguments(home) == [
        *("hadoop", "jar", "/jobs/words.jar", "org.example.Words", "-conf", str(path), "in", "out dir")
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = {prop.findtext("name"): prop.findtext("value") for prop in ElementTree.parse(path).getroot()}
    assert read == {
        "fs.s3a.secret.key": secret,
        "mapreduce.map.speculative": "false",
        "mapreduce.job.reduces": "2",
    }


async def test_the_environment_that_it_asks_for_says_where_hadoop_is(scene: Scene, home: Path) -> None:
    command(home, "hadoop", 'echo "[$HADOOP_CONF_DIR][$HADOOP_USER_NAME]"')
    script = (
        f"set -x\nexport HADOOP_HOME={home} HADOOP_CONF_DIR='/conf\n of $HOME'\nHADOOP_USER_NAME=eve\necho hunter22\n"
    )
    task = TaskCatalog().make("MR", json.dumps({"jar": "a.jar"}), {})

    async def exports() -> str:
        return script

    result = await task.run(replace(context(scene, {"HADOOP_USER_NAME": "ada"}), exports=exports))
    assert result == TaskResult.success(exit_code=0)
    assert "[/conf\n of $HOME][eve]" in scene.log.text
    assert "hunter22" not in scene.log.text
    assert not list(scene.cwd.glob("environment*"))


@pytest.mark.parametrize("script", ["export HADOOP_HOME=/nowhere; false", "exit 0"])
async def test_an_environment_that_fails_lets_nothing_begin(scene: Scene, home: Path, script: str) -> None:
    task = TaskCatalog().make("MR", json.dumps({"jar": "a.jar"}), {})

    async def exports() -> str:
        return script

    with pytest.raises(Refused, match="the task's environment failed with exit code"):
        await task.run(replace(context(scene, {"HADOOP_HOME": str(home)}), exports=exports))
    assert not (home / "arguments").exists()


async def test_without_settings_there_is_no_conf_option(scene: Scene, home: Path) -> None:
    await run(scene, home, jar="a.jar", args=["x"])
    assert arguments(home) == ["hadoop", "jar", "a.jar", "x"]


async def test_the_applications_id_is_given_out(scene: Scene, home: Path) -> None:
    command(home, "hadoop", f"echo another: application_1700000000000_9999; {SUBMITTED}")
    assert (await run(scene, home, jar="a.jar")).outputs == {"application_id": "application_1700000000000_0042"}


async def test_a_kill_ends_the_application_on_yarn(scene: Scene, home: Path) -> None:
    command(home, "hadoop", f"{SUBMITTED}; sleep 1000")
    command(home, "yarn", "echo killed it")
    await kill_when_submitted(scene, home)
    assert arguments(home)[3:] == ["yarn", "application", "-kill", "application_1700000000000_0042"]
    assert "application_1700000000000_0042: it was asked to end" in scene.log.text


@pytest.mark.parametrize(
    ("script", "said"), [("exit 3", "exit code 3; it may still run"), (None, 'this worker has no "yarn"')]
)
async def test_a_kill_that_could_not_end_it_says_so(scene: Scene, home: Path, script: str | None, said: str) -> None:
    command(home, "hadoop", f"{SUBMITTED}; sleep 1000")
    if script is not None:
        command(home, "yarn", script)
    await kill_when_submitted(scene, home)
    assert said in scene.log.text


async def kill_when_submitted(scene: Scene, home: Path) -> None:
    task = asyncio.ensure_future(run(scene, home, jar="a.jar"))
    async with asyncio.timeout(20):
        while "Submitted" not in scene.log.text:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_failure_tells_the_error(scene: Scene, home: Path) -> None:
    command(home, "hadoop", "echo 'Exception in thread \"main\" java.io.IOException: no input'; echo '\tat x'; exit 1")
    result = await run(scene, home, jar="a.jar")
    assert result.reason == 'exit code 1: Exception in thread "main" java.io.IOException: no input'


@pytest.mark.parametrize(
    ("params", "value", "sentence"),
    [
        ({"jar": "a.jar", "args": ["${v}"]}, "-Dmapreduce.job.queuename=theirs", "would become an option"),
        ({"jar": "a.jar", "main_class": "${v}"}, "-files", "would become an option"),
        ({"jar": "-a.jar"}, "", "begins with no -"),
        ({"jar": "a.jar", "conf": {"a": "${v}"}}, "${env.HOME}", "could read other settings"),
        ({"jar": "a.jar", "conf": {"mapreduce.map.java.opts": "${v}"}}, "-Xmx1g -XX:OnError=evil", "split into"),
        ({"jar": "a.jar", "conf": {"a": "\u0001"}}, "", "no XML file takes"),
    ],
)
async def test_a_value_that_would_break_out_is_refused(
    scene: Scene, home: Path, params: dict[str, Any], value: str, sentence: str
) -> None:
    with pytest.raises(Refused) as refused:
        await run(scene, home, {"v": value}, **params)
    assert sentence in str(refused.value)


async def test_a_worker_without_hadoop_says_so(scene: Scene, tmp_path: Path) -> None:
    result = await run(scene, tmp_path, jar="a.jar")
    assert 'this worker has no command "hadoop"' in result.reason


# ---------------------------------------------------------------------------------------------- real MapReduce

WORDS = """
import java.io.IOException;
import org.apache.hadoop.conf.*;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.*;
import org.apache.hadoop.mapreduce.*;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.LongSumReducer;
import org.apache.hadoop.util.*;

public class Words extends Configured implements Tool {
    public static class Split extends Mapper<LongWritable, Text, Text, LongWritable> {
        protected void map(LongWritable at, Text line, Context context) throws IOException, InterruptedException {
            for (String word : line.toString().split(" ")) {
                context.write(new Text(word), new LongWritable(1));
            }
        }
    }

    public int run(String[] args) throws Exception {
        System.out.println("secret is known: " + "hunter22 <&>".equals(getConf().get("words.secret")));
        Job job = Job.getInstance(getConf(), "words");
        job.setJarByClass(Words.class);
        job.setMapperClass(Split.class);
        job.setReducerClass(LongSumReducer.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(LongWritable.class);
        FileInputFormat.addInputPath(job, new Path(args[0]));
        FileOutputFormat.setOutputPath(job, new Path(args[1]));
        return job.waitForCompletion(true) ? 0 : 1;
    }

    public static void main(String[] args) throws Exception {
        System.exit(ToolRunner.run(new Words(), args));
    }
}
"""


@pytest.fixture(scope="session")
def words_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar that counts words, made once."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "Words.java").write_text(WORDS)
    (folder / "classes").mkdir()
    for argv in (
        ["javac", "-cp", f"{_jars()}/*", "-d", "classes", "Words.java"],
        ["jar", "cf", "words.jar", "-C", "classes", "."],
    ):
        subprocess.run(argv, cwd=folder, env={**os.environ, "JAVA_TOOL_OPTIONS": QUICK_JAVA}, check=True, timeout=180)
    return folder / "words.jar"


@pytest.fixture
def words(home: Path, words_jar: Path) -> Path:
    """The folder of that jar, and of a `hadoop` made of the client classes in pyspark."""
    shutil.copy(words_jar, home)
    command(home, "hadoop", f'shift; exec java -cp "{_jars()}/*" org.apache.hadoop.util.RunJar "$@"')
    return home


def _jars() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"


@pytest.mark.slow
async def test_a_real_job_counts_words_with_hadoops_local_runner(scene: Scene, words: Path) -> None:
    (scene.cwd / "in.txt").write_text("a fish a\nswarm\n")
    result = await run(
        scene,
        words,
        {"out": str(words / "out"), "secret": "hunter22 <&>"},
        jar=str(words / "words.jar"),
        main_class="Words",
        conf={"words.secret": "${secret}"},
        args=["in.txt", "${out}"],
    )
    assert result.state is TaskState.SUCCESS, scene.log.text[-3000:]
    assert (words / "out" / "part-r-00000").read_text() == "a\t2\nfish\t1\nswarm\t1\n"
    assert "secret is known: true\n" in scene.log.text


@pytest.mark.slow
async def test_a_real_job_that_fails_says_why(scene: Scene, words: Path) -> None:
    result = await run(
        scene, words, jar=str(words / "words.jar"), main_class="Words", args=["none.txt", str(words / "out")]
    )
    assert result.state is TaskState.FAILURE
    assert "Input path does not exist" in result.reason
