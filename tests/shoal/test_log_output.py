"""The log of a role: files of bounded size and number, and nothing that stops the role."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from model.errors import Refused
from shoal.config.log_output import LogOutput, RotatingOutput


def test_a_full_file_is_renamed_and_few_stay(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "m1.log"
    output = RotatingOutput(path, bytes_max=100, files_max=3)
    for number in range(50):
        output.write(f"line {number:03d} of the log")
        output.write("\n")
    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == ["m1.log", "m1.log.1", "m1.log.2"]
    assert all(file.stat().st_size <= 100 for file in files)
    kept = "".join(file.read_text() for file in reversed(files)).splitlines()
    assert kept == [f"line {number:03d} of the log" for number in range(50 - len(kept), 50)]
    assert len(kept) > 8
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_a_person_has_renamed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m1.log"
    output = RotatingOutput(path, bytes_max=30, files_max=3)
    output.write("the first line of it\n")
    path.rename(tmp_path / "mine.log")
    output.write("the second line of it\n")
    assert (tmp_path / "mine.log").read_text() == "the first line of it\n"
    assert path.read_text() == "the second line of it\n"


def test_what_a_former_process_wrote_counts(tmp_path: Path) -> None:
    path = tmp_path / "m1.log"
    path.write_text("x" * 95 + "\n")
    RotatingOutput(path, bytes_max=100, files_max=2).write("new line\n")
    assert (path.read_text(), len((tmp_path / "m1.log.1").read_text())) == ("new line\n", 96)


def test_the_last_words_of_a_process_whose_standard_error_is_that_file_follow_it(tmp_path: Path) -> None:
    path = tmp_path / "w1.log"
    program = (
        "import os, sys; from pathlib import Path; from shoal.config.log_output import RotatingOutput\n"
        f"output = RotatingOutput(Path({str(path)!r}), 40, 3)\n"
        "for _ in range(4): output.write('a line of thirty characters..\\n')\n"
        "print('Traceback', file=sys.stderr)\n"
    )
    with path.open("a") as file:
        subprocess.run([sys.executable, "-c", program], stderr=file, check=True)
    assert path.read_text().endswith("Traceback\n")


def test_a_file_that_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"cannot be opened \(.*\); fix log_file"):
        RotatingOutput(tmp_path / "file" / "m1.log", 100, 3)


def test_a_disk_without_room_costs_lines_and_says_how_many(tmp_path: Path) -> None:
    """A limit of the size of files stands for it: write fails in the same way."""
    path = tmp_path / "m1.log"
    output = RotatingOutput(path, bytes_max=10_000, files_max=3)
    output.write("before\n")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
    try:
        output.write("lost\nlost too\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    output.write("after\n")
    first, said, last = path.read_text().splitlines()
    assert (first, json.loads(said), last) == ("before", {"event": "log_lines_dropped", "lines": 2}, "after")


def test_a_standard_error_that_takes_nothing_stops_nobody() -> None:
    program = "from shoal.config.logging import configure_logging\nimport structlog\nconfigure_logging('json')\n"
    program += "structlog.get_logger().info('said')\nprint('goes on')\n"
    for target in ("/dev/full", None):
        read, write = os.pipe()
        error = os.open(target, os.O_WRONLY) if target else write
        os.close(read)
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=error, check=False)
        os.close(write)
        assert (done.returncode, done.stdout) == (0, b"goes on\n")


def test_lines_are_whole(capfd: pytest.CaptureFixture[str]) -> None:
    output = LogOutput()
    output.write("half")
    assert capfd.readouterr().err == ""
    output.write(" a line\nanother")
    assert capfd.readouterr().err == "half a line\n"
