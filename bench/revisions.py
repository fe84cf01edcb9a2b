"""`python -m bench --compare REV`: this tree and another revision of it, measured in turn.

Each tree's own bench runs, as a process in that tree, so that the other revision may have another bench. Both use this
Python environment. The order is A B, B A, A B, ...: what changes slowly on the machine meets both trees alike.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import postgres_alone
from bench.cluster import BenchFailed
from bench.comparison import Comparison, Run, Verdict, compare
from bench.course import RATIOS
from bench.figures import shown
from tests.servers.child import Child, PrivateFolder

HERE = Path(__file__).parent.parent
PARTS = ("starts", "flow")
"""The default comparison: throughput and latency."""
NOT_OURS = frozenset({postgres_alone.PART, RATIOS})
"""Headings of figures that say nothing of a tree: PostgreSQL alone, and ratios of other figures."""
_LOCK = "requirements.lock"
_END_S = 60.0


@dataclass(frozen=True, slots=True)
class Report:
    """The result, and what a reader of it must know."""

    revision: str
    commit: str
    pairs: int
    comparison: Comparison
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "revision": self.revision,
            "commit": self.commit,
            "pairs": self.pairs,
            "figures": [figure.as_json() for figure in self.comparison.figures],
            "slower": [figure.key for figure in self.comparison.slower],
            "only_before": list(self.comparison.only_before),
            "only_here": list(self.comparison.only_here),
            "notes": list(self.notes),
        }


def compare_with(
    revision: str, parts: Sequence[str], pairs: int, *, is_quick: bool, say: Callable[[str], None]
) -> Report:
    """Measure both trees `pairs` times each. Raises `BenchFailed` for an unknown revision, or when a bench fails."""
    commit = _git("rev-parse", "--verify", "--quiet", "--short=10", f"{revision}^{{commit}}", failed=revision)
    folder = PrivateFolder("shoal-bench-")
    try:
        with _checked_out(commit, folder.path / "tree") as tree:
            notes = list(_notes(revision, tree))
            options = ["--quick"] if is_quick else []
            if _selects_parts(tree):
                options += ["--parts", ",".join(parts)]
            else:
                notes.append(f"the bench of {revision} cannot measure parts: both trees measured everything")
            for note in notes:
                say(note)
            runs: dict[Path, list[Run]] = {tree: [], HERE: []}
            for number in range(pairs):
                for each in (tree, HERE) if number % 2 == 0 else (HERE, tree):
                    say(f"pair {number + 1} of {pairs}: {'here' if each is HERE else revision}")
                    runs[each].append(_measure(each, options, folder.path))
        return Report(revision, commit, pairs, compare(runs[tree], runs[HERE], without=NOT_OURS), tuple(notes))
    finally:
        folder.close()


def print_comparison(report: Report, console: Console) -> None:
    """Print one table, then what only one tree has measured, and the notes."""
    title = f"{report.revision} ({report.commit}) and here, {report.pairs} runs each: median (spread)"
    table = Table(title=title, title_justify="left")
    table.add_column("figure")
    for column in (report.revision, "here", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    colours = {Verdict.SLOWER: "red", Verdict.FASTER: "green", Verdict.SAME: "default"}
    for part, figures in groupby(report.comparison.figures, key=lambda figure: figure.part):
        table.add_section()
        table.add_row(f"[bold]{part}[/]")
        for figure in figures:
            sides = [
                f"{shown(each.median)} ({shown(each.spread)}) {figure.unit}" for each in (figure.before, figure.here)
            ]
            verdict = f"[{colours[figure.verdict]}]{figure.verdict.value}[/]"
            table.add_row(f"  {figure.what}", *sides, f"{figure.ratio:.3f}", verdict)
    console.print(table)
    for where, keys in (
        (f"only in {report.revision}", report.comparison.only_before),
        ("only here", report.comparison.only_here),
    ):
        if keys:
            console.print(f"measured {where}: {', '.join(sorted(keys))}")
    for note in report.notes:
        console.print(f"[yellow]{note}[/]")


def _measure(tree: Path, options: Sequence[str], folder: Path) -> Run:
    """The figures of one execution of a tree's own bench."""
    result, log = folder / "result.json", folder / "log"
    result.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    # The nodes of the bench run in folders elsewhere: without PYTHONPATH they would import the installed tree.
    child = Child.of(
        [sys.executable, "-m", "bench", *options, "--json", str(result)],
        cwd=tree,
        log=log,
        death_signal=signal.SIGTERM,
        environment={**os.environ, "PYTHONPATH": str(tree)},
    )
    try:
        while child.running:
            time.sleep(0.1)
    finally:
        if child.running:
            child.end(signal.SIGTERM, _END_S)
    if child.exit_code or not result.exists():
        raise BenchFailed(f"the bench in {tree} ended with {child.exit_code}:\n{child.log_tail()}")
    return {figure["key"]: figure for figure in json.loads(result.read_text())["figures"]}


@contextmanager
def _checked_out(commit: str, tree: Path) -> Iterator[Path]:
    """A checkout of a commit, removed at the end."""
    try:
        _git("worktree", "add", "--detach", str(tree), commit)
        yield tree
    finally:
        shutil.rmtree(tree, ignore_errors=True)
        _git("worktree", "prune")  # even after a kill


def _notes(revision: str, tree: Path) -> Iterator[str]:
    theirs, ours = (each / _LOCK for each in (tree, HERE))
    if not theirs.exists() or theirs.read_bytes() != ours.read_bytes():
        yield f"{_LOCK} of {revision} is another: both trees ran with the packages that are installed here"


def _selects_parts(tree: Path) -> bool:
    told = subprocess.run(
        [sys.executable, "-m", "bench", "--help"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise BenchFailed(f"the bench in {tree} does not start:\n{told.stderr.strip()}")
    return "--parts" in told.stdout


def _git(*arguments: str, failed: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchFailed(
            f'there is no revision "{failed}" in {HERE}; name a commit, branch or tag of this clone'
            if failed
            else f"git {arguments[0]} failed: {done.stderr.strip()}"
        )
    return done.stdout.strip()
