"""`worker/results/recorded_ends.py`: what a keeper wrote becomes the report of its worker, or none."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from dao.cluster.nodes import Me
from dao.tasks.task_claims import ClaimedTask, Report
from model.cluster.nodes import NodeKind
from model.ids import Epoch, TaskInstanceId
from model.runs.states import TaskState
from tests.worker.errand import claimed
from worker.attempts.order import answer_of
from worker.logs.task_log import LogFile, read_log
from worker.results.recorded_ends import LastWords, left_words, log_name
from worker.tasks.plugin import TaskResult

ME = Me(Epoch(7), uuid4(), NodeKind.WORKER, "w", "127.0.0.1:1")
TASK = claimed(params={})


def written(
    folder: Path,
    code: int,
    log: bytes | None,
    rest: bytes = b"",
    answer: bytes | None = None,
    task: ClaimedTask = TASK,
) -> list[Report]:
    """What the next life would report."""
    if log is not None:
        file = LogFile(folder / "logs", log_name(TASK), 1_000_000)
        file.open()
        file.write(log)
        file.close()
    last_word = LastWords(folder / "ends", ME).of(task)
    assert last_word is not None
    last_word.write(code, answer, rest)
    return told(folder)


def told(folder: Path) -> list[Report]:
    left = left_words(folder / "ends", folder / "logs")
    assert [each.me for each in left] == [ME] * len(left)
    return [report for each in left for report in each.reports]


def report(state: TaskState, reason: str, code: int | None, **outputs: str) -> Report:
    return Report(TASK.id, TASK.attempt, state, reason, code, json.dumps(outputs) if outputs else None)


def test_values_are_put_together_from_the_log_and_what_nobody_read(tmp_path: Path) -> None:
    log = b"a word\n${setValue(first=1)}\n${setVal"
    assert written(tmp_path, 0, log, b"ue(second=2)}\n") == [report(TaskState.SUCCESS, "", 0, first="1", second="2")]


def test_a_failure_is_told_with_its_code_and_its_last_line(tmp_path: Path) -> None:
    assert written(tmp_path, 3, b"all is w", b"ell\nno room\n") == [
        report(TaskState.FAILURE, "exit code 3: no room", 3)
    ]


def test_a_value_that_is_too_large_is_the_failure_that_it_would_have_been(tmp_path: Path) -> None:
    [end] = written(tmp_path, 0, b"${setValue(a=" + b"x" * 100_000 + b")}\n")
    assert end.state is TaskState.FAILURE
    assert "65536 bytes" in end.reason


def test_a_value_that_belongs_into_the_log_store_is_not_told(tmp_path: Path) -> None:
    """Nobody has kept it there: the task runs again."""
    file = LogFile(tmp_path / "logs", log_name(TASK), 1_000_000)
    file.write(b"${setValue(a=" + b"x" * 100_000 + b")}\n")
    file.close()
    last_word = LastWords(tmp_path / "ends", ME, 1_000_000).of(TASK)
    assert last_word is not None
    last_word.write(0, None, b"")
    assert told(tmp_path) == []


def test_the_answer_of_an_order_is_its_result(tmp_path: Path) -> None:
    answer = answer_of(TaskResult.success({"rows": "[]"}))
    assert written(tmp_path, 0, None, answer=answer) == [report(TaskState.SUCCESS, "", None, rows="[]")]


@pytest.mark.parametrize("log", [None, b"x\n[shoal] the log is full (10 bytes), only its end will be added\n"])
def test_a_success_whose_values_nobody_can_know_is_not_told(tmp_path: Path, log: bytes | None) -> None:
    assert written(tmp_path, 0, log) == []


def test_a_success_of_which_the_oldest_output_was_discarded_is_not_told(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "logs", log_name(TASK), 1 << 20, rolls=True)
    for _ in range(30):
        log.write(b"a line\n" * 10_000)
    log.close()
    assert read_log(tmp_path / "logs", log_name(TASK), 0, 0).first > 0
    assert written(tmp_path, 0, None) == []
    [end] = written(tmp_path, 3, None)
    assert (end.state, end.exit_code) == (TaskState.FAILURE, 3)
    assert "a line" in end.reason


def test_what_a_signal_ended_is_not_written(tmp_path: Path) -> None:
    assert written(tmp_path, 137, b"") == []


@pytest.mark.parametrize("damage", [slice(0, 20), slice(0, -1), slice(3, None), slice(0, 0)])
def test_a_file_that_is_not_whole_is_left_out_and_the_others_are_told(tmp_path: Path, damage: slice) -> None:
    good = written(tmp_path, 0, b"", b"some rest\n")
    path = tmp_path / "ends" / "7" / str(TASK.id)
    (path.parent / "6").write_bytes(path.read_bytes()[damage])
    (path.parent / "8.new").write_bytes(b"unfinished")
    assert told(tmp_path) == good


def test_what_is_told_is_removed_and_a_folder_without_ends_goes(tmp_path: Path) -> None:
    words = LastWords(tmp_path / "ends", ME)
    last_word = words.of(TASK)
    assert last_word is not None
    last_word.write(0, None, b"")
    assert Path(last_word.path).stat().st_mode & 0o777 == 0o600
    assert Path(last_word.path).parent.stat().st_mode & 0o777 == 0o700
    words.reported(TASK.id)
    words.reported(TaskInstanceId(99))
    assert told(tmp_path) == []
    assert list((tmp_path / "ends").iterdir()) == []


def test_what_a_former_version_left_without_exit_codes_is_read(tmp_path: Path) -> None:
    last_word = LastWords(tmp_path / "ends", ME).of(TASK)
    assert last_word is not None
    *former, codes, _ = json.loads(last_word.about)
    last_word._replace(about=json.dumps(former)).write(3, None, b"")
    assert codes == []
    assert [end.exit_code for end in told(tmp_path)] == [3]


def test_a_folder_that_cannot_be_made_costs_only_the_protection(tmp_path: Path) -> None:
    (tmp_path / "ends").write_text("a file")
    assert LastWords(tmp_path / "ends", ME).of(TASK) is None
