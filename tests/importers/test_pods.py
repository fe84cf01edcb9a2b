"""Pods of DAG files: what they mount, which secrets and nodes they have, and what has no counterpart."""

from __future__ import annotations

from typing import Any

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import in_dag, tasks

IMPORTS = """
from airflow.providers.cncf.kubernetes.secret import Secret
from kubernetes.client import models as k8s
from kubernetes.client import V1Toleration, V1LocalObjectReference
"""


def pod(given: str) -> Any:
    return in_dag(f"KubernetesPodOperator(task_id='a', image='x', {given})", before=IMPORTS)


def mounted(source: str, mount: str = "") -> str:
    volume = f"volumes=[k8s.V1Volume(name='v', {source})]"
    return f"{volume}, volume_mounts=[k8s.V1VolumeMount(name='v', mount_path='/m'{mount})]"


@every(
    ("given", "expected"),
    [
        (
            mounted("persistent_volume_claim=k8s.V1PersistentVolumeClaimVolumeSource(claim_name='c')"),
            {"volumes": {"/m": {"claim": "c"}}},
        ),
        (
            mounted("config_map=k8s.V1ConfigMapVolumeSource(name='c')", ", sub_path='s', read_only=True"),
            {"volumes": {"/m": {"config_map": "c", "sub_path": "s", "read_only": True}}},
        ),
        (
            mounted("secret=k8s.V1SecretVolumeSource(secret_name='some-tls-1')"),
            {"volumes": {"/m": {"secret": "some-tls-1"}}},
        ),
        (mounted("empty_dir=k8s.V1EmptyDirVolumeSource(size_limit='1Gi')"), {"volumes": {"/m": {"empty": "1Gi"}}}),
        (
            "secrets=[Secret('env', 'KEY', 'a-shared-secret-1', 'k'), "
            "Secret(deploy_type='volume', deploy_target='/s', secret='a-shared-secret-2')]",
            {
                "env_from_secrets": {"KEY": "a-shared-secret-1/k"},
                "volumes": {"/s": {"secret": "a-shared-secret-2", "read_only": True}},
            },
        ),
        (
            "env_vars=[k8s.V1EnvVar(name='A', value='1'), k8s.V1EnvVar(name='B', "
            "value_from=k8s.V1EnvVarSource(secret_key_ref=k8s.V1SecretKeySelector(name='s', key='k')))]",
            {"env": {"A": "1"}, "env_from_secrets": {"B": "s/k"}},
        ),
        (
            "tolerations=[V1Toleration(key='a', value='b', effect='NoSchedule'), V1Toleration(operator='Exists')]",
            {"tolerations": [
                {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}, {"operator": "Exists"},
            ]},
        ),
        ("image_pull_secrets=[V1LocalObjectReference('p')]", {"image_pull_secrets": ["p"]}),
        ("image_pull_secrets='p,q'", {"image_pull_secrets": ["p", "q"]}),
    ],
)  # fmt: skip
def test_what_a_pod_has_is_written(given: str, expected: dict[str, Any]) -> None:
    made = tasks(pod(given))["a"].params
    assert {name: made[name] for name in expected} == expected


@every(
    "given",
    [
        mounted("host_path=k8s.V1HostPathVolumeSource(path='/x')"),
        mounted("config_map=k8s.V1ConfigMapVolumeSource(name='c', items=[1])"),
        mounted("empty_dir=k8s.V1EmptyDirVolumeSource()"),
        mounted("config_map=absent"),
        "volumes=made()",
        "secrets=[Secret('env', None, 'all-of-it')]",
        "tolerations=[V1Toleration(toleration_seconds=3)]",
        "env_vars=[k8s.V1EnvVar(name='A', value_from=k8s.V1EnvVarSource(field_ref=absent))]",
    ],
)
def test_what_has_no_counterpart_in_a_pod_is_to_be_done(given: str) -> None:
    assert said(pod(given), Grade.TODO)


def test_a_password_of_another_call_stays_one() -> None:
    found = in_dag("PythonOperator(task_id='a', python_callable=lambda: Client(secret='a-shared-secret-1'))")
    assert not any("a-shared-secret-1" in text for text in found.files.values())


def test_a_container_of_docker_keeps_its_mounts_and_options() -> None:
    found = in_dag("""
        from airflow.providers.docker.operators.docker import DockerOperator
        from docker.types import Mount
        DockerOperator(
            task_id="a", image="app:1", command="load 'a b' {{ ds }}", entrypoint=["sh", "-c"], user=5,
            environment={"DAY": "{{ ds }}", "MODE": "full load"}, docker_url="tcp://proxy:2375",
            mounts=[Mount(source="/data", target="/in", type="bind", read_only=True)], skip_on_exit_code=9,
        )
    """)
    made = tasks(found)["a"]
    day = "$[interval_start(yyyy-MM-dd)]"
    assert made.params["script"] == (
        f"docker --host tcp://proxy:2375 run --rm -e \"DAY={day}\" -e 'MODE=full load' --user 5"
        " --mount type=bind,source=/data,target=/in,readonly --entrypoint sh app:1"
        f" -c load 'a b' \"{day}\"\n"
    )
    assert list(made.skip_exit_codes) == [9]
    assert not said(found, Grade.LOST)


def test_mounts_of_a_container_that_are_not_known_are_left_to_a_person() -> None:
    found = in_dag(
        "DockerOperator(task_id='a', image='x', mounts=secret())",
        before="from airflow.providers.docker.operators.docker import DockerOperator",
    )
    assert any("write --mount for secret()" in each for each in said(found, Grade.TODO, "a"))
