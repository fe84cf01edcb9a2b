"""One Kubernetes of our own: its real API server, controllers and scheduler on etcd, and a node that kwok plays.

kwok runs nothing: a container begins at once. That of a Job ends at once too, with the exit code that its variable
`EXITS` has, 0 without one; or never, if that is `never`. All containers have one output, which a test writes.
"""

from __future__ import annotations

import json
import secrets
import signal
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from tests.cluster.tls import certificate
from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port
from tests.servers.etcd import started_etcd
from tests.test_repository import ROOT

KUBERNETES, KWOK = ROOT / "build" / "kubernetes", ROOT / "build" / "kwok"
PROGRAMS = [
    *(KUBERNETES / name for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")),
    KWOK / "kwok",
]
STAGES = [KWOK / "pod-ready.yaml", KWOK / "pod-delete.yaml"]
NODE = "node-1"
_READY_S_MAX = 120

_END_OF_JOBS = """\
{{ $now := Now }}{{ $code := "0" }}{{ $ran := index .status.containerStatuses 0 }}
{{ range (index .spec.containers 0).env }}{{ if eq .name "EXITS" }}{{ $code = .value }}{{ end }}{{ end }}
phase: {{ if eq $code "0" }}Succeeded{{ else }}Failed{{ end }}
containerStatuses:
- name: {{ $ran.name | Quote }}
  image: {{ $ran.image | Quote }}
  ready: false
  restartCount: 0
  state:
    terminated:
      exitCode: {{ $code }}
      reason: {{ if eq $code "0" }}Completed{{ else }}Error{{ end }}
      startedAt: {{ $ran.state.running.startedAt | Quote }}
      finishedAt: {{ $now | Quote }}
"""


def missing() -> str:
    """What must be built first, if anything."""
    names = [each.name for each in [*PROGRAMS, *STAGES] if not each.exists()]
    return f"there is no {', '.join(names)}; run tests/servers/build-go kubernetes" if names else ""


class KubernetesCluster:
    """Starts on construction. Use it as a context or `close` it. Raises `ServerFailed`."""

    def __init__(self) -> None:
        if lacks := missing():
            raise ServerFailed(lacks)
        self._folder = PrivateFolder("shoal-kubernetes-")
        self.folder = self._folder.path
        self.token = secrets.token_hex(16)
        """An administrator's."""
        self.url = f"https://127.0.0.1:{free_port()}"
        self.authority = self.folder / "apiserver.crt"
        self._output = self.folder / "output"
        self._output.touch()
        self._children: list[Child] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def kubeconfig(self, token: str, name: str) -> Path:
        """A file for the bearer of the token."""
        path = self.folder / name
        written = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority": str(self.authority)}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        }
        path.write_text(json.dumps(written))
        return path

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """What it answers to the administrator. Raises `httpx.HTTPStatusError` with its words."""
        with httpx.Client(
            verify=ssl.create_default_context(cafile=self.authority), trust_env=False, timeout=30
        ) as client:
            wanted = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
            content = None if body is None else json.dumps(body)
            answer = client.request(method, self.url + path, content=content, headers=wanted)
        if answer.is_error:
            raise httpx.HTTPStatusError(answer.text, request=answer.request, response=answer)
        return answer.json()

    def write(self, line: str) -> None:
        """Add a line to the output of all containers."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        with self._output.open("a") as output:
            output.write(f"{now} stdout F {line}\n")

    def forget_output(self) -> None:
        """Forget the output of containers of another test."""
        self._output.write_text("")

    def kill_api(self) -> None:
        """Kill the API server, which answers nobody until `start_api`; everything else continues."""
        self._api.kill()

    def start_api(self) -> None:
        """Go on after `kill_api`."""
        keys = self.folder / "server.pem"
        self._api = self._run(
            PROGRAMS[0],
            etcd_servers=f"http://{self._etcd}",
            # Debian's etcd is too old for it, and a client whose watch is refused asks every minute.
            feature_gates="WatchList=false",
            bind_address="127.0.0.1",
            secure_port=self.url.rpartition(":")[2],
            endpoint_reconciler_type="none",
            cert_dir=self.folder,
            token_auth_file=self.folder / "tokens",
            authorization_mode="RBAC",
            service_account_issuer=self.url,
            service_account_key_file=keys,
            service_account_signing_key_file=keys,
            service_cluster_ip_range="10.0.0.0/24",
        )
        self._api.wait_until(lambda: self._answers("/readyz"), _READY_S_MAX)

    def _start(self) -> None:
        etcd, self._etcd = started_etcd(self.folder)
        self._children.append(etcd)
        keys = certificate(self.folder)
        (self.folder / "tokens").write_text(f"{self.token},admin,admin,system:masters\n")
        self.start_api()
        mine = self.kubeconfig(self.token, "admin")
        self._run(
            PROGRAMS[1],
            kubeconfig=mine,
            leader_elect="false",
            secure_port=0,
            service_account_private_key_file=keys,
            root_ca_file=self.authority,
        )
        self._run(PROGRAMS[2], kubeconfig=mine, leader_elect="false", secure_port=0)
        port = free_port()
        # Without leases its node would be taken for lost, and no pod be put there.
        self._run(
            PROGRAMS[3],
            *(f"--config={each}" for each in [*STAGES, self._stages()]),
            kubeconfig=mine,
            manage_all_nodes="true",
            node_lease_duration_seconds=40,
            node_ip="127.0.0.1",
            node_port=port,
            server_address=f"127.0.0.1:{port}",
            tls_cert_file=keys,
            tls_private_key_file=keys,
        )
        labels = {"kubernetes.io/hostname": NODE}
        self.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": labels}})
        self._api.wait_until(self._takes_pods, _READY_S_MAX)

    def _run(self, path: Path, *words: str, **options: object) -> Child:
        given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        child = Child.of([str(path), *given, *words], cwd=self.folder, log=self.folder / f"{path.name}.log")
        self._children.append(child)
        return child

    def _stages(self) -> Path:
        selector = [
            {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
            {"key": ".status.phase", "operator": "In", "values": ["Running"]},
            {"key": ".metadata.ownerReferences.[].kind", "operator": "In", "values": ["Job"]},
            {
                "key": '.spec.containers.[0].env.[]? | select(.name == "EXITS") | .value',
                "operator": "NotIn",
                "values": ["never"],
            },
        ]
        end = {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": selector},
            "next": {"statusTemplate": _END_OF_JOBS},
        }
        logs = {"logs": [{"logsFile": str(self._output), "follow": True}]}
        objects = [("Stage", "end-of-jobs", end), ("ClusterLogs", "output", logs)]
        version = "kwok.x-k8s.io/v1alpha1"
        path = self.folder / "kwok.yaml"
        path.write_text(
            "\n---\n".join(
                json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
                for kind, name, spec in objects
            )
        )
        return path

    def _answers(self, path: str) -> bool:
        if not self.authority.exists():
            return False
        try:
            with httpx.Client(
                verify=ssl.create_default_context(cafile=self.authority), trust_env=False, timeout=5
            ) as client:
                told = client.get(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
                return told.is_success
        except httpx.HTTPError:
            return False

    def _takes_pods(self) -> bool:
        node = self.ask("GET", f"/api/v1/nodes/{NODE}")
        conditions = {each["type"]: each["status"] for each in node.get("status", {}).get("conditions", [])}
        is_free = not node["spec"].get("taints")
        return (
            conditions.get("Ready") == "True"
            and is_free
            and self._answers("/api/v1/namespaces/default/serviceaccounts/default")
        )

    def close(self) -> None:
        """Stop everything, clients before servers."""
        for child in reversed(self._children):
            child.end(signal.SIGKILL, timeout_s=10)
        self._folder.close()

    def __enter__(self) -> KubernetesCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
