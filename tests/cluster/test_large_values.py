"""Values that are too large for rows: kept in the log store, and read wherever a small one would be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.test_log_store import shared  # noqa: F401 - a fixture
from tests.eventually import eventually

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
