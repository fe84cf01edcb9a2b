"""The bench runs through; what it measures is no test's business."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=REPO, capture_output=True, text=True)


def worktrees() -> str:
    return subprocess.run(["git", "worktree", "list"], cwd=REPO, capture_output=True, text=True, check=True).stdout


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_quick_bench_measures_everything(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = bench("--quick", "--json", str(file))
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(file.read_text())
    assert "tasks" in done.stdout


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_revision_is_compared_with_this_tree_and_its_checkout_is_removed(tmp_path: Path) -> None:
    before, file = worktrees(), tmp_path / "compared.json"
    done = bench("--compare", "HEAD", "--quick", "--pairs", "3", "--parts", "starts", "--json", str(file))
    assert done.returncode in (0, 1), done.stderr[-2000:]
    told = json.loads(file.read_text())
    [started] = told["figures"]
    assert (started["key"], told["only_before"], told["only_here"]) == ("started_per_s", [], [])
    assert len(started["before"]["values"]) == len(started["here"]["values"]) == 3
    assert done.returncode == len(told["slower"])
    assert "commands → instances started" in done.stdout
    assert [line.rpartition(": ")[2] for line in done.stderr.splitlines() if "pair " in line] == [
        f"{side} ..." for side in ("HEAD", "here", "here", "HEAD", "HEAD", "here")
    ]
    assert worktrees() == before


def test_what_cannot_be_compared_is_told_in_one_sentence() -> None:
    for arguments, sentence in (
        (("--compare", "no-such-branch"), 'there is no revision "no-such-branch"'),
        (("--compare", "HEAD", "--pairs", "2"), "--pairs must be at least 3"),
        (("--compare", "HEAD", "--write"), "--write wants a full run of this tree"),
        (("--parts", "flow,flaw"), 'there is no part "flaw"; there are: limits, starts'),
    ):
        done = bench(*arguments)
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
