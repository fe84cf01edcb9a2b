"""What changed becomes events: reads what is watched, with one statement for each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from dao.cluster import nodes
from dao.pools import pool_listings as pools
from dao.pools.rows import PoolCounts
from dao.postgres.pool import AsyncConnection
from dao.runs import live
from dao.runs.rows import ChangedRun
from model.changes import Changes
from service.live.patches import DefinitionPatch, NodePatch, RunPatch, TaskPatch, nodes_patch, pools_patch
from service.live.ring import EVERYBODY
from service.live.topics import ALERTS, CLUSTER, DEFINITIONS, POOLS, QUEUE, RUNS, run_of, run_topic

RUNS_MAX = 500
"""If more runs changed at once, listeners of all runs read their page again: they do not show so many."""


class News(NamedTuple):
    """An event before it has an id."""

    topic: str
    kind: str
    project: str | None
    data: dict[str, Any]


class Reader:
    """Reads what changed of what is watched, and remembers what its listeners know already."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodePatch] = {}
        self._pools: dict[str, tuple[PoolCounts, int]] = {}
        self._sent: dict[int, dict[int, int]] = {}

    def reset(self) -> None:
        """Listeners are told to read everything again."""
        self._nodes.clear()
        self._pools.clear()
        self._sent.clear()

    async def read(self, connection: AsyncConnection, changes: Changes, topics: Collection[str]) -> list[News]:
        """The news for listeners of these topics."""
        watched = {run for topic in topics if (run := run_of(topic)) is not None}
        for run in self._sent.keys() - watched:
            del self._sent[run]
        news = await self._of_runs(connection, changes, watched, all_runs=RUNS in topics)
        if DEFINITIONS in topics and (changes.definitions or "definitions" in changes.many):
            news += await _of_definitions(connection, changes)
        if QUEUE in topics and (changes.queue or changes.errors):
            counts = await live.queue(connection)
            news.append(News(QUEUE, QUEUE, EVERYBODY, {"commands": counts.commands, "errors": counts.errors}))
        if CLUSTER in topics and changes.nodes:
            living = {str(node.epoch): NodePatch.of(node) for node in await nodes.living(connection)}
            if patch := nodes_patch(self._nodes, living):
                news.append(News(CLUSTER, CLUSTER, EVERYBODY, patch))
            self._nodes = living
        # Who holds what changes with attempts only, which are announced anyway: nothing is sent for it on the hot path.
        if POOLS in topics and (changes.pools or changes.tasks or "tasks" in changes.many):
            now = await pools.all_counts(connection)
            if patch := pools_patch(self._pools, now):
                news.append(News(POOLS, POOLS, EVERYBODY, patch))
            self._pools = now
        if ALERTS in topics and changes.alerts:
            news.append(News(ALERTS, ALERTS, EVERYBODY, {}))  # what they say is for those who may read them
        return news

    async def _of_runs(
        self, connection: AsyncConnection, changes: Changes, watched: set[int], *, all_runs: bool
    ) -> list[News]:
        is_many = "runs" in changes.many or len(changes.runs) > RUNS_MAX
        listed = changes.runs if all_runs and not is_many else set[int]()
        own = watched if "runs" in changes.many else watched & changes.runs
        touched = watched if "tasks" in changes.many else watched & changes.tasks
        news = [News(RUNS, "resync", EVERYBODY, {})] if all_runs and is_many else []
        wanted = listed | own | touched
        if not wanted:
            return news
        found = {run.id: run for run in await live.runs(connection, wanted)}
        news += _by_project(found[id_] for id_ in sorted(listed) if id_ in found)
        tasks = await self._tasks(connection, touched)
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        for count in await live.counts(connection, touched) if touched else ():
            counts[count.run][count.state] = count.count
        for id_ in sorted((own | touched) & found.keys()):
            data: dict[str, Any] = {"run": RunPatch.model_validate(found[id_]).plain()}
            if id_ in touched:
                data |= {"tasks": tasks.get(id_, []), "counts": counts[id_]}
            news.append(News(run_topic(id_), "run", found[id_].project, data))
        return news

    async def _tasks(self, connection: AsyncConnection, runs: set[int]) -> dict[int, list[dict[str, Any]]]:
        """The attempts of these runs that differ from what was sent."""
        tasks: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for attempt in await live.attempts(connection, runs) if runs else ():
            patch = TaskPatch.model_validate(attempt)
            sent = self._sent.setdefault(attempt.run, {})
            if sent.get(patch.id) != hash(patch):
                sent[patch.id] = hash(patch)
                tasks[attempt.run].append(patch.plain())
        return tasks


def _by_project(runs: Iterator[ChangedRun]) -> Iterator[News]:
    projects: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        projects[run.project].append(RunPatch.model_validate(run).plain())
    for project, patches in projects.items():
        yield News(RUNS, RUNS, project, {"runs": patches})


async def _of_definitions(connection: AsyncConnection, changes: Changes) -> list[News]:
    """One that was deleted no longer has a project: watchers read the definitions again."""
    found = await live.definitions(connection, changes.definitions)
    if "definitions" in changes.many or len(found) < len(changes.definitions):
        return [News(DEFINITIONS, "resync", EVERYBODY, {})]
    projects: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for definition in found:
        projects[definition.project].append(DefinitionPatch.model_validate(definition).plain())
    return [News(DEFINITIONS, DEFINITIONS, name, {"definitions": patches}) for name, patches in projects.items()]
