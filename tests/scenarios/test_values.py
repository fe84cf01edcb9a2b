"""Scenarios of the texts of a task: built-in parameters, time expressions, and values that try to be code."""

from __future__ import annotations

import json

import pytest

from tests.scenarios.engine import Engine
from tests.scenarios.test_parameters import SEES, in_project

# -------------------------------------------------------------------------------- built in, time expressions


async def test_built_in_parameters(engine: Engine) -> None:
    names = [
        *("system.biz.date", "system.biz.curdate", "system.datetime"),
        *("system.task.instance.id", "system.task.definition.name", "system.task.definition.code"),
        "system.task.attempt",
        *("system.workflow.instance.id", "system.workflow.definition.name", "system.workflow.definition.code"),
        *("system.project.name", "system.project.code", "system.task.execute.path"),
    ]
    shows = {name.replace(".", "_"): f"${{{name}}}" for name in names}
    code = engine.define({"name": "show", "params": {"outputs": shows}}, name="builder")
    project = in_project(engine, code)
    run = await engine.run(code, schedule_time="2026-03-01 02:30:05+00", time_zone="America/New_York")
    printed = engine.printed(run, "show")
    path = printed.pop("system_task_execute_path")
    assert path.startswith(str(engine.cluster.folder))
    task, task_code = engine.cluster.rows(
        "SELECT id, task_code FROM task_instance WHERE workflow_instance_id = %s", run
    )[0]
    project_code = engine.cluster.one("SELECT code FROM project WHERE name = %s", project)
    assert printed == {
        "system_biz_date": "20260227",
        "system_biz_curdate": "20260228",
        "system_datetime": "20260228213005",
        "system_task_instance_id": str(task),
        "system_task_attempt": "1",
        "system_task_definition_name": "show",
        "system_task_definition_code": str(task_code),
        "system_workflow_instance_id": str(run),
        "system_workflow_definition_name": "builder",
        "system_workflow_definition_code": str(code),
        "system_project_name": project,
        "system_project_code": str(project_code),
    }


async def test_built_in_parameters_can_stand_in_global_and_local_ones(engine: Engine) -> None:
    task = {"name": "a", **SEES, "local_params": {"x": "${y}/${system.task.definition.name}"}}
    code = engine.define(task, params={"y": "${system.workflow.instance.id}"})
    run = await engine.run(code)
    assert engine.printed(run, "a") == {"seen": f"{run}/a"}


async def test_time_expressions_are_relative_to_the_schedule_time_in_its_zone(engine: Engine) -> None:
    expressions = {
        "yyyyMMdd": "20220826",
        "yyyy-MM-dd HH:mm:ss": "2022-08-26 01:30:00",
        "yyyyMMdd-1": "20220825",
        "yyyyMMdd+7*2": "20220909",
        "HH:mm-2/24": "23:30",
        "HH:mm-15/24/60": "01:15",
        "add_months(yyyyMMdd,-12*1)": "20210826",
        "this_day(yyyy-MM-dd)": "2022-08-26",
        "last_day(yyyy-MM-dd)": "2022-08-25",
        "year_week(yyyy-MM-dd)": "2022-34",
        "month_first_day(yyyy-MM-dd,-1)": "2022-07-01",
        "month_last_day(yyyy-MM-dd,0)": "2022-08-31",
        "week_first_day(yyyy-MM-dd,0)": "2022-08-22",
        "week_last_day(yyyy-MM-dd,-1)": "2022-08-21",
        "month_begin(yyyyMMdd,1)": "20220802",
        "month_end(yyyyMMdd,-1)": "20220830",
        "week_begin(yyyyMMdd,1)": "20220823",
        "week_end(yyyyMMdd,-1)": "20220827",
        "timestamp(yyyyMMddHHmmss)": "1661470200",
    }
    texts = {f"v{place}": f"$[{expression}]" for place, expression in enumerate(expressions)}
    code = engine.define({"name": "a", "params": {"outputs": texts}}, {"name": "b", **SEES}, params={"x": texts["v2"]})
    run = await engine.run(code, schedule_time="2022-08-25 23:30:00+00", time_zone="Europe/Berlin")
    assert list(engine.printed(run, "a").values()) == list(expressions.values())
    assert engine.printed(run, "b") == {"seen": "20220825"}


async def test_time_expressions_take_the_zone_of_the_definition_if_nobody_says_another(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"outputs": {"d": "$[yyyyMMdd]"}}}, time_zone="Asia/Tokyo")
    run = await engine.run(code, schedule_time="2026-03-28 20:00:00+00")
    assert engine.printed(run, "a") == {"d": "20260329"}


