"""A short run of chaos, whole: `make chaos` is the same for longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_a_minute_of_chaos_breaks_no_promise(tmp_path: Path) -> None:
    """Runs as a process of its own, which dies with its whole cluster. CHAOS_MINUTES and CHAOS_SEED change it."""
    minutes, seed = os.environ.get("CHAOS_MINUTES", "1"), os.environ.get("CHAOS_SEED", "1")
    command = [sys.executable, "-m", "tests.chaos", "--minutes", minutes, "--seed", seed, "--outage", "10"]
    done = subprocess.run([*command, "--out", str(tmp_path)], cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-6000:]}\nsee {tmp_path}"
    assert "violations: 0" in done.stdout
