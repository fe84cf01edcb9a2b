"""The loop of a sender: creates deliveries, claims channels, has their messages sent, records the results.

Nothing is sent in a transaction, and no channel waits for another: each claim is a separate task, with a private
courier. At least once: a message that was sent but not recorded, since this process died or the database was lost, is
sent again by the next sender that claims the channel.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import structlog

from alert.couriers import Couriers
from alert.letter import Letter, Outcome, Receipt
from alert.message_layout import Message, message_of, next_message
from alert.settings import AlertSettings
from dao.alerts import deliveries, routing
from dao.alerts.deliveries import ClaimedChannel, ClaimTerms, Retry, WaitingAlert
from dao.postgres.database import Database
from dao.secrets.vault import Vault
from metrics import alert as metrics
from model.alerts.channels import CHANNEL_PURPOSE
from model.backoff import Backoff
from model.errors import Refused, ShoalError, Unavailable
from node.waiting import set_within

log = structlog.get_logger()

EXPAND_MAX = 500
REFUSED_TRIES_MAX = 5
"""After this many refusals a message is dropped: those behind it must not wait for a day."""

LEASE_MARGIN_S = 15.0
"""How much longer than a message a claim lasts, so that its result can be written, even if that takes a while."""

RECORD_PAUSE_S_MAX = 2.0


_Record = Callable[[], Awaitable[None]]


@dataclass
class _Sending:
    """One channel's message in progress."""

    channel: ClaimedChannel
    alerts: list[WaitingAlert] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        return [each.id for each in self.alerts]


