"""Tasks that run in containers: pods of Kubernetes, and `docker run` on the worker."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from shlex import quote, split
from typing import Any

from importers.airflow.flow import Args, in_quotes, shown

_OF_DOCKER = {"network_mode": "--network", "working_dir": "--workdir", "user": "--user",
              "mem_limit": "--memory", "cpus": "--cpus", "shm_size": "--shm-size",
              "container_name": "--name", "hostname": "--hostname"}  # fmt: skip
"""Arguments of a DockerOperator -> options of `docker run`."""
_ENTRY = {"name", "value"}
_OF_MOUNTS = {"name", "mount_path", "sub_path", "read_only"}
_OF_SECRETS = ("Secret", "V1SecretVolumeSource")


def pod(args: Args) -> None:
    params: dict[str, Any] = {"image": args.text("image"), "namespace": args.text("namespace", "default")}
    for name, own in (("command", "cmds"), ("args", "arguments")):
        if listed := args.texts(own):
            params[name] = listed
    for name, own in (("env", "env_vars"), ("labels", "labels"), ("node_selector", "node_selector")):
        value = args.raw(own)
        if isinstance(value, list):
            value = _without_keys_of_secrets(value, params)
        if isinstance(value, list) and all(isinstance(each, dict) and each.keys() == _ENTRY for each in value):
            args.given[own] = value = {str(each["name"]): each["value"] for each in value}
        if isinstance(value, dict) and value:
            params[name] = args.mapping(own)
        elif value:
            args.todo(own, f"write {own} as a mapping: {shown(value)}")
    params |= args.given_texts(
        service_account="service_account_name", image_pull_policy="image_pull_policy", kubeconfig="config_file"
    )
    if (limit := args.number("startup_timeout_seconds")) is not None:
        params["start_timeout_s"] = limit
    if isinstance(resources := args.raw("container_resources"), dict):
        amounts = {name: dict(value) for name, value in resources.items() if isinstance(value, dict)}
        params |= {name: {key: str(each) for key, each in value.items()} for name, value in amounts.items()}
        args.given.pop("container_resources")
    for read in (_volumes, _tolerations, _pull_secrets, _secrets):
        read(args, params)
    for own in ("volumes", "volume_mounts", "tolerations", "secrets", "container_resources", "resources", "affinity",
                "image_pull_secrets", "env_from", "configmaps", "init_containers", "full_pod_spec", "pod_template_file",
                "security_context"):  # fmt: skip
        if args.has(own):
            args.todo(own, f"write {own}: {shown(args.raw(own))}")
    if args.operator.kind != "KubernetesPodOperator":
        named = ("project_id", "location", "cluster_name", "region")
        cluster = args.given_texts(**dict(zip(named, named, strict=True)))
        args.changed("cluster", f"it runs in the cluster of the worker, or of a kubeconfig; it was {cluster}")
    args.draft.type, args.draft.params = "K8S", params
    args.irrelevant("name", "task_id", "get_logs", "in_cluster", "is_delete_operator_pod", "on_finish_action",
                    "deferrable",
                    "log_events_on_failure", "reattach_on_restart", "do_xcom_push", "kubernetes_conn_id",
                    "random_name_suffix",
                    "gcp_conn_id", "aws_conn_id", "hostnetwork", "poll_interval", "use_internal_ip",
                    "pod_name")  # fmt: skip


def names_of_secrets(tree: ast.AST) -> Iterator[str]:
    """The names of secrets of Kubernetes in a file, which are no passwords."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and ast.unparse(each.func).rpartition(".")[2] in _OF_SECRETS:
            given = (one.value for one in each.keywords if one.arg in ("secret", "secret_name"))
            yield from (str(one.value) for one in given if isinstance(one, ast.Constant))


def _volumes(args: Args, params: dict[str, Any]) -> None:
    """Volumes and where they are mounted, unless there is one that has no counterpart."""
    found: dict[str, Any] = {}
    sources = {str(each["name"]): _source(each) for each in _mappings(args, "volumes") if "name" in each}
    for mount in _mappings(args, "volume_mounts"):
        source = sources.get(str(mount.get("name")))
        path, part, is_fixed = mount.get("mount_path"), mount.get("sub_path"), mount.get("read_only") is True
        if source is None or not isinstance(path, str) or mount.keys() - _OF_MOUNTS:
            return
        made = {**source, **({"sub_path": part} if part else {}), **({"read_only": True} if is_fixed else {})}
        found[path] = {name: args.written("volumes", each) if isinstance(each, str) else each
                       for name, each in made.items()}  # fmt: skip
    if found:
        params["volumes"] = found
        args.given["volumes"] = args.given["volume_mounts"] = None


