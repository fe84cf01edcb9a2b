"""The operations about channels: where alerts are sent. No answer contains a secret of a URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.alerts import alert_listings as alerts
from dao.alerts import channels, resend_and_test
from dao.alerts.rows import Channel
from model.accounts.rights import Right
from model.alerts.channels import URL_BYTES_MAX, parse_channel_url
from model.alerts.templates import LENGTH_MAX, check_template
from model.errors import Refused, Unavailable
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Text
from service.operation import operation
from service.paging import ItemsOf
from service.secrets.key_settings import open_vault

if TYPE_CHECKING:
    from service.call import Change

TAG, KIND = "alert-channels", "alert-channel"
TEST_EVERY_S = 0.2
TEST_WAIT_S = 40.0
"""Longer than a channel gets for a message."""
TEST_WAIT_S_MAX = 120.0
DESCRIPTION_LENGTH_MAX = 1_000
Name = Annotated[Text, Field(max_length=200)]
Template = Annotated[str, Field(max_length=LENGTH_MAX, examples=["${severity}: ${subject}"])]


class ChannelAnswer(Answer, Channel, without={"id"}, etag="version"):
    """A channel. `url` is without secrets; `key_id` is the fingerprint of the key that encrypts the whole URL.

    `waiting` alerts are still to be sent (up to 10,000), the oldest since `waits_since`; `last_error` is why it was not
    sent yet, and `next_try_at` when it is tried again.
    """


class SaveChannel(Asked):
    """A channel as it is to be from now on. Its URL is stored encrypted, and no answer contains its secrets."""

    url: Annotated[
        Text | None,
        Field(
            max_length=URL_BYTES_MAX,
            repr=False,
            description="as apprise writes it, such as mailtos://ada:secret@mail.example?to=ops@example.org; not "
            "given: the one it has",
        ),
    ] = None
    description: Annotated[Text, Field(max_length=DESCRIPTION_LENGTH_MAX)] = ""
    enabled: Annotated[bool, Field(description="false: nothing is sent to it")] = True
    subject_template: Annotated[Template | None, Field(description="of its messages; else the usual subject")] = None
    text_template: Annotated[Template | None, Field(description="the same for their text")] = None


class DeleteChannel(Asked):
    """Whether a channel is deleted in spite of the alerts that wait for it."""

    force: Annotated[bool, Field(description="though alerts wait for it, which nobody gets then")] = False


class WaitForTest(Asked):
    """How long to wait for the result of a test."""

    wait: Annotated[float, Field(ge=0, le=TEST_WAIT_S_MAX, allow_inf_nan=False, description="seconds")] = TEST_WAIT_S


class ChannelTested(Answer):
    """What became of a test message. `state` WAIT: no sender has taken it within the time that was waited.

    `reason` is why it did not arrive, or what is to be done.
    """

    channel: str
    alert_id: Id
    state: str
    reason: str | None = None

    @property
    def is_sent(self) -> bool:
        return self.state == "SENT"


@operation("GET", "/alert-channels", Right.VIEW_CLUSTER, TAG)
async def list_channels(call: Call) -> ItemsOf[ChannelAnswer]:
    """List the channels, without their secrets, each with what waits for it and why."""
    found = await call.read(channels.all_channels)
    return ItemsOf[ChannelAnswer](items=[ChannelAnswer.model_validate(each) for each in found])


@operation("GET", "/alert-channels/{name}", Right.VIEW_CLUSTER, TAG)
async def get_channel(call: Call, name: Name) -> ChannelAnswer:
    """Show a channel, without its secrets; the ETag is its version."""
    return ChannelAnswer.model_validate(await call.read(channels.channel_named, name))


@operation("PUT", "/alert-channels/{name}", Right.ADMINISTER, TAG, has_secret=True)
async def save_channel(call: Call, name: Name, body: SaveChannel) -> ChannelAnswer:
    """Save or change a channel. To change one needs `If-Match` with the version read.

    What waits for it is tried at once.
    """
    call.permit(None)
    for template, what in ((body.subject_template, "subject_template"), (body.text_template, "text_template")):
        if template is not None:
            check_template(template, what)
    url = None if body.url is None else parse_channel_url(body.url).text
    if url is not None and (fault := await call.backend.channel_fault(url)) is not None:
        raise Refused(f"the channel's URL cannot be used: {fault}")
    vault = open_vault(call.settings.secrets)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        held = await channels.hold(change.connection, name)
        call.expect_saved(held, "this channel no longer exists: it was deleted")
        content = channels.ChannelContent(**body.model_dump(exclude={"url"}))
        if url is not None:
            await channels.put(change.connection, name, url, vault, content, call.caller.name)
        elif held is not None:
            await channels.change(change.connection, held, content, call.caller.name)
        else:
            raise Refused(f'the channel "{name}" is new: give its url')
        change.answer = ChannelAnswer.model_validate(await channels.channel_named(change.connection, name))
        change.before = None if held is None else {"version": held.version, "url": held.url, "enabled": held.enabled}
        after = change.answer
        change.after = {"version": after.version, "url": after.url, "enabled": after.enabled, "key_id": after.key_id}
    return change.answered(ChannelAnswer)


@operation("DELETE", "/alert-channels/{name}", Right.ADMINISTER, TAG, status=204)
async def delete_channel(call: Call, name: Name, query: DeleteChannel) -> None:
    """Delete a channel for which no alert waits, with what it was sent; with `force` though some wait."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        held = await _held(call, change, name)
        if held.waiting and not query.force:
            raise Refused(
                f'{held.waiting} alerts wait for the channel "{name}", and nobody would get them; fix its URL, or '
                f"delete it with force"
            )
        change.before, change.after = {"url": held.url}, {"waiting": held.waiting} if held.waiting else None
        await channels.delete(change.connection, held)


@operation("POST", "/alert-channels/{name}:test", Right.ADMINISTER, TAG)
async def check_channel(call: Call, name: Name, query: WaitForTest) -> ChannelTested:
    """Have a test message sent to a channel by a sender of alerts, and wait for the result.

    It waits for no older alert, goes to a channel that is off too, and is tried once.
    """
    async with call.changing(Subject(KIND, name, name=name)) as change:
        channel = await channels.channel_named(change.connection, name)
        alert = await resend_and_test.test(change.connection, channel.name, call.caller.name)
        change.after = {"alert": str(alert)}
        change.answer = ChannelTested(channel=channel.name, alert_id=alert, state="WAIT", reason=_NO_SENDER)
    tested = change.answered(ChannelTested)
    return await _result(call, tested, query.wait)


_NO_SENDER = "no sender has sent it yet; is `shoal alert` running?"


async def _result(call: Call, asked: ChannelTested, wait_s: float) -> ChannelTested:
    try:
        async with asyncio.timeout(wait_s):
            while True:
                await asyncio.sleep(TEST_EVERY_S)
                found = (await call.read(alerts.deliveries, [asked.alert_id])).get(asked.alert_id, [])
                for each in found:
                    if each.state != "WAIT":
                        return asked.model_copy(update={"state": each.state, "reason": each.error})
    except (TimeoutError, Unavailable):
        return asked


async def _held(call: Call, change: Change, name: str) -> Channel:
    held = await channels.hold(change.connection, name)
    if held is None:
        raise await channels.not_found(change.connection, name)
    if call.if_match is not None:
        call.expect_saved(held, "this channel no longer exists: it was deleted")
    return held
