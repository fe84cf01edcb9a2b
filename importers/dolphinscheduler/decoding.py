"""The bytes of an input as plain data: JSON with the JSON in its texts, or YAML.

DolphinScheduler stores lists and mappings as texts in columns, and exports some of them so. `${name}` without quotes is
a gap that a template has not filled.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from model.errors import Refused
from service.words import counted
from service.workflows.workflow_file import plain
from service.workflows.yaml_lines import BadYaml, read_documents

BYTES_MAX = 64 * 1_048_576
DEPTH_MAX = 50
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
_PACKED = (b"\x1f\x8b", b"PK\x03\x04")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""As PowerShell writes what a command prints."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_GAP = re.compile(r"([:\[,]\s*)(\$\{\w+\})(?=\s*[,}\]])")


@dataclass
class Input:
    """What a file contains: `tree` is plain data, `is_yaml` how it was written; `notes` what reading it changed."""

    tree: Any
    is_yaml: bool = False
    notes: list[str] = field(default_factory=list)


def read_input(data: bytes) -> Input:
    """The content of a file. Raises `Refused` with the reason if it is neither JSON nor YAML."""
    if len(data) > BYTES_MAX:
        raise Refused(f"it has {len(data):,} bytes, {BYTES_MAX:,} is the most; export fewer workflows at once")
    text = _text(data)
    if text.lstrip()[:1] in ("{", "["):
        return _json(text)
    try:
        documents = read_documents(text.encode())
    except BadYaml as error:
        raise Refused(f"line {error.line}: {error}") from None
    if len(documents) != 1:
        raise Refused("it is neither JSON nor one document of YAML")
    return Input(_decoded(plain(documents[0].content), dict), is_yaml=True)


def _text(data: bytes) -> str:
    if data.startswith(_PACKED):
        raise Refused("it is compressed; unpack it first")
    try:
        return data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8") from None


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
        raise _too_deep() from None
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
    _check_depth(tree)
    decoded = _decoded(tree, once)
    found.tree = _storable(decoded)
    if found.tree != decoded:
        found.notes.append("it has a NUL or half a character, which no process takes; U+FFFD stands there now")
    return found


def _storable(value: Any) -> Any:
    """The same without what no database and no process takes."""
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_storable(each) for each in value]
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else value


def _too_deep() -> Refused:
    return Refused(f"it is nested more than {DEPTH_MAX} levels deep")


def _check_depth(tree: Any) -> None:
    pending = [(tree, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > DEPTH_MAX:
            raise _too_deep()
        if isinstance(value, dict | list):
            pending += ((each, depth + 1) for each in (value.values() if isinstance(value, dict) else value))


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
    _check_depth(found)
    return found
