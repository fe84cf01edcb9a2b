"""The servers that recipes talk to: sshd, Flink, and Spark's Thrift server, which speaks the protocol of Hive's."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import yaml

from tests.servers.child import Child, PrivateFolder, free_port
from tests.servers.postgres import unprivileged_user
from tests.test_repository import ROOT

PROGRAMS = ROOT / "build" / "recipes"
FLINK = PROGRAMS / "flink" / "pyflink"
_JOB = """
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

public class Job {{
    public static void main(String[] day) throws Exception {{
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.newInstance().{mode}().build());
        tables.executeSql("CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', {numbers})");
        tables.executeSql("CREATE TABLE days (name STRING) WITH ('connector' = 'filesystem', {result})");
        tables.executeSql("INSERT INTO days SELECT '" + day[0] + "' FROM numbers").await();
    }}
}}
"""


def spark_home() -> Path:
    """The folder of pyspark."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


class Servers:
    """Each starts when its method is called; use it as a context.

    Args:
        folder: theirs, removed with them.
    """

    def __init__(self) -> None:
        self._folder = PrivateFolder("shoal-recipes-", runs_programs=True)
        self.folder = self._folder.path
        self.folder.chmod(0o755)
        self._children: list[Child] = []

    def ssh(self) -> str:
        """Start sshd; what names it for the recipe."""
        user, port = unprivileged_user(), free_port()
        home = self.folder / "ssh"
        home.mkdir()
        for name in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / name], check=True)
        (home / "sshd.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {home}/host\nAuthorizedKeysFile {home}/key.pub\n"
            "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        )
        (home / "known").write_text(f"[127.0.0.1]:{port} {(home / 'host.pub').read_text()}")
        name = user.pw_name if user else pwd.getpwuid(os.geteuid()).pw_name
        (home / "ssh.conf").write_text(
            f"Host reports\nHostName 127.0.0.1\nPort {port}\nUser {name}\nIdentityFile {home}/key\n"
            f"UserKnownHostsFile {home}/known\n"
        )
        if user is not None:
            os.chown(home / "host", user.pw_uid, user.pw_gid)
        (libraries,) = (PROGRAMS / "ssh/usr/lib").glob("*/libwrap.so.0")
        self._start(
            [str(PROGRAMS / "ssh/usr/sbin/sshd"), "-D", "-e", "-f", str(home / "sshd.conf")],
            "Server listening",
            environment={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(libraries.parent)},
            user=user,
        )
        return f"export SSH_CONFIG={home}/ssh.conf"

    def hive(self) -> str:
        """Start Spark's Thrift server; what names it for the recipe."""
        home, port = spark_home(), free_port()
        settings = {"hive.server2.thrift.port": str(port), "hive.server2.thrift.bind.host": "127.0.0.1"}
        program = ["--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "--master", "local[1]"]
        given = [part for name, value in settings.items() for part in ("--hiveconf", f"{name}={value}")]
        self._start(
            [str(home / "bin/spark-submit"), *program, "--conf", "spark.ui.enabled=false", *given, "spark-internal"],
            "HiveThriftServer2 started",
            environment={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        return f'export PATH="{home}/bin:$PATH" HIVE_URL=jdbc:hive2://127.0.0.1:{port}/default'

    def flink(self) -> str:
        """Start a master of Flink and a worker, with jobs to run; what names them for the recipe."""
        home, rest = self.folder / "flink", free_port()
        shutil.copytree(FLINK / "conf", home)
        settings = yaml.safe_load((home / "config.yaml").read_text())
        settings["jobmanager"]["rpc"]["port"] = free_port()
        settings["rest"] = {"address": "127.0.0.1", "port": rest}
        (home / "config.yaml").write_text(json.dumps(settings))
        self._jar("once", "inBatchMode", "'number-of-rows' = '1'")
        self._jar("endless", "inStreamingMode", "'rows-per-second' = '1'")
        own = {"FLINK_HOME": str(FLINK), "FLINK_CONF_DIR": str(home), "FLINK_LOG_DIR": str(home)}
        self.flink_url = f"http://127.0.0.1:{rest}"
        for role, ready in (
            ("jobmanager", "Rest endpoint listening"),
            ("taskmanager", "Successful registration"),
        ):
            self._start([str(FLINK / f"bin/{role}.sh"), "start-foreground"], ready, environment={**os.environ, **own})
        named = {**own, "FLINK_URL": self.flink_url, "FLINK_JOB": str(home / "job.jar")}
        self.give_flink("once")
        exports = " ".join(f"{name}={value}" for name, value in named.items())
        return f'export PATH="{FLINK}/bin:$PATH" {exports}'

    def give_flink(self, job: str) -> None:
        """Make this the job of the recipe: `once` or `endless`."""
        shutil.copy(self.folder / f"flink/{job}/job.jar", self.folder / "flink/job.jar")

    def flink_states(self) -> set[str]:
        """The states of all jobs."""
        with urllib.request.urlopen(f"{self.flink_url}/jobs/overview", timeout=10) as answer:
            return {job["state"] for job in json.load(answer)["jobs"]}

    @property
    def flink_result(self) -> str:
        """The output of the job `once`."""
        return "".join(path.read_text() for path in (self.folder / "flink/once").glob("result/part*"))

    def _jar(self, name: str, mode: str, numbers: str) -> None:
        folder = self.folder / "flink" / name
        folder.mkdir()
        (folder / "Job.java").write_text(
            _JOB.format(mode=mode, numbers=numbers, result=f"'format' = 'csv', 'path' = '{folder.as_uri()}/result'")
        )
        for command in (["javac", "-cp", f"{FLINK}/lib/*", "Job.java"], ["jar", "cfe", "job.jar", "Job", "Job.class"]):
            subprocess.run(command, cwd=folder, check=True, timeout=180)

    def _start(
        self, command: list[str], ready: str, *, environment: dict[str, str], user: pwd.struct_passwd | None = None
    ) -> None:
        log = self.folder / f"{len(self._children)}.log"
        child = Child.of(command, cwd=self.folder, log=log, environment=environment, user=user)
        self._children.append(child)
        child.wait_until(lambda: ready in log.read_text(errors="replace"), 120)

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.end(signal.SIGTERM, timeout_s=20)
        self._folder.close()
