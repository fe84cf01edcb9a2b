"""What a workflow file may contain but probably does not mean."""

from __future__ import annotations

from pathlib import Path

from tests.shoal.command_line import CommandLine

HEAD = "name: w\nparams: {rows: 1, a.b: 2}\ntasks:\n"


async def checked(folder: Path, task: str) -> str:
    (folder / "w.yaml").write_text(HEAD + f"  - {task}\n")
    answer = await CommandLine.at()("workflow", "check", str(folder / "w.yaml"))
    return f"{answer.code} {answer.err}"


async def test_a_reference_with_a_near_name_is_warned_of(tmp_path: Path) -> None:
    said = await checked(tmp_path, "{name: a, type: SHELL, params: {script: 'echo ${rwos} ${other}'}}")
    assert said.startswith("0 shoal: warning: ")
    assert 'task "a": ${rwos} is no parameter of the workflow; did you mean ${rows}?' in said
    assert "other" not in said


async def test_what_a_task_before_gives_is_not_warned_of(tmp_path: Path) -> None:
    gives = [
        "type: SHELL, params: {script: 'echo \"#{setValue(rowz=1)}\"'}",
        "type: FAKE, params: {outputs: {rowz: '1'}}",
        "type: HTTP, params: {url: 'http://host', outputs: {rowz: $.a}}",
        "type: SUB_PROCESS, params: {workflow: other}",
    ]
    for each in gives:
        uses = "\n  - {name: b, type: SHELL, after: [a], params: {script: 'echo ${rowz}'}}"
        assert await checked(tmp_path, f"{{name: a, {each}}}{uses}") == "0 "


async def test_a_name_that_is_no_built_in_parameter_is_warned_of(tmp_path: Path) -> None:
    script = "'echo ${system.biz.curdat} ${system.nonsense} ${system.task.execute.path} ${system.biz.date}'"
    said = await checked(tmp_path, f"{{name: a, type: SHELL, params: {{script: {script}}}}}")
    assert "${system.biz.curdat} is no built-in parameter; did you mean ${system.biz.curdate}?" in said
    assert "${system.nonsense} is no built-in parameter" in said
    assert said.count("built-in") == 2


async def test_how_a_run_ends_is_known_only_to_what_runs_then(tmp_path: Path) -> None:
    shell = "type: SHELL, params: {script: 'echo ${system.workflow.state}'}"
    warned = 'task "a": ${system.workflow.state} is known only to tasks with teardown or on_exit; remove it'
    assert warned in await checked(tmp_path, f"{{name: a, {shell}}}")
    for field in ("teardown", "on_exit"):
        last = f"\n  - {{name: b, {shell}, timeout: 5m, {field}: true}}"
        assert await checked(tmp_path, f"{{name: a, type: FAKE}}{last}") == "0 "


async def test_misfits_of_local_parameters_are_all_told(tmp_path: Path) -> None:
    local = "{n: {type: INTEGER, value: x}, d: {type: DATE, value: y}}"
    said = await checked(tmp_path, f"{{name: a, type: SHELL, params: {{script: ':'}}, local_params: {local}}}")
    assert 'parameter "n" is INTEGER and must be a whole number' in said
    assert 'parameter "d" is DATE and must be a date' in said


async def test_two_names_of_one_variable_are_refused(tmp_path: Path) -> None:
    param = "{name: a_b, direct: IN, type: VARCHAR, value: x}"
    task = f"{{name: a, type: SHELL, params: {{script: ':'}}, local_params: [{param}]}}"
    said = await checked(tmp_path, task)
    assert 'the parameters "a.b" and "a_b" are one variable, SHOAL_PARAM_a_b; rename one of them' in said
    assert said.startswith("2 ")


async def test_dynamic_tasks_whose_results_have_one_name_are_warned_of(tmp_path: Path) -> None:
    params = "{workflow: child, lists: [{name: n, value: '1,2'}]}"
    task = "{{name: {}, type: DYNAMIC, params: " + params.replace("{", "{{").replace("}", "}}") + "}}"
    said = await checked(tmp_path, f"{task.format('城市')}\n  - {task.format('省份')}")
    assert 'the results of the tasks "城市" and "省份" are one parameter, dynamic.out.__: only the last stays' in said
    assert "are one parameter" not in await checked(tmp_path, f"{task.format('city')}\n  - {task.format('省份')}")


async def test_a_type_of_another_scheduler_is_answered_with_ours(tmp_path: Path) -> None:
    for given, meant in (("BASH", "SHELL"), ("BashOperator", "SHELL"), ("PythonOperator", "PYTHON"), ("Sql", "SQL")):
        said = await checked(tmp_path, f"{{name: a, type: {given}, params: {{}}}}")
        assert f'there is no task type "{given}"; did you mean {meant}?' in said, said


async def test_a_task_that_waits_for_a_stream_without_an_end_is_warned_of(tmp_path: Path) -> None:
    stream = "{name: crawl, type: SHELL, stream: true%s, params: {script: ':'}}\n"
    behind = "  - {name: report, type: SHELL, after: [crawl], params: {script: ':'}}"
    said = await checked(tmp_path, stream % "" + behind)
    assert said.startswith("0 shoal: warning: ")
    assert 'task "report" never begins: the stream "crawl" before it is started again after each end' in said
    for other in (", restart: on_failure", ", restart: never", ", flag: NO"):
        assert await checked(tmp_path, stream % other + behind) == "0 "
    for rule, is_said in (("all_done", True), ("none_failed", True), ("one_success", False), ("always", False)):
        said = await checked(tmp_path, stream % "" + behind.replace("after:", f"start_when: {rule}, after:"))
        assert ('task "report" never begins' in said) is is_said, rule


async def test_a_task_that_is_to_start_after_a_failure_that_ends_the_run_is_warned_of(tmp_path: Path) -> None:
    tasks = "{name: a, type: FAKE}\n  - {name: clean, type: FAKE, after: [a], start_when: %s}"
    ends = "\nfailure_strategy: END"
    said = await checked(tmp_path, tasks % "one_failed" + ends)
    assert said.startswith("0 shoal: warning: ")
    assert 'task "clean" (start_when: one_failed) does not start after a failure' in said
    assert await checked(tmp_path, tasks % "one_failed") == "0 "
    assert await checked(tmp_path, tasks % "one_success" + ends) == "0 "