class Sender:
    """Sends alerts until it is stopped.

    Args:
        database: this process's own.
        vault: opens the URLs of the channels.
        settings: see `AlertSettings`.
        name: for people, in the claims.
    """

    def __init__(self, database: Database, vault: Vault, settings: AlertSettings, name: str) -> None:
        self._database, self._vault, self._settings = database, vault, settings
        lease_s = settings.timeout.total_seconds() + LEASE_MARGIN_S
        self._terms = ClaimTerms(name, lease_s, settings.group_max, settings.retry_max.total_seconds())
        self._couriers = Couriers()
        self._wake = asyncio.Event()
        self._busy: set[asyncio.Task[None]] = set()
        self._busy_failed = 0
        self._alone: set[int] = set()
        """Channels that refused a merged message: the next one has a single alert, to find the culprit."""
        self._troubled: set[int] = set()
        self._is_stuck = False

    def wake(self, _hint: str = "") -> None:
        """Look for alerts soon."""
        self._wake.set()

    def why_idle(self) -> str | None:
        """Why it sends nothing now; None if it does."""
        return "it cannot read alerts in the database" if self._is_stuck else None

    async def run(self, stop: asyncio.Event) -> None:
        """Send until `stop` is set, then finish what is being sent. Database errors are logged and retried."""
        backoff = Backoff(first_s=0.5, max_s=10)
        stopping = asyncio.create_task(self._wake_at(stop))
        try:
            while not stop.is_set():
                try:
                    has_more = await self._round()
                    self._is_stuck = False
                    backoff.reset()
                except ShoalError as error:
                    self._is_stuck = True
                    log.warning("alerts_wait", error=str(error))
                    await set_within(self._wake, backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
                    continue
                if not has_more:
                    await set_within(self._wake, self._settings.look_every.total_seconds())
            if self._busy:
                await asyncio.wait(self._busy)
        finally:
            stopping.cancel()
            for each in self._busy:
                each.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)
            await self._couriers.close()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    async def _round(self) -> bool:
        """Expand and claim once. Returns whether more work is certain."""
        expanded = await self._database.write(routing.expand, EXPAND_MAX)
        claimed = [await self._claim(has_failed=each) for each in (False, True)]
        return expanded == EXPAND_MAX or any(claimed)

    async def _claim(self, *, has_failed: bool) -> bool:
        """Claim channels for the free couriers, and begin to send. Returns whether there may be more."""
        settings = self._settings
        limit = settings.at_once - len(self._busy)
        if has_failed:
            limit = min(limit, settings.at_once // 2 - self._busy_failed)
        if limit <= 0:
            return False
        send_until_s = time.monotonic() + settings.timeout.total_seconds()
        channels = await self._database.write(deliveries.claim, self._terms, limit, has_failed=has_failed)
        for channel in channels:
            self._busy_failed += has_failed
            task = asyncio.create_task(self._send(channel, send_until_s))
            self._busy.add(task)
            metrics.channels_at_work.set(len(self._busy))
            task.add_done_callback(partial(self._done, was_failed=has_failed))
        return len(channels) == limit and len(self._busy) < settings.at_once

    def _done(self, task: asyncio.Task[None], *, was_failed: bool) -> None:
        self._busy.discard(task)
        metrics.channels_at_work.set(len(self._busy))
        self._busy_failed -= was_failed
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("alert_not_sent", error=f"{type(error).__name__}: {error}")
        self._wake.set()

    async def _send(self, channel: ClaimedChannel, send_until_s: float) -> None:
        group_from = len(channel.alerts) + 2 if channel.id in self._alone else self._settings.group_from
        sending = _Sending(channel, list(next_message(channel.alerts, group_from)))
        page = self._settings.page_url
        message = message_of(sending.alerts, channel.subject_template, channel.text_template, page=page)
        if message.fault is not None:
            log.warning("alert_template_has_a_mistake", channel=channel.name, fault=message.fault)
        receipt = await self._delivered(channel, message, send_until_s)
        metrics.messages.labels(metrics.SENT if receipt.outcome is Outcome.SENT else metrics.FAILED).inc()
        lapses_s = send_until_s + LEASE_MARGIN_S
        if receipt.outcome is Outcome.SENT:
            await self._record(lapses_s, partial(self._record_sent, sending, message))
        else:
            await self._record(lapses_s, partial(self._record_failed, sending, receipt))

    async def _delivered(self, channel: ClaimedChannel, message: Message, send_until_s: float) -> Receipt:
        try:
            url = await asyncio.to_thread(self._vault.open, channel.url, f"{CHANNEL_PURPOSE} {channel.name}")
        except Refused as error:
            return Receipt(Outcome.FAILED, str(error))
        letter = Letter(
            url, message.subject, message.text, message.html, message.severity, self._settings.reach, send_until_s
        )
        began_s = time.monotonic()
        receipt = await self._couriers.deliver(letter)
        metrics.send_seconds.observe(time.monotonic() - began_s)
        return receipt

    async def _record(self, lapses_s: float, record: _Record) -> None:
        """Record the result of a message, with retries while the database is away and the claim lasts."""
        backoff = Backoff(first_s=0.2, max_s=RECORD_PAUSE_S_MAX)
        while True:
            try:
                await record()
                return
            except ShoalError as error:
                log.warning("alert_result_not_written", error=str(error))
                if time.monotonic() > lapses_s:
                    raise Unavailable("the result of a message could not be written: it will be sent again") from error
                await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter

    async def _record_sent(self, sending: _Sending, message: Message) -> None:
        recorded = await self._database.write(deliveries.record_sent, sending.channel, sending.ids, message.fault)
        self._alone.discard(sending.channel.id)
        metrics.deliveries.labels(metrics.SENT).inc(recorded)
        if sending.channel.id in self._troubled:
            self._troubled.discard(sending.channel.id)
            log.info("channel_works_again", channel=sending.channel.name)

    async def _record_failed(self, sending: _Sending, receipt: Receipt) -> None:
        settings, channel = self._settings, sending.channel
        is_refused = receipt.outcome is Outcome.REFUSED
        is_culprit = is_refused and len(sending.alerts) == 1
        pauses = Backoff(
            settings.retry_first.total_seconds(), settings.retry_max.total_seconds(), sending.alerts[0].tries
        )
        pause_s = pauses.next_pause_s(random.random())  # noqa: S311 - jitter
        tries_max = REFUSED_TRIES_MAX if is_culprit else None
        retry = Retry(pause_s, settings.retry_for.total_seconds(), tries_max)
        over = await self._database.write(deliveries.record_failed, channel, sending.ids, receipt.reason, retry)
        if is_refused and len(sending.alerts) > 1:
            self._alone.add(channel.id)
        elif over:
            self._alone.discard(channel.id)
        metrics.deliveries.labels(metrics.FAILED).inc(len(over))
        if channel.id not in self._troubled and not sending.alerts[0].is_test:
            self._troubled.add(channel.id)
            log.warning("channel_fails", channel=channel.name, reason=receipt.reason, alerts=len(sending.alerts))
        if over and not sending.alerts[0].is_test:
            log.error("alerts_not_delivered", channel=channel.name, alerts=over, reason=receipt.reason)
