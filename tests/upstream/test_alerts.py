"""Alerts that fail: they are sent again."""

from __future__ import annotations

from tests.alert.conftest import Desk, sending
from tests.alert.conftest import desk as desk
from tests.alert.conftest import mails as mails
from tests.alert.receivers import MailServer
from tests.eventually import eventually


async def test_17308_an_alert_whose_channel_failed_is_sent_again(desk: Desk, mails: MailServer) -> None:
    """Upstream: the alert server marked an alert whose plug-in failed as done, or lost it at a restart: it was never
    sent again, and nobody saw that.
    Here: it waits with the reason, is tried with growing pauses by whichever sender runs, and arrives when the channel
    works; one that was not delivered in its time is shown as FAILED, and a person has it sent again.
    """
    await desk.channel("ops", mails.url())
    mails.stop()
    async with sending(desk):
        alert = await desk.alert("run 7 of workflow load ended as FAILURE", kind="RUN_ENDED")
        await eventually(lambda: desk.reason("ops"), within_s=20)
    assert "Connection refused" in await desk.reason("ops"), "what went wrong is kept"
    assert await desk.states() == ["WAIT"]
    mails.start()
    async with sending(desk):  # another sender, after a restart
        await eventually(desk.states, until=["SENT"], within_s=20)
    assert mails.subjects == ["[Shoal] run 7 of workflow load ended as FAILURE"]
    assert await desk.run("SELECT tries > 1 FROM alert_delivery WHERE alert_id = :alert", alert=alert) == [(True,)]
