"""The image of `deploy/container`, really built: its roles start by its entry point and run a task on a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.cluster.cluster import Cluster
from tests.deploy.test_container import ROLES, SERVICES, environment_of
from tests.deploy.units import ROOT
from tests.eventually import eventually
from tests.servers.child import Child, free_port

pytestmark = pytest.mark.soak

HERE = ROOT / "build" / "image"
BUILDAH = ("buildah", "--root", str(HERE / "storage"), "--runroot", str(HERE / "run"))
OURS = {**os.environ, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
USER = 10001
FLOW = """\
name: whoami
tasks:
  - {name: tell, type: SHELL, params: {script: id -u}}
"""


def buildah(*words: str) -> str:
    return subprocess.run([*BUILDAH, *words], env=OURS, check=True, capture_output=True, text=True, timeout=300).stdout


class Container:
    """One of the image. It shares this machine's network and processes: `chroot` is all that separates it."""

    def __init__(self) -> None:
        self.name = buildah("from", "--pull-never", "localhost/shoal").strip()
        [self._entry] = json.loads(buildah("inspect", self.name))["OCIv1"]["config"]["Entrypoint"]

    def command(self, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """The command that runs these words in it, with these variables besides the image's own."""
        given = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
        return [*BUILDAH, "run", "--hostname", "localhost", *given, self.name, "--", *words]

    def shoal(self, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """The same with its entry point."""
        return self.command([self._entry, *words], environment)

    def close(self) -> None:
        buildah("rm", self.name)


class Service:
    """A service of compose.yaml in a container of its own."""

    def __init__(self, name: str, cluster: Cluster) -> None:
        self.name, self._service = name, SERVICES[name]
        self._port = free_port()
        given = environment_of(name, cluster)
        kept = {key: value for key, value in given.items() if key not in ("PATH", "SHOAL_FOLDER")}
        self.environment = {**kept, "SHOAL_METRICS__PORT": str(self._port)}
        self._container = Container()
        log = cluster.folder / f"{name}.log"
        command = self._container.shoal(self._service["command"], self.environment)
        self._child = Child.of(command, cwd=cluster.folder, log=log, environment=OURS)

    def is_ready(self) -> bool:
        """Whether the probe of compose.yaml, run by the image, says so."""
        assert self._child.running, self._child.log_tail()
        _, *words = self._service["healthcheck"]["test"]
        probe = [word.replace(":9465", f":{self._port}") for word in words]
        return subprocess.run(self._container.command(probe, {}), env=OURS, capture_output=True).returncode == 0

    def process(self) -> psutil.Process:
        """The process of the role itself: buildah reacts to any signal by killing."""
        below = psutil.Process(self._child.pid).children(recursive=True)
        [found] = [each for each in below if each.cmdline()[-1:] == self._service["command"] and "shoal" in each.name()]
        return found

    async def stop(self) -> None:
        """As compose does: SIGTERM, and no longer than its time."""
        self.process().send_signal(signal.SIGTERM)
        await eventually(lambda: not self._child.running, within_s=int(self._service["stop_grace_period"][:-1]))
        assert self._child.exit_code == 0, self._child.log_tail()

    def with_file(self, file: Path) -> str:
        """The path of a copy of it in the container."""
        buildah("copy", "-q", self._container.name, str(file), f"/opt/{file.name}")
        return f"/opt/{file.name}"

    def run(self, *words: str) -> str:
        """A verb beside the role, in its container."""
        command = self._container.shoal(words, self.environment)
        done = subprocess.run(command, env=OURS, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        self._child.kill()
        self._container.close()


@pytest.fixture
def services(cluster: Cluster) -> Iterator[dict[str, Service]]:
    with ExitStack() as opened:
        made: dict[str, Service] = {}
        for role in ROLES:
            made[role] = Service(role, cluster)
            opened.callback(made[role].close)
        yield made


async def test_the_roles_of_the_image_serve_run_a_task_and_stop(services: dict[str, Service], tmp_path: Path) -> None:
    master = services["master"]
    master.run(*SERVICES["schema"]["command"])
    for service in services.values():
        await eventually(service.is_ready, within_s=60)
        assert service.process().uids().real == USER
    (tmp_path / "whoami.yaml").write_text(FLOW)
    master.run("workflow", "apply", master.with_file(tmp_path / "whoami.yaml"))
    run = json.loads(master.run("run", "whoami", "--wait", "--json"))["run_id"]
    assert str(USER) in master.run("log", f"{run}/tell")
    for service in services.values():
        await service.stop()
