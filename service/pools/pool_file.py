"""Resource pools in YAML files: documents of `kind: pool`, read as `model.pools.spec.PoolSpec`, and written again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.definitions.problems import Problem
from model.pools.check import PoolCheck
from model.pools.spec import InvalidPool, PoolSpec, fault_of_pool_name, faults_of_variables
from model.pools.variables import resource_variable
from service.pools.resource_lines import resource_lines
from service.workflows.workflow_file import POOL, BadWorkflowFile, FileFault, plain
from service.workflows.workflow_text import to_yaml
from service.workflows.yaml_lines import Document, Number

BESIDE = ("kind", "name")
"""The keys that stand beside a pool's specification."""


@dataclass(frozen=True)
class PoolDocument:
    """One pool of a file."""

    name: str
    spec: PoolSpec
    file: str = ""
    line: int = 1


def is_pool(document: Document) -> bool:
    """Whether a document says that it is a pool."""
    return isinstance(document.content, dict) and document.content.get("kind") == POOL


def pools_of(documents: Sequence[Document], file: str) -> list[PoolDocument]:
    """The pools that documents of a file are. Raises `BadWorkflowFile`, which lists all problems."""
    found: list[PoolDocument] = []
    faults: list[FileFault] = []
    for document in documents:
        try:
            found.append(_pool(document, file))
        except InvalidPool as error:
            lines = sorted((document.line_of(problem.where), problem.sentence) for problem in error.problems)
            faults += [FileFault(file, sentence, line) for line, sentence in lines]
    if faults:
        raise BadWorkflowFile(faults)
    return found


def _pool(document: Document, file: str) -> PoolDocument:
    content = plain(document.content)
    if isinstance(names := document.content.get("resources"), list):
        content["resources"] = [each.written if isinstance(each, Number) else plain(each) for each in names]
    content.pop("kind")
    problems = list(_name_problems(content))
    name = content.pop("name", None)
    try:
        spec = PoolSpec.parse(content, BESIDE)
    except InvalidPool as error:
        problems += error.problems
    if problems:
        raise InvalidPool(problems)
    return PoolDocument(name, spec, file, document.line_of(()))


def _name_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    if "name" not in content:
        yield Problem(where=(), sentence='the field "name" is missing')
    elif (fault := fault_of_pool_name(content["name"])) is not None:
        yield Problem(where=("name",), sentence=fault)


def beside_each_other(pools: Sequence[PoolDocument]) -> Iterator[FileFault]:
    """What is wrong with pools beside the others of the same files: one name, or one variable."""
    first: dict[str, PoolDocument] = {}
    for each in pools:
        other = first.setdefault(resource_variable(each.name), each)
        if other is each:
            continue
        if other.name == each.name:
            where = "there twice" if other.file == each.file else f"in {other.file} too"
            yield FileFault(each.file, f'the pool "{each.name}" stands {where}; remove one of them', each.line)
        for sentence in faults_of_variables(each.name, {resource_variable(other.name): other.name}):
            yield FileFault(each.file, sentence, each.line)


def yaml_of_pool(name: str, spec: PoolSpec) -> str:
    """The file of a pool, which `pool apply` reads as the same pool."""
    head: dict[str, Any] = {"kind": POOL, "name": name}
    if spec.description:
        head["description"] = spec.description
    if spec.resources is None:
        head["count"] = spec.count
    check = to_yaml({"check": _check(spec.check)}) if spec.check is not None else ""
    resources = f"resources:\n{resource_lines(spec.resources)}" if spec.resources is not None else ""
    return f"{to_yaml(head)}{resources}{check}"


def _check(check: PoolCheck) -> dict[str, Any]:
    how = {"script": check.script} if check.script is not None else {"url": check.url}
    return {**how, "timeout": span(check.timeout), "every": span(check.every)}


def span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds * 1_000:.0f}ms"
