"""The process that sends: reads one letter at a time from standard input, and writes a receipt for each to its output.

It is a process because a channel can hang in ways that no library time-out ends: a server that sends one byte every few
seconds, a name server that does not answer. The sender then kills it, and nobody else waits. It also ends itself, by a
kernel timer, before another sender may use the same channel: so the order of a channel is kept even if its sender was
frozen. No other module imports apprise.

The sender closes the standard error: what a library prints may contain the channel's URL.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
import time
from typing import Any

from alert.allowed_addresses import Places
from alert.http_traces import HttpTraces
from alert.letter import READY, Letter, Outcome, Receipt
from model.alerts.channels import ChannelUrl, parse_channel_url
from model.errors import Refused
from node import prctl

MEMORY_BYTES_MAX = 1_500_000_000
"""The limit of its address space: an endless answer of a server must not take the machine's memory."""

REASON_LENGTH_MAX = 500
CONNECT_S = 10
_QUIET = "Socket Exception: "
"""The prefix of a message that apprise logs for developers although it is the reason."""


class Courier:
    """Sends letters. One courier serves many channels, and keeps nothing from one to the next."""

    def __init__(self) -> None:
        import apprise

        self._apprise = apprise
        self._places = Places()
        self._places.guard()
        self._http = HttpTraces()
        self._http.record()
        self._said = _Said()
        apprise.logger.addHandler(self._said)
        apprise.logger.setLevel(logging.DEBUG)
        apprise.logger.propagate = False
        # Loads the plug-ins now: the first URL would, for longer than a letter may take on a busy machine.
        apprise.Apprise.instantiate("json://localhost", asset=self._asset())

    def deliver(self, letter: Letter) -> Receipt:
        """Send a letter; the reason in the receipt contains no secret."""
        try:
            url = parse_channel_url(letter.url)
        except Refused as error:
            return Receipt(Outcome.FAILED, str(error))
        self._places.allow(letter.reach)
        self._http.clear()
        self._said.clear()
        try:
            receipt = self._delivered(url, letter)
        except Exception as error:  # noqa: BLE001 - whatever a library does with one letter, the next one is sent
            receipt = Receipt(Outcome.FAILED, f"it could not be sent: {type(error).__name__}: {error}")
        return Receipt(receipt.outcome, _line(url.masked(receipt.reason)))

    def _delivered(self, url: ChannelUrl, letter: Letter) -> Receipt:
        plugin = self._apprise.Apprise.instantiate(url.text, asset=self._asset(), suppress_exceptions=True)
        if not plugin:
            return Receipt(
                Outcome.FAILED, f"the URL is not one of {url.kind}://; see {url.kind} at appriseit.com for its form"
            )
        if letter.only_check:
            return Receipt(Outcome.SENT)
        plugin.socket_connect_timeout = CONNECT_S
        plugin.socket_read_timeout = max(1.0, letter.send_until_s - time.monotonic())
        is_html = bool(letter.html) and url.is_mail
        if plugin.notify(
            body=letter.html if is_html else letter.text,
            title=letter.subject,
            notify_type=self._apprise.NotifyType(letter.severity),
            body_format=self._apprise.NotifyFormat.HTML if is_html else self._apprise.NotifyFormat.TEXT,
        ):
            return Receipt(Outcome.SENT)
        return self._failed()

    def _failed(self) -> Receipt:
        if self._places.refused:
            return Receipt(Outcome.FAILED, self._places.refused)
        if self._http.reason:
            return Receipt(Outcome.REFUSED if self._http.is_message_refused else Outcome.FAILED, self._http.reason)
        return Receipt(Outcome.FAILED, self._said.reason or "it could not be sent, and no reason was given")

    def _asset(self) -> Any:
        return self._apprise.AppriseAsset(
            app_id="Shoal",
            app_desc="Shoal",
            app_url="",
            http_redirects=False,
            allow_templates=False,
            pgp_autogen=False,
            pem_autogen=False,
            async_mode=False,
            storage_mode=self._apprise.PersistentStoreMode.MEMORY,
            service_timeout=0,
            plugin_paths=None,
        )


class _Said(logging.Handler):
    """Collects apprise's messages about one letter."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._lines: list[str] = []

    def clear(self) -> None:
        self._lines.clear()

    @property
    def reason(self) -> str:
        """The logged errors, joined to a sentence."""
        return "; ".join(dict.fromkeys(self._lines))

    def emit(self, record: logging.LogRecord) -> None:
        """Record a line. Developers' lines may contain whole requests, so only those about errors are taken."""
        said = record.getMessage()
        if record.levelno >= logging.WARNING:
            self._lines.append(said.rstrip("."))
        elif said.startswith(_QUIET):
            self._lines.append(said.removeprefix(_QUIET))


def _line(text: str) -> str:
    shown = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return shown if len(shown) <= REASON_LENGTH_MAX else f"{shown[: REASON_LENGTH_MAX - 2]} …"


def main() -> None:
    """Serve letters until the standard input ends, or the sender does."""
    prctl.hide_from_own_user()
    prctl.die_with_parent(signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    letters, receipts = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # a library that prints must not write a receipt
    courier = Courier()
    receipts.write(READY)
    receipts.flush()
    for line in letters:
        letter = Letter.from_line(line)
        left_s = letter.send_until_s - time.monotonic()
        if left_s <= 0:
            receipt = Receipt(Outcome.FAILED, "it came too late to be sent")
        else:
            signal.setitimer(signal.ITIMER_REAL, left_s)  # its signal ends the process
            receipt = courier.deliver(letter)
            signal.setitimer(signal.ITIMER_REAL, 0)
        receipts.write(receipt.to_line())
        receipts.flush()


if __name__ == "__main__":
    main()
