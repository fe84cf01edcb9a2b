"""Lasting problems: worker groups without workers, queues and pools that stand. A part of a duty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dao.alerts import alerts, conditions
from dao.alerts.conditions import Lasting, Standing
from dao.commands.queue_listings import GroupQueue
from dao.postgres.database import FencedTransaction
from model.alerts.alerts import AlertKind, NewAlert, Severity

STANDS_AFTER = timedelta(minutes=10)
"""A queue or pool stands if a task has waited this long, and nothing has begun meanwhile."""
LASTS = timedelta(seconds=30)
"""A group without workers is reported after this: a worker that restarts is soon back."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The reports of a condition that begins or ends."""

    stands: str
    over: str


_WORDS = {
    AlertKind.GROUP_WITHOUT_WORKERS: _Words(
        'worker group "{name}" has no worker, and {tasks} for it',
        'worker group "{name}" has a worker again, or nothing waits for it',
    ),
    AlertKind.QUEUE_STANDS: _Words(
        'the queue of worker group "{name}" stands: {tasks}, and none has begun for {minutes:g} min',
        'the queue of worker group "{name}" moves again',
    ),
    AlertKind.POOL_STANDS: _Words(
        'the resource pool "{name}" stands: {tasks}, and none has got a resource for {minutes:g} min',
        'the resource pool "{name}" moves again',
    ),
}


async def check(connection: FencedTransaction, groups_without_workers: Sequence[GroupQueue]) -> list[str]:
    """Compare the conditions with those reported, and write alerts of new and ended ones.

    Returns the queues and pools that stand.
    """
    found = await conditions.read_standing(connection, STANDS_AFTER)
    without = {each.worker_group for each in groups_without_workers}
    there: Mapping[AlertKind, Mapping[str, Mapping[str, Any]]] = {
        AlertKind.GROUP_WITHOUT_WORKERS: {
            each.worker_group: {"waiting": each.waiting, "oldest_s": each.oldest_s} for each in groups_without_workers
        },
        AlertKind.QUEUE_STANDS: _facts(each for each in found.queues if each.name not in without),
        AlertKind.POOL_STANDS: _facts(found.pools),
    }
    if found.any_recorded or any(there.values()):
        await _compare(connection, there)
    queues, pools = there[AlertKind.QUEUE_STANDS], there[AlertKind.POOL_STANDS]
    return [f'queue of group "{name}"' for name in queues] + [f'pool "{name}"' for name in pools]


async def _compare(connection: FencedTransaction, there: Mapping[AlertKind, Mapping[str, Mapping[str, Any]]]) -> None:
    new = []
    for kind, found in there.items():
        lasts = LASTS if kind is AlertKind.GROUP_WITHOUT_WORKERS else timedelta(0)
        lasted, over = await conditions.update(connection, kind, found, lasts)
        new += [_alert(kind, each, is_over=False) for each in lasted]
        new += [_alert(kind, each, is_over=True) for each in over]
    await alerts.insert(connection, new)


def _facts(standing: Iterable[Standing]) -> Mapping[str, Mapping[str, Any]]:
    return {each.name: {"waiting": each.waiting, "oldest_s": each.oldest_s} for each in standing}


def _alert(kind: AlertKind, each: Lasting, *, is_over: bool) -> NewAlert:
    words = _WORDS[kind]
    waiting = each.facts.get("waiting")
    tasks = "1 task waits" if waiting == 1 else f"{waiting} tasks wait"
    minutes = STANDS_AFTER.total_seconds() / 60
    subject = (words.over if is_over else words.stands).format(name=each.name, tasks=tasks, minutes=minutes)
    return NewAlert(
        AlertKind.RECOVERED if is_over else kind,
        Severity.INFO if is_over else Severity.CRITICAL,
        subject,
        {"of": kind.value, "name": each.name, **each.facts},
        unique_key=f"{'over' if is_over else 'stands'}:{kind}:{each.name}:{each.mark}",
    )
