"""Values that are too large for rows: kept in the log store, and read wherever a small one would be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.own_work import OwnWork
from tests.cluster.test_log_store import shared  # noqa: F401 - a fixture
from tests.eventually import eventually
from tests.worker.http_server import http_server, says

LINES = 2_000
MAKE = f"""
import json, random
lines = [{{"n": n, "name": "it's \\"%d\\" \\u00e9" % n, "pad": "x" * 60}} for n in range({LINES})]
print("${{setValue(rows=" + json.dumps(lines) + ")}}")
print("${{setValue(names=" + 80_000 * "n" + ")}}")
"""
COUNT = 'python3 -c "import json, os, sys; rows = json.load(open(sys.argv[1])); print(len(rows), rows[-1])" '


def flow(cluster: Cluster, *tasks: dict[str, Any], code: int = 1, **fields: Any) -> None:
    made = {"name": "load", "type": "PYTHON", "params": {"script": MAKE}}
    cluster.define(code, f"flow{code}", tasks=[made, *({"after": ["load"], **task} for task in tasks)], **fields)


def ends(cluster: Cluster, run: int = 1) -> dict[str, tuple[str, str]]:
    rows = cluster.rows(
        f"SELECT DISTINCT ON (task_code) task_name, state, coalesce(reason, '') FROM task_instance "
        f"WHERE workflow_instance_id = {run} AND task_code > 0 ORDER BY task_code, id DESC"
    )
    return {name: (state, reason) for name, state, reason in rows}


async def test_every_type_of_task_reads_a_large_value_as_a_small_one(cluster: Cluster, shared: Path) -> None:  # noqa: F811
    when = f"${{load.rows[-1].n}} == {LINES - 1} && size(${{load.names}}) > 70000"
    local = {"local_params": {"all": "${load.rows}"}}
    flow(
        cluster,
        {"name": "bash", "type": "SHELL", "params": {"script": f"{COUNT} $SHOAL_FILE_all"}, **local},
        {"name": "flat", "type": "SHELL", "params": {"script": f"{COUNT} $SHOAL_FILE_rows"}},
        {"name": "unnamed", "type": "SHELL", "params": {"script": "env | grep -c r[o]ws || true"}},
        {"name": "python", "type": "PYTHON", "params": {"script": "import json; print(len(json.loads(${load.rows})))"}},
        {
            "name": "part",
            "type": "SHELL",
            "params": {"script": "echo ${name} $SHOAL_VALUE_BYTES_MAX"},
            "local_params": {"name": {"type": "TEXT", "value": "${load.rows[-1].name}"}},
        },
        {
            "name": "choose",
            "type": "SWITCH",
            "params": {"cases": [{"when": when, "then": ["chosen"]}]},
        },
        {"name": "chosen", "type": "FAKE", "params": {}, "after": ["choose"]},
        {
            "name": "mapped",
            "type": "FAKE",
            "params": {"outputs": {"got": "${each.n}"}},
            "each": {"over": "${load.rows}", "parallel": 500},
        },
    )
    await cluster.master()
    await cluster.worker(SHOAL_WORKER__CAPACITY="64")
    cluster.start(1)
    await cluster.all_ends()
    assert {name: end for name, end in ends(cluster).items() if end[0] != "SUCCESS"} == {}
    last = f"{LINES} {{'n': {LINES - 1}, 'name': 'it\\'s \"{LINES - 1}\" é', 'pad': '{'x' * 60}'}}\n"
    assert cluster.shoal("log", "1/bash").endswith(last) and cluster.shoal("log", "1/flat").endswith(last)
    assert cluster.shoal("log", "1/unnamed") == "0\n", "each would have a copy"
    assert cluster.shoal("log", "1/python").endswith(f"\n{LINES}\n")
    assert cluster.shoal("log", "1/part").endswith(f'it\'s "{LINES - 1}" é 16777216\n')
    shown = json.loads(cluster.shoal("show", "1", "--json"))
    assert next(each["elements"]["total"] for each in shown["tasks"] if each["name"] == "mapped") == LINES
    outputs = cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'mapped' AND task_code > 0")
    assert json.loads(json.loads(outputs)["got"]) == list(range(LINES))
    assert cluster.one("SELECT max(length(parameter_values)) FROM task_instance") < 1_000


async def test_sql_http_and_dynamic_read_a_list_of_nearly_a_megabyte(cluster: Cluster, shared: Path) -> None:  # noqa: F811
    count = 45_000
    make = f'print("${{setValue(files=" + json.dumps([f"file_{{n:06}}.csv" for n in range({count})]) + ")}}")'
    await OwnWork(cluster).data_source("here", cluster.environment["SHOAL_DATABASE_URL"])
    cluster.define(2, "below", tasks=[{"name": "a", "type": "FAKE", "params": {}}], params={"file": ""})
    query = "SELECT jsonb_array_length(CAST(${load.files} AS jsonb)) AS n"
    lists = [{"name": "file", "value": "${load.files}"}]
    async with http_server({"*": says("200 OK", "")}) as server:
        request = {"url": server.address, "method": "POST", "body": {"files": "${load.files}"}}
        after = {"after": ["load"]}
        cluster.define(
            1,
            "flow1",
            tasks=[
                {"name": "load", "type": "PYTHON", "params": {"script": f"import json\n{make}"}},
                {"name": "sql", "type": "SQL", "params": {"datasource": "here", "sql": query}, **after},
                {"name": "http", "type": "HTTP", "params": request, **after},
                {"name": "fan", "type": "DYNAMIC", "params": {"workflow": "below", "lists": lists, "max_instances": 3},
                 **after},
            ],
        )  # fmt: skip
        await cluster.master()
        await cluster.worker()
        cluster.start(1)
        await cluster.all_ends()
        assert {name: end for name, end in ends(cluster).items() if end[0] != "SUCCESS"} == {}
        assert len(json.loads(server.seen[0].body)["files"]) == count
    assert json.loads(cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'sql'")) == {"n": str(count)}
    began = cluster.rows("SELECT params::jsonb ->> 'file' FROM workflow_instance WHERE workflow_code = 2 ORDER BY id")
    assert began == [("file_000000.csv",), ("file_000001.csv",), ("file_000002.csv",)]


@pytest.mark.parametrize("damage", ["missing", "changed"])
async def test_each_reader_says_which_task_gave_what_is_missing_or_changed(
    cluster: Cluster,
    shared: Path,  # noqa: F811
    damage: str,
) -> None:
    """Also after both master and worker were killed; and once the task ran again, all read what it gives then."""
    mapped = {"name": "mapped", "type": "FAKE", "params": {}, "each": "${load.rows}"}
    wait = {"name": "wait", "type": "SHELL", "params": {"script": f"until [ -e {shared}/go ]; do sleep 0.1; done"}}
    read = {"name": "read", "type": "SHELL", "params": {"script": f"{COUNT} $SHOAL_FILE_rows"}, "after": ["wait"]}
    flow(cluster, wait, read, {**mapped, "after": ["wait"]})
    first, worker = await cluster.master(), await cluster.worker()
    cluster.start(1)
    runs = "SELECT count(*) FROM task_instance WHERE task_name = 'wait' AND state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.one(runs) == 1)
    [file] = shared.glob("*/1/1/*.0.value")
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes().replace(b"xxx", b"xyx", 1))
    first.kill()
    worker.kill()
    await cluster.master()
    await cluster.worker()
    (shared / "go").touch()
    await cluster.all_ends()
    for name in ("read", "mapped"):
        state, reason = ends(cluster)[name]
        assert state == "FAILURE"
        assert 'the file of "rows" of task "load" (' in reason
        assert f" {damage}" in reason
        assert reason.endswith('run "load" again')
    cluster.shoal("rerun", "1")
    await eventually(lambda: {state for state, _ in ends(cluster).values()} == {"SUCCESS"}, within_s=40)


async def test_a_value_travels_to_a_child_run_and_back_and_is_deleted_with_its_run(
    cluster: Cluster,
    shared: Path,  # noqa: F811
) -> None:
    child = [
        {"name": "same", "type": "FAKE", "params": {"outputs": {"back": "${given}"}}},
        {"name": "count", "type": "FAKE", "params": {"outputs": {"n": "${given[-1].n}"}}},
    ]
    cluster.define(2, "child", tasks=child, params={"given": ""}, outputs=["back", "n"])
    params = {"workflow": "child", "params": {"given": "${load.rows}"}}
    below = {"name": "below", "type": "SUB_PROCESS", "params": params}
    after = {"name": "after", "type": "SHELL", "params": {"script": f"{COUNT} $SHOAL_FILE_back"}, "after": ["below"]}
    flow(cluster, below, after)
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    assert {name: end for name, end in ends(cluster).items() if end[0] != "SUCCESS"} == {}
    assert f"{LINES} {{'n': {LINES - 1}" in cluster.shoal("log", "1/after")
    assert json.loads(cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'count'")) == {"n": "1999"}


async def test_a_cached_value_is_used_as_long_as_its_run_is_there(cluster: Cluster, shared: Path) -> None:  # noqa: F811
    """A small one outlives the run that gave it."""
    ran = cluster.folder / "ran"
    script = {"few": "echo '#{setValue(few=1)}'", "many": "printf '#{setValue(many=%0100000d)}\\n' 7"}
    tasks: list[dict[str, Any]] = [
        {"name": name, "type": "SHELL", "cache": True, "params": {"script": f"echo {name} >> {ran}; {gives}"}}
        for name, gives in script.items()
    ]
    count = "print('#{setValue(it=%d%s)}' % (len(${many.many}), ${few.few}))"
    tasks.append({"name": "count", "type": "PYTHON", "after": ["few", "many"], "params": {"script": count}})
    cluster.define(1, "flow", tasks=tasks)
    await cluster.master()
    await cluster.worker()
    for run, runs in enumerate((["few", "many"], ["few", "many"], ["few", "many", "many"], ["few", "many", "many"]), 1):
        if run == 3:  # as retention does
            gone = "DELETE FROM task_instance WHERE workflow_instance_id = 1 RETURNING id"
            cluster.rows(f"WITH gone AS ({gone}) DELETE FROM workflow_instance WHERE id = 1 RETURNING id")
            for file in shared.glob("*/1/1/*"):
                file.unlink()
        cluster.start(1)
        await cluster.all_ends()
        assert {each for each, _ in ends(cluster, run).values()} == {"SUCCESS"}, ends(cluster, run)
        assert sorted(ran.read_text().split()) == runs
        printed = f"SELECT outputs FROM task_instance WHERE task_name = 'count' AND workflow_instance_id = {run}"
        assert json.loads(cluster.one(printed)) == {"it": "1000001"}


GIVES = """
import json
pad = "x" * (200 if ${each} % 10 else 5_000)
print("#{setValue(out=" + json.dumps({"n": ${each}, "pad": pad}) + ")}")
print("#{setValue(text=" + "%d" % ${each} + pad + ")}")
"""


async def test_a_list_of_what_elements_give_is_kept_and_read_like_a_small_one_also_after_a_failover(
    cluster: Cluster,
    shared: Path,  # noqa: F811
) -> None:
    """Read by every type of task, in `each`, a child run and `on_exit`; every tenth element is large."""
    local = {"local_params": {"all": "${fan.out}"}}
    count = "print(len(rows), sum(row['n'] for row in rows), len(rows[10]['pad']))"
    python = f"import json; rows = json.loads(${{fan.out}}); {count}"
    read = f"python3 -c \"import json, os; rows = json.loads(os.environ['SHOAL_PARAM_all']); {count}\""
    cluster.define(2, "below", tasks=[{"name": "n", "type": "FAKE", "params": {"outputs": {"n": "${given[-1].n}"}}}],
                   params={"given": ""}, outputs=["n"])  # fmt: skip
    listed = [{"name": "fan", "type": "PYTHON", "params": {"script": GIVES}, "each": list(range(60)) * 2}]
    cluster.define(
        1,
        "flow1",
        tasks=[
            *listed,
            {"name": "bash", "type": "SHELL", "params": {"script": read}, **local, "after": ["fan"]},
            {"name": "python", "type": "PYTHON", "params": {"script": python}, "after": ["fan"]},
            {"name": "part", "type": "FAKE", "after": ["fan"],
             "params": {"write": "${fan.out[59].n} ${fan.out[10].n}"}},
            {"name": "large", "type": "SHELL", "params": {"script": "echo ${#SHOAL_PARAM_x}"},
             "local_params": {"x": {"type": "TEXT", "value": "${fan.text[10]}"}}, "after": ["fan"]},
            {"name": "choose", "type": "SWITCH", "after": ["fan"],
             "params": {"cases": [{"when": "${fan.out[1].n} == 1", "then": ["chosen"]}]}},
            {"name": "chosen", "type": "FAKE", "params": {}, "after": ["choose"]},
            {"name": "again", "type": "FAKE", "params": {"outputs": {"n": "${each.n}"}}, "each": "${fan.out}",
             "after": ["fan"]},
            {"name": "below", "type": "SUB_PROCESS", "after": ["fan"],
             "params": {"workflow": "below", "params": {"given": "${fan.out}"}}},
            {"name": "late", "type": "PYTHON", "params": {"script": python}, "on_exit": True},
        ],
    )  # fmt: skip
    first = await cluster.master()
    await cluster.worker()
    cluster.start(1)
    half = "SELECT count(*) > 60 FROM task_instance WHERE task_code < 0 AND state = 'SUCCESS'"
    await eventually(lambda: cluster.one(half), within_s=120)
    first.kill()
    await cluster.master()
    await eventually(
        lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL") == 0, within_s=180
    )
    assert {name: end for name, end in ends(cluster).items() if end[0] != "SUCCESS"} == {}
    for task in ("bash", "python", "late"):
        assert cluster.shoal("log", f"1/{task}").splitlines()[-1] == "120 3540 5000", task
    assert cluster.shoal("log", "1/part") == "59 10\n"
    assert cluster.shoal("log", "1/large").splitlines()[-1] == "5002"
    outputs = json.loads(cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'fan' AND task_code > 0"))
    assert all(len(value) < 300 for value in outputs.values())
    mapped = json.loads(cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'again' AND task_code > 0"))
    assert json.loads(mapped["n"]) == list(range(60)) * 2
    assert json.loads(cluster.one("SELECT outputs FROM task_instance WHERE task_name = 'n'")) == {"n": "59"}
    assert cluster.shoal("log", "1/fan", "--value", "out[10].n") == "10"
    assert json.loads(cluster.shoal("log", "1/fan", "--value", "out"))[59] == {"n": 59, "pad": "x" * 200}
    assert cluster.shoal("log", "1/fan[10]", "--value", "text") == "10" + "x" * 5_000
    files = {file.name: file for file in shared.glob("*/1/1/*.value")}
    kept = [name for name in files if len(name) == 70]
    assert len(kept) == 2 and len(files) == 2 + 24, "two lists, and two values of every tenth element"


async def test_without_a_log_store_a_task_says_what_it_needs(cluster: Cluster) -> None:
    flow(cluster)
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    state, reason = ends(cluster)["load"]
    assert state == "FAILURE"
    assert "more than 65536 bytes by setValue; print a file's name, or" in reason
    assert "a log store" in reason
