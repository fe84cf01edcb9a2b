"""The bench runs through; what it measures is no test's business."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.__main__ import main
from bench.cluster import BenchFailed
from bench.revisions import compare_with

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


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_comparison_that_is_stopped_leaves_neither_a_checkout_nor_a_process() -> None:
    before = worktrees()
    with subprocess.Popen(
        [sys.executable, "-m", "bench", "--compare", "HEAD", "--quick"], cwd=REPO, stderr=subprocess.PIPE, text=True
    ) as comparing:
        try:
            assert comparing.stderr is not None
            assert "pair 1 of 5: HEAD" in comparing.stderr.readline()
            started = psutil.Process(comparing.pid).children(recursive=True)
            assert worktrees() != before
        finally:
            comparing.send_signal(signal.SIGTERM)
        assert comparing.wait(120) == 130
    assert started
    assert not any(each.is_running() for each in started)
    assert worktrees() == before


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_bench_that_is_stopped_gives_what_it_has_measured(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench", "--quick", "--parts", "limits,starts", "--json", str(file)]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as measuring:
        assert measuring.stderr is not None
        while "starts by" not in (line := measuring.stderr.readline()):
            assert line
        measuring.send_signal(signal.SIGTERM)
        shown, told = measuring.communicate(timeout=120)
    assert measuring.returncode == 130
    assert "bench: stopped" in told
    assert "pgbench" in shown
    assert "pgbench_tps" in [figure["key"] for figure in json.loads(file.read_text())["figures"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--compare HEAD --pairs 2", "--pairs must be at least 3"),
        ("--compare HEAD --write", "--write wants a full run of this tree"),
        ("--parts flow,flaw", 'there is no part "flaw"; there are: limits, starts'),
    ],
)
def test_wrong_use_is_told(
    arguments: str, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", *arguments.split()])
    with pytest.raises(SystemExit):
        main()
    assert sentence in capsys.readouterr().err


def test_a_revision_that_is_not_there_is_told() -> None:
    with pytest.raises(BenchFailed, match=r'there is no revision "no-such-branch" in .*; name a commit'):
        compare_with("no-such-branch", ["starts"], 3, is_quick=True, say=print)
