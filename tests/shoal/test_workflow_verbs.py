"""`shoal workflow online`, `offline`, `delete`, `versions`, `export`, `diff` and `show`; without any master."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from model.definitions.workflow import WorkflowSpec
from tests.shoal.command_line import CommandLine

ROOT = Path(__file__).parents[2]
FILE = """\
name: sales
params:
  day: 2026-01-31
tasks:
  - name: load
    type: SHELL
    params:
      script: |
        echo "loading ${day}"
        echo done
"""
PARENT = "name: parent\ntasks: [{name: below, type: SUB_PROCESS, params: {workflow: sales}}]\n"
RUN = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at)
    SELECT {id}, code, {version}, '{state}', 1, 'END', 'LOW', 'g', {ended} FROM workflow_definition WHERE name = 'sales'
    RETURNING id
"""


@pytest.fixture
def shoal(database_url: str, tmp_path: Path) -> CommandLine:
    return CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(tmp_path / "keys"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sales.yaml"
    path.write_text(FILE)
    return path


async def test_a_workflow_goes_offline_and_online_and_says_what_was_done(
    shoal: CommandLine, sql: Any, file: Path
) -> None:
    _, off, again, refused, on, missing = await shoal.each(
        f"workflow apply {file}",
        "workflow offline sales",
        "workflow offline sales --json",
        "run sales",
        "workflow online sales",
        "workflow online nix",
    )
    assert off.out.startswith('Workflow "sales" is OFFLINE, it was ONLINE.')
    assert (again.json["is_changed"], again.json["release_state"]) == (False, "OFFLINE")
    assert (
        refused.sentence == 'workflow "sales" is OFFLINE; put it ONLINE before starting it: shoal workflow online sales'
    )
    assert on.out.startswith('Workflow "sales" is ONLINE, it was OFFLINE.')
    assert missing.code == 5
    assert sql("SELECT release_state, version FROM workflow_definition") == [("ONLINE", 1)]


async def test_schedules_of_a_workflow_that_goes_offline_are_named(shoal: CommandLine, file: Path) -> None:
    *_, off, applied = await shoal.each(
        f"workflow apply {file}",
        "schedule add sales @daily",
        "schedule add sales @weekly",
        "schedule add sales @hourly --off",
        "workflow offline sales",
        f"workflow apply {file}",
    )
    said = "Its schedules 1, 2 still fire: each time becomes an error command. Turn it off: shoal schedule off 1"
    assert said in off.out
    assert "it is ONLINE now, it was OFFLINE." in applied.out
    file.write_text(FILE + "release_state: OFFLINE\n")
    (applied,) = await shoal.each(f"workflow apply {file}")
    assert said in applied.out


async def test_an_apply_that_only_changes_the_release_state_says_so(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal("workflow", "apply", str(file))
    file.write_text(FILE + "release_state: OFFLINE\n")
    off, same, fields = await shoal.each(*[f"workflow apply {file}"] * 2, f"workflow apply {file} --json")
    assert "unchanged, version 1; it is OFFLINE now, it was ONLINE." in off.out
    assert "Let it be started: shoal workflow online sales" in off.out
    assert "unchanged, version 1." in same.out
    assert (fields.json[0]["release_state_before"], fields.json[0]["is_new_version"]) == ("OFFLINE", False)
    file.write_text(FILE.replace("echo done", "echo end"))
    (both,) = await shoal.each(f"workflow apply {file}")
    assert "saved as version 2; it is ONLINE now, it was OFFLINE." in both.out
    assert sql("SELECT count(*) FROM workflow_version") == [(2,)]


async def test_a_workflow_that_is_used_is_not_deleted_and_the_sentence_says_by_what(
    shoal: CommandLine, sql: Any, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "parent.yaml").write_text(PARENT)
    await shoal.each(f"workflow apply {file} {tmp_path}/parent.yaml", "schedule add sales @daily", "run sales")
    running, waiting, ended = (
        sql(RUN.format(id=id_, version=1, state=state, ended=end))[0][0]
        for id_, state, end in (
            (91, "RUNNING_EXECUTION", "NULL"),
            (92, "SERIAL_WAIT", "NULL"),
            (93, "FAILURE", "now()"),
        )
    )
    assert ended
    refused, unasked = await shoal.each("workflow delete sales --yes", "workflow delete sales")
    assert (refused.code, refused.sentence) == (
        2,
        f'workflow "sales" cannot be deleted: runs {running}, {waiting} have not ended (shoal stop {running}); '
        f"command 1 waits for a master (shoal queue); schedule 1 starts it (shoal schedule delete 1); "
        f'workflow "parent" uses it (take that task out of its file and apply it)',
    )
    assert (unasked.code, unasked.sentence.endswith("say it with --yes")) == (2, True)
    sql("DELETE FROM command RETURNING id")
    sql("DELETE FROM schedule RETURNING id")
    sql("UPDATE workflow_instance SET state = 'STOP', ended_at = now() WHERE state = 'SERIAL_WAIT' RETURNING id")
    sql("UPDATE workflow_instance SET state = 'FAILURE', ended_at = now() WHERE ended_at IS NULL RETURNING id")
    parent, deleted, runs, shown, gone = await shoal.each(
        "workflow delete parent --yes",
        "workflow delete sales --yes",
        "runs",
        f"show {ended}",
        "workflow delete sales --yes",
    )
    assert parent.out.startswith('Workflow "parent" is deleted.')
    assert deleted.out.startswith('Workflow "sales" is deleted.')
    assert str(ended) in runs.out
    assert shown.code == 0, shown.err
    assert gone.code == 5
    assert sql("SELECT count(*) FROM workflow_version") == [(0,)]


async def test_versions_are_listed_with_their_runs(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal("workflow", "apply", str(file))
    file.write_text(FILE + "  - {name: report, type: FAKE, after: [load]}\n")
    await shoal("workflow", "apply", str(file))
    for id_, version, state, ended in ((91, 1, "SUCCESS", "now()"), (92, 1, "RUNNING_EXECUTION", "NULL")):
        sql(RUN.format(id=id_, version=version, state=state, ended=ended))
    listed, fields = await shoal.each("workflow versions sales", "workflow versions sales --json")
    assert [line.split()[0] for line in listed.out.splitlines()[3:5]] == ["2", "1"]
    assert "● ONLINE" in listed.out.splitlines()[3]
    assert "What changed last: shoal workflow diff sales" in listed.out
    assert [(each["version"], each["tasks"], each["runs"], each["unfinished"]) for each in fields.json] == [
        (2, 2, 0, 0),
        (1, 1, 2, 1),
    ]
    assert [each["is_current"] for each in fields.json] == [True, False]


SEED = "\n".join(
    line for line in (ROOT / "sql" / "seed" / "demo_workflows.sql").read_text().splitlines() if line[:1] != "\\"
)
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("of", ["seed", "texts of examples", "definitions of examples"])
async def test_an_export_is_a_file_of_the_same_definition(
    shoal: CommandLine, sql: Any, tmp_path: Path, of: str
) -> None:
    """For all examples and seeds: where they were saved, and in a database that has none of their codes."""
    if of == "seed":
        sql(SEED)
    else:
        for folder in sorted(path for path in (ROOT / "examples").glob("*/[!_]*") if path.is_dir()):
            put = await shoal.start("project", "file", "put", folder.name, cwd=folder.parent)
            assert await put.wait() == 0
        applied = await shoal("workflow", "apply", *map(str, EXAMPLES))
        assert applied.code == 0, applied.err
    if of == "definitions of examples":
        sql("UPDATE workflow_version SET source_text = NULL")
    texts = []
    for code, project, name in sql("SELECT code, project, name FROM workflow_definition ORDER BY code"):
        exported = await shoal("workflow", "export", name, "--project", project)
        assert exported.code == 0, exported.err
        (tmp_path / f"{code}.yaml").write_text(exported.out)
        texts.append(str(tmp_path / f"{code}.yaml"))
    assert len(texts) >= 5
    again = await shoal("workflow", "apply", *texts, "--json")
    assert again.code == 0, again.err
    assert not [each["name"] for each in again.json if each["is_new_version"] or each["schedules"]]
    saved = _specs(sql)
    sql("TRUNCATE workflow_definition, workflow_version, version_file")
    elsewhere = await shoal("workflow", "apply", *texts)
    assert elsewhere.code == 0, elsewhere.err
    assert _specs(sql) == saved


def _specs(sql: Any) -> dict[str, WorkflowSpec]:
    rows = sql("SELECT name, spec FROM workflow_version JOIN workflow_definition ON code = workflow_code")
    return {name: WorkflowSpec.parse(spec).coded() for name, spec in rows}


async def test_schedules_and_secrets_are_exported_too(shoal: CommandLine, sql: Any, tmp_path: Path, file: Path) -> None:
    file.write_text(
        FILE.replace("2026-01-31", "2026-01-31\n  token: {type: SECRET, value: hunter22}")
        + "time_zone: Europe/Berlin\nrelease_state: OFFLINE\n"
    )
    await shoal.each(
        "config add-key",
        f"workflow apply {file}",
        "schedule add sales '0 5 * * *' --end 2099-12-31 -p token=hunter23 --misfire skip --grace 2.5 --off",
        "schedule add sales '0 6 * * *' --zone Asia/Tokyo",
    )
    before = (
        "SELECT id, state, crontab, time_zone, start_time, end_time, params, misfire, misfire_grace_s FROM schedule"
    )
    rows = sql(before)
    (exported,) = await shoal.each("workflow export sales")
    assert "hunter2" not in exported.out
    file.write_text(exported.out)
    (applied,) = await shoal.each(f"workflow apply {file}")
    assert "unchanged, version 1." in applied.out
    assert applied.out.count("was added by hand and is the file's from now on") == 2
    assert sql(before) == rows
    assert sql("SELECT release_state FROM workflow_definition") == [("OFFLINE",)]


async def test_versions_and_files_are_compared_as_files(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal("workflow", "apply", str(file))
    (alone,) = await shoal.each("workflow diff sales")
    file.write_text(FILE.replace("echo done", "echo end"))
    await shoal("workflow", "apply", str(file))
    last, back, same, fields, missing = await shoal.each(
        "workflow diff sales",
        "workflow diff sales --from 2 --to 1",
        f"workflow diff sales {file}",
        "workflow diff sales --json",
        "workflow diff sales --from 1 --to 9",
    )
    assert (alone.code, alone.sentence) == (
        2,
        'workflow "sales" has no version before 1; name a file to compare it with',
    )
    assert last.out.splitlines()[:2] == ["--- sales version 1", "+++ sales version 2"]
    assert [line for line in last.out.splitlines()[3:] if line[0] in "+-"] == [
        "-        echo done",
        "+        echo end",
    ]
    assert "+        echo done" in back.out
    assert same.out == "No difference.\n"
    assert fields.json["diff"] == last.out.splitlines()
    assert (missing.code, missing.sentence) == (5, 'workflow "sales" has no version 9')
    file.write_text(FILE + "release_state: OFFLINE\nschedules: [{cron: '@daily'}]\n")
    changed, none, both = await shoal.each(
        f"workflow diff sales {file}",
        f"workflow diff sales {ROOT}/examples/hello.yaml",
        f"workflow diff sales {file} --to 2",
    )
    assert {"+release_state: OFFLINE", "+schedules:", "-        echo end"} <= set(changed.out.splitlines())
    assert (none.code, 'has no workflow "sales" of project "default"; it has "hello"' in none.sentence) == (5, True)
    assert both.code == 2
    assert sql("SELECT count(*) FROM schedule") == [(0,)], "nothing was saved"


async def test_show_prints_scripts_and_cuts_long_ones_with_a_hint(shoal: CommandLine, file: Path) -> None:
    long = "".join(f"        echo {number}\n" for number in range(40))
    task = "  - name: long\n    type: SHELL\n    params:\n      script: |\n"
    file.write_text(f"{FILE}  - {{name: quiet, type: FAKE}}\n{task}{long}")
    _, shown, whole = await shoal.each(f"workflow apply {file}", "workflow show sales", "workflow show sales --whole")
    assert '  load:\n    script: |\n      echo "loading ${day}"\n      echo done\n' in shown.out
    assert "  quiet:" not in shown.out
    assert "echo 10\n" in shown.out
    assert "echo 11\n" not in shown.out
    assert "… 29 more lines: shoal workflow show sales --whole" in shown.out
    assert "echo 39\n" in whole.out
    assert "more lines" not in whole.out
