"""The task type K8S against a real Kubernetes; what its API server does when it fails is in tests/worker."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused, Unavailable
from tests.eventually import eventually
from tests.servers.kubernetes import KubernetesCluster
from tests.worker.scene import Scene
from tests.worker.test_spark_task import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.k8s import KubernetesTask
from worker.tasks.plugin import TaskResult

pytestmark = pytest.mark.soak

JOBS = "/apis/batch/v1/namespaces/{}/jobs"
PODS = "/api/v1/namespaces/{}/pods"


def started(
    scene: Scene, kubeconfig: Path, namespace: str, attempt: int = 1, **params: Any
) -> asyncio.Future[TaskResult]:
    where = {"kubeconfig": str(kubeconfig), "namespace": namespace}
    given = {"image": "busybox:1.36", "start_timeout_s": 60, **where, **params}
    task = TaskCatalog().make("K8S", json.dumps(given), {})
    assert isinstance(task, KubernetesTask)
    return asyncio.ensure_future(task.run(replace(context(scene), attempt=attempt)))


def items(kubernetes: KubernetesCluster, path: str, namespace: str) -> list[Any]:
    found: list[Any] = kubernetes.ask("GET", path.format(namespace))["items"]
    return found


@pytest.fixture
def admin(kubernetes: KubernetesCluster) -> Path:
    return kubernetes.kubeconfig(kubernetes.token, "admin")


async def test_a_job_runs_to_success(scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str) -> None:
    kubernetes.write("two boats")
    result = await started(scene, admin, namespace, command=["true"])
    assert result == TaskResult.success(exit_code=0)
    assert scene.log.text.endswith("two boats\n")
    [job] = items(kubernetes, JOBS, namespace)
    assert job["status"]["succeeded"] == 1


async def test_a_failure_has_the_exit_code_and_the_last_line(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    kubernetes.write("no such table")
    result = await started(scene, admin, namespace, env={"EXITS": 3})
    assert (result.exit_code, result.reason) == (3, "exit code 3: no such table")
    assert len(items(kubernetes, PODS, namespace)) == 1, "Kubernetes tries it once"


async def test_output_arrives_while_it_runs_and_a_kill_deletes_the_job(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    task = started(scene, admin, namespace, env={"EXITS": "never"})
    for line in ("one", "two"):
        kubernetes.write(line)
        await eventually(scene.log.last_line, within_s=20, until=line)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "Job shoal-1-2-1 deleted" in scene.log.text
    assert scene.log.text.count("one\n") == 1
    assert items(kubernetes, JOBS, namespace) == []
    await eventually(lambda: items(kubernetes, PODS, namespace), within_s=20, until=[])


async def test_a_while_without_the_api_server_costs_nothing(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    task = started(scene, admin, namespace, env={"EXITS": "never"})
    kubernetes.write("one")
    await eventually(scene.log.last_line, within_s=20, until="one")
    kubernetes.kill_api()
    kubernetes.write("two")
    kubernetes.start_api()
    await eventually(scene.log.last_line, within_s=40, until="two")
    assert not task.done()
    assert scene.log.text.count("one\n") == 1, "the output is read again from its beginning"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert items(kubernetes, JOBS, namespace) == []


async def test_a_missing_namespace_is_named(scene: Scene, admin: Path) -> None:
    with pytest.raises(Refused, match='the cluster says 404: namespaces "nowhere" not found'):
        await started(scene, admin, "nowhere")


async def test_a_pod_without_a_node_says_what_nodes_lack(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    lacks = r"0/1 nodes are available: 1 node\(s\) didn't match Pod's node affinity/selector\. [^;]*"
    with pytest.raises(Unavailable, match=f"^the container did not start within 10 s: Unschedulable: {lacks}$"):
        await started(scene, admin, namespace, node_selector={"disk": "ssd"}, start_timeout_s=10)
    assert re.search(f"FailedScheduling: {lacks}\n", scene.log.text)
    assert items(kubernetes, JOBS, namespace) == []


async def test_a_pod_that_may_not_be_made_says_why(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    with pytest.raises(
        Unavailable, match=r'no pod has been created yet; FailedCreate: .*serviceaccount "runner" not found'
    ):
        await started(scene, admin, namespace, service_account="runner", start_timeout_s=10)


async def test_the_clusters_own_deadline_is_the_reason(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    result = await started(scene, admin, namespace, env={"EXITS": "never"}, deadline_s=2)
    assert result.reason == "DeadlineExceeded: Job was active longer than specified deadline"


async def test_a_job_that_is_kept_for_no_time_is_seen_to_end(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    result = await started(scene, admin, namespace, ttl_s=0)
    assert result == TaskResult.success(exit_code=0)


async def test_what_a_pod_can_have_is_taken(
    scene: Scene, kubernetes: KubernetesCluster, admin: Path, namespace: str
) -> None:
    kubernetes.ask(
        "POST", f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": "db"}, "stringData": {"p": "x"}}
    )
    result = await started(
        scene,
        admin,
        namespace,
        command=["sh", "-c", "echo hello"],
        args=["a"],
        env={"DAY": "2026-01-31", "FAST": True},
        env_from_secrets={"PASSWORD": "db/p"},
        limits={"cpu": "500m", "memory": "256Mi"},
        requests={"cpu": 0.1},
        labels={"team": "sea"},
        tolerations=[{"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}, {}],
        volumes={
            "/etc/tls": {"secret": "db", "read_only": True},
            "/etc/conf": {"config_map": "settings", "sub_path": "a"},
            "/scratch": {"empty": "1Gi"},
        },
        image_pull_secrets=["registry"],
        image_pull_policy="Never",
        node_selector={"kubernetes.io/hostname": "node-1"},
        deadline_s=600,
    )
    assert result == TaskResult.success(exit_code=0)
