"""`worker/results/spool.py`: what was kept is read again by one who may, whatever happened to disk or writer."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from dao.cluster.nodes import Me
from dao.tasks.task_claims import Report
from model.cluster.nodes import NodeKind
from model.ids import Epoch, TaskInstanceId
from model.runs.states import TaskState
from worker.results.spool import Left, Spool, left_by_former_lives

ME = Me(Epoch(7), UUID(int=7), NodeKind.WORKER, "127.0.0.1:1234")
LATER = Me(Epoch(11), UUID(int=11), NodeKind.WORKER, "127.0.0.1:1235")


def report(id_: int, reason: str = "", outputs: str | None = '{"a": "1"}') -> Report:
    return Report(TaskInstanceId(id_), 1, TaskState.SUCCESS, reason, 0, outputs)


def kept(folder: Path, *batches: list[Report], me: Me = ME) -> Path:
    """The file of a life that is over, which kept these."""
    spool = Spool(folder, me)
    for batch in batches:
        spool.store(batch)
    spool.close()
    return folder / str(me.epoch)


@contextmanager
def left(folder: Path) -> Iterator[list[Left]]:
    found = left_by_former_lives(folder)
    yield found
    for each in found:
        each.close()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A disk that limits the size of a file: real for the kernel, and for root."""
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


def test_what_was_kept_is_read_again_in_any_later_life(tmp_path: Path) -> None:
    one, two, three = report(1), Report(TaskInstanceId(2), 3, TaskState.FAILURE, "exit code 3", 3, None), report(3)
    kept(tmp_path, [report(4)], me=LATER)
    kept(tmp_path, [one, two], [three])
    with left(tmp_path) as (first, second):
        assert (first.me, first.reports) == (ME, [one, two, three])
        assert (second.me, second.reports) == (LATER, [report(4)])
        first.remove()
    with left(tmp_path) as (only,):
        assert only.me == LATER


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=8))
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("results")
    reports = [report(number, text, text) for number, text in enumerate(texts)]
    kept(folder, reports)
    with left(folder) as (only,):
        assert only.reports == reports


def test_of_two_reports_on_one_task_the_later_counts(tmp_path: Path) -> None:
    kept(tmp_path, [report(1)], [report(2)], [report(1, "it ended, but its result could not be written")])
    with left(tmp_path) as (only,):
        assert [(each.id, each.reason != "") for each in only.reports] == [(1, True), (2, False)]


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file = kept(tmp_path / "results", [report(1)])
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_nothing_is_left_when_all_is_told(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ME)
    spool.store([report(1)])
    spool.remove()
    assert list(tmp_path.iterdir()) == []
    spool.store([report(2)])
    spool.close()
    with left(tmp_path) as (only,):
        assert only.reports == [report(2)]


def test_a_file_that_is_renewed_holds_what_is_asked_for_and_grows_on(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ME)
    spool.store([report(number) for number in range(100)])
    spool.store_only([report(98), report(99)])
    spool.store([report(100)])
    assert spool.lines == 3
    assert left_by_former_lives(tmp_path) == []
    spool.close()
    with left(tmp_path) as (only,):
        assert [each.id for each in only.reports] == [98, 99, 100]


KEEPER = """
import sys
from pathlib import Path
from tests.worker.test_spool import ME, report
from worker.results.spool import Spool
spool = Spool(Path(sys.argv[1]), ME)
spool.store([report(1)])
print("kept", flush=True)
sys.stdin.read()
"""


def test_what_a_living_process_keeps_is_let_alone_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"kept\n"
        assert left_by_former_lives(tmp_path) == []
    finally:
        keeper.kill()
        keeper.communicate()
    with left(tmp_path) as (only,):
        assert only.reports == [report(1)]
        assert left_by_former_lives(tmp_path) == [], "two that start at once do not both take it"


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_a_crash_cut_short_is_left_out_and_said(tmp_path: Path, cut: int) -> None:
    file = kept(tmp_path, [report(1), report(2)])
    os.truncate(file, file.stat().st_size - cut)
    with capture_logs() as said, left(tmp_path) as (only,):
        # One byte is the end of the line alone: then all of it is there.
        assert [each.id for each in only.reports] == ([1, 2] if cut == 1 else [1])
    assert [event["event"] for event in said] == ([] if cut == 1 else ["left_results_torn"])


@pytest.mark.parametrize("damage", [b"\x00" * 40, b"{}", b'{"id": 5}', b"\xff\xfe", b'["id"]'])
def test_damage_in_the_middle_costs_only_itself(tmp_path: Path, damage: bytes) -> None:
    file = kept(tmp_path, [report(1), report(2)])
    first, one, two, end = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([first, one, damage, two, end]))
    with capture_logs() as said, left(tmp_path) as (only,):
        assert [each.id for each in only.reports] == [1, 2]
    assert [(event["event"], event["lines"]) for event in said] == [("left_results_torn", 1)]


@pytest.mark.parametrize("text", [b"", b"\x00\x00", b'{"epoch": 7'])
def test_a_file_that_does_not_say_whose_it_is_is_said_and_removed(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "7").write_bytes(text)
    with capture_logs() as said:
        assert left_by_former_lives(tmp_path) == []
    assert [event["event"] for event in said] == ["left_results_unreadable"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_never_finished_is_removed(tmp_path: Path) -> None:
    kept(tmp_path, [report(1)]).rename(tmp_path / "7.new")
    assert left_by_former_lives(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    kept(tmp_path / "elsewhere", [report(1)])
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "7").symlink_to(tmp_path / "elsewhere" / "7")
    assert left_by_former_lives(tmp_path / "results") == []
    assert (tmp_path / "elsewhere" / "7").exists()


def test_a_full_disk_takes_nothing_from_what_was_kept_and_room_lets_it_go_on(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ME)
    spool.store([report(1)])
    large = replace(report(2), outputs="x" * 10_000)
    with file_size_limit(5_000):
        with pytest.raises(OSError, match="File too large"):
            spool.store([large])
        with pytest.raises(OSError, match="File too large"):
            spool.store_only([large])
        assert (tmp_path / "7").stat().st_size == 5_000, "it was written as far as it went"
    spool.store([report(3)])
    spool.close()
    with capture_logs() as said, left(tmp_path) as (only,):
        assert only.reports == [report(1), report(3)]
    assert said == []


def test_a_folder_that_cannot_be_made_is_an_error_each_time(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("somebody's file")
    spool = Spool(tmp_path / "results", ME)
    for _ in range(2):
        with pytest.raises(FileExistsError):
            spool.store([report(1)])
    (tmp_path / "results").unlink()
    spool.store([report(1)])
    assert spool.lines == 1
    spool.close()
