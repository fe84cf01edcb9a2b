"""What a K8S task requests from a cluster, and what the answers mean: the Job's description, its end, its pod's state.

Pure: the same parameters give the same Job, the same answers the same sentence. The structures are those of the API's
`batch/v1` Job and `v1` Pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import Field, field_validator

from model.choices import ParameterType
from model.parameters.foreign_values import Need, check_declared, check_foreign
from model.scripts.shell_reader import need_of_arguments
from worker.tasks.inserted import arguments, mark, only_plain, pieces, plain, put_in
from worker.tasks.kubernetes_api import MARK, Json, one_line
from worker.tasks.kubernetes_volumes import Toleration, Volumes, mounted
from worker.tasks.plugin import TaskContext, TaskParams

CONTAINER = "task"
"""The name of our container: a cluster may add others to the pod."""

TTL_S_MIN = 600
"""A finished Job is kept until its end has been seen: longer than a cluster may be silent."""

_KEY_OF_SECRET = re.compile(r"[^/]+/[^/]+")
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ce]|--(command|eval|execute)")
"""Options after which programs take code: `sh -c`, `bash -ec`, `python -c`, `perl -e`, `psql --command`."""

_CODE = 'an element after -c or -e is a script; put the value into env and write "$NAME" there'
_LABEL_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")


class KubernetesParams(TaskParams):
    """One container, run once. `limits` and `requests` are quantities such as `cpu: 500m`, `memory: 256Mi`."""

    image: str = Field(min_length=1)
    command: list[str] = Field(default_factory=list)
    args: list[str] = Field(default_factory=list)
    namespace: str = Field(default="default", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    env: dict[str, str | int | float | bool] = Field(default_factory=dict)
    env_from_secrets: dict[str, str] = Field(default_factory=dict)
    limits: dict[str, str | int | float] = Field(default_factory=dict)
    requests: dict[str, str | int | float] = Field(default_factory=dict)
    node_selector: dict[str, str] = Field(default_factory=dict)
    tolerations: list[Toleration] = Field(default_factory=list)
    volumes: Volumes = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    image_pull_secrets: list[str] = Field(default_factory=list)
    service_account: str | None = None
    image_pull_policy: str | None = Field(default=None, pattern="^(Always|IfNotPresent|Never)$")
    ttl_s: int = Field(default=3_600, ge=0)
    deadline_s: int | None = Field(default=None, gt=0)
    start_timeout_s: float = Field(default=600, gt=0)
    kubeconfig: str | None = None
    kube_context: str | None = None

    @field_validator("env_from_secrets")
    @classmethod
    def _name_a_key_each(cls, given: dict[str, str]) -> dict[str, str]:
        for name, place in given.items():
            if not _KEY_OF_SECRET.fullmatch(place):
                raise ValueError(f"{name!a} must name a secret and a key in it, such as my-secret/password")
        return given


def job_name(context: TaskContext) -> str:
    """The name of the Job of one attempt: always the same for the same attempt."""
    return f"shoal-{context.workflow_instance_id}-{context.task_instance_id}-{context.attempt}"


def job_of(params: KubernetesParams, context: TaskContext, own_mark: str) -> Json:
    """The description of the Job. Kubernetes tries it once: Shoal decides about retries.

    Args:
        own_mark: known to this attempt alone; the Job is found again by it.

    Raises:
        Refused: a value would become an option of the program.
    """
    own = {"shoal/workflow-instance": str(context.workflow_instance_id), "shoal/task": _label(context.task_name)}
    labels = {**{name: plain(value) for name, value in params.labels.items()}, **own}
    volumes, mounts = mounted(params.volumes)
    container = _container(params, context)
    pod: Json = {"restartPolicy": "Never", "containers": [container]}
    if volumes:
        pod["volumes"], container["volumeMounts"] = volumes, mounts
    if params.tolerations:
        pod["tolerations"] = [each.written for each in params.tolerations]
    if params.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": plain(name)} for name in params.image_pull_secrets]
    if params.node_selector:
        pod["nodeSelector"] = {name: plain(value) for name, value in params.node_selector.items()}
    if params.service_account is not None:
        pod["serviceAccountName"] = plain(params.service_account)
    spec: Json = {
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": max(params.ttl_s, TTL_S_MIN),
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if params.deadline_s is not None:
        spec["activeDeadlineSeconds"] = params.deadline_s
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(context), "labels": labels, "annotations": {MARK: own_mark}},
        "spec": spec,
    }


def has_begun(pod: Json) -> bool:
    """Whether the container has started, or the pod has ended without starting it."""
    state = _state(pod)
    return "running" in state or "terminated" in state or pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def waits_for(pod: Json | None) -> str:
    """Why the container has not started: a reason of Kubernetes such as ImagePullBackOff, with its message."""
    if pod is None:
        return "no pod has been created yet"
    waiting = _state(pod).get("waiting")
    if waiting:
        return _reason_of(waiting)
    for condition in pod.get("status", {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _reason_of(condition)
    return "the pod is being prepared"


def warnings_of(events: Iterable[Json]) -> list[str]:
    """The warnings among the events of a pod, oldest first, such as FailedMount; each once."""
    found = sorted(events, key=lambda each: str(each.get("lastTimestamp") or each.get("eventTime") or ""))
    return list(dict.fromkeys(_reason_of(each) for each in found if each.get("type") == "Warning"))


def is_success(job: Json) -> bool | None:
    """How the Job ended; None while it runs. Read from its conditions: its counts change before it has ended."""
    for condition in job.get("status", {}).get("conditions") or []:
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return bool(condition["type"] == "Complete")
    return None


def exit_code(pod: Json | None) -> int | None:
    """The exit code of the container, if it ran to an end."""
    code = _state(pod).get("terminated", {}).get("exitCode") if pod is not None else None
    return code if isinstance(code, int) else None


def why_failed(job: Json, pod: Json | None, last_line: str) -> str:
    """A sentence about the container's end first: the Job's own reason is mostly that its retry limit was reached."""
    terminated = _state(pod).get("terminated") if pod is not None else None
    if terminated:
        reason = terminated.get("reason") or "Error"
        said = terminated.get("message") or last_line
        name = "" if reason == "Error" else f" ({reason})"
        return f"exit code {terminated.get('exitCode')}{name}" + (f": {one_line(said)}" if said else "")
    status = pod.get("status", {}) if pod is not None else {}
    if status.get("reason"):
        return _reason_of(status)
    failed = [each for each in job.get("status", {}).get("conditions") or [] if each.get("type") == "Failed"]
    return _reason_of(failed[0]) if failed else "the Job failed without a reason"


def _container(params: KubernetesParams, context: TaskContext) -> Json:
    own = {name: value.replace("$", "$$") for name, value in context.environment.items() if name.startswith("SHOAL_")}
    own.pop("SHOAL_PROGRESS", None)  # a pod does not see the worker's files
    given = {name: _expanded_never(_text(value)) for name, value in params.env.items()}
    container: Json = {
        "name": CONTAINER,
        "image": plain(params.image),
        "env": [*_variables({**given, **own}), *_secrets(params.env_from_secrets)],
    }
    argv = [*params.command, *params.args]
    codes = {place + 1 for place, text in enumerate(argv) if _CODE_FOLLOWS.fullmatch(plain(text))}
    _check_runs(argv, codes, context.types)
    done = [_expanded_never(only_plain(text, _CODE) if at in codes else text) for at, text in enumerate(argv)]
    if params.command:
        container["command"] = arguments(done[: len(params.command)], "command")
    if params.args:
        container["args"] = arguments(done[len(params.command) :], "args")
    resources = {"limits": params.limits, "requests": params.requests}
    wanted = {
        kind: {name: plain(str(each)) for name, each in given.items()} for kind, given in resources.items() if given
    }
    if wanted:
        container["resources"] = wanted
    if params.image_pull_policy is not None:
        container["imagePullPolicy"] = params.image_pull_policy
    return container


def _check_runs(argv: list[str], codes: set[int], types: Mapping[str, ParameterType]) -> None:
    """Raises `Refused` for a value that the author's command, such as env, could run."""
    texts = [put_in(text, lambda _name, _value: "\0") for text in argv]
    need, why = need_of_arguments(texts) if texts and "\0" not in texts[0] else (Need.TEXT, "")
    for piece in (piece for at, text in enumerate(argv) if at not in codes for piece in pieces(text)):
        if need > Need.PLAIN and piece.name and not check_declared(types.get(piece.name), piece.name, piece.text):
            check_foreign(need, piece.name, piece.text, "command", why)


def _expanded_never(text: str) -> str:
    """Double each `$` of a value: Kubernetes would replace `$(NAME)` by a variable, even a secret one."""
    return "".join(
        each.text if each.name is None else mark(each.name, each.text.replace("$", "$$")) for each in pieces(text)
    )


def _variables(env: Mapping[str, str]) -> Iterator[Json]:
    return ({"name": name, "value": plain(value)} for name, value in env.items())


def _secrets(given: Mapping[str, str]) -> Iterator[Json]:
    for name, place in given.items():
        secret, _, key = plain(place).partition("/")
        yield {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _state(pod: Json | None) -> Json:
    statuses: list[Json] = (pod or {}).get("status", {}).get("containerStatuses") or []
    state: Json = next((each.get("state") or {} for each in statuses if each.get("name") == CONTAINER), {})
    return state


def _reason_of(given: Mapping[str, Any]) -> str:
    message = one_line(given.get("message") or "")
    return f"{given.get('reason') or 'Unknown'}" + (f": {message}" if message else "")


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _label(text: str) -> str:
    return _LABEL_UNFIT.sub("_", text)[:63].strip("_.-")
