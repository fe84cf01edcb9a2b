"""The operations about alert groups: named sets of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.alerts import groups
from dao.alerts.rows import Group
from model import fields
from model.accounts.rights import Right
from service.alerts.channels import DESCRIPTION_LENGTH_MAX
from service.alerts.channels import Name as ChannelName
from service.call import Call, Subject
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import ItemsOf

TAG, KIND = "alert-groups", "alert-group"
CHANNELS_MAX = 100


class GroupAnswer(Answer, Group, without={"id"}, etag="version"):
    """An alert group."""


class SaveGroup(Asked):
    """A group as it is to be from now on."""

    channels: Annotated[Sequence[ChannelName], Field(max_length=CHANNELS_MAX, examples=[["ops-mail", "feishu"]])]
    description: Annotated[Text, Field(max_length=DESCRIPTION_LENGTH_MAX)] = ""


@operation("GET", "/alert-groups", Right.VIEW_CLUSTER, TAG)
async def list_alert_groups(call: Call) -> ItemsOf[GroupAnswer]:
    """List the alert groups."""
    return ItemsOf[GroupAnswer](items=[GroupAnswer.model_validate(each) for each in await call.read(groups.all_groups)])


@operation("GET", "/alert-groups/{name}", Right.VIEW_CLUSTER, TAG)
async def get_alert_group(call: Call, name: fields.Name) -> GroupAnswer:
    """Show an alert group; the ETag is its version."""
    return GroupAnswer.model_validate(await call.read(groups.group_named, name))


@operation("PUT", "/alert-groups/{name}", Right.ADMINISTER, TAG)
async def save_alert_group(call: Call, name: fields.Name, body: SaveGroup) -> GroupAnswer:
    """Save or change an alert group. To change one needs `If-Match` with the version read. `default` gets what concerns
    the cluster, and what names no group."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        before = await groups.hold(change.connection, name)
        call.expect_saved(before, "this alert group no longer exists: it was deleted")
        await groups.put(change.connection, name, body.description, body.channels, call.caller.name)
        change.answer = GroupAnswer.model_validate(await groups.group_named(change.connection, name))
        change.before = None if before is None else _said(before.channels, before.version)
        change.after = _said(change.answer.channels, change.answer.version)
    return change.answered(GroupAnswer)


@operation("DELETE", "/alert-groups/{name}", Right.ADMINISTER, TAG, status=204)
async def delete_alert_group(call: Call, name: fields.Name) -> None:
    """Delete an alert group; its channels stay. Alerts for it are kept, and nobody gets them."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        group = await groups.hold(change.connection, name)
        if group is None:
            raise await groups.not_found(change.connection, name)
        if call.if_match is not None:
            call.expect_saved(group, "this alert group no longer exists: it was deleted")
        change.before = _said(group.channels, group.version)
        await groups.delete(change.connection, group)


def _said(channels: Sequence[str], version: int) -> dict[str, object]:
    return {"channels": list(channels), "version": version}
