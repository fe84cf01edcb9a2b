"""The task type K8S by the official client, against a stand-in for the API server (`kubernetes_server.py`)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused, Unavailable
from model.runs.states import TaskState
from tests.worker.kubernetes_server import TOKEN, KubernetesServer, kubernetes_server
from tests.worker.scene import Scene
from tests.worker.test_spark_task import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.k8s import KubernetesTask
from worker.tasks.plugin import TaskResult

NAME = "shoal-1-2-1"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[KubernetesServer]:
    async with kubernetes_server(tmp_path) as server:
        yield server


def started(
    scene: Scene,
    cluster: KubernetesServer,
    values: dict[str, str] | None = None,
    held: dict[str, str] | None = None,
    **params: Any,
) -> Any:
    """A task; `held` are variables for its resources."""
    given = {"image": "busybox:1.36", "kubeconfig": str(cluster.kubeconfig), **params}
    task = TaskCatalog().make("K8S", json.dumps(given), values or {})
    assert isinstance(task, KubernetesTask)
    task.patience_s = 2.0
    return asyncio.ensure_future(task.run(context(scene, {"SHOAL_ATTEMPT": "1", **(held or {})})))


async def until(condition: Callable[[], object], task: asyncio.Future[TaskResult]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            if task.done():
                raise AssertionError(f"it ended before: {task.result()}")
            await asyncio.sleep(0.01)


async def test_a_job_is_made_followed_and_its_output_copied(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(
        scene,
        cluster,
        command=["sh", "-c", "echo hello"],
        args=["a"],
        namespace="jobs",
        env={"DAY": "2026-01-31", "FAST": True},
        env_from_secrets={"PASSWORD": "database/password"},
        limits={"cpu": "500m", "memory": "256Mi"},
        requests={"cpu": 0.1},
        node_selector={"disk": "ssd"},
        labels={"team": "sea"},
        service_account="runner",
        image_pull_policy="Never",
        ttl_s=60,
        deadline_s=600,
    )
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    cluster.write("hello\n")
    await until(lambda: "hello" in scene.log.text, task)
    cluster.write("bye\n")
    cluster.end()
    result = await task
    assert result == TaskResult.success(exit_code=0)
    assert scene.log.text.endswith("hello\nbye\n")
    assert f"Job {NAME} in namespace jobs" in scene.log.text
    job = cluster.job
    labels = {"team": "sea", "shoal/workflow-instance": "1", "shoal/task": "sums"}
    assert (job["metadata"]["name"], job["metadata"]["labels"]) == (NAME, labels)
    assert job["spec"] == {
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": 600,
        "activeDeadlineSeconds": 600,
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"disk": "ssd"},
                "serviceAccountName": "runner",
                "containers": [
                    {
                        "name": "task",
                        "image": "busybox:1.36",
                        "command": ["sh", "-c", "echo hello"],
                        "args": ["a"],
                        "imagePullPolicy": "Never",
                        "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "0.1"}},
                        "env": [
                            {"name": "DAY", "value": "2026-01-31"},
                            {"name": "FAST", "value": "true"},
                            {"name": "SHOAL_ATTEMPT", "value": "1"},
                            {
                                "name": "PASSWORD",
                                "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}},
                            },
                        ],
                    }
                ],
            },
        },
    }
    assert cluster.deleted == []


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"code": 3}, "exit code 3: no such table"),
        ({"code": 137, "reason": "OOMKilled"}, "exit code 137 (OOMKilled): no such table"),
        ({"code": 1, "message": "it says\nitself"}, "exit code 1: it says itself"),
    ],
)
async def test_a_failure_says_how_the_container_ended(
    scene: Scene, cluster: KubernetesServer, end: dict[str, Any], reason: str
) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    cluster.write("no such table\n")
    cluster.end(**end)
    result = await task
    assert (result.state, result.reason, result.exit_code) == (TaskState.FAILURE, reason, end["code"])


async def test_a_pod_that_vanishes_is_a_failure_with_the_jobs_own_reason(
    scene: Scene, cluster: KubernetesServer
) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    await until(lambda: any(asked.endswith("/log") for asked in cluster.asked), task)
    cluster.evict()
    result = await task
    assert (result.reason, result.exit_code) == ("DeadlineExceeded: Job was active longer", None)


async def test_a_container_that_never_starts_ends_the_attempt_and_the_job(
    scene: Scene, cluster: KubernetesServer
) -> None:
    task = started(scene, cluster, start_timeout_s=1)
    await until(lambda: cluster.jobs, task)
    cluster.wait_for_image()
    with pytest.raises(Unavailable, match=r"did not start within 1 s: ImagePullBackOff: Back-off pulling image"):
        await task
    assert "waiting: ImagePullBackOff" in scene.log.text
    assert cluster.jobs == {}


async def test_a_kill_deletes_the_job_and_nothing_else(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    await until(lambda: any(asked.endswith("/log") for asked in cluster.asked), task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cluster.jobs == {}
    (options,) = cluster.deleted
    assert (options["propagationPolicy"], options["preconditions"]) == ("Background", {"uid": f"uid-of-{NAME}"})
    assert f"Job {NAME} deleted" in scene.log.text


async def test_a_kill_that_cannot_delete_the_job_says_what_to_do(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.refusals.append(("DELETE", 403, "jobs.batch is forbidden"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "could not be deleted (the cluster says 403: jobs.batch is forbidden)" in scene.log.text
    assert f"kubectl delete job {NAME} -n default" in scene.log.text


async def test_a_create_whose_answer_was_lost_finds_its_own_job(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.refusals.append(("POST", 0, ""))
    task = started(scene, cluster)
    await until(lambda: "in namespace" in scene.log.text, task)
    assert [asked.split()[0] for asked in cluster.asked[:3]] == ["POST", "POST", "GET"]
    assert len(cluster.jobs) == 1
    cluster.end()
    assert (await task).state is TaskState.SUCCESS


async def test_a_job_of_that_name_from_elsewhere_is_left_alone(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.jobs[NAME] = {"metadata": {"name": NAME, "uid": "other"}, "status": {}}
    with pytest.raises(Refused, match=f'there is a Job "{NAME}" .* that this attempt did not make'):
        await started(scene, cluster)
    assert NAME in cluster.jobs
    assert cluster.deleted == []


async def test_a_busy_cluster_is_asked_again(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.refusals += [("POST", 429, "too many"), ("GET", 500, "oops"), ("GET", 0, "")]
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.end()
    assert (await task).state is TaskState.SUCCESS


async def test_a_cluster_that_stays_away_fails_the_attempt(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.refusals += [("POST", 503, "away")] * 50
    with pytest.raises(Unavailable, match="the cluster says 503: away"):
        await started(scene, cluster)


async def test_what_the_cluster_refuses_is_a_failure_with_its_words(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.refusals.append(("POST", 422, 'Job.batch "x" is invalid: spec: Required value'))
    with pytest.raises(Refused, match=r'the cluster says 422: Job.batch "x" is invalid'):
        await started(scene, cluster)


async def test_a_log_that_is_cut_is_copied_whole_and_once(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.cut_log_after = 7
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    cluster.write("first\nsecond\n")
    await until(lambda: "second" in scene.log.text, task)
    cluster.write("third\n")
    cluster.end()
    await task
    assert scene.log.text.endswith("first\nsecond\nthird\n")
    assert scene.log.text.count("first") == 1


async def test_a_job_that_somebody_deletes_fails_the_attempt(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    await until(lambda: any(asked.endswith("/log") for asked in cluster.asked), task)
    cluster.jobs.clear()
    with pytest.raises(Unavailable, match="was deleted by somebody else"):
        await task


async def test_what_it_holds_of_pools_reaches_the_container_as_it_is(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(scene, cluster, held={"SHOAL_RESOURCE_A": '[{"data": {"k": "$(PASSWORD) $$"}}]'})
    await until(lambda: cluster.jobs, task)
    cluster.end()
    await task
    (container,) = cluster.job["spec"]["template"]["spec"]["containers"]
    expected = '[{"data": {"k": "$$(PASSWORD) $$$$"}}]'  # Kubernetes reads $$ as $
    assert {"name": "SHOAL_RESOURCE_A", "value": expected} in container["env"]


async def test_values_stay_what_they_are(scene: Scene, cluster: KubernetesServer) -> None:
    values = {"v": "$(PASSWORD) $$ 'x'"}
    task = started(scene, cluster, values, args=["a ${v}"], env={"A": "${v}", "B": "$(A)"})
    await until(lambda: cluster.jobs, task)
    cluster.end()
    await task
    (container,) = cluster.job["spec"]["template"]["spec"]["containers"]
    doubled = "$$(PASSWORD) $$$$ 'x'"  # Kubernetes reads $$ as $
    assert container["args"] == [f"a {doubled}"]
    assert container["env"][:2] == [{"name": "A", "value": doubled}, {"name": "B", "value": "$(A)"}]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "image: Field required"),
        ({"image": "a", "namespace": "A_b"}, "namespace"),
        ({"image": "a", "image_pull_policy": "Sometimes"}, "image_pull_policy"),
        ({"image": "a", "env_from_secrets": {"A": "b"}}, "must name a secret and a key"),
        ({"image": "a", "command": "sh"}, "command: Input should be a valid array"),
    ],
)
def test_wrong_fields_are_refused_when_the_definition_is_saved(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make("K8S", json.dumps(params), {})
    assert sentence in str(refused.value)


async def test_an_option_by_a_value_is_refused(scene: Scene, cluster: KubernetesServer) -> None:
    with pytest.raises(Refused, match="would become an option"):
        await started(scene, cluster, {"v": "--drop"}, args=["${v}"])


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["sh", "-c", "load ${v}"]},
        {"command": ["bash", "-ec"], "args": ["load ${v}"]},
        {"args": ["-e", "print('${v}')"]},
    ],
)
async def test_a_value_is_no_part_of_a_script_of_a_container(
    scene: Scene, cluster: KubernetesServer, given: dict[str, Any]
) -> None:
    with pytest.raises(Refused, match=r"an element after -c or -e is a script; .* the value of \"v\""):
        await started(scene, cluster, {"v": "x; touch canary"}, **given)
    task = started(scene, cluster, {"v": "2026-01-31"}, **given)
    await until(lambda: cluster.jobs, task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_kubeconfig_that_cannot_be_used_is_refused_without_its_content(
    scene: Scene, cluster: KubernetesServer, tmp_path: Path
) -> None:
    for content in ('{"users": [{"token": "hunter22"', '{"token": "hunter22"}'):
        (tmp_path / "broken").write_text(content)
        with pytest.raises(Refused, match="kubeconfig: it cannot be used") as refused:
            await started(scene, cluster, kubeconfig=str(tmp_path / "broken"))
        assert "hunter22" not in str(refused.value)
    with pytest.raises(Refused, match="kubeconfig: it cannot be used"):
        await started(scene, cluster, kubeconfig=str(tmp_path / "none"))
    with pytest.raises(Refused, match="kubeconfig: it cannot be used"):
        await started(scene, cluster, kube_context="elsewhere")


async def test_a_worker_outside_of_any_cluster_needs_a_kubeconfig(scene: Scene, cluster: KubernetesServer) -> None:
    with pytest.raises(Refused, match="this worker runs in no cluster; name the file"):
        await started(scene, cluster, kubeconfig=None)


async def test_without_the_client_the_sentence_says_what_to_install(
    scene: Scene, cluster: KubernetesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "kubernetes"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(Refused, match=r"pip install \"shoal\[k8s\]\""):
        await started(scene, cluster)


async def test_the_token_of_the_cluster_reaches_no_log(scene: Scene, cluster: KubernetesServer) -> None:
    task = started(scene, cluster)
    await until(lambda: cluster.jobs, task)
    cluster.end()
    await task
    assert TOKEN not in scene.log.text


async def test_volumes_tolerations_and_pull_secrets_are_those_of_the_pod(
    scene: Scene, cluster: KubernetesServer
) -> None:
    volumes = {
        "/data": {"claim": "shared-${who}", "sub_path": "in"},
        "/out": {"claim": "shared-${who}"},
        "/etc/conf": {"config_map": "settings", "read_only": True},
        "/etc/tls": {"secret": "tls"},
        "/a": {"empty": "1Gi"},
        "/b": {"empty": "1Gi"},
    }
    tolerations = [{"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}, {"key": "spot"}, {}]
    task = started(
        scene, cluster, {"who": "ada"}, volumes=volumes, tolerations=tolerations, image_pull_secrets=["registry"]
    )
    await until(lambda: cluster.jobs, task)
    cluster.start_container()
    cluster.end()
    assert (await task).state is TaskState.SUCCESS
    pod = cluster.job["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["tolerations"] == [
        {"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"},
        {"key": "spot", "operator": "Exists"},
        {"operator": "Exists"},
    ]
    assert pod["volumes"] == [
        {"name": "volume-0", "persistentVolumeClaim": {"claimName": "shared-ada"}},
        {"name": "volume-1", "configMap": {"name": "settings"}},
        {"name": "volume-2", "secret": {"secretName": "tls"}},
        {"name": "volume-3", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "volume-4", "emptyDir": {"sizeLimit": "1Gi"}},
    ]
    mounts = {each["mountPath"]: (each["name"], each["readOnly"]) for each in pod["containers"][0]["volumeMounts"]}
    assert mounts == {
        "/data": ("volume-0", False),
        "/out": ("volume-0", False),
        "/etc/conf": ("volume-1", True),
        "/etc/tls": ("volume-2", False),
        "/a": ("volume-3", False),
        "/b": ("volume-4", False),
    }
    assert pod["containers"][0]["volumeMounts"][0]["subPath"] == "in"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"volumes": {"/a": {"claim": "c", "secret": "s"}}}, "a volume has one source"),
        ({"volumes": {"/a": {}}}, "a volume has one source"),
        ({"tolerations": [{"key": "a", "value": "b"}]}, "a value goes with operator: Equal"),
        ({"tolerations": [{"operator": "Equal", "value": "b"}]}, "operator: Equal compares the value of a key"),
        ({"tolerations": [{"effect": "Never"}]}, "tolerations.0.effect"),
    ],
)
def test_a_wrong_volume_or_toleration_is_refused(params: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        TaskCatalog().make("K8S", json.dumps({"image": "a", **params}), {})


def a_warning(reason: str, message: str, at: str) -> dict[str, str]:
    return {"type": "Warning", "reason": reason, "message": message, "lastTimestamp": f"2026-01-31T00:00:{at}Z"}


async def test_the_warnings_of_a_pod_that_does_not_start_are_logged_once_and_the_last_is_the_reason(
    scene: Scene, cluster: KubernetesServer
) -> None:
    no_claim = 'persistentvolumeclaim "x" not found'
    cluster.events = [
        a_warning("FailedMount", "MountVolume.SetUp failed", "02"),
        {**a_warning("Pulling", "Pulling image", "03"), "type": "Normal"},
        a_warning("FailedScheduling", no_claim, "01"),
    ]
    task = started(scene, cluster, start_timeout_s=6)
    await until(lambda: "FailedMount" in scene.log.text, task)
    with pytest.raises(Unavailable, match="the pod is being prepared; FailedMount: MountVolume"):
        await task
    lines = [line for line in scene.log.text.splitlines() if "Failed" in line]
    assert lines == [f"[shoal] FailedScheduling: {no_claim}", "[shoal] FailedMount: MountVolume.SetUp failed"]


async def test_a_pod_that_is_not_made_has_the_warnings_of_its_job(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.events = [a_warning("FailedCreate", "exceeded quota: pods", "01")]
    cluster.makes_pods = False
    with pytest.raises(Unavailable, match="no pod has been created yet; FailedCreate: exceeded quota: pods"):
        await started(scene, cluster, start_timeout_s=3)


async def test_one_who_may_not_list_events_does_without(scene: Scene, cluster: KubernetesServer) -> None:
    cluster.may_list_events = False
    task = started(scene, cluster)
    await until(lambda: "events of its pod cannot be read" in scene.log.text, task)
    cluster.wait_for_image()
    await until(lambda: "ImagePullBackOff" in scene.log.text, task)
    cluster.start_container()
    cluster.end()
    assert (await task).state is TaskState.SUCCESS
    assert scene.log.text.count("events of its pod") == 1
