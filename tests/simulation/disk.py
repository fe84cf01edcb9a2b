"""The disks of the workers' machines: their content outlives the process that wrote it.

`SimulatedSpool` stands for `worker/results/spool.py`, with its rule of who may read a file: nobody while its writer
lives.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dao.cluster.nodes import Me
from dao.tasks.task_claims import Report
from tests.simulation.loop import PROCESS, Process


class File:
    """Ends of tasks that one life could not tell."""

    def __init__(self, me: Me, writer: Process | None) -> None:
        self.me = me
        self.reports: list[Report] = []
        self.writer = writer


Files = dict[tuple[Path, int], File]
"""By folder and epoch."""


class SimulatedSpool:
    """The file of one life."""

    def __init__(self, files: Files, folder: Path, me: Me) -> None:
        self._files = files
        self._key = (folder, me.epoch)
        self._me = me

    @property
    def lines(self) -> int:
        return len(self._files[self._key].reports) if self._key in self._files else 0

    def store(self, reports: Collection[Report]) -> None:
        file = self._files.setdefault(self._key, File(self._me, PROCESS.get()))
        file.reports += reports

    def store_only(self, reports: Collection[Report]) -> None:
        self.remove()
        self.store(reports)

    def remove(self) -> None:
        self._files.pop(self._key, None)

    def close(self, *, is_all_reported: bool = False) -> None:
        if is_all_reported:
            self.remove()
        elif self._key in self._files:
            self._files[self._key].writer = None


class SimulatedLeft:
    """The results of a life that is over."""

    NAME = "left_results"

    def __init__(self, files: Files, key: tuple[Path, int]) -> None:
        self.me = files[key].me
        self.reports = list({report.id: report for report in files[key].reports}.values())
        self._files = files
        self._key = key

    def remove(self) -> None:
        self._files.pop(self._key, None)

    def close(self) -> None:
        """Nothing is held."""


def left_by_former_lives(files: Files, folder: Path) -> list[SimulatedLeft]:
    return [
        SimulatedLeft(files, key)
        for key, file in sorted(files.items(), key=lambda one: one[0][1])
        if key[0] == folder and (file.writer is None or file.writer.is_dead)
    ]
