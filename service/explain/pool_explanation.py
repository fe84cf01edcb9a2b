"""Why a task waits for resources of pools. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from dao.pools.pool_readings import PoolReading
from service.explain.answer import Why
from service.words import duration


def why_waits_for_pools(name: str, pools: Sequence[PoolReading]) -> Why | None:
    """What keeps a queued task waiting, the worst first; None if all pools have what it needs."""
    for explain in (_missing, _too_small, _set_aside, _taken, _behind_others):
        for pool in pools:
            if (why := explain(name, pool)) is not None:
                return why
    return None


def _missing(name: str, pool: PoolReading) -> Why | None:
    if pool.size is not None:
        return None
    return Why(f"{name} waits for pool {pool.name}, which does not exist.", "Make it: shoal pool apply FILE")


def _too_small(name: str, pool: PoolReading) -> Why | None:
    if pool.size is None or pool.needed <= pool.size:
        return None
    return Why(
        f"{name} needs {pool.needed} of pool {pool.name}, which has only {pool.size}: it can never begin.",
        "Give the pool more, or have the task need less: shoal pool apply FILE",
    )


def _set_aside(name: str, pool: PoolReading) -> Why | None:
    if not pool.set_aside or pool.size is None or pool.needed <= pool.size - pool.set_aside:
        return None
    how_many = "all" if pool.set_aside >= pool.size else f"{pool.set_aside} of {pool.size}"
    why = f": {pool.set_aside_why.rstrip('.')}" if pool.set_aside_why else ""
    return Why(
        f"{name} waits for pool {pool.name}: {how_many} set aside{why}.",
        f"They come back when a check passes, or by a person: shoal pool show {quote(pool.name)}",
    )


def _taken(name: str, pool: PoolReading) -> Why | None:
    if pool.size is None or _free(pool, pool.size) >= pool.needed:
        return None
    return _place(name, pool)


def _behind_others(name: str, pool: PoolReading) -> Why | None:
    """Of a pool that has enough, which others before it in the line reserve, or get now."""
    if pool.size is None or pool.place <= 1:
        return None
    if pool.kept_for is None:
        return _place(name, pool)
    streams = "a stream holds" if pool.by_streams == 1 else "streams hold"
    held = f", and waits for what {streams}" if pool.size - pool.by_streams < pool.kept_needs else ""
    return _place(
        name, pool, f", and what is free is kept for {pool.kept_for} before it, which needs {pool.kept_needs}{held}"
    )


def _free(pool: PoolReading, size: int) -> int:
    return size - pool.taken - pool.set_aside - pool.checked - pool.leaving


def _place(name: str, pool: PoolReading, kept: str = "") -> Why:
    taken = f"{pool.taken} of {pool.size} taken{_by_streams(pool)}"
    kinds = ((pool.set_aside, "set aside"), (pool.checked, "checked"), (pool.leaving, "removed and still held"))
    others = [f"{count} {what}" for count, what in kinds if count]
    place = f"{_ordinal(pool.place)} in line" if pool.place > 1 else "next in line"
    needs = f", and needs {pool.needed}" if pool.needed > 1 else ""
    soon = f", the next frees in about {_about(pool.next_in_s)}" if pool.next_in_s is not None else ""
    return Why(
        f"{name} waits for pool {pool.name}: {', '.join([taken, *others])}; it is {place}{needs}{kept}{soon}.",
        f"See who has them: shoal pool show {quote(pool.name)}",
    )


def _by_streams(pool: PoolReading) -> str:
    """What is added to how many are taken, since a stream gives back nothing by itself."""
    if not pool.by_streams:
        return ""
    how_many = "" if pool.by_streams == pool.taken else f"{pool.by_streams} "
    if pool.by_streams == 1:
        return f", {how_many}by a stream, which runs until it is stopped"
    return f", {how_many}by streams, which run until they are stopped"


def _about(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 60 else duration(seconds)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
