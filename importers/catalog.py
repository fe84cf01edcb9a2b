"""Names behind the ids of an export: `catalog.yaml`, which people fill in, and which the next import reads.

    datasources:
      "7": "shop"          # MYSQL; task "load" of "daily"

An export has ids of data sources, environments or projects and not their names. One that was learnt from the inputs
themselves is not asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from model.errors import Refused
from model.near import cure_of
from service.words import plain
from service.workflows.yaml_lines import BadYaml, Number, read_documents

KINDS: Mapping[str, str] = {
    "projects": "code or id -> the name of the project in Shoal",
    "workflows": "code or id of a workflow that is in none of the files -> its name, or project/name",
    "tasks": "code of a task that is in none of the files -> its name",
    "datasources": "id -> the name under which `shoal datasource set` saves it",
    "environments": "code -> the name under which `shoal environment set` saves it",
    "worker_groups": "id -> the name of the group of workers",
    "tenants": "id -> the user of the operating system",
    "alert_groups": "id -> the name under which `shoal alert group set` saves it",
    "task_groups": "id -> the name of the pool",
    "task_group_sizes": "id -> how many places the pool has",
    "resources": "id or name of a file -> its path on the workers",
    "kubeconfigs": "id of a cluster -> the path of its kubeconfig on the workers",
    "passwords": "workflow/parameter -> where its value comes from: schedule, start or project, once it is given there",
}
_HEAD = """\
# Names behind the ids of an import. Fill in what is empty, and import again with --names and this file.
"""


class Names:
    """What is known of ids, and which names are missing.

    Args:
        given: kind -> id -> name, of a catalog that people filled in.
    """

    def __init__(self, given: Mapping[str, Mapping[str, str]]) -> None:
        self._given = {kind: dict(names) for kind, names in given.items()}
        self._asked: dict[str, dict[str, str]] = {}

    def find(self, kind: str, id_: object, about: str) -> str | None:
        """The name behind an id; None if nobody has given it yet. `about`: who asks, for people."""
        self._asked.setdefault(kind, {}).setdefault(str(id_), plain(about))
        return self._given.get(kind, {}).get(str(id_)) or None

    def known(self, kind: str, id_: str) -> str | None:
        """The name behind an id, which nobody is asked for."""
        return self._given.get(kind, {}).get(id_)

    def missing(self) -> int:
        """How many names were asked for and are not there."""
        return sum(not self._given.get(kind, {}).get(id_) for kind, ids in self._asked.items() for id_ in ids)

    def yaml(self) -> str:
        """The catalog: what was given, and what was asked for; empty if that is nothing."""
        parts = []
        for kind, meaning in KINDS.items():
            known, asked = self._given.get(kind, {}), self._asked.get(kind, {})
            if not known and not asked:
                continue
            parts.append(f"{kind}:  # {meaning}\n")
            for id_ in sorted({*known, *asked}, key=lambda each: (len(each), each)):
                about = f"  # {asked[id_]}" if id_ in asked else ""
                parts.append(f"  {_quoted(id_)}: {_quoted(known.get(id_, ''))}{about}\n")
        return "".join([_HEAD, *parts]) if parts else ""


def read_catalog(data: bytes, file: str) -> dict[str, dict[str, str]]:
    """The names of a catalog. Raises `Refused`, naming the file, for what is none."""
    try:
        documents = read_documents(data)
    except BadYaml as error:
        raise Refused(f"{file}:{error.line}: {error}") from None
    if not documents:
        return {}
    content = documents[0].content
    if len(documents) > 1 or not isinstance(content, dict):
        raise Refused(f"{file}: a catalog is one mapping of kinds, such as datasources, to ids and their names")
    found: dict[str, dict[str, str]] = {}
    for kind, names in content.items():
        if kind not in KINDS:
            raise Refused(f'{file}: there is no kind "{kind}" of names; {cure_of(kind, list(KINDS), "")}')
        if names is not None and not isinstance(names, dict):
            raise Refused(f"{file}: {kind} must be a mapping of ids to names")
        found[kind] = {id_: _name(name, f"{file}: {kind}: {id_}") for id_, name in (names or {}).items()}
    return found


def _name(value: object, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, Number):
        return value.written
    if not isinstance(value, str):
        raise Refused(f"{where}: a name must be a text")
    return value.strip()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
