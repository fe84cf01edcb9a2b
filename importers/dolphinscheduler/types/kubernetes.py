"""K8S: a container; its cluster, which is a data source there, is a kubeconfig on the workers here."""

from __future__ import annotations

import json
import re
from shlex import split
from typing import Any

from importers.dolphinscheduler.choices import number
from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.draft import Draft
from importers.ledger import Fields
from importers.passwords import is_name, is_value

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_POLICIES = ("Always", "IfNotPresent", "Never")


def kubernetes(step: Step, draft: Draft, context: Context) -> None:
    params = step.params
    draft.type = "K8S"
    made: dict[str, Any] = {"image": params.text("image")}
    for name in ("command", "args"):
        if words := _words(params, name, draft):
            made[name] = words
    if not made["image"]:
        draft.about.todo("image", "it names no image; write one")
    namespace = params.get("namespace")
    cluster = ""
    if isinstance(namespace, dict):
        cluster, namespace = str(namespace.get("cluster") or ""), namespace.get("name")
    if namespace and namespace != "default":
        made["namespace"] = str(namespace)
    cluster = params.text("datasource") or cluster
    params.irrelevant("type", "kubeConfig")
    if cluster and (path := context.ask("kubeconfigs", cluster, draft, "a cluster of Kubernetes")):
        made["kubeconfig"] = path
    if (policy := params.text("imagePullPolicy")) in _POLICIES:
        made["image_pull_policy"] = policy
    elif policy:
        draft.about.changed("imagePullPolicy", f"{policy} is no policy; the cluster decides")
    if env := _variables(params, context):
        made["env"] = env
    _resources(params, made, draft)
    _labels(params, made, draft)
    if params.has("pullSecret"):
        draft.about.todo("pullSecret", f"add the pull secret {params.text('pullSecret')} to a service_account")
    params.get("pullSecret")
    draft.params = made


def _variables(params: Fields, context: Context) -> dict[str, str]:
    """Its parameters and those of the workflow, which DolphinScheduler gives to the container as variables."""
    found = {}
    for entry in (*context.flow.fields.seen("globalParams"), *params.seen("localParams")):
        name, value = str(entry.get("prop") or "").strip(), str(entry.get("value") or "")
        if re.fullmatch(_VARIABLE, name):
            is_secret = is_name(name) and is_value(value)
            found[name] = context.hidden.reference(value, name) if is_secret else f"${{{name}}}"
    return found


def _words(params: Fields, name: str, draft: Draft) -> list[str]:
    given = params.get(name)
    if isinstance(given, list):
        return [str(each) for each in given]
    text = str(given or "").strip()
    if text.startswith("["):
        try:
            return [str(each) for each in json.loads(text)]
        except (ValueError, TypeError):
            pass
    try:
        return split(text)
    except ValueError as error:
        draft.about.todo(name, f"{text!r} cannot be divided into words ({error}); write a list")
        return [text]


def _resources(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    """What it asks for; DolphinScheduler lets it have twice as much."""
    for name, ours, unit in (("minCpuCores", "cpu", ""), ("minMemorySpace", "memory", "Mi")):
        if least := number(params, name, draft.about):
            made.setdefault("requests", {})[ours] = f"{least:g}{unit}"
            made.setdefault("limits", {})[ours] = f"{2 * least:g}{unit}"


def _labels(params: Fields, made: dict[str, Any], draft: Draft) -> None:
    labels = {each.text("label"): each.text("value") for each in params.children("customizedLabels")}
    if labels := {name: value for name, value in labels.items() if name}:
        made["labels"] = labels
    for each in params.children("nodeSelectors"):
        key, operator, values = each.text("key"), each.text("operator"), each.text("values")
        if operator.upper() == "IN" and re.fullmatch(r"[\w.-]+", values):
            made.setdefault("node_selector", {})[key] = values
        else:
            draft.about.todo(
                "nodeSelectors", f"{key} {operator} {values}: only a label with one value is selected here"
            )
