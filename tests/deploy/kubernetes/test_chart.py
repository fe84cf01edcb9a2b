"""`deploy/helm/shoal` in a real Kubernetes: it takes all manifests, and a release is installed and upgraded.

No container runs there: that Shoal works with what the chart gives it is shown by `tests/deploy/test_helm.py`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic

from tests.deploy.test_helm import CHART, HELM, LEAST, OF_OTHERS, VALUES, manifests
from tests.servers.kubernetes import KubernetesCluster

pytestmark = pytest.mark.soak

RESTRICTED = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
SETS, SERVERS = "/apis/apps/v1/namespaces/{}/statefulsets", "/apis/apps/v1/namespaces/{}/deployments"


@pytest.fixture
def cluster(kubernetes: KubernetesCluster) -> Iterator[dynamic.DynamicClient]:
    kubeconfig = str(kubernetes.kubeconfig(kubernetes.token, "admin"))
    with config.new_client_from_config(kubeconfig) as made:  # type: ignore[no-untyped-call]
        yield dynamic.DynamicClient(made)  # type: ignore[no-untyped-call]


def applied(cluster: dynamic.DynamicClient, namespace: str, manifest: dict[str, Any]) -> None:
    """Apply a manifest by the server, which refuses an unknown field."""
    kind = cluster.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
    kind.server_side_apply(manifest, namespace=namespace, field_manager="test")


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("more", [(), ("--is-upgrade",)])
def test_every_manifest_is_taken_as_it_is_written(
    name: str, more: tuple[str, ...], cluster: dynamic.DynamicClient, namespace: str, tmp_path: Path
) -> None:
    for each in manifests(tmp_path, VALUES[name], *more):
        if each["kind"] not in OF_OTHERS:
            applied(cluster, namespace, each)


def test_a_manifest_with_a_fault_is_refused(cluster: dynamic.DynamicClient, namespace: str, tmp_path: Path) -> None:
    made = next(each for each in manifests(tmp_path, LEAST) if each["kind"] == "StatefulSet")
    made["spec"]["template"]["spec"]["containers"][0]["prots"] = []
    with pytest.raises(client.ApiException, match="prots: field not declared in schema"):
        applied(cluster, namespace, made)


@pytest.fixture
def volumes(kubernetes: KubernetesCluster, namespace: str) -> Iterator[None]:
    """Volumes for the workers' claims."""
    path = "/api/v1/persistentvolumes"
    names = [f"{namespace}-{number}" for number in range(2)]
    for name in names:
        spec = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": f"/{name}"}}
        kubernetes.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    yield
    for name in names:
        kubernetes.ask("DELETE", f"{path}/{name}")


@pytest.mark.usefixtures("volumes")
def test_a_release_is_installed_and_upgraded_where_pods_are_restricted_most(
    kubernetes: KubernetesCluster, namespace: str, tmp_path: Path
) -> None:
    merge = {"Content-Type": "application/merge-patch+json"}
    kubernetes.ask("PATCH", f"/api/v1/namespaces/{namespace}", RESTRICTED, **merge)
    kubeconfig = kubernetes.kubeconfig(kubernetes.token, "admin")
    values = tmp_path / "values.json"
    values.write_text(json.dumps(LEAST))

    def helm(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        where = [*("--kubeconfig", str(kubeconfig), "--namespace", namespace), *("--wait", "--timeout", "3m")]
        return subprocess.run([str(HELM), verb, "try", *words, *where], capture_output=True, text=True, check=False)

    def ready(path: str) -> dict[str, int]:
        found = kubernetes.ask("GET", path.format(namespace))["items"]
        return {each["metadata"]["name"]: each["status"].get("readyReplicas", 0) for each in found}

    installed = helm("install", str(CHART), "--values", str(values))
    assert installed.returncode == 0, installed.stderr
    assert ready(SETS) == {"try-master": 2, "try-worker": 2}
    assert ready(SERVERS) == {"try-api": 2, "try-alert": 1}

    refused = helm(
        "upgrade", str(CHART), "--values", str(values), "--set", "api.replicas=3", "--set-string", "env.EXITS=1"
    )
    assert refused.returncode == 1
    assert "pre-upgrade hooks failed" in refused.stderr
    assert "BackoffLimitExceeded" in refused.stderr
    assert ready(SERVERS)["try-api"] == 2, "nothing has changed"

    upgraded = helm("upgrade", str(CHART), "--values", str(values), "--set", "api.replicas=3")
    assert upgraded.returncode == 0, upgraded.stderr
    assert ready(SERVERS)["try-api"] == 3
