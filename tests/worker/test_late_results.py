"""`worker/results/late.py`: what is told at once costs nothing, what waits is kept, what was told goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from dao.tasks.task_claims import Report
from model.ids import TaskInstanceId
from tests.eventually import eventually
from tests.worker.test_spool import ME, left, report
from worker.results import late as late_results
from worker.results.late import SPARE_LINES_MAX, LateResults
from worker.results.spool import Spool


class Scene:
    """A worker's untold results, and what stands on its disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.untold: dict[TaskInstanceId, Report] = {}
        self.looks = 0
        self.late = LateResults(self._look, Spool(folder, ME))

    def _look(self) -> dict[TaskInstanceId, Report]:
        self.looks += 1
        return dict(self.untold)

    def ended(self, *ids: int) -> None:
        self.untold.update({TaskInstanceId(id_): report(id_) for id_ in ids})

    def told(self, *ids: int) -> None:
        for id_ in ids:
            del self.untold[TaskInstanceId(id_)]

    async def looked(self, times: int = 3) -> None:
        """Return after `times` more looks, the last of which has been acted upon."""
        wanted = self.looks + times + 1
        await eventually(lambda: self.looks >= wanted, every_s=0.005)

    @property
    def file(self) -> Path:
        return self.folder / "7"

    @property
    def lines(self) -> int:
        return self.file.read_bytes().count(b"\n") - 1


@pytest_asyncio.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(late_results, "CHECK_EVERY_S", 0.02)
    made = Scene(tmp_path / "results")
    running = asyncio.create_task(made.late.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


async def test_what_is_told_before_the_second_look_never_meets_the_disk(scene: Scene) -> None:
    for id_ in range(20):
        scene.ended(id_)
        await scene.looked(0)
        scene.told(id_)
    assert not scene.folder.exists()


async def test_what_waits_is_kept_once_and_goes_when_all_is_told(scene: Scene) -> None:
    scene.ended(1, 2)
    await eventually(lambda: scene.lines == 2)
    scene.ended(3)
    await eventually(lambda: scene.lines == 3)
    await scene.looked(5)
    assert scene.lines == 3
    scene.told(1, 3)
    await scene.looked()
    assert scene.file.exists()
    scene.told(2)
    await eventually(lambda: not scene.file.exists())


async def test_a_report_that_replaces_another_is_kept_too(scene: Scene) -> None:
    scene.ended(1)
    await eventually(lambda: scene.lines == 1)
    scene.untold[TaskInstanceId(1)] = report(1, "its result could not be written")
    await eventually(lambda: scene.lines == 2)
    await scene.late.close()
    with left(scene.folder) as (only,):
        assert [each.reason for each in only.reports] == ["its result could not be written"]


async def test_a_slow_database_does_not_let_the_file_grow_for_ever(scene: Scene) -> None:
    """Always something waits, but never the same for long."""
    scene.ended(0)
    for id_ in range(1, 40):
        scene.ended(*range(id_ * 10, id_ * 10 + 10))
        await eventually(lambda last=id_ * 10: f'"id":{last},' in scene.file.read_text())
        scene.told(*range(id_ * 10, id_ * 10 + 10))
        assert scene.lines <= SPARE_LINES_MAX + 40
    assert f'"id":{0},' in scene.file.read_text(), "what still waits is never left out"


async def test_the_end_of_a_life_keeps_what_is_untold_at_once(scene: Scene) -> None:
    scene.ended(1, 2)
    await scene.late.close()
    with left(scene.folder) as (only,):
        assert only.reports == [report(1), report(2)]


async def test_the_end_of_a_life_that_told_everything_leaves_nothing(scene: Scene) -> None:
    """Not even if it is still being written."""
    scene.ended(1)
    await eventually(lambda: scene.lines == 1)
    scene.told(1)
    await scene.late.close()
    assert not scene.file.exists()


async def test_a_disk_that_refuses_is_said_once_and_tried_again(scene: Scene) -> None:
    scene.folder.write_text("somebody's file")
    with capture_logs() as said:
        scene.ended(1)
        await scene.looked(6)
        assert [event["event"] for event in said if event["log_level"] == "error"] == ["results_not_stored"]
    scene.folder.unlink()
    await eventually(lambda: scene.lines == 1)
