"""Tasks that run in containers: pods of Kubernetes, and `docker run` on the worker."""

from __future__ import annotations

from shlex import quote, split
from typing import Any

from importers.airflow.flow import Args, in_quotes, shown

_ENTRY = {"name", "value"}


def pod(args: Args) -> None:
    """A pod of Kubernetes."""
    params: dict[str, Any] = {"image": args.text("image"), "namespace": args.text("namespace", "default")}
    for name, own in (("command", "cmds"), ("args", "arguments")):
        if listed := args.texts(own):
            params[name] = listed
    for name, own in (("env", "env_vars"), ("labels", "labels"), ("node_selector", "node_selector")):
        value = args.raw(own)
        if isinstance(value, list) and all(isinstance(each, dict) and each.keys() == _ENTRY for each in value):
            args.given[own] = value = {str(each["name"]): each["value"] for each in value}
        if isinstance(value, dict):
            params[name] = args.mapping(own)
        elif value:
            args.draft.about.todo(own, f"line {args.operator.line}: write {own} as a mapping: {shown(value)}")
    for name, own in (("service_account", "service_account_name"), ("image_pull_policy", "image_pull_policy")):
        if args.has(own):
            params[name] = args.text(own)
    if (limit := args.number("startup_timeout_seconds")) is not None:
        params["start_timeout_s"] = limit
    if isinstance(resources := args.raw("container_resources"), dict):
        amounts = {name: dict(value) for name, value in resources.items() if isinstance(value, dict)}
        params |= {name: {key: str(each) for key, each in value.items()} for name, value in amounts.items()}
        args.given.pop("container_resources")
    for own in ("volumes", "volume_mounts", "tolerations", "secrets", "container_resources", "resources", "affinity",
                "image_pull_secrets", "env_from", "configmaps", "init_containers", "full_pod_spec", "pod_template_file",
                "security_context"):  # fmt: skip
        if args.has(own):
            args.draft.about.todo(own, f"line {args.operator.line}: write {own}: {shown(args.raw(own))}")
    if args.has("config_file"):
        params["kubeconfig"] = args.text("config_file")
    if args.operator.kind != "KubernetesPodOperator":
        cluster = {
            name: args.text(name) for name in ("project_id", "location", "cluster_name", "region") if args.has(name)
        }
        args.draft.about.changed(
            "cluster", f"it runs in the cluster of the worker, or of a kubeconfig; it was {cluster}"
        )
    args.draft.type, args.draft.params = "K8S", params
    args.irrelevant("name", "task_id", "get_logs", "in_cluster", "is_delete_operator_pod", "on_finish_action",
                    "deferrable",
                    "log_events_on_failure", "reattach_on_restart", "do_xcom_push", "kubernetes_conn_id",
                    "random_name_suffix",
                    "gcp_conn_id", "aws_conn_id", "hostnetwork", "poll_interval", "use_internal_ip",
                    "pod_name")  # fmt: skip


def docker(args: Args) -> None:
    """A container of the worker."""
    words = ["docker", "run", "--rm"]
    words += [word for name, value in args.mapping("environment").items() for word in ("-e", f"{name}={value}")]
    if args.has("network_mode"):
        words += ["--network", args.text("network_mode")]
    command = args.known("command", [])
    inner = split(args.written("command", command)) if isinstance(command, str) else args.texts("command")
    script = " ".join([*(quote(each) for each in words), quote(args.text("image")), *(_quoted(each) for each in inner)])
    args.draft.about.changed("image", "it runs by `docker run` on the worker, which needs docker")
    args.draft.params = {"script": f"{script}\n"}
    args.irrelevant("docker_url", "auto_remove", "tty", "api_version", "xcom_all", "mount_tmp_dir")


def _quoted(text: str) -> str:
    return f'"{in_quotes(text)}"' if "${" in text or "$[" in text else quote(text)
