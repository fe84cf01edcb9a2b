"""K8S tasks of a worker in a pod: its service account is in files, and TLS is by their CA."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes.aio.config import incluster_config

from model.errors import Refused, Unavailable
from tests.worker.kubernetes_server import TOKEN, kubernetes_server
from tests.worker.scene import Scene
from tests.worker.test_k8s_task import started, until
from tests.worker.test_log_service import certificate
from worker.tasks.plugin import TaskResult


async def test_a_worker_in_a_pod_asks_its_own_cluster_as_its_service_account(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, files = tmp_path / "serviceaccount", certificate(tmp_path)
    account.mkdir()
    for name in ("TOKEN", "CERT"):
        monkeypatch.setattr(incluster_config, f"SERVICE_{name}_FILENAME", str(account / name))
    async with kubernetes_server(tmp_path, files) as cluster:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(cluster.port))
        with pytest.raises(Refused, match="service account of this worker's pod cannot be used: Service token file"):
            await started(scene, cluster, kubeconfig=None)
        (account / "TOKEN").write_text(TOKEN)
        (account / "CERT").write_bytes(certificate(account)[0].read_bytes())
        with pytest.raises(Unavailable, match="Certificate"):
            await started(scene, cluster, kubeconfig=None)
        assert not cluster.asked, "an API server that the CA of the pod does not vouch for gets no token"
        (account / "CERT").write_bytes(files[0].read_bytes())
        task = started(scene, cluster, kubeconfig=None)
        await until(lambda: cluster.jobs, task)
        cluster.end()
        assert await task == TaskResult.success(exit_code=0)
