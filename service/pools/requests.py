"""What is said with a request about resource pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from model.definitions.names import as_id
from model.errors import Refused
from model.pools.resources import LINE_SHOWN_MAX, ResourceState
from model.pools.spec import RESOURCE_NAME_LENGTH_MAX
from service.fields import Asked, Text
from service.paging import NamedPageQuery, PageQuery, PairPageQuery
from service.workflows.requests import Files, Version, Yaml

if TYPE_CHECKING:
    from dao.pools.rows import ResourceRow

REASON_LENGTH_MAX = 1_000
Name = Annotated[Text, Field(max_length=200)]
ResourceName = Annotated[Text, Field(min_length=1, max_length=RESOURCE_NAME_LENGTH_MAX)]


class PoolQuery(NamedPageQuery):
    """A page of pools, by name."""

    q: Annotated[Name | None, Field(description="a part of the name, in any case")] = None


class ResourceQuery(PairPageQuery):
    """A page of the resources of a pool, in the order of its file."""

    state: Annotated[Sequence[ResourceState] | None, Field(description="only those in one of these states")] = None
    q: Annotated[Name | None, Field(description="a part of the name, in any case")] = None

    @property
    def after_place(self) -> tuple[int, int] | None:
        """Place and id of the last resource of the page before. Raises `Refused` for a cursor that no page gave."""
        if (after := self.after) is None:
            return None
        place, id_ = (as_id(each) for each in after)
        if place is None or id_ is None or place >= 2**31:
            raise Refused("the cursor is not one that a page gave; begin without one")
        return place, id_


class LineQuery(PageQuery):
    """A page of those who wait for a pool, in their order.

    The cursor is no more than a place: the run and attempt there may be hidden from the caller.
    """

    @property
    def after_place(self) -> int:
        """The last place of the page before. Raises `Refused` for a cursor that no page gave."""
        place = self.after or 0
        if place >= LINE_SHOWN_MAX:
            raise Refused("the cursor is not one that a page gave; begin without one")
        return place


def resource_cursor(resource: ResourceRow) -> tuple[str, str]:
    """What the next page begins after."""
    return str(resource.place), str(resource.id)


class PutPool(Asked):
    """The new content of a pool: a whole file as `yaml`, or its content alone as `spec`."""

    yaml: Annotated[Yaml | None, Field(repr=False, description="as a file, with kind and name")] = None
    spec: Annotated[
        Mapping[str, Any] | None,
        Field(repr=False, description="its fields as JSON, without kind and name", examples=[{"count": 40}]),
    ] = None


class ApplyPools(Asked):
    """Files whose pools are saved, all or none."""

    files: Annotated[Files, Field(repr=False)]
    dry_run: Annotated[bool, Field(description="only say what would be saved")] = False
    version: Annotated[
        Version | None,
        Field(description="of the only pool in them, as it was read: if it is another now, it is refused"),
    ] = None
    are_new: Annotated[bool, Field(description="refused if there is a pool of one of their names already")] = False


class DeletePool(Asked):
    """Whether a pool is deleted in spite of those who wait for it."""

    force: Annotated[bool, Field(description="though tasks wait for it, which then wait for a pool of this name")] = (
        False
    )


class SetAsideResource(Asked):
    """Which resource is no longer given, and why."""

    resource: ResourceName
    reason: Annotated[Text, Field(max_length=REASON_LENGTH_MAX, description="a sentence, shown to everybody")] = ""


class TakeBackResource(Asked):
    """Which resource is given again."""

    resource: ResourceName
