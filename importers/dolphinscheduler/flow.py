"""A definition of DolphinScheduler as all forms of export say it: fields with the names of version 3, tasks, edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from importers.ledger import Fields


@dataclass(frozen=True)
class Step:
    """A task. `key` is what relations name it by: its code, or in version 1 its name."""

    key: str
    name: str
    type: str
    fields: Fields
    params: Fields

    def part(self, name: str) -> Fields:
        """A mapping of its parameters; version 1 has it beside them."""
        return self.params.child(name) if self.params.has(name) else self.fields.child(name)


@dataclass(frozen=True)
class Flow:
    """A workflow.

    Attributes:
        file, form: where it was read, and which form that has.
        name: of the workflow.
        fields: its fields.
        project: the name of its project, if the form has names.
        project_code: else the code.
        ids: what others refer to it by: its code and its id.
        steps: in the order of the export.
        edges: keys of a task and of one after it.
        places: the coordinates of each key on the canvas.
        schedule: its fields, if it has one.
    """

    file: str
    form: str
    name: str
    fields: Fields
    steps: Sequence[Step]
    edges: Sequence[tuple[str, str]]
    project: str = ""
    project_code: str = ""
    ids: Sequence[str] = ()
    places: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    schedule: Fields | None = None
    related: frozenset[str] | None = None
    """The keys that stand in relations; None if the form runs tasks without any."""


def coordinates(entry: Fields) -> tuple[float, float] | None:
    """The place that an entry of `locations` says; None if it says none."""
    x, y = entry.number("x"), entry.number("y")
    return None if x is None or y is None else (x, y)
