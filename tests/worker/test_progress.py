"""`worker/attempts/progress.py`: what a task reports of its progress, in whatever pieces and however much it prints."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.ids import TaskInstanceId
from model.runs.progress import LINE_BYTES_MAX, TEXT_LENGTH_MAX, Progress
from tests.every import every
from tests.worker.scene import MemoryLog
from worker.attempts.progress import FILE, VARIABLE, ProgressBoard, ProgressFile, ProgressLog


def last(*pieces: bytes) -> Progress | None:
    log = MemoryLog()
    scanned = ProgressLog(log)
    for piece in pieces:
        scanned.write(piece)
    assert log.size == sum(map(len, pieces))
    return scanned.last


LINES = [
    ("::progress 40/100 epoch 12\n", Progress(40, 100, "epoch 12")),
    ("::progress 40%\n", Progress(40)),
    ("::progress 12.5% half of a quarter\r\n", Progress(12.5, None, "half of a quarter")),
    ("::progress 0/3\n", Progress(0, 3)),
    ("::progress 3/3\n", Progress(3, 3)),
    ("before\n::progress 1/2\nafter\n", Progress(1, 2)),
    ("::progress 1/2\n::progress 2/2 done\n", Progress(2, 2, "done")),
    ("::progress 1/2\n::progress wrong\n", Progress(1, 2)),
    ("::progress 1/2 a\tb\x1b[31mc\n", Progress(1, 2, "a b[31mc")),
    (f"::progress 1/2 {'x' * 300}\n", Progress(1, 2, "x" * 300)),
    ("::progress 1/2", None),
    ("x ::progress 1/2\n", None),
    (" ::progress 1/2\n", None),
    ("::progress\n", None),
    ("::progress \n", None),
    ("::progress 40\n", None),
    ("::progress 101%\n", None),
    ("::progress 5/4\n", None),
    ("::progress 0/0\n", None),
    ("::progress -1/4\n", None),
    ("::progress 1e3/1e4\n", None),
    ("::progress nan%\n", None),
    ("::progress ٤/٨\n", None),
    ("::Progress 1/2\n", None),
    ("::progression 1/2\n", None),
    (f"::progress 1/2 {'x' * LINE_BYTES_MAX}\n", None),
    (f"{'x' * 70_000}\n::progress 1/2\n", Progress(1, 2)),
    (f"{'x' * 70_000}::progress 1/2\n", None),
]


@every(("text", "said"), LINES)
def test_progress_stands_on_a_line_by_itself_and_the_last_well_formed_line_counts(
    text: str, said: Progress | None
) -> None:
    data = text.encode()
    assert last(data) == said
    step = 1 + len(data) // 1_000
    assert last(*(data[at : at + step] for at in range(0, len(data), step))) == said


@given(st.lists(st.sampled_from([b"::progress ", b"1/2", b"7%", b" text", b"\n", b"\xff\x00", b" "])), st.data())
def test_where_the_output_is_cut_changes_nothing(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert last(*pieces) == last(whole)


def _cpu_s_of(data: bytes, times: int) -> float:
    scanned = ProgressLog(MemoryLog())
    begun_s = time.process_time()
    for _ in range(times):
        scanned.write(data)
    return time.process_time() - begun_s


def test_a_flood_of_reports_and_an_endless_line_cost_next_to_nothing() -> None:
    """A million reports, then 1 GB without a newline, in pieces of the size that a worker reads."""
    flood = b"::progress 40/100 text\n" * 2_850
    assert _cpu_s_of(flood, 350) < 2
    assert _cpu_s_of(b"::progress 40/100 " + b"x" * 65_518, 1) < 1
    tracemalloc.start()
    assert _cpu_s_of(b"x" * 65_536, 16_384) < 5
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"40/100 text", Progress(40, 100, "text")),
        (b"1/3\n2/3\n", Progress(2, 3)),
        (b"x" * 5_000_000 + b"\n7%", Progress(7)),
        (b"", None),
        (b"\x00\xff", None),
        (b"9" * 2_000, None),
    ],
)
def test_the_last_line_of_the_file_counts(tmp_path: Path, content: bytes, said: Progress | None) -> None:
    file = ProgressFile(str(tmp_path / FILE))
    assert file.read() is None
    (tmp_path / FILE).write_bytes(content)
    assert file.read() == said
    assert file.read() is None, "it has not changed"


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("1/2")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert [ProgressFile(str(tmp_path / name)).read() for name in ("link", "pipe", "folder", "other/x")] == [None] * 4


def test_only_what_changed_is_to_be_written_masked_and_cut_and_the_last_report_too(tmp_path: Path) -> None:
    board = ProgressBoard()
    task, environment = TaskInstanceId(7), {VARIABLE: str(tmp_path / FILE)}
    with board.watching(task, 2, lambda text: text.replace("secret", "***"), MemoryLog(), environment) as log:
        assert not board.has_news
        log.write("::progress 1/2 my secret " + "x" * 400 + "\n")
    (written,) = board.take().values()
    assert (written.id, written.attempt, written.done, written.total) == (7, 2, 1, 2)
    assert written.text == ("my *** " + "x" * 400)[:TEXT_LENGTH_MAX]
    assert not board.has_news
    board.put_back({task: written})
    assert board.take() == {task: written}
