"""The bytes of an input as plain data: JSON with the JSON in its texts, or YAML.

DolphinScheduler stores lists and mappings as texts in columns, and exports some of them so. `${name}` without quotes is
a gap that a template has not filled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from importers.input_text import check_depth, storable, text_of, too_deep
from model.errors import Refused
from service.words import counted
from service.workflows.workflow_file import plain
from service.workflows.yaml_lines import BadYaml, read_documents

_NESTED = frozenset(
    (
        *("globalParams", "globalParamMap", "locations", "connects", "taskParams", "localParams", "resourceList"),
        *("processDefinitionJson", "processDefinitionLocations", "processDefinitionConnects", "preTasks", "depList"),
        *("taskDefinitionJson", "taskRelationJson", "dependence", "switchResult", "conditionResult", "conditionParams"),
        *("processDefinition", "workflowDefinition", "schedule", "taskDefinitionList", "otherParamsJson"),
        *("processTaskRelationList", "workflowTaskRelationList", "dependTaskList", "dependItemList", "httpParams"),
        *("httpRequestParams", "listParameters", "customizedLabels", "nodeSelectors", "params", "timeout"),
        *("taskTimeoutParameter", "waitStartTimeout", "namespace", "connectionParams", "mainJar"),
    )
)
"""Fields whose text may be JSON. In others, such as the job of a DATAX task, JSON is a text."""
_GAP = re.compile(r"([:\[,]\s*)(\$\{\w+\})(?=\s*[,}\]])")


@dataclass
class Input:
    """What a file contains: `tree` is plain data, `is_yaml` how it was written; `notes` what reading it changed."""

    tree: Any
    is_yaml: bool = False
    notes: list[str] = field(default_factory=list)


def read_input(data: bytes) -> Input:
    """The content of a file. Raises `Refused` with the reason if it is neither JSON nor YAML."""
    text = text_of(data)
    if text.lstrip()[:1] in ("{", "["):
        return _json(text)
    try:
        documents = read_documents(text.encode())
    except BadYaml as error:
        raise Refused(f"line {error.line}: {error}") from None
    if len(documents) != 1:
        raise Refused("it is neither JSON nor one document of YAML")
    return Input(_decoded(plain(documents[0].content), dict), is_yaml=True)


def _json(text: str) -> Input:
    found = Input(None)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            twice = sorted({name for name in names if names.count(name) > 1})
            found.notes.append(f"{', '.join(twice)}: a mapping has the field twice; the last one counts")
        return content

    try:
        tree = json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError as error:
        filled, gaps = _GAP.subn(r'\1"\2"', text)
        try:
            tree = json.loads(filled, object_pairs_hook=once)
        except (ValueError, RecursionError):
            where = f"line {error.lineno}, column {error.colno}"
            raise Refused(f"it is not valid JSON at {where}: {error.msg}") from None
        found.notes.append(f"it is a template: {counted(gaps, 'gap')} such as ${{projectCode}} stay as they are")
    except ValueError:
        raise Refused("it has a number of thousands of digits") from None
    check_depth(tree)
    decoded = _decoded(tree, once)
    found.tree = storable(decoded)
    if found.tree != decoded:
        found.notes.append("it has a NUL or half a character, which no process takes; U+FFFD stands there now")
    return found


def _decoded(value: Any, once: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    if isinstance(value, dict):
        return {name: _decoded(_nested(each, once) if name in _NESTED else each, once) for name, each in value.items()}
    return [_decoded(each, once) for each in value] if isinstance(value, list) else value


def _nested(value: Any, once: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        found = json.loads(value, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return value
    check_depth(found)
    return found
