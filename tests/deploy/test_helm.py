"""`deploy/helm/shoal`: what Helm makes of it is what Kubernetes takes, and each role works with it on real servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from kubernetes.client import models
from ruamel.yaml import YAML
from sqlalchemy import make_url

from tests.cluster.cluster import TIMING, Cluster
from tests.deploy.units import OWN_PROGRAM, ROOT, started
from tests.eventually import eventually
from tests.servers.notify_socket import notify_socket
from tests.servers.warm import run_verb

pytestmark = pytest.mark.soak

CHART, HELM = ROOT / "deploy" / "helm" / "shoal", ROOT / "build" / "helm" / "helm"
URL = "postgresql+psycopg://shoal@db/shoal"
LEAST: dict[str, Any] = {"database": {"url": URL}}
PLACED = {
    "resources": {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "shoal", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
}
FROM = [{"namespaceSelector": {"matchLabels": {"name": "edge"}}}]
WHOLE: dict[str, Any] = {
    "image": {"repository": "registry.example.org/shoal", "tag": "0.1.0", "pullSecrets": [{"name": "registry"}]},
    "database": {"url": URL, "secret": "others"},
    "registryUrl": "zookeeper://zk1:2181,zk2:2181/shoal",
    "env": {"SHOAL_LOG_FORMAT": "json", "SHOAL_WORKER__CAPACITY": "4"},
    "master": {"drainSeconds": 5, **PLACED},
    "worker": {
        **PLACED,
        "env": {"SHOAL_WORKER__CAPACITY": "16"},
        "storageClass": "fast",
        "serviceAccount": "jobs",
        "keda": {"enabled": True, "prometheus": "http://prometheus:9090"},
    },
    "api": {"hosts": ["a.example.org", "b.example.org"], "proxies": ["10.0.0.1"], **PLACED},
    "alert": PLACED,
    "networkPolicy": {"apiFrom": FROM, "metricsFrom": FROM},
    "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
}
NONE: dict[str, Any] = {**LEAST, "networkPolicy": {"enabled": False}}
VALUES = {"least": LEAST, "whole": WHOLE, "none": NONE}
ROLES = ("master", "worker", "api", "alert")
OF_OTHERS = {
    "PodMonitor": "monitoring.coreos.com_podmonitors.yaml",
    "ScaledObject": "keda.sh_scaledobjects.yaml",
}
"""Kinds of other programs, and the files with their schemas."""


def helm(folder: Path, *words: str, values: Mapping[str, Any]) -> str:
    file = folder / "values.json"
    file.write_text(json.dumps(values))
    command = [str(HELM), *words, "--kube-version", "1.34", "--values", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def manifests(folder: Path, values: Mapping[str, Any], *more: str) -> list[dict[str, Any]]:
    text = helm(folder, "template", "try", str(CHART), *more, values=values)
    return [each for each in YAML(typ="safe", pure=True).load_all(text) if each]


def pod_of(role: str, folder: Path, values: Mapping[str, Any] = LEAST) -> dict[str, Any]:
    (found,) = (
        each["spec"]["template"]["spec"]
        for each in manifests(folder, values)
        if each["metadata"]["name"] == f"try-{role}" and each["kind"] in ("StatefulSet", "Deployment")
    )
    return dict(found)


def faults(value: Any, kind: str, where: str) -> list[str]:
    """The differences from the schema of the Kubernetes client: unknown names, wrong values, missing fields."""
    if (of := re.fullmatch(r"[Ll]ist\[(.+)\]", kind)) is not None:
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [fault for place, each in enumerate(value) for fault in faults(each, of[1], f"{where}[{place}]")]
    if (of := re.fullmatch(r"[Dd]ict[(\[]\w+, (.+)[)\]]", kind)) is not None:
        return [fault for name, each in value.items() for fault in faults(each, of[1], f"{where}.{name}")]
    model = getattr(models, kind, None)
    if model is None:
        wanted: Any = {"str": str, "int": int, "bool": bool, "object": object, "float": (int, float)}[kind]
        return [] if isinstance(value, wanted) and (kind != "int" or value is not True) else [f"{where} is no {kind}"]
    names = {there: here for here, there in model.attribute_map.items()}
    found = [f"{where} has no {name}" for name in value.keys() - names.keys()]
    known = {names[name]: each for name, each in value.items() if name in names}
    try:
        model(**known)
    except ValueError as error:
        found.append(f"{where}: {error}")
    for name, each in known.items():
        found += faults(each, model.openapi_types[name], f"{where}.{name}")
    return found


def schema_of_others(manifest: Mapping[str, Any]) -> jsonschema_rs.Draft4Validator:
    """The schema of its kind and version; an unknown field, which Kubernetes would drop, is a fault."""
    definition = YAML(typ="safe", pure=True).load((HELM.parent / OF_OTHERS[manifest["kind"]]).read_text("utf-8"))[
        "spec"
    ]
    (schema,) = (
        each["schema"]["openAPIV3Schema"]
        for each in definition["versions"]
        if manifest["apiVersion"] == f"{definition['group']}/{each['name']}"
    )
    schema["properties"]["metadata"] = {}
    return jsonschema_rs.Draft4Validator(closed(schema))


def closed(schema: Any) -> Any:
    """A schema that takes no fields but its own."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    has_own = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {**({"additionalProperties": False} if has_own else {}), **{name: closed(of) for name, of in schema.items()}}


