"""Scenarios of results under the names of their tasks: read apart, by paths, as JSON, and why there are none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.cluster.own_work import OwnWork
from tests.scenarios.engine import BY_HAND, Engine
from tests.scenarios.test_dynamic import dynamic
from tests.worker.http_server import HttpServer, http_server, says

FILES = '[{"name": "a.csv", "size": 1.50}, {"name": "b.csv", "size": 2}]'
VALUES = {"rows": "42", "ok": "true", "files": FILES, "name": "it's"}
LOAD = {"name": "load", "params": {"outputs": VALUES}}


def shows(**texts: str) -> dict[str, Any]:
    """A task after `load` that gives what these texts become."""
    return {"name": "use", "after": ["load"], "params": {"outputs": texts}}


async def test_two_parallel_tasks_with_one_out_name_are_read_apart(engine: Engine) -> None:
    code = engine.define(
        {"name": "eu", **BY_HAND},
        {"name": "us east", **BY_HAND},
        {
            "name": "use",
            "after": ["eu", "us east"],
            "params": {"outputs": {"both": '${eu.n} ${tasks["us east"].n} ${n}'}},
        },
    )
    run = await engine.begin(code)
    for task, n in (("us east", "8"), ("eu", "7")):
        await engine.claim(run, task)
        engine.report(run, task, "SUCCESS", n=n)
    assert await engine.end(run) == "SUCCESS"
    assert engine.printed(run, "use") == {"both": "7 8 8"}


async def test_two_dynamic_tasks_are_read_apart_with_paths_into_their_lists(engine: Engine) -> None:
    below = engine.define({"name": "a", "params": {"outputs": {"both": "${x}!"}}}, outputs=["both"])
    one = {**dynamic(below, lists=[{"name": "x", "value": "1,2"}]), "name": "fan1"}
    two = {**dynamic(below, lists=[{"name": "x", "value": "3"}]), "name": "fan-2"}
    texts = {"one": "${fan1.dynamic.out[1].both}", "two": '${tasks["fan-2"].dynamic.out[0].both}'}
    join = {"name": "join", "after": ["fan1", "fan-2"], "params": {"outputs": texts}}
    run = await engine.run(engine.define(one, two, join))
    assert engine.printed(run, "join") == {"one": "2!", "two": "3!"}


async def test_a_shell_script_takes_results_and_paths_and_keeps_its_own_arrays(engine: Engine) -> None:
    script = """
        files=(own array)
        echo "#{setValue(seen=${load.rows} ${load.files[1].name} ${files[1]} $SHOAL_PARAM_load_rows)}"
    """
    task = {"name": "use", "after": ["load"], "type": "SHELL", "params": {"script": script}}
    run = await engine.run(engine.define(LOAD, task))
    assert engine.printed(run, "use") == {"seen": "42 b.csv array 42"}, engine.why(run, "use")


async def test_a_result_that_a_script_might_run_is_refused_until_its_task_says_what_it_may_be(engine: Engine) -> None:
    load = {"name": "load it", "params": {"outputs": {"x": "it's"}}}
    script = "a=(1); eval true; echo \"#{setValue(seen=${tasks['load it'].x})}\""
    task = {"name": "use", "after": ["load it"], "type": "SHELL", "params": {"script": script}}
    run = await engine.run(engine.define(load, task))
    declared = "x: {type: TEXT, value: '${tasks['load it'].x}'}"
    assert engine.tasks(run)["use"] == "FAILURE" and declared in engine.why(run, "use")
    local = {"local_params": {"x": {"type": "TEXT", "value": "${tasks['load it'].x}"}}}
    again = {**task, **local, "params": {"script": script.replace("tasks['load it'].x", "x")}}
    assert engine.printed(await engine.run(engine.define(load, again)), "use") == {"seen": "it's"}


async def test_a_python_script_takes_numbers_truths_and_json(engine: Engine) -> None:
    script = (
        "import json\\nfiles = json.loads(${load.files})\\n"
        "print('#{setValue(seen=%s %s %s %s %s)}' % "
        "(${load.rows} + 1, ${load.ok} is True, files[0]['size'], ${load.files[1].size} + 1, ${all}[1]['name']))"
    ).replace("\\n", "\n")
    outs = {name: {"direct": "OUT", "type": type_} for name, type_ in (("rows", "INTEGER"), ("ok", "BOOLEAN"))}
    outs["files"] = {"direct": "OUT", "type": "LIST"}
    local = {"all": {"type": "JSON", "value": "${load.files}"}}
    task = {"name": "use", "after": ["load"], "type": "PYTHON", "params": {"script": script}, "local_params": local}
    run = await engine.run(engine.define({**LOAD, "local_params": outs}, task))
    assert engine.printed(run, "use") == {"seen": "43 True 1.5 3 b.csv"}, engine.why(run, "use")


async def test_sql_binds_json_as_text_and_numbers_by_the_type_of_the_out_parameter(fresh: Engine) -> None:
    work = OwnWork(fresh.cluster)
    await work.data_source("here", fresh.cluster.environment["SHOAL_DATABASE_URL"])
    await fresh.start()
    sql = """SELECT CAST(${load.files} AS jsonb) -> 1 ->> 'name' AS second,
                    CAST(${load.files[0].name} AS text) AS first, pg_typeof(${load.rows})::text <> 'text' AS typed,
                    ${load.rows} + 1 AS more, CAST('<${load.name}>' AS text) AS quoted, n.*
             FROM !{load.table} AS n"""
    outs = {name: {"direct": "OUT"} for name in ("files", "name", "table")} | {
        "rows": {"direct": "OUT", "type": "INTEGER"}
    }
    load = {"name": "load", "params": {"outputs": {**VALUES, "table": "one_row"}}, "local_params": outs}
    params = {"datasource": "here", "pre_statements": "CREATE TEMP TABLE one_row AS SELECT 5 AS five", "sql": sql}
    run = await fresh.run(fresh.define(load, {"name": "use", "after": ["load"], "type": "SQL", "params": params}))
    wanted = {"second": "b.csv", "first": "a.csv", "typed": "true", "more": "43", "quoted": "<it's>", "five": "5"}
    assert fresh.printed(run, "use") == wanted, fresh.why(run, "use")


@asynccontextmanager
async def answering() -> AsyncIterator[HttpServer]:
    async with http_server({"*": says("200 OK", "{}")}) as server:
        yield server


async def test_an_http_body_takes_json_as_json_where_a_value_stands_alone(engine: Engine) -> None:
    body = {
        "files": "${load.files}", "rows": "${load.rows}", "ok": "${load.ok}", "name": "${load.name}",
        "text": "${load.rows} rows", "one": "${load.files[0]}", "size": "${load.files[0].size}", "flat": "${files}",
        "declared": "${typed}", "list": ["${load.files[1].name}", "${load.files[1].size}"],
    }  # fmt: skip
    async with answering() as server:
        url = f"{server.address}/${{load.files[0].name}}"
        local = {"typed": {"type": "JSON", "value": "${files}"}}
        one = {"name": "use", "after": ["load"], "type": "HTTP", "params": {"url": url, "method": "POST", "body": body}}
        text = '{"files": ${load.files}, "rows": ${load.rows}, "flat": ${files[0]}, "name": "${load.name}"}'
        two = {**one, "name": "as text", "params": {"url": url, "method": "POST", "body": text}}
        run = await engine.run(engine.define(LOAD, {**one, "local_params": local}, {**two, "after": ["use"]}))
        assert engine.state(run) == "SUCCESS", engine.why(run, "use") or engine.why(run, "as text")
    first, second = (seen.body.decode() for seen in server.seen)
    files = json.loads(FILES)
    assert json.loads(first) == {
        "files": files, "rows": 42, "ok": True, "name": "it's", "text": "42 rows", "one": files[0], "size": 1.5,
        "flat": FILES, "declared": files, "list": ["b.csv", 2],
    }  # fmt: skip
    assert FILES in first and '"size": 1.50,' in first, "as it was written"
    assert json.loads(second) == {"files": files, "rows": 42, "flat": files[0], "name": "it's"}
    assert server.seen[0].target == "/a.csv"


async def test_a_switch_takes_json_as_lists_and_maps(engine: Engine) -> None:
    when = 'size(${load.files}) == 2 && ${load.files}.size() > 1 && "a" in ${load.names} && ${load.rows} > 41 && '
    when += '${load.files[0].name} == "a.csv" && "${load.files}".startsWith("[") && "a" in ${load.names}'
    cases = [{"when": "size(${load.files}) > 2", "then": "never"}, {"when": when, "then": "yes"}]
    load = {"name": "load", "params": {"outputs": {**VALUES, "names": '["a", "b"]'}}}
    code = engine.define(
        load,
        {"name": "route", "type": "SWITCH", "after": ["load"], "params": {"cases": cases}},
        {"name": "never", "after": ["route"]},
        {"name": "yes", "after": ["route"]},
    )
    run = await engine.run(code)
    assert "yes" in engine.tasks(run) and "never" not in engine.tasks(run), engine.why(run, "route")


async def test_a_sub_workflow_gets_the_same_json_and_goes_into_it(engine: Engine) -> None:
    shown = {"params": {"outputs": {"seen": "${files[1].name} ${files}"}}}
    child = engine.define({"name": "a", **shown}, outputs=["seen"])
    below = {"name": "below", "type": "SUB_PROCESS", "after": ["load"]}
    below["params"] = {"workflow": child, "params": {"files": "${load.files}"}}
    texts = {"again": "${below.seen}"}
    run = await engine.run(
        engine.define(LOAD, below, {"name": "use", "after": ["below"], "params": {"outputs": texts}})
    )
    assert engine.printed(run, "use") == {"again": f"b.csv {FILES}"}


async def test_a_dynamic_task_takes_the_list_of_one_task(engine: Engine) -> None:
    below = engine.define({"name": "a", "params": {"outputs": {"both": "${x}!"}}}, outputs=["both"])
    load = {"name": "load", "params": {"outputs": {"names": '["p", "q"]'}}}
    fan = {**dynamic(below, lists=[{"name": "x", "value": "${load.names}"}]), "after": ["load"]}
    run = await engine.run(engine.define(load, fan))
    assert json.loads(engine.printed(run, "each")["dynamic.out"]) == [{"both": "p!"}, {"both": "q!"}]


async def test_what_cleans_up_sees_results_and_the_defaults_of_what_failed(engine: Engine) -> None:
    default = {"rows": {"direct": "OUT", "value": "none"}}
    report = {"name": "report", "on_exit": True, "timeout": 5}
    code = engine.define(
        LOAD,
        {"name": "bad", "after": ["load"], "params": {"fail": True}, "local_params": default},
        {**report, "params": {"outputs": {"seen": "${load.rows} ${bad.rows}"}}},
        {"name": "drop", "teardown": True, "timeout": 5, "params": {"outputs": {"seen": "${load.files[0].name}"}}},
        {**report, "name": "strict", "params": {"write": "${bad.other}"}},
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.printed(run, "report") == {"seen": "42 none"}
    assert engine.printed(run, "drop") == {"seen": "a.csv"}
    assert engine.tasks(run)["strict"] == "FAILURE"
    assert '${bad.other} has no value: task "bad"' in engine.why(run, "strict")


@pytest.mark.parametrize(
    ("load", "rule", "said"),
    [
        ({"params": {"fail": True}}, "all_done", 'task "load" failed'),
        ({"params": {"skip": True}}, "all_done", 'task "load" was skipped'),
        ({"flag": "NO"}, "all_success", 'task "load" is disabled'),
        ({"params": {"outputs": {"row": "1"}}}, "all_success", 'task "load" gave no "rows"; did you mean ${load.row}?'),
        ({}, "all_success", 'task "load" gave no "rows"; it gave nothing'),
    ],
)
async def test_a_task_that_names_what_is_not_there_fails_with_the_reason(
    engine: Engine, load: dict[str, Any], rule: str, said: str
) -> None:
    use = {**shows(seen="${load.rows}"), "start_when": rule, "retry_times": 3}
    run = await engine.run(engine.define({"name": "load", **load}, use))
    assert engine.attempts(run, "use") == [("FAILURE", "YES")], "another attempt would fail too"
    assert engine.why(run, "use").startswith(f"${{load.rows}} has no value: {said}")


async def test_a_rerun_takes_the_results_of_the_latest_attempts_whatever_its_scope(engine: Engine) -> None:
    load = {"name": "load", **BY_HAND}
    code = engine.define(load, {"name": "mid", "after": ["load"]}, {**shows(seen="${load.n}"), "after": ["mid"]})
    run = await engine.begin(code)
    for n, asked in (("1", None), ("2", "TASK_ONLY"), ("3", "TASK_POST")):
        if asked is not None:
            await engine.change("EXECUTE_TASK", run, start_tasks="load", task_depend_type=asked)
        await engine.claim(run, "load")
        engine.report(run, "load", "SUCCESS", n=n)
        assert await engine.end(run) == "SUCCESS"
        if asked == "TASK_ONLY":
            assert engine.printed(run, "use") == {"seen": "1"}, "it did not run again"
            await engine.change("EXECUTE_TASK", run, start_tasks="use")
            assert await engine.end(run) == "SUCCESS"
        assert engine.printed(run, "use") == {"seen": n}


async def test_a_master_that_takes_over_reads_the_results_from_the_database(fresh: Engine) -> None:
    masters = [await fresh.cluster.master() for _ in range(2)]
    await fresh.cluster.worker()
    hold = {"name": "hold", "after": ["load"], **BY_HAND}
    code = fresh.define(LOAD, hold, {**shows(seen="${load.files[1].name}"), "after": ["hold"]})
    run = await fresh.begin(code)
    await fresh.claim(run, "hold")
    for master in masters:
        master.kill()
    await fresh.cluster.master()
    fresh.report(run, "hold", "SUCCESS")
    assert await fresh.end(run) == "SUCCESS"
    assert fresh.printed(run, "use") == {"seen": "b.csv"}
