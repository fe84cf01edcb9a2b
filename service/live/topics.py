"""What can be watched."""

from __future__ import annotations

from collections.abc import Iterable

from model.errors import Refused

RUNS, CLUSTER, QUEUE, DEFINITIONS, POOLS, ALERTS = "runs", "cluster", "queue", "definitions", "pools", "alerts"
PLAIN = frozenset({RUNS, CLUSTER, QUEUE, DEFINITIONS, POOLS, ALERTS})
TOPICS_MAX = 100
"""Of one listener."""
_RUN = "run:"


def run_topic(run: int) -> str:
    """The topic of one run and its tasks."""
    return f"{_RUN}{run}"


def run_of(topic: str) -> int | None:
    """The run of such a topic; None for another one."""
    number = topic.removeprefix(_RUN)
    return int(number) if topic.startswith(_RUN) and number.isascii() and number.isdecimal() else None


def checked_topics(wanted: Iterable[str]) -> frozenset[str]:
    """Those topics, each written in one way only. Raises `Refused`."""
    topics = set[str]()
    for topic in wanted:
        run = run_of(topic) if len(topic) <= len(_RUN) + 18 else None
        if topic not in PLAIN and run is None:
            raise Refused(
                f'there is no topic "{topic[:100]}"; there are {", ".join(sorted(PLAIN))} and {_RUN}ID (as in {_RUN}42)'
            )
        topics.add(topic if run is None else run_topic(run))
    if not topics or len(topics) > TOPICS_MAX:
        raise Refused(f"a listener watches 1 to {TOPICS_MAX} topics, not {len(topics)}")
    return frozenset(topics)