@pytest.mark.parametrize("name", VALUES)
def test_it_has_no_fault_and_fits_the_schemas_of_kubernetes(name: str, tmp_path: Path) -> None:
    helm(tmp_path, "lint", "--strict", str(CHART), values=VALUES[name])
    made = [*manifests(tmp_path, VALUES[name]), *manifests(tmp_path, VALUES[name], "--is-upgrade")]
    seen = set()
    for each in made:
        seen.add(each["kind"])
        if each["kind"] in OF_OTHERS:
            assert not list(schema_of_others(each).iter_errors(each))
        else:
            version = each["apiVersion"].rpartition("/")[2].capitalize()
            assert faults(each, f"{version}{each['kind']}", each["kind"]) == []
    assert {"StatefulSet", "Deployment", "Service", "PodDisruptionBudget", "Job"} <= seen
    assert ("NetworkPolicy" in seen) == (name != "none")
    assert (seen >= OF_OTHERS.keys()) == (name == "whole")


def test_a_manifest_with_a_fault_is_found(tmp_path: Path) -> None:
    made = next(each for each in manifests(tmp_path, LEAST) if each["kind"] == "StatefulSet")
    made["spec"]["template"]["spec"]["containers"][0] |= {"prots": [], "args": "master"}
    del made["spec"]["selector"]
    assert len(faults(made, "V1StatefulSet", "it")) >= 3
    for each in manifests(tmp_path, WHOLE):
        if each["kind"] in OF_OTHERS:
            each["spec"] |= {"prots": []}
            del each["spec"]["selector" if each["kind"] == "PodMonitor" else "triggers"]
            assert len(list(schema_of_others(each).iter_errors(each))) == 2


@pytest.mark.parametrize(("more", "verb"), [((), "init"), (("--is-upgrade",), "upgrade")])
def test_the_schema_is_made_or_upgraded_before_the_nodes(
    more: tuple[str, ...], verb: str, tmp_path: Path, cluster: Cluster
) -> None:
    (job,) = (each for each in manifests(tmp_path, LEAST, *more) if each["kind"] == "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert job["spec"]["backoffLimit"] == 0, "what refuses once is not asked again"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["db", verb]
    answer = run_verb(container["args"], {**os.environ, **environment_of(container, cluster)})
    assert answer.code == 0, answer.err


def test_who_runs_tasks_has_no_file_with_a_secret(tmp_path: Path) -> None:
    pod = pod_of("worker", tmp_path, WHOLE)
    assert [each for each in pod["volumes"] if "secret" in each] == []
    assert {each["name"] for each in pod_of("master", tmp_path, WHOLE)["volumes"] if "secret" in each} == {
        "secret",
        "database",
    }


def environment_of(container: Mapping[str, Any], cluster: Cluster) -> dict[str, str]:
    """Its variables, with the database of a test, which is the registry too, and files of the secrets."""
    url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    secrets = {"password": str(url.password), "metrics-token": "0123456789abcdef"}
    given = {each["name"]: each.get("value") for each in container["env"]}
    for name, value in secrets.items():
        file = cluster.folder / name
        file.touch(0o440)
        file.write_text(value)
    for each in container["env"]:
        name, value = each["name"], each.get("value")
        if "secretKeyRef" in each.get("valueFrom", {}):
            given[name] = secrets[each["valueFrom"]["secretKeyRef"]["key"]]
        elif value is not None and value.startswith("/run/"):
            given[name] = str(cluster.folder / Path(value).name)
    assert given.pop("SHOAL_DATABASE_URL") == URL
    own = {
        "SHOAL_NAME": "try-0",
        "POD_IP": "127.0.0.1",
        "SHOAL_HOST": "127.0.0.1",
        "SHOAL_DATABASE_URL": url.set(password=None).render_as_string(hide_password=False),
        "SHOAL_FOLDER": str(cluster.folder),
    }
    ports = {name: "0" for name, value in given.items() if value in ("9464", "9465")}
    return {**TIMING, **{name: value for name, value in given.items() if value is not None}, **own, **ports}


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_becomes_ready_by_its_probe_and_stops_in_its_time(
    role: str, tmp_path: Path, cluster: Cluster
) -> None:
    pod = pod_of(role, tmp_path)
    (container,) = pod["containers"]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment_of(container, cluster)}
    with notify_socket(cluster.folder / "notify") as supervisor:
        command = [str(OWN_PROGRAM), *container["args"]]
        told = {"NOTIFY_SOCKET": supervisor.address, "SHOAL_API__PORT": "0"}
        process = started(command, cluster, role, {**environment, **told})
        try:
            await eventually(lambda: "STATUS=ready" in supervisor.heard(), within_s=120)
            [port] = re.findall(r"http://[\d.]+:(\d+)/metrics", Path(cluster.folder / f"{role}.log").read_text())
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                asked = container[probe]["httpGet"]
                assert asked["port"] == "metrics"
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{asked['path']}", timeout=30) as answer:
                    assert answer.status == 200
            process.send(signal.SIGTERM)
            await eventually(lambda: not process.running, within_s=pod["terminationGracePeriodSeconds"])
            assert process.exit_code == 0, process.log_tail()
        finally:
            process.kill()
