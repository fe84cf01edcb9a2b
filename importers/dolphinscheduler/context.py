"""What the conversion of one workflow knows and fills: names behind codes, the drafts of its tasks, where to report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from importers.catalog import Names
from importers.documents import DEFAULT_PROJECT
from importers.dolphinscheduler.flow import Flow
from importers.dolphinscheduler.names import workflow_name
from importers.draft import Draft
from importers.passwords import Hidden, Passwords
from importers.report import About


@dataclass(frozen=True)
class Options:
    """What a person asked for.

    Attributes:
        online: whether what is ONLINE stays so.
        lenient: whether files that only look like exports are read too.
        project: of the workflows whose own has no name.
    """

    online: bool = False
    lenient: bool = False
    project: str = DEFAULT_PROJECT


DEFAULTS = Options()


@dataclass
class Index:
    """The workflows of all inputs: what codes and ids in them refer to."""

    workflows: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Code or id -> project and name."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Code -> name."""


@dataclass
class Context:
    """One workflow on its way."""

    flow: Flow
    name: str
    """That it has here."""
    about: About
    names: Names
    index: Index
    passwords: Passwords
    options: Options
    project: str
    hidden: Hidden
    task_names: Mapping[str, str]
    """Key of a task -> the name that it has here."""
    drafts: dict[str, Draft] = field(default_factory=dict)
    """By name."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Of the workflow's YAML."""
    pools: dict[str, int] = field(default_factory=dict)
    """The pools that its tasks need -> their places."""
    habits: set[str] = field(default_factory=set)
    """What its file uses that means something else here; `semantics.py` says what."""

    def name_of(self, key: object) -> str | None:
        """The task that a key of this workflow means: a code, or in version 1 its name."""
        return self.task_names.get(str(key))

    def ask(self, kind: str, id_: object, draft: Draft | None = None, what: str = "") -> str | None:
        """The name behind an id; without one a person has to give it."""
        who = f'task "{draft.name}" of "{self.flow.name}"' if draft else f'"{self.flow.name}"'
        name = self.names.find(kind, id_, f"{what}; {who}" if what else who)
        if name is None:
            noun = kind.removesuffix("s").replace("_", " ")
            about = draft.about if draft else self.about
            about.todo(kind, f"name the {noun} {id_} in catalog.yaml, and import again with --names")
        return name

    def link(self, before: str, after: str, why: str) -> None:
        """A task is to come directly after another; the arrow is added if it is missing."""
        draft = self.drafts[after]
        if before not in draft.after and before != after:
            draft.after.append(before)
            draft.about.changed("after", f'it comes directly after "{before}" too, since {why}')

    def workflow(self, draft: Draft, id_: str, named: str = "", project: str = "", what: str = "") -> dict[str, Any]:
        """The fields `workflow` and `project` of a task that refers to another workflow; `what` helps to name it."""
        found = self.index.workflows.get(named or id_)
        if found is None and named and not named.startswith("$"):
            found = (project or self.project, workflow_name(named))
        if found is None:
            name = self.ask("workflows", named or id_, draft, what)
            if name is None:
                return {"workflow": f"TODO workflow {named or id_}"}
            project, _, named = name.rpartition("/")
            found = (project or self.project, named)
        return {"workflow": found[1], **({"project": found[0]} if found[0] != self.project else {})}
