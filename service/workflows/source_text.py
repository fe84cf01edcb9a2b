"""The text of a version as it was written, with its comments and its order: stored beside the version, no part of it.

What runs is the definition. A text is shown only if it is read as that definition again, but for what it left to the
defaults of its project; otherwise the YAML is made from the definition. What a file says besides (state, schedules,
layout) may have changed since, and is then replaced in its own section.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import lru_cache

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from dao.definitions import versions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.definitions.layout import Layout
from model.definitions.project_defaults import as_inherited
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.files.task_files import as_saved
from model.parameters.secret_values import MASK, SECRET_CHARACTERS_MIN, sealed_value, without_sealed
from service.schedules.file_schedules import are_equal
from service.workflows.workflow_file import WorkflowDocument, parse_workflows
from service.workflows.workflow_text import WorkflowContent, section_of
from service.workflows.yaml_sections import child, entries, items, root_of, with_scalars, with_section

BYTES_MAX = 1_048_576
"""Of a longer text no version keeps comments and order."""
READ_MAX = 4
"""Of so many texts, the ones asked for last, a process remembers what they say."""
_SECTIONS = (
    ("name", "tasks"),
    ("project", "tasks"),
    ("release_state", "tasks"),
    ("schedules", "tasks"),
    ("layout", None),
)
"""What may differ from the text, and before which section it stands where it is new."""
_PLAIN_SEALED = re.compile(r"(?<![\"'\w])sealed:v2:[A-Za-z0-9_.:=-]+")


def to_store(document: WorkflowDocument, spec: WorkflowSpec) -> str | None:
    """The text to store with a version, its secrets as `spec` has them: sealed.

    None if there is no text, it is too long, or a secret value stands in it where it cannot be replaced: in a comment,
    in an alias. What a comment says that is not such a value is stored as it is.
    """
    text = document.source
    if text is None or len(text.encode()) > BYTES_MAX:
        return None
    if not (secrets := spec.secret_names()):
        return text
    places: dict[int, tuple[ScalarNode, str]] = {}
    needles = set(_clear_values(document))
    root = root_of(text)
    for node, value in _secret_scalars(root, spec, secrets):
        if not node.value or (node.value == value and node.style is not None):
            continue
        start, end = node.start_mark.index, node.end_mark.index
        places[start] = node, value
        if node.value != MASK and sealed_value(node.value) is None:
            needles |= {node.value, text[start:end].strip().strip("\"'")}
    stored = with_scalars(text, places)
    return None if any(each in stored for each in needles if len(each) >= SECRET_CHARACTERS_MIN) else stored


async def written(
    connection: AsyncConnection, head: Definition, version: int, content: WorkflowContent, *, is_masked: bool
) -> str | None:
    """The text of a version that says `content`; None if nobody wrote one, or it does not say that.

    `is_masked`: with asterisks instead of sealed values, as in `content`.
    """
    source = await versions.read_source(connection, head.code, version)
    if source is None:
        return None
    return await asyncio.to_thread(lambda: saying(_masked(source) if is_masked else source, content))


def saying(source: str, content: WorkflowContent) -> str | None:
    """A text changed where it must be to say `content`; None if its definition is another one, or it resists."""
    document = _read(source)
    if document is None or not _defines(document, content):
        return None
    wrong = _wrong(document, content)
    if not wrong:
        return source
    text: str | None = source
    for name, before in _SECTIONS:
        if name in wrong and text is not None:
            text = with_section(text, name, section_of(content, name), before)
    changed = None if text is None else _read(text)
    return text if changed is not None and _defines(changed, content) and not _wrong(changed, content) else None


def _wrong(document: WorkflowDocument, content: WorkflowContent) -> set[str]:
    """The sections in which a text does not say the content."""
    zone = content.spec.time_zone
    listed = [(entry.spec(zone), entry.online) for entry in document.schedules]
    found = {
        "name": document.name != content.name,
        "project": document.project != content.project,
        "release_state": document.release_state is not content.release_state,
        "schedules": not are_equal(listed, content.schedules),
        "layout": (document.layout or Layout()) != (content.layout or Layout()),
    }
    return {name for name, is_wrong in found.items() if is_wrong}


def _defines(document: WorkflowDocument, content: WorkflowContent) -> bool:
    codes = {task.name: task.code for task in content.spec.tasks if task.code is not None}
    said, saved = as_saved(document.spec.coded(codes), content.spec), content.spec.coded()
    return said == saved or as_inherited(said, saved) == saved


@lru_cache(READ_MAX)
def _read(text: str) -> WorkflowDocument | None:
    """Who opens a workflow often has it read again, which takes half a second for 1,500 tasks."""
    try:
        (document,) = parse_workflows(text.encode(), "", None)
    except (Refused, ValueError):
        return None
    return document


def _masked(text: str) -> str:
    """Asterisks instead of sealed values, in quotes where they would begin an alias."""
    return without_sealed(_PLAIN_SEALED.sub(f'"{MASK}"', text))


def _clear_values(document: WorkflowDocument) -> Iterator[str]:
    """The secret values that a text has in clear."""
    spec = document.spec
    values = [spec.params.get(name, "") for name in spec.secrets]
    values += [param.value for task in spec.tasks for param in task.local_params if param.name in spec.secret_names()]
    values += [
        value for entry in document.schedules for name, value in entry.params.items() if name in spec.secret_names()
    ]
    return (value for value in values if value and value != MASK and sealed_value(value) is None)


def _secret_scalars(root: Node | None, spec: WorkflowSpec, secrets: frozenset[str]) -> Iterator[tuple[ScalarNode, str]]:
    """The scalars of a text that are secret values, and what is stored instead of each."""
    for name, node in entries(child(root, "params")):
        if name in spec.secrets and (scalar := _scalar(node)) is not None:
            yield scalar, spec.params.get(name, "")
    for task, node in zip(spec.tasks, items(child(root, "tasks")), strict=False):
        sealed = {param.name: param.value for param in task.local_params if sealed_value(param.value) is not None}
        given = child(node, "local_params")
        named = entries(given) + [(_text(child(each, "name")), each) for each in items(given)]
        for name, param in named:
            if name in sealed and (scalar := _scalar(param)) is not None:
                yield scalar, sealed[name]
    for schedule in items(child(root, "schedules")):
        for name, node in entries(child(schedule, "params")):
            if name in secrets and isinstance(node, ScalarNode):
                yield node, MASK


def _scalar(node: Node) -> ScalarNode | None:
    """The value of a parameter, which is written alone or as `value` beside its type."""
    value = child(node, "value") if isinstance(node, MappingNode) else node
    return value if isinstance(value, ScalarNode) else None


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) else ""
