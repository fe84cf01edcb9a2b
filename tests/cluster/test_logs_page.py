"""Every setting and command of docs/guides/logs.md works as the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_log_store import define, stored
from tests.eventually import eventually
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.servers.warm import run_verb

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "logs.md").read_text("utf-8")
FOLDER, OBJECTS, ROLE = (tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
VARIABLES = re.findall(r"^(SHOAL_\w+)=", PAGE, re.MULTILINE)
TYPED = re.findall(r"^\$ shoal (.+)$", PAGE, re.MULTILINE)


def _flat(found: dict[str, Any], prefix: str = "SHOAL_") -> dict[str, str]:
    """The settings of a file as environment variables."""
    given: dict[str, str] = {}
    for name, value in found.items():
        full = f"{prefix}{name.upper()}"
        given |= _flat(value, f"{full}__") if isinstance(value, dict) else {full: str(value)}
    return given


def test_the_page_has_the_blocks_that_are_run() -> None:
    assert list(FOLDER) == list(OBJECTS) == ["log_store"]
    assert VARIABLES == ["SHOAL_LOG_STORE__ACCESS_KEY_ID", "SHOAL_LOG_STORE__SECRET_ACCESS_KEY"]
    assert [line.split()[0] for line in TYPED] == ["log", "doctor", "db", "db", "db"]


async def test_a_shared_folder_and_the_commands_of_the_page(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    settings = _flat(FOLDER)
    assert settings["SHOAL_LOG_STORE__URL"] == "file:///mnt/shoal-logs"
    cluster.environment |= {**settings, "SHOAL_LOG_STORE__URL": (tmp_path / "mnt").as_uri()}
    cluster.define(1, "hello", tasks=[{"name": "greet", "type": "SHELL", "params": {"script": "echo Hello, Ada!"}}])
    await cluster.master()
    worker = await cluster.worker(SHOAL_WORKER__FOLDER=str(tmp_path / "disk"), SHOAL_NAME="w")
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 1)
    shown = {line: _type(cluster, line) for line in dict.fromkeys(TYPED)}
    assert shown["log hello/greet"] == "Hello, Ada!\n"
    assert re.search(r"✓ logs of ended tasks reach the log store +0 logs on the way", shown["doctor"])
    names, copies, _ = (text for line, text in shown.items() if line.startswith("db "))
    assert "waiting" in names
    assert re.search(r"\b1\b", copies)
    assert stored(cluster) == 0, "the last line of the page began with an empty store"
    shutil.rmtree(tmp_path / "mnt")
    (tmp_path / "mnt").mkdir()
    worker.kill()
    await cluster.worker(SHOAL_WORKER__FOLDER=str(tmp_path / "disk"), SHOAL_NAME="w")
    await eventually(lambda: stored(cluster) == 1)


async def test_s3_compatible_storage(cluster: Cluster, s3_server: S3Server, bucket: str) -> None:
    settings = _flat(OBJECTS)
    assert settings["SHOAL_LOG_STORE__URL"] == "s3://shoal/production"
    here = {"SHOAL_LOG_STORE__URL": f"s3://{bucket}/production", "SHOAL_LOG_STORE__ENDPOINT": s3_server.endpoint}
    cluster.environment |= {**settings, **here, **dict(zip(VARIABLES, (KEY, SECRET), strict=True))}
    define(cluster, "echo said")
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 1)
    (mark,) = [path for path in s3_server.objects(bucket) if not path.endswith(".log")]
    assert mark == "production/shoal-log-store"


async def test_the_log_of_a_role_in_a_file(cluster: Cluster, tmp_path: Path) -> None:
    settings = _flat(ROLE)
    assert settings["SHOAL_LOG_FILE"] == "/var/log/shoal/m1.log"
    path = tmp_path / "roles" / "w1.log"
    cluster.environment |= {**settings, "SHOAL_LOG_FILE": "", "SHOAL_LOG_FILE_BYTES_MAX": "10000"}
    master = await cluster.master()
    done = run_verb(
        ["worker"], {**os.environ, **cluster.environment, "SHOAL_LOG_FILE": "/proc/none/x.log"}, cwd=tmp_path
    )
    assert done.code == 78
    assert "the log file /proc/none/x.log cannot be opened" in done.err
    path.parent.mkdir()
    path.write_text("x" * 9_990 + "\n")
    environment = {"SHOAL_LOG_FILE": str(path), "SHOAL_WORKER__FOLDER": str(tmp_path / "w")}
    worker = Node(cluster, "worker", 9, environment)
    cluster.nodes.append(worker)
    await eventually(lambda: path.with_name("w1.log.1").exists() and '"joined"' in path.read_text(), within_s=30)
    assert path.with_name("w1.log.1").read_text().startswith("xxx")
    assert master.events("joined")
    assert not worker.log.read_text()


def _type(cluster: Cluster, line: str) -> str:
    answer = run_verb(shlex.split(line), {**os.environ, **cluster.environment}, cwd=cluster.folder)
    assert answer.code == 0, answer.err
    return answer.out
