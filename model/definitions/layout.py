"""The places of a workflow's tasks and notes on a canvas: stored with a version, no part of its meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from model.fields import Name
from model.parameters.parameters import is_storable

COORDINATE_MAX = 1_000_000
NOTES_MAX = 500
NOTE_LENGTH_MAX = 5_000
PLACES_MAX = 10_000


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it contains a NUL or an unpaired surrogate")
    return text


Coordinate = Annotated[float, Field(ge=-COORDINATE_MAX, le=COORDINATE_MAX, allow_inf_nan=False)]
Extent = Annotated[float, Field(gt=0, le=COORDINATE_MAX, allow_inf_nan=False)]


class Place(BaseModel):
    """The upper left corner of a task, in units of the canvas."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    x: Coordinate
    y: Coordinate


class Note(Place):
    """A text on the canvas, with its width and height."""

    text: Annotated[str, Field(max_length=NOTE_LENGTH_MAX), AfterValidator(_storable)]
    w: Extent
    h: Extent


class Layout(BaseModel):
    """The places of tasks, by name, and the notes. A task without a place is placed by the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Annotated[Mapping[Name, Place], Field(max_length=PLACES_MAX)] = {}
    notes: Annotated[tuple[Note, ...], Field(max_length=NOTES_MAX)] = ()

    def strangers(self, tasks: Collection[str]) -> list[str]:
        """The names with a place that are not among these tasks, sorted."""
        return sorted(self.tasks.keys() - set(tasks))

    def only(self, tasks: Collection[str]) -> Self:
        """The layout reduced to these tasks."""
        kept = {name: place for name, place in self.tasks.items() if name in set(tasks)}
        return self.model_copy(update={"tasks": kept})
