"""The rights that the page on K8S tasks has: together they suffice, and without one of them the task names it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from model.errors import Refused, Unavailable
from tests.deploy.kubernetes.test_task import started
from tests.eventually import eventually
from tests.servers.kubernetes import KubernetesCluster
from tests.test_repository import ROOT
from tests.worker.scene import Scene

pytestmark = pytest.mark.soak

RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/"
WHO = "runner"


class Right(NamedTuple):
    group: str
    resource: str
    verb: str


def documented() -> list[Right]:
    """All rights of the Role on the page."""
    page = (ROOT / "docs" / "reference" / "tasks" / "k8s.md").read_text("utf-8")
    [text] = re.findall(r"```yaml\n(apiVersion: .*?)```", page, re.DOTALL)
    role: Any = YAML(typ="safe", pure=True).load(text)
    return [
        Right(group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


Bearer = Callable[[Collection[Right]], Awaitable[Path]]


@pytest.fixture
def bearer(kubernetes: KubernetesCluster, namespace: str) -> Bearer:
    """Makes the kubeconfig of a service account that has these rights and no other."""

    async def make(rights: Collection[Right]) -> Path:
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        kubernetes.ask("POST", accounts, {"metadata": {"name": WHO}})
        rules = [{"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]} for each in rights]
        kubernetes.ask("POST", RIGHTS.format(namespace) + "roles", {"metadata": {"name": WHO}, "rules": rules})
        binding = {
            "metadata": {"name": WHO},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": WHO},
            "subjects": [{"kind": "ServiceAccount", "name": WHO, "namespace": namespace}],
        }
        kubernetes.ask("POST", RIGHTS.format(namespace) + "rolebindings", binding)
        for right in rights:
            await eventually(partial(_has, kubernetes, namespace, right), within_s=20)
        token = kubernetes.ask("POST", f"{accounts}/{WHO}/token", {"spec": {}})["status"]["token"]
        return kubernetes.kubeconfig(token, namespace)

    return make


def _has(kubernetes: KubernetesCluster, namespace: str, right: Right) -> bool:
    resource, _, part = right.resource.partition("/")
    asked = {
        "user": f"system:serviceaccount:{namespace}:{WHO}",
        "resourceAttributes": {
            "namespace": namespace,
            "group": right.group,
            "resource": resource,
            "subresource": part,
            "verb": right.verb,
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(kubernetes.ask("POST", path, {"spec": asked})["status"]["allowed"])


async def test_they_suffice_for_a_task_and_what_its_log_says(
    scene: Scene, kubernetes: KubernetesCluster, namespace: str, bearer: Bearer
) -> None:
    who = await bearer(documented())
    kubernetes.write("hello")
    assert (await started(scene, who, namespace)).exit_code == 0
    assert scene.log.text.endswith("hello\n")
    with pytest.raises(Unavailable, match="Unschedulable"):
        await started(scene, who, namespace, attempt=2, node_selector={"disk": "ssd"}, start_timeout_s=5)
    assert "FailedScheduling" in scene.log.text
    assert "403" not in scene.log.text, "nothing else was tried"


@pytest.mark.parametrize(
    "right", [Right("batch", "jobs", "create"), Right("batch", "jobs", "get"), Right("", "pods", "list")]
)
async def test_without_one_the_attempt_fails_and_names_it(
    right: Right, scene: Scene, namespace: str, bearer: Bearer
) -> None:
    who = await bearer(without(right))
    with pytest.raises(Refused, match=forbidden(right)):
        await started(scene, who, namespace)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (Right("batch", "jobs", "delete"), "Job shoal-1-2-1 could not be deleted (the cluster says 403: "),
        (Right("", "pods/log", "get"), "the end of the output may be missing: the cluster says 403: "),
        (Right("", "events", "list"), "the events of its pod cannot be read: the cluster says 403: "),
    ],
)
async def test_without_one_the_log_names_it(
    right: Right, said: str, scene: Scene, kubernetes: KubernetesCluster, namespace: str, bearer: Bearer
) -> None:
    kubernetes.write("hello")
    who = await bearer(without(right))
    assert (await started(scene, who, namespace, attempt=2)).exit_code == 0
    assert ("hello" in scene.log.text) == (right.resource != "pods/log")
    killed = started(scene, who, namespace, node_selector={"disk": "ssd"})
    await eventually(lambda: "Unschedulable" in scene.log.text, within_s=20)
    killed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await killed
    [line] = [line for line in scene.log.text.splitlines() if "403" in line]
    assert line.startswith(f"[shoal] {said}")
    assert re.search(forbidden(right), line)


def without(right: Right) -> list[Right]:
    rights = documented()
    rights.remove(right)
    return rights


def forbidden(right: Right) -> str:
    """The message of Kubernetes."""
    return f'cannot {right.verb} resource "{right.resource}" in API group "{right.group}"'