async def test_yesterday_of_a_day_of_23_hours_is_still_yesterday(engine: Engine) -> None:
    code = engine.define({"name": "a", "params": {"outputs": {"d": "$[yyyyMMdd HH:mm-1]"}}})
    at = {"schedule_time": "2026-03-29 21:30:00+00", "time_zone": "Europe/Berlin"}  # 23:30 on the day of the change
    assert engine.printed(await engine.run(code, **at), "a") == {"d": "20260328 23:30"}


# ------------------------------------------------------------------------------------ a value is only a value


async def test_a_literal_and_an_unknown_name_stay(engine: Engine) -> None:
    shows = {"literal": "$${x}", "unknown": "${nobody}", "known": "${x}", "no_name": "${1} $x {x}"}
    run = await engine.run(engine.define({"name": "a", "params": {"outputs": shows}}, params={"x": "1"}))
    assert engine.printed(run, "a") == {
        "literal": "${x}",
        "unknown": "${nobody}",
        "known": "1",
        "no_name": "${1} $x {x}",
    }


async def test_a_value_is_not_looked_at_again(engine: Engine) -> None:
    tricky = "${secret} $[yyyyMMdd]"
    script = "printf '#{setValue(x=$' ; printf '{secret} $' ; printf '[yyyyMMdd])}\\n'"
    code = engine.define(
        {"name": "a", "type": "SHELL", "params": {"script": script}},
        {"name": "b", "after": ["a"], "params": {"outputs": {"seen": "${y}"}}, "local_params": {"y": "<${x}>"}},
        params={"secret": "42"},
    )
    run = await engine.run(code)
    assert engine.values(run, "b")["x"] == tricky
    assert engine.printed(run, "b") == {"seen": f"<{tricky}>"}


@pytest.mark.parametrize("script", ["echo ${x}", 'echo "${x}"', "echo '${x}'", "cat <<E\n${x}\nE\n"])
async def test_no_value_breaks_out_of_a_shell_script(engine: Engine, script: str) -> None:
    hacked = engine.cluster.folder / "hacked"
    attacks = [
        f"; touch {hacked} #",
        f"$(touch {hacked})",
        f"`touch {hacked}`",
        f"'; touch {hacked}; '",
        f'"; touch {hacked}; "',
        f"\n touch {hacked}\n",
        f"\\\n touch {hacked}",
        f"E\ntouch {hacked}\ncat <<E",
        f"${{x:-$(touch {hacked})}}",
        f"a[$(touch {hacked})]",
    ]
    code = engine.define({"name": "a", "type": "SHELL", "params": {"script": script}})
    for run in [await engine.begin(code, params={"x": attack}) for attack in attacks]:
        assert await engine.end(run) == "SUCCESS"
    assert not hacked.exists()


async def test_a_value_that_a_variable_without_quotes_would_split_is_refused_at_the_start(engine: Engine) -> None:
    code = engine.define({"name": "a", "type": "SHELL", "params": {"script": "y=${x}; echo $y"}})
    assert "is not plain" in await engine.refused(engine.ask("START_PROCESS", code, params={"x": "; touch it"}))
    assert await engine.end(await engine.begin(code, params={"x": "plain"})) == "SUCCESS"


async def test_a_shell_script_gets_each_value_unharmed(engine: Engine) -> None:
    value = "it's \"a\" $value `with` \\ everything; & 'more' * ~ äöü"
    script = 'echo "#{setValue(seen=${x})}"; echo "#{setValue(variable=$SHOAL_PARAM_x)}"'
    code = engine.define({"name": "a", "type": "SHELL", "params": {"script": script}})
    run = await engine.run(code, params={"x": value})
    assert engine.printed(run, "a") == {"seen": value, "variable": value}


async def test_a_python_script_takes_any_text_in_quotes_unless_it_runs_text(engine: Engine) -> None:
    hostile = "'); import os; print('"
    script = f"assert len('${{x}}') == {len(hostile)}"
    code = engine.define({"name": "a", "type": "PYTHON", "params": {"script": script}})
    assert engine.state(await engine.run(code, params={"x": hostile})) == "SUCCESS"
    script = "import os; os.system('echo ${x}')"
    runs_text = engine.define({"name": "a", "type": "PYTHON", "params": {"script": script}})
    assert "the script can run text as code" in await engine.refused(
        engine.ask("START_PROCESS", runs_text, params=json.dumps({"x": hostile}))
    )
