"""Files of a project: put once, pinned by the versions that are saved then, in the folders of their tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.engine import Engine
from tests.shoal.command_line import CommandLine


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands are given."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def shoal(engine: Engine, *words: str, fails: bool = False) -> str:
    line = await CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])(*words)
    assert (line.code != 0) is fails, line
    return line.out + line.err


async def apply(engine: Engine, here: Path, name: str, *tasks: str, **words: Any) -> str:
    (here / "flow.yaml").write_text(f"name: {name}\ntasks:\n" + "".join(f"  - {task}\n" for task in tasks))
    return await shoal(engine, "workflow", "apply", "flow.yaml", **words)


async def ran(engine: Engine, name: str) -> str:
    """The log of the task `a` of a run that succeeded."""
    out = await shoal(engine, "run", name, "--wait")
    run = next(word for word in out.split() if word.isdigit())
    return await shoal(engine, "log", f"{run}/a")


async def test_a_task_finds_the_files_and_folders_that_it_names(engine: Engine, here: Path) -> None:
    (here / "etl" / "deep").mkdir(parents=True)
    (here / "etl" / "load.py").write_text("def rows():\n    return 7\n")
    (here / "etl" / "deep" / "data.csv").write_bytes(b"a;\xff\n")
    (here / "run.sh").write_text("#!/bin/sh\necho ran $1\n")
    said = await shoal(engine, "project", "file", "put", "etl", "run.sh")
    assert '3 files of project "default" saved, 3 of them changed' in said
    shell = "{name: b, type: SHELL, files: [run.sh], params: {script: ./run.sh well && ls}, after: [a]}"
    python = "{name: a, type: PYTHON, files: [etl/], params: {script: 'from etl.load import rows; print(rows())'}}"
    await apply(engine, here, "files", python, shell)
    out = await shoal(engine, "run", "files", "--wait")
    run = next(word for word in out.split() if word.isdigit())
    assert "7" in await shoal(engine, "log", f"{run}/a")
    said = await shoal(engine, "log", f"{run}/b")
    assert "ran well" in said
    assert "etl" not in said


async def test_the_text_of_a_file_is_the_script_of_a_task(engine: Engine, here: Path) -> None:
    (here / "run.sh").write_text('echo "of ${day}, $((6 * 7))"\n')
    await shoal(engine, "project", "file", "put", "run.sh", "--into", "jobs")
    await apply(engine, here, "texts", "{name: a, type: SHELL, params: {script: {file: jobs/run.sh}}}")
    out = await shoal(engine, "run", "texts", "-p", "day=Monday", "--wait")
    run = next(word for word in out.split() if word.isdigit())
    assert "of Monday, 42" in await shoal(engine, "log", f"{run}/a")
    shown = await shoal(engine, "workflow", "export", "texts")
    assert "script: {file: jobs/run.sh}" in shown, "as it was written"


async def test_a_version_keeps_the_content_with_which_it_was_saved(engine: Engine, here: Path) -> None:
    (here / "word").write_text("first")
    await shoal(engine, "project", "file", "put", "word")
    task = "{name: a, type: SHELL, files: [word], params: {script: cat word}}"
    await apply(engine, here, "pinned", task)
    assert "unchanged, version 1" in await apply(engine, here, "pinned", task), "nothing has changed"
    (here / "word").write_text("second")
    assert "apply again: pinned" in await shoal(engine, "project", "file", "put", "word")
    assert "first" in await ran(engine, "pinned")
    await apply(engine, here, "pinned", task)
    assert "second" in await ran(engine, "pinned")
    await shoal(engine, "project", "file", "delete", "word")
    assert "second" in await ran(engine, "pinned")
    said = await apply(engine, here, "pinned", task, fails=True)
    assert (
        'flow.yaml:3: task "a": there is no file "word" in project "default"; `shoal project file put` adds it' in said
    )


async def test_what_is_wrong_with_files_is_said_before_anything_is_saved(engine: Engine, here: Path) -> None:
    (here / "data.bin").write_bytes(b"\xff\xfe")
    await shoal(engine, "project", "file", "put", "data.bin")
    for task, said in {
        "{name: a, type: SHELL, params: {script: {file: data.bin}}}": 'the file "data.bin" is no UTF-8 text',
        "{name: a, type: SQL, params: {datasource: d, sql: {file: no.sql}}}": 'sql: there is no file "no.sql"',
        "{name: a, type: SHELL, files: [etc/], params: {script: ls}}": 'there is no file below "etc/"',
        "{name: a, type: SHELL, files: [../x], params: {script: ls}}": '".." in it',
        "{name: a, type: SHELL, params: {script: {file: /etc/passwd}}}": "is absolute",
    }.items():
        assert said in await apply(engine, here, "never_saved", task, fails=True), task
    assert "never_saved" not in await shoal(engine, "workflow", "list")
    (here / "linked").mkdir()
    (here / "linked" / "hosts").symlink_to("/etc/hosts")
    (here / "linked" / "same").symlink_to(here / "linked" / "hosts")
    assert "is a link to a file outside of linked" in await shoal(
        engine, "project", "file", "put", "linked", fails=True
    )
    (here / "script.sh").touch()
    assert "is a name that Shoal uses" in await shoal(engine, "project", "file", "put", "script.sh", fails=True)


async def test_files_are_listed_printed_and_deleted(engine: Engine, here: Path) -> None:
    (here / "sql").mkdir()
    (here / "sql" / "load.sql").write_text("SELECT 1")
    (here / "sql" / ".hidden").write_text("no")
    assert "1 file of project" in await shoal(engine, "project", "file", "put", "sql/", "--project", "sales")
    assert "sql/load.sql" in await shoal(engine, "project", "file", "list", "--project", "sales")
    await shoal(engine, "project", "file", "put", str(here / "sql"), "--project", "elsewhere")
    assert "sql/load.sql" in await shoal(engine, "project", "file", "list", "--project", "elsewhere"), (
        "under its last name"
    )
    assert "There is no file" in await shoal(engine, "project", "file", "list", "--project", "empty")
    assert await shoal(engine, "project", "file", "get", "sql/load.sql", "--project", "sales") == "SELECT 1"
    await shoal(engine, "project", "file", "delete", "sql/load.sql", "--project", "sales")
    said = await shoal(engine, "project", "file", "get", "sql/load.sql", "--project", "sales", fails=True)
    assert 'there is no file "sql/load.sql" in project "sales"' in said
