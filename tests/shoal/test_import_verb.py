"""`shoal workflow import`: what it writes, and what it never writes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shoal.command_line import Answer, CommandLine
from tests.shoal.test_every_verb import EXPORT

SHOAL = CommandLine.at(None)
SQL = '{"rawScript": "x"}'


async def imported(folder: Path, export: Path = EXPORT, *more: str) -> Answer:
    return await SHOAL("workflow", "import", "dolphinscheduler", str(export), "--out", str(folder), *more)


def with_a_data_source(folder: Path) -> Path:
    """The export, its last task an SQL one whose data source has an id and no name."""
    content = json.loads(EXPORT.read_text())
    task = content["taskDefinitionList"][1]
    content["taskDefinitionList"][1] = {
        **task, "taskType": "SQL", "taskParams": {"type": "MYSQL", "datasource": 7, "sql": "SELECT ${rows}"},
    }  # fmt: skip
    path = folder / "sql.json"
    path.write_text(json.dumps(content))
    return path


async def test_an_import_writes_workflows_and_a_report_and_applies_nothing(tmp_path: Path) -> None:
    done = await imported(tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")) == [
        "import-report.json",
        "import-report.md",
        "workflows/daily.yaml",
    ]
    assert f"Save them: shoal workflow apply {tmp_path}/out/workflows/*.yaml" in done.out
    assert (await SHOAL("workflow", "check", f"{tmp_path}/out/workflows/daily.yaml")).code == 0


async def test_what_is_left_to_do_is_exit_code_1_and_refuses_the_workflow_until_names_are_given(tmp_path: Path) -> None:
    export, out = with_a_data_source(tmp_path), tmp_path / "out"
    first = await imported(out, export)
    assert first.code == 1
    assert "1 name to fill in" in first.out
    checked = await SHOAL("workflow", "check", f"{out}/workflows/daily.yaml")
    assert checked.code == 2
    assert 'daily.yaml:2: todo: task "report": name the datasource 7 in catalog.yaml' in checked.err
    catalog = out / "catalog.yaml"
    catalog.write_text(catalog.read_text().replace('"7": ""', '"7": shop'))
    second = await imported(out, export, "--names", str(catalog))
    assert second.code == 0
    assert (await SHOAL("workflow", "check", f"{out}/workflows/daily.yaml")).code == 0


async def test_programs_get_the_grades_as_json(tmp_path: Path) -> None:
    done = await imported(tmp_path / "out", EXPORT, "--json")
    assert done.json["grades"] == {"same": 3, "changed": 1, "lost": 0, "todo": 0}


async def test_a_second_import_replaces_what_it_wrote_and_removes_what_is_gone(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.json"
    other.write_text(EXPORT.read_text().replace('"daily"', '"nightly"'))
    await imported(out)
    assert (await imported(out, other)).code == 0
    assert [path.name for path in (out / "workflows").iterdir()] == ["nightly.yaml"]


@pytest.mark.parametrize("name", ["workflows/daily.yaml", "import-report.md", "catalog.yaml"])
async def test_what_a_person_changed_is_never_written_over(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    await imported(out, with_a_data_source(tmp_path))
    with (out / name).open("a") as file:
        file.write("# mine\n")
    again = await imported(out, with_a_data_source(tmp_path))
    assert again.code == 2
    assert name in again.sentence
    assert (out / name).read_text().endswith("# mine\n")


async def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    refused = await imported(tmp_path)
    assert refused.code == 2
    assert "has other files" in refused.sentence


async def test_an_input_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert (await imported(tmp_path / "out", tmp_path / "none.json")).code == 5


async def test_a_password_is_no_argument_and_something_is_to_be_imported(tmp_path: Path) -> None:
    url, out = "mysql://a:b@h/x", str(tmp_path / "o")
    with_password = await SHOAL("workflow", "import", "dolphinscheduler", "--from-db", url, "-o", out)
    nothing = await SHOAL("workflow", "import", "dolphinscheduler", "-o", out)
    assert (with_password.code, nothing.code) == (2, 2)
    assert "say --from-db -" in with_password.sentence
    assert "say what to import" in nothing.sentence


async def test_a_serialized_dag_is_imported_without_its_file(tmp_path: Path) -> None:
    task = {"task_id": "say", "_task_type": "BashOperator", "template_fields": ["bash_command"], "bash_command": "date"}
    (tmp_path / "dags.json").write_text(json.dumps({"__version": 1, "dag": {"_dag_id": "sales", "tasks": [task]}}))
    out = str(tmp_path / "out")
    done = await SHOAL("workflow", "import", "airflow", "--serialized", str(tmp_path / "dags.json"), "--out", out)
    nothing = await SHOAL("workflow", "import", "airflow", "--out", out)
    assert (done.code, nothing.code) == (0, 2), done.err
    assert (await SHOAL("workflow", "check", f"{out}/workflows/sales.yaml")).code == 0
    assert "files with DAGs, or --serialized" in nothing.sentence
