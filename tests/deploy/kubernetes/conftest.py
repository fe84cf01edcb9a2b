"""One Kubernetes for all tests, and a namespace for each."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.servers.kubernetes import KubernetesCluster, missing
from tests.worker.scene import Scene
from worker.launcher.client import Launcher


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[KubernetesCluster]:
    if lacks := missing():
        pytest.skip(lacks)
    with KubernetesCluster() as made:
        yield made


@pytest.fixture
async def namespace(kubernetes: KubernetesCluster) -> AsyncIterator[str]:
    """A namespace in which pods can be made."""
    name = f"test-{secrets.token_hex(4)}"
    kubernetes.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    await eventually(lambda: kubernetes.ask("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default"), within_s=20)
    kubernetes.forget_output()
    yield name
    kubernetes.ask("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    launcher = Launcher()
    launcher.open()
    yield Scene(launcher, tmp_path)
    await launcher.close()
