"""A launcher for each test, and the proof that the test left no process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worker.errand import Errands
from tests.worker.scene import Scene
from worker.launcher.client import Launcher


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    launcher = Launcher(grace_s=0.5)
    launcher.open()
    scene = Scene(launcher, tmp_path)
    yield scene
    await launcher.close()
    left = scene.alive()
    scene.kill_what_is_left()
    assert left == set()


@pytest.fixture
async def errands(tmp_path: Path) -> AsyncIterator[Errands]:
    launcher = Launcher(grace_s=0.5)
    launcher.open()
    yield Errands(launcher, tmp_path / "worker")
    await launcher.close()
