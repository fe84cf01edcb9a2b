"""The log store of a seed, as masters keep values in it: `node/store_access.py` in memory, and away now and then."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

from dao.tasks.task_claims import ClaimedTask
from model.definitions.each import EACH
from model.errors import NotFound, Unavailable
from model.parameters.large_values import LargeValue, large_value
from model.runs.elements import is_element
from model.runs.states import TaskState
from tests.simulation.definitions import MAPPED, specs
from tests.simulation.server import Server

R = TypeVar("R")

GIVEN = "given"
"""The output of each element: its own value."""


class ValueStore:
    """The values of one seed. A share `away` of its calls fails, none takes longer than `lasts_s`."""

    place = "simulated"

    def __init__(self, random: Random, away: float, lasts_s: float = 0.5) -> None:
        self.files: dict[str, bytes] = {}
        self._random = random
        self._away = away
        self._lasts_s = lasts_s

    async def verify(self) -> None:
        await self._passes()

    async def today(self) -> str:
        await self._passes()
        return "20260301"

    async def run(self, call: Callable[[Any, Callable[[], None]], R]) -> R:
        await self._passes()
        return call(self, lambda: None)

    def put(self, key: str, fd: int, begin: int, end: int, _advanced: Callable[[], None]) -> None:
        self.files[key] = os.pread(fd, end - begin, begin)

    def size(self, key: str) -> int:
        if key not in self.files:
            raise NotFound(key)
        return len(self.files[key])

    def read(self, key: str, offset: int, limit: int) -> bytes:
        return self.files[key][offset : offset + limit]

    def given_by(self, task: ClaimedTask) -> dict[str, str]:
        """The values of an attempt that succeeded."""
        return {GIVEN: json.loads(task.parameter_values)[EACH]} if is_element(task.code) else {}

    def wrong(self, server: Server) -> Iterator[str]:
        """The faults of the lists of `each` tasks, by their rows."""
        for row in server.tasks.rows.values():
            task = row.values
            if task is None or task.task_code < 0 or task.state is not TaskState.SUCCESS or not task.outputs:
                continue
            run = server.instances.rows[task.workflow_instance_id].values
            if run is None or run.workflow_code not in MAPPED:
                continue
            found = large_value(json.loads(task.outputs).get(GIVEN, ""))
            spec = next(each for each in specs()[run.workflow_code].coded().tasks if each.code == task.task_code)
            if found is not None and spec.each is not None and self._content(found) != spec.each.over:
                yield f"{task.workflow_instance_id}/{task.name}#{task.attempt} has given what is not kept: {found}"

    def count(self, server: Server) -> int:
        """How many lists referenced by rows are kept."""
        values = (row.values for row in server.tasks.rows.values() if row.values is not None)
        texts = (json.loads(task.outputs).get(GIVEN, "") for task in values if task.task_code > 0 and task.outputs)
        return sum(1 for text in texts if large_value(text) is not None)

    def _content(self, value: LargeValue) -> Any:
        data = self.files.get(value.key, b"")
        return json.loads(data) if hashlib.sha256(data).hexdigest() == value.digest else None

    async def _passes(self) -> None:
        await asyncio.sleep(self._random.random() * self._lasts_s)
        if self._random.random() < self._away:
            raise Unavailable("the log store does not answer")