def _source(volume: dict[str, Any]) -> dict[str, Any] | None:
    match {name: each for name, each in volume.items() if name != "name"}:
        case {"persistent_volume_claim": {"claim_name": str(name)}, **others} if not others:
            return {"claim": name}
        case {"config_map": {"name": str(name), **items}, **others} if not others and not items:
            return {"config_map": name}
        case {"secret": {"secret_name": str(name), **items}, **others} if not others and not items:
            return {"secret": name}
        case {"empty_dir": {"size_limit": str(size), **items}, **others} if not others and not items:
            return {"empty": size}
    return None


def _tolerations(args: Args, params: dict[str, Any]) -> None:
    given = _mappings(args, "tolerations")
    known = {"key", "operator", "value", "effect"}
    if given and all(each.keys() <= known and all(isinstance(one, str) for one in each.values()) for each in given):
        params["tolerations"] = [{"operator": "Equal", **each} for each in given]
        args.given["tolerations"] = None


def _pull_secrets(args: Args, params: dict[str, Any]) -> None:
    given = args.raw("image_pull_secrets")
    names = [each.get("name") for each in _mappings(args, "image_pull_secrets")]
    names = [each.strip() for each in given.split(",")] if isinstance(given, str) else names
    if names and all(isinstance(each, str) for each in names):
        params["image_pull_secrets"] = names
        args.given["image_pull_secrets"] = None


def _secrets(args: Args, params: dict[str, Any]) -> None:
    """Keys of secrets as variables, and secrets as files."""
    given = _mappings(args, "secrets")
    for each in given:
        match each:
            case {"deploy_type": "env", "deploy_target": str(name), "secret": str(secret), "key": str(key)}:
                params.setdefault("env_from_secrets", {})[name] = f"{secret}/{key}"
            case {"deploy_type": "volume", "deploy_target": str(path), "secret": str(secret)} if not each.get("key"):
                params.setdefault("volumes", {})[path] = {"secret": secret, "read_only": True}
            case _:
                continue
        given = [other for other in given if other is not each]
    args.given["secrets"] = given or None


def _without_keys_of_secrets(listed: list[Any], params: dict[str, Any]) -> list[Any]:
    """The variables of a list that are no keys of secrets; those have a field of their own."""
    others = []
    for each in listed:
        match each:
            case {"name": str(name), "value_from": {"secret_key_ref": {"name": str(secret), "key": str(key)}}}:
                params.setdefault("env_from_secrets", {})[name] = f"{secret}/{key}"
            case _:
                others.append(each)
    return others


def _mappings(args: Args, name: str) -> list[dict[str, Any]]:
    """The mappings that a list has; none if it has others too."""
    given = args.raw(name, [])
    found = [each for each in given if isinstance(each, dict)] if isinstance(given, list | tuple) else []
    return found if isinstance(given, list | tuple) and len(found) == len(given) else []


def docker(args: Args) -> None:
    host = args.text("docker_url")
    words = ["docker", *(["--host", host] if host and not host.startswith("unix:") else []), "run", "--rm"]
    given = args.mapping("environment") | args.mapping("private_environment")
    words += [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    words += [word for name, option in _OF_DOCKER.items() if args.has(name) for word in (option, args.text(name))]
    words += [word for volume in args.texts("volumes") for word in ("-v", volume)]
    words += [word for mount in _mounts(args) for word in ("--mount", mount)]
    words += ["--privileged"] if args.flag("privileged") else []
    entry, inner = _words(args, "entrypoint"), _words(args, "command")
    if entry:
        words += ["--entrypoint", entry[0]]
        inner = [*entry[1:], *inner]
    args.skips()
    script = " ".join(_quoted(each) for each in (*words, args.text("image"), *inner))
    args.changed("image", "it runs by `docker run` on the worker, which needs docker")
    args.draft.params = {"script": f"{script}\n"}
    args.irrelevant("auto_remove", "tty", "api_version", "xcom_all", "mount_tmp_dir", "force_pull", "timeout")


def _words(args: Args, name: str) -> list[str]:
    value = args.known(name, [])
    return split(args.written(name, value)) if isinstance(value, str) else args.texts(name)


def _mounts(args: Args) -> list[str]:
    """The mounts of a container, as `docker run` takes each."""
    mounts = _mappings(args, "mounts")
    if any(each.keys() - {"type", "source", "target", "read_only"} for each in mounts) or not mounts:
        if args.has("mounts"):
            args.todo("mounts", f"write --mount for {shown(args.raw('mounts'))}")
        return []
    fixed = [",readonly" if each.get("read_only") is True else "" for each in mounts]
    parts = [[f"{name}={args.written('mounts', each[name])}" for name in ("type", "source", "target") if each.get(name)]
             for each in mounts]  # fmt: skip
    return [",".join(each) + end for each, end in zip(parts, fixed, strict=True)]


def _quoted(text: str) -> str:
    return f'"{in_quotes(text)}"' if "${" in text or "$[" in text else quote(text)
