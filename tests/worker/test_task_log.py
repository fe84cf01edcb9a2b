"""Log files: where they lie, who may read them, how large they get."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from model.errors import NotFound, Refused
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from worker.logs import holes
from worker.logs.task_log import ENDING_BYTES, LogFile, read_log

NAME = LogName("20260131", WorkflowCode(7), WorkflowInstanceId(8), TaskInstanceId(9))
MIB = 1 << 20


def log_in(root: Path, bytes_max: int = MIB, secrets: tuple[str, ...] = ()) -> LogFile:
    return LogFile(root, NAME, bytes_max, secrets)


def test_nothing_is_made_before_the_first_byte(tmp_path: Path) -> None:
    log = log_in(tmp_path / "logs")
    log.write("")
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_the_path_is_made_of_ids_and_private(tmp_path: Path) -> None:
    log = log_in(tmp_path / "logs")
    log.write("a line\n")
    log.close()
    file = tmp_path / "logs/20260131/7/8/9.log"
    assert file.read_text() == "a line\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [folder.stat().st_mode & 0o777 for folder in list(file.parents)[:4]] == [0o700] * 4


def test_a_log_is_cut_at_its_limit_and_keeps_its_end(tmp_path: Path) -> None:
    log = log_in(tmp_path, bytes_max=1000)
    for _ in range(10_000):
        log.write(b"x" * 99)
    log.write("the end\n")
    file = tmp_path / "20260131/7/8/9.log"
    assert file.stat().st_size < 1100
    assert log.last_line() == "…" + "x" * 193 + "the end"  # of a line of a megabyte; what was dropped counts too
    log.write("\nthe reason\n")
    assert log.last_line() == "the reason"
    log.close()
    text = file.read_text()
    assert text.startswith("x" * 1000 + "\n[shoal] the log is full (1000 bytes), only its end will be added\n[shoal] 9")
    assert text.endswith("xxxthe end\n\nthe reason\n")
    assert text.count("[shoal]") == 2
    assert sum(line.count("x") for line in text.splitlines()) == 1000 + ENDING_BYTES - len("the end\n\nthe reason\n")
    dropped = 10_000 * 99 - text.count("x")
    assert f"[shoal] {dropped} bytes were dropped here\n" in text


def test_a_log_that_is_hardly_over_its_limit_loses_nothing(tmp_path: Path) -> None:
    log = log_in(tmp_path, bytes_max=10)
    log.write("0123456789abc")
    log.close()
    notice = "\n[shoal] the log is full (10 bytes), only its end will be added\n"
    assert (tmp_path / "20260131/7/8/9.log").read_text() == f"0123456789{notice}abc"


def _lines(numbers: range) -> bytes:
    return b"".join(b"line %094d\n" % number for number in numbers)


@pytest.mark.parametrize("bytes_max", [50_000, MIB])
def test_of_a_log_that_rolls_the_oldest_part_is_discarded_and_the_rest_keeps_its_places(
    tmp_path: Path, bytes_max: int
) -> None:
    log = LogFile(tmp_path, NAME, bytes_max, rolls=True)
    for number in range(50_000):
        log.write(_lines(range(number, number + 1)))
    log.close()
    facts = (tmp_path / "20260131/7/8/9.log").stat()
    assert facts.st_size == 5_000_000
    assert bytes_max * 3 // 4 < facts.st_blocks * 512 <= bytes_max + facts.st_blksize
    part = read_log(tmp_path, NAME, 0, 0)
    assert (part.size, part.first % 100) == (5_000_000, 0), "it begins with a whole line"
    left = read_log(tmp_path, NAME, part.first, 2 * MIB)
    assert left.data == _lines(range(part.first // 100, 50_000))
    around = read_log(tmp_path, NAME, part.first - 10_000, 10_100)
    assert around.data[:1] == b"\0", "what was discarded are zeros"
    assert around.data[-100:] == left.data[:100]


def test_what_is_discarded_while_it_is_read_is_not_shown_as_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogFile(tmp_path, NAME, MIB, rolls=True)
    log.write(_lines(range(9_000)))
    read = os.pread

    def slowly(fd: int, limit: int, offset: int) -> bytes:
        monkeypatch.setattr(os, "pread", read)
        for number in range(9_000, 27_000):
            log.write(_lines(range(number, number + 1)))
        return read(fd, limit, offset)

    monkeypatch.setattr(os, "pread", slowly)
    part = read_log(tmp_path, NAME, 0, 2 * MIB)
    log.close()
    assert part.first > 9_000 * 100
    assert part.data[part.first :] == _lines(range(part.first // 100, 27_000))[: 2 * MIB - part.first]


def test_a_log_that_rolls_begins_anywhere_in_a_line_that_is_very_long(tmp_path: Path) -> None:
    log = LogFile(tmp_path, NAME, MIB, rolls=True)
    log.write(b"x" * (3 * MIB))
    log.write(b"y" * MIB)
    part = read_log(tmp_path, NAME, 0, 0)
    assert part.size == 4 * MIB
    assert part.first % (tmp_path / "20260131/7/8/9.log").stat().st_blksize == 0
    assert set(read_log(tmp_path, NAME, part.first, 4 * MIB).data) <= set(b"xy")
    log.close()


@pytest.mark.parametrize("why", ["file system", "too small"])
def test_a_log_that_cannot_roll_is_cut_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    if why == "file system":
        monkeypatch.setattr(holes, "punch", refuse)
    bytes_max = MIB if why == "file system" else 1_000
    log = LogFile(tmp_path, NAME, bytes_max, rolls=True)
    log.write(_lines(range(20_000)))
    log.write("the end\n")
    log.close()
    text = (tmp_path / "20260131/7/8/9.log").read_text()
    assert f"\n[shoal] the log is full ({bytes_max} bytes), only its end will be added\n" in text
    assert text.endswith("the end\n")
    assert read_log(tmp_path, NAME, 0, 0).first == 0


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("", ""),
        ("one", "one"),
        ("one\ntwo\n \n\n", "two"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
        ("\n" + "ü" * 100 + "\n", "ü" * 100),
        (
            'a\n{"error": "no such table", "at": "' + "x" * 3000 + '"}\n',
            '{"error": "no such table", "at": "' + "x" * 166 + "…",
        ),
        ("a\n" + "x" * 5000 + ": no such table\n", "…" + "x" * 185 + ": no such table"),
        ("a\n" + "ü" * 101 + "\n", "ü" * 100 + "…"),
        ("bell \a\n", "bell"),
        ("\x1b[31mno such table\x1b[0m\n", "no such table"),
        ("\x1b[1;31mred\x1b[0m\x1b[K and \x1b]8;;http://x/\x1b\\a link\x1b]8;;\x07\n\x1b[0m\n", "red and a link"),
        ("\x1b[38;5;196m" * 40 + "red\x1b[m", "red"),
        ("50%\r100% failed", "100% failed"),
        ("".join(f"{done}%\r" for done in range(2000)) + "it failed\r\n", "it failed"),
        ("it failed\r\x1b[K\r\n", "it failed"),
        ("no\0such\0table\0\0\n", "no such table"),
        ("ERROR:\tno\u00a0such\u200b table\n", "ERROR: no such table"),
    ],
)
def test_the_last_line_is_given_if_it_is_one_for_people(tmp_path: Path, text: str, last: str) -> None:
    log = log_in(tmp_path)
    for character in text:
        log.write(character)
    assert log.last_line() == last
    log.close()


@pytest.mark.parametrize("blanks", [b"\n" * 50_000, b" " * 50_000, b"\r\n" * 9])
def test_blanks_do_not_push_out_the_last_line(tmp_path: Path, blanks: bytes) -> None:
    log = log_in(tmp_path)
    for data in (b"no such table", blanks, b"\n", blanks):
        log.write(data)
    assert log.last_line() == "no such table"
    log.write("and")
    log.write("more\n")
    assert log.last_line() == "andmore"
    log.close()


def test_neither_the_log_nor_the_last_line_holds_a_secret(tmp_path: Path) -> None:
    log = log_in(tmp_path, secrets=("hunter2hunter2",))
    log.write("the password is hunter2")
    log.write("hunter2")
    assert log.last_line() == "the password is ******"
    log.close()
    assert read_log(tmp_path, NAME, 0, MIB).data == b"the password is ******"


def test_the_cut_of_a_long_last_line_shows_no_part_of_a_secret(tmp_path: Path) -> None:
    log = log_in(tmp_path, secrets=("hunter2hunter2",))
    log.write("x" * 195 + "hunter2hunter2")
    assert log.last_line() == "x" * 195 + "*****…"
    log.close()


def test_colours_in_a_secret_do_not_bring_it_into_the_reason(tmp_path: Path) -> None:
    log = log_in(tmp_path, secrets=("hunter2hunter2",))
    log.write("it was \x1b[31mhunter2\x1b[mhunter2\n")
    assert log.last_line() == "it was ******"
    log.close()


def test_a_part_of_a_log_can_be_read_while_it_grows(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.write("0123456789")
    part = read_log(tmp_path, NAME, 4, 3)
    assert (part.data, part.size) == (b"456", 10)
    assert read_log(tmp_path, NAME, 10, 3).data == b""
    assert read_log(tmp_path, NAME, 99, 3).data == b""
    log.write("ab")
    assert read_log(tmp_path, NAME, 10, MIB).data == b"ab"
    log.close()


def test_a_log_that_was_never_written_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no log of task instance 9"):
        read_log(tmp_path, NAME, 0, 1)


@pytest.mark.parametrize("link", ["20260131", "20260131/7", "20260131/7/8", "20260131/7/8/9.log"])
def test_a_link_in_the_path_leads_nowhere(tmp_path: Path, link: str) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    target = elsewhere / "20260131/7/8/9.log"
    target.parent.mkdir(parents=True)
    target.write_text("secret")
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(elsewhere / link)
    with pytest.raises(NotFound):
        read_log(root, NAME, 0, MIB)
    log = log_in(root)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        log.write("overwrites")
    log.close()
    assert target.read_text() == "secret"


def test_a_pipe_in_the_place_of_a_log_does_not_hang_its_reader(tmp_path: Path) -> None:
    file = tmp_path / "20260131/7/8/9.log"
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    with pytest.raises(NotFound):
        read_log(tmp_path, NAME, 0, MIB)


def test_a_disk_that_takes_no_more_is_an_error_for_the_task(tmp_path: Path) -> None:
    """/dev/full cannot be linked to, so the limit of file size stands for the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = log_in(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            log.write("x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, former)
    log.close()


@pytest.mark.parametrize("date", ["2026013", "../../..", "2026013x", "", "\u0662" * 8])
def test_a_date_is_eight_digits(date: str) -> None:
    with pytest.raises(Refused):
        LogName(date, WorkflowCode(1), WorkflowInstanceId(1), TaskInstanceId(1))


def test_folders_that_are_removed_while_a_log_is_made_are_made_again(tmp_path: Path) -> None:
    """A cleanup of old logs, or the task itself, may come in between: 5 of 3,000 logs were lost so."""
    root, enough = tmp_path / "logs", threading.Event()

    def remove() -> None:
        while not enough.is_set():
            shutil.rmtree(root, ignore_errors=True)

    remover = threading.Thread(target=remove)
    remover.start()
    try:
        for number in range(1, 3_001):
            log = LogFile(root, replace(NAME, task_instance_id=TaskInstanceId(number)), 100)
            log.write("a line")
            log.close()
    finally:
        enough.set()
        remover.join()
