"""Lists of a long history over the API: runs by each filter, alone and in pairs, first pages and later ones."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median
from urllib.parse import quote

from bench.figures import Figure, Target
from bench.http_client import HttpClient, Unanswered
from bench.sizes import Sizes

_RUNS, _ATTEMPTS = "/api/v1/workflow-instances", "/api/v1/task-instances"
_S_MAX = 20
_TARGET = Target(50, "lower")


@dataclass(frozen=True, slots=True)
class Compared:
    """A list of two databases: the median time of a call in each."""

    what: str
    before_ms: float
    ms: float


async def lists(client: HttpClient, sizes: Sizes, part: str, rare: int) -> list[Figure]:
    """Each list again and again, one call after the other; the pages of `next` follow one another.

    `rare` is the number in the name of the workflow that hardly runs.
    """
    return [await _listed(part, key, what, sizes.api_lists, ask) for key, (what, ask) in _all(client, rare).items()]


async def compared(before: HttpClient, client: HttpClient, count: int, rare: int) -> list[Compared]:
    """Compare the same lists of two APIs, asked in turns, `count` times each; failed answers count with their
    duration."""
    found = []
    others = _all(before, rare)
    for key, (what, ask) in _all(client, rare).items():
        asks = others[key][1], ask
        times_ms: tuple[list[float], list[float]] = [], []
        for number in range(count):
            for side in (0, 1) if number % 2 else (1, 0):
                began = time.perf_counter()
                with suppress(Unanswered):
                    await asks[side]()
                times_ms[side].append((time.perf_counter() - began) * 1000)
        found.append(Compared(what, median(times_ms[0]), median(times_ms[1])))
    return found


def _all(client: HttpClient, rare: int) -> dict[str, tuple[str, Callable[[], Awaitable[object]]]]:
    """Key -> a description, and a call."""
    runs = {f"list_{name}": (f"runs, {what}", f"{_RUNS}?{query}") for name, (what, query) in _of_runs(rare).items()}
    attempts = {
        f"attempts_{name}": (f"attempts, {what}", f"{_ATTEMPTS}?{query}")
        for name, (what, query) in _of_attempts(rare).items()
    }
    following = {
        "list_next": ("runs, next page by cursor", f"{_RUNS}?"),
        "list_next_failed": ("runs, next page of state FAILURE", f"{_RUNS}?state=FAILURE&"),
        "list_next_project": ("runs, next page of a project", f"{_RUNS}?project=project-3&"),
        "attempts_next": ("attempts, next page by cursor", f"{_ATTEMPTS}?"),
    }
    return {
        **{key: (what, partial(client.ask, "GET", path)) for key, (what, path) in {**runs, **attempts}.items()},
        **{key: (what, _pages(client, start)) for key, (what, start) in following.items()},
    }


def _of_runs(rare: int) -> dict[str, tuple[str, str]]:
    now = datetime.now(UTC)
    day, month = _at(now - timedelta(days=1)), _at(now - timedelta(days=30))
    return {
        "first": ("first page", ""),
        "state": ("state FAILURE, one in fifty", "state=FAILURE"),
        "rare_state": ("state STOP, the oldest only", "state=STOP"),
        "live": ("states that are not over", "state=RUNNING_EXECUTION&state=SERIAL_WAIT&state=READY_STOP"),
        "no_state": ("state PAUSE, none", "state=PAUSE"),
        "workflow": ("a workflow by name", "workflow=workflow-7"),
        "rare_workflow": ("a workflow that hardly runs", f"workflow=workflow-{rare}"),
        "no_workflow": ("a name that no workflow has", "workflow=nobody"),
        "project": ("a project", "project=project-3"),
        "rare_project": ("a project that hardly runs", "project=project-rare"),
        "since": ("started in the last day", f"started_after={day}"),
        "since_now": ("started from now on, none", f"started_after={_at(now + timedelta(hours=1))}"),
        "children": ("child runs too", "children=true"),
        "both": ("state STOP of a workflow", "workflow=workflow-7&state=STOP"),
        "state_project": ("state FAILURE of a project", "project=project-3&state=FAILURE"),
        "state_since": ("state STOP in the last month, none", f"state=STOP&started_after={month}"),
        "workflow_since": ("a workflow in the last month", f"workflow=workflow-7&started_after={month}"),
        "rare_project_since": ("a rare project in the last month", f"project=project-rare&started_after={month}"),
        "state_children": ("state FAILURE, child runs too", "state=FAILURE&children=true"),
    }


def _of_attempts(rare: int) -> dict[str, tuple[str, str]]:
    now = datetime.now(UTC)
    return {
        "first": ("first page", ""),
        "state": ("state FAILURE, none", "state=FAILURE"),
        "name": ("a name that no task has", "name=nobody"),
        "rare_workflow": ("a workflow that hardly runs", f"workflow=workflow-{rare}"),
        "since": ("started from now on, none", f"started_after={_at(now + timedelta(hours=1))}"),
    }


def _pages(client: HttpClient, start: str) -> Callable[[], Awaitable[object]]:
    """Asks for the next page each time, after the last one for the first."""
    cursor = ""

    async def ask() -> object:
        nonlocal cursor
        page = await client.ask("GET", f"{start}{cursor}")
        cursor = f"cursor={page['next_cursor']}" if page["has_more"] else ""
        return page

    return ask


async def _listed(part: str, key: str, what: str, count: int, ask: Callable[[], Awaitable[object]]) -> Figure:
    """The time of one call after the other, the first included; a list that is slow is not asked for so often."""
    times_ms: list[float] = []
    unanswered = 0
    while len(times_ms) < count and sum(times_ms) < _S_MAX * 1000:
        began = time.perf_counter()
        try:
            await ask()
        except Unanswered:
            unanswered += 1
        times_ms.append((time.perf_counter() - began) * 1000)
    times_ms.sort()
    how = f"{len(times_ms)} calls, p50 {median(times_ms):.1f} ms, the slowest {times_ms[-1]:.1f} ms"
    how += f", {unanswered} unanswered" if unanswered else ""
    p99 = times_ms[max(0, -(-99 * len(times_ms) // 100) - 1)]
    family = "lists of runs and attempts, p99"
    return Figure(f"api_{key}_p99_ms", part, f"list of {what}, p99", p99, "ms", _TARGET, how, family=family)


def _at(moment: datetime) -> str:
    return quote(moment.isoformat())
