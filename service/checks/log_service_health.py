"""Checks of the workers' log services from here: whether they answer, and what time it is there.

They are the only ports of a cluster: a master serves nothing, its port is part of its name.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from dao.cluster.node_rows import NodeRow
from registry.process import is_here
from service.checks.check_result import Result, Verdict, result_of
from service.checks.server_health import CLOCK_OFF_S, SET_CLOCKS
from service.logs.worker_logs import trusted
from service.words import counted, duration

CONDITION = "the log services of the workers answer from here"
ANSWER_WITHIN_S = 3.0
ASKED_MAX = 50
"""Of a larger cluster only so many workers are asked."""


@dataclass(frozen=True)
class Answer:
    """What a worker's log service answered: why it did not, or how far its clock is ahead of ours."""

    row: NodeRow
    fault: str | None = None
    ahead_s: float | None = None


async def ask(workers: Sequence[NodeRow], ca: Path | None) -> list[Answer]:
    """Ask the log services of the first workers, at once; `ca` as for `shoal log`. Raises `Refused` for a bad one."""
    tls = trusted(ca) if any((row.log_url or "").startswith("https:") for row in workers) else False
    async with httpx.AsyncClient(verify=tls, timeout=ANSWER_WITHIN_S, trust_env=False) as client:
        return list(await asyncio.gather(*(_ask(client, row) for row in workers[:ASKED_MAX])))


async def _ask(client: httpx.AsyncClient, row: NodeRow) -> Answer:
    if not row.log_url:
        return Answer(row, "it does not say where its log service is")
    sent_s = time.time()
    try:
        response = await client.get(f"{row.log_url}/healthz")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Answer(row, f"{row.log_url} does not answer: {error or type(error).__name__}")
    if response.status_code != httpx.codes.OK:
        return Answer(row, f"{row.log_url} answers {response.status_code}: another program serves there")
    try:
        its_time_s = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except ValueError:
        return Answer(row)
    return Answer(row, ahead_s=its_time_s + 0.5 - (sent_s + time.time()) / 2)  # the header has whole seconds


def log_service_results(workers: int, answers: Sequence[Answer]) -> list[Result]:
    """Whether they answer, and whether their clocks agree with this machine's. `workers` is how many there are."""
    faults = [answer for answer in answers if answer.fault is not None]
    clocks = [answer for answer in answers if answer.ahead_s is not None]
    off = [
        f"{answer.row} is {duration(abs(answer.ahead_s))} {'ahead' if answer.ahead_s > 0 else 'behind'}"
        for answer in clocks
        if answer.ahead_s is not None and abs(answer.ahead_s) > CLOCK_OFF_S
    ]
    asked = f"{len(answers) - len(faults)} of {counted(workers, 'worker')}"
    return [
        result_of(
            "log_services",
            CONDITION,
            [f"{answer.row}: {answer.fault}" for answer in faults],
            "Set worker.log_host and host to an address that others reach, and let firewalls pass it: "
            "docs/guides/cluster.md. Until then shoal log does not show the logs of its tasks here.",
            asked if answers else "no worker to ask",
            bad=Verdict.FAILED if any(is_here(answer.row.process) for answer in faults) else Verdict.NOTE,
        ),
        result_of(
            "worker_clocks",
            "the clocks of the workers are this machine's",
            off,
            f"Nothing is decided by them, but times in logs differ. {SET_CLOCKS}",
            f"{len(clocks)} of {counted(workers, 'worker')}; masters do not publish theirs",
            bad=Verdict.NOTE,
        ),
    ]
