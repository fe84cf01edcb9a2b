"""Alerts for five channels while their servers refuse, hang and restart and the senders are killed: none is lost.

The judge is what the receivers got. A message may come twice, since a sender can die between a channel's answer and
its record; how often is printed.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dao.secrets.vault import Vault, new_key
from tests.alert.conftest import Desk
from tests.alert.receivers import HttpReceiver, MailServer, http_receiver, mail_server
from tests.eventually import eventually

SUBJECT = re.compile(r"case-(\d+)\b")
QUICK = {
    "SHOAL_ALERT__TIMEOUT": "1.5",
    "SHOAL_ALERT__LOOK_EVERY": "0.2",
    "SHOAL_ALERT__RETRY_FIRST": "0.2",
    "SHOAL_ALERT__RETRY_MAX": "1",
    "SHOAL_LOG_FORMAT": "json",
}
SENDERS = 2


@dataclass
class Result:
    """The numbers of the alerts that one channel got, in order of arrival."""

    got: list[int]

    @property
    def first(self) -> list[int]:
        return list(dict.fromkeys(self.got))

    @property
    def twice(self) -> int:
        return len(self.got) - len(set(self.got))


@dataclass
class Site:
    """Five channels on two mail servers and three web servers."""

    mails: Sequence[MailServer]
    webs: Sequence[HttpReceiver]

    def results(self) -> list[Result]:
        of_mails = [[str(mail.get_content()) for mail in list(server.mails)] for server in self.mails]
        of_webs = [[str(post.json["message"]) for post in list(web.posts)] for web in self.webs]
        return [Result([number for text in texts for number in _numbers(text)]) for texts in (*of_mails, *of_webs)]


def _numbers(text: str) -> list[int]:
    """The numbers in a message: in the first line about a single alert, in each line after the second about several."""
    lines = text.splitlines()
    named = lines[2:] if "alerts waited" in lines[0] else lines[:1]
    return [int(found[1]) for line in named if (found := SUBJECT.search(line))]


class Senders:
    """`shoal alert` as processes, of which one is killed now and then."""

    def __init__(self, url: str, key: str, folder: Path, group_from: int) -> None:
        own = {"SHOAL_DATABASE_URL": url, "SHOAL_SECRETS__KEYS": key, "SHOAL_ALERT__GROUP_FROM": str(group_from)}
        self._environment = {**os.environ, **QUICK, **own}
        self._log = folder / "senders.log"
        self.processes: list[asyncio.subprocess.Process] = []
        self.killed = 0

    async def start(self) -> None:
        with self._log.open("ab") as log:
            self.processes.append(
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "shoal", "alert"), env=self._environment, stdout=log, stderr=log
                )
            )

    async def kill(self, one: random.Random) -> None:
        process = self.processes.pop(one.randrange(len(self.processes)))
        process.send_signal(signal.SIGKILL)
        await process.wait()
        self.killed += 1
        await self.start()

    async def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            await process.wait()

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")


@asynccontextmanager
async def senders(url: str, key: str, folder: Path, group_from: int) -> AsyncIterator[Senders]:
    made = Senders(url, key, folder, group_from)
    try:
        for _ in range(SENDERS):
            await made.start()
        yield made
    finally:
        await made.stop()


@pytest.mark.parametrize(
    ("count", "faults", "group_from", "seed"),
    [
        (100, 8, 1_000, 1),
        pytest.param(1_000, 80, 5, 2, marks=[pytest.mark.soak]),
        pytest.param(1_000, 80, 100_000, 3, marks=[pytest.mark.soak]),
    ],
)
@pytest.mark.timeout(600)
async def test_each_alert_is_delivered_and_in_order_whatever_fails(
    desk: Desk, tmp_path: Path, count: int, faults: int, group_from: int, seed: int
) -> None:
    chance = random.Random(seed)
    key = new_key()
    desk.vault = Vault([key])
    with mail_server() as a, mail_server() as b, http_receiver() as c, http_receiver() as d, http_receiver() as e:
        site = Site((a, b), (c, d, e))
        for number, url in enumerate([each.url() for each in (*site.mails, *site.webs)]):
            await desk.channel(f"channel{number}", url)
        async with senders(desk.database.url, key, tmp_path, group_from) as running:
            await desk.alert("case-0 came")
            await eventually(lambda: all(each.got for each in site.results()), within_s=30)
            raising = asyncio.create_task(_raise(desk, count, faults))
            for _ in range(faults):
                await _break_something(site, running, chance)
            await raising
            for server in site.mails:
                server.refuses = server.hangs = False
            for web in site.webs:
                web.status, web.hangs = 204, False
            await eventually(lambda: _all_sent(desk, count), within_s=180, every_s=0.2)
        results = site.results()
        assert [sorted(set(each.got)) for each in results] == [list(range(count))] * 5, "each at least once"
        assert [each.first for each in results] == [list(range(count))] * 5, "the order of each channel"
        messages = [len(server.mails) for server in site.mails] + [len(web.posts) for web in site.webs]
        print(  # noqa: T201 - the count of duplicates is what a reader of the run wants
            f"{count} alerts on 5 channels, {running.killed} senders killed: messages {messages}, "
            f"delivered more than once {[each.twice for each in results]}"
        )
        assert "Traceback" not in running.said
    assert running.killed >= faults // 4, "the senders were killed in between"


async def _raise(desk: Desk, count: int, over_s: float) -> None:
    for number in range(1, count):
        await desk.alert(f"case-{number} came")
        await asyncio.sleep(over_s / count)


async def _break_something(site: Site, running: Senders, chance: random.Random) -> None:
    """One fault, for a while that is long enough to meet something under way."""
    server, web = chance.choice(site.mails), chance.choice(site.webs)
    fault = chance.choice(("refuse", "hang", "restart", "web fails", "web hangs", "nothing"))
    if chance.random() < 0.5:
        await running.kill(chance)
    if fault == "refuse":
        server.refuses = True
    elif fault == "hang":
        server.hangs = True
    elif fault == "restart":
        await asyncio.to_thread(server.stop)
    elif fault == "web fails":
        web.status = 503
    elif fault == "web hangs":
        web.hangs = True
    await asyncio.sleep(chance.uniform(0.1, 1.5))
    if fault == "restart":
        await asyncio.to_thread(server.start)
    server.refuses = server.hangs = False
    web.status, web.hangs = 204, False


async def _all_sent(desk: Desk, count: int) -> bool:
    states = await desk.run("SELECT state, count(*) FROM alert_delivery GROUP BY state")
    return sum(number for state, number in states if state in ("SENT", "GROUPED")) == 5 * count
