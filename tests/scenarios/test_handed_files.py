"""Scenarios of files that tasks hand on: to other tasks, on other workers, through the log store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.engine import Engine

MAKE = {
    "name": "make",
    "type": "SHELL",
    "params": {"script": "mkdir out; seq ${rows} > out/sales.csv"},
    "local_params": {"report": {"direct": "OUT", "type": "FILE", "value": "out/sales.csv"}},
}
COUNT = 'echo "#{setValue(seen=$(wc -l < ${make.report}))}"'


def use(script: str = COUNT, **task: Any) -> dict[str, Any]:
    return {"name": "use", "type": "SHELL", "after": ["make"], "params": {"script": script}, **task}


@pytest.fixture
async def stored(fresh: Engine, tmp_path: Path) -> AsyncIterator[Engine]:
    """A cluster with a log store, and two workers that serve other groups."""
    folder = tmp_path / "shared"
    folder.mkdir()
    fresh.cluster.environment |= {"SHOAL_LOG_STORE__URL": folder.as_uri()}
    await fresh.cluster.master()
    for group in ("default", "other"):
        await fresh.cluster.worker(SHOAL_WORKER__GROUPS=group)
    yield fresh


def kept(engine: Engine, tmp_path: Path, run: int) -> list[Path]:
    return sorted((tmp_path / "shared").glob(f"*/*/{run}/*.file"))


async def test_a_file_is_handed_on_to_each_type_of_task_on_another_worker(stored: Engine, tmp_path: Path) -> None:
    other: dict[str, Any] = {"after": ["make"], "worker_group": "other"}
    python = "print('#{setValue(seen=%d)}' % len(open(${make.report}).readlines()))"
    local = {"local_params": {"it": {"type": "FILE", "value": "${make.report}"}}}
    environment = 'echo "#{setValue(seen=$(wc -l < $SHOAL_PARAM_it) ${make.report.name} ${make.report.size})}"'
    run = await stored.run(
        stored.define(
            MAKE,
            use(**other),
            {"name": "python", "type": "PYTHON", "params": {"script": python}, **other},
            {"name": "by name", "type": "SHELL", "params": {"script": environment}, **local, **other},
            {"name": "fact", "params": {"outputs": {"seen": "${make.report.sha256}"}}, **other},
            params={"rows": "7000"},
        )
    )
    assert stored.state(run) == "SUCCESS", [stored.why(run, each) for each in ("make", "use", "python", "by name")]
    [file] = kept(stored, tmp_path, run)
    assert file.read_bytes() == "".join(f"{row}\n" for row in range(1, 7001)).encode()
    size = file.stat().st_size
    assert stored.printed(run, "use")["seen"] == stored.printed(run, "python")["seen"] == "7000"
    assert stored.printed(run, "by name")["seen"] == f"7000 sales.csv {size}"
    assert stored.printed(run, "fact") == {"seen": sha256(file.read_bytes()).hexdigest()}
    value = json.loads(stored.printed(run, "make")["report"])
    assert (value["name"], value["size"], value["task"]) == ("sales.csv", size, "make")


async def test_elements_hand_files_on_and_get_them_and_a_task_gets_all_in_a_folder(stored: Engine) -> None:
    """Also through a child run, and one of an element that was skipped is left out."""
    below = stored.define(
        use('echo "#{setValue(seen=$(cat ${given}))}"', after=[], name="a"), params={"given": ""}, outputs=["seen"]
    )
    part = {
        "name": "part",
        "type": "SHELL",
        "each": [1, 2, 3, 4],
        "skip_exit_codes": [9],
        "params": {"script": 'test ${each} != 2 || exit 9; echo ${each} > "p ${each}.txt"'},
        "local_params": {"out": {"direct": "OUT", "type": "FILE", "value": "p ${each}.txt"}},
    }
    script = 'cd ${part.out}; echo "#{setValue(seen=$(ls | tr "\\n" ,) $(cat * | tr "\\n" ,))}"'
    again = use('echo "#{setValue(seen=$(cat ${each}))}"', name="again", after=["part"], worker_group="other")
    child = {"name": "child", "type": "SUB_PROCESS", "after": ["part"]}
    run = await stored.run(
        stored.define(
            part,
            use(script, after=["part"], worker_group="other"),
            {**again, "each": "${part.out}"},
            {**child, "params": {"workflow": below, "params": {"given": "${part.out[3]}"}}},
        )
    )
    assert stored.state(run) == "SUCCESS", [stored.why(run, each) for each in stored.tasks(run)]
    assert stored.printed(run, "use") == {"seen": "0-p_1.txt,1-p_3.txt,2-p_4.txt, 1,3,4,"}
    assert json.loads(stored.printed(run, "again")["seen"]) == [1, "", 3, 4]
    assert stored.printed(run, "child") == {"seen": "4"}


BAD = {
    "missing": (
        "true",
        'the file "a.csv" of its folder, is not there at its end; let it write one, or change the path',
    ),
    "link": ("ln -s /etc/passwd a.csv", "is a link, or behind one; leave the file itself"),
    "behind": ("ln -s /etc x; echo '#{setValue(it=x/passwd)}'", "is a link, or behind one; leave the file itself"),
    "folder": ("mkdir a.csv", "is no plain file; pack a folder into one"),
    "pipe": ("mkfifo a.csv", "is no plain file; pack a folder into one"),
    "large": ("head -c 3000 /dev/zero > a.csv", "at most worker.output_files_bytes_max (2,000 bytes)"),
    "above": (
        "echo '#{setValue(it=../a)}'",
        'its OUT parameter "it" is no file: "../a" has an empty name, "." or ".."',
    ),
}
OUT = {"local_params": {"it": {"direct": "OUT", "type": "FILE", "value": "a.csv"}}}


async def test_a_task_that_leaves_no_such_file_fails_with_the_reason(stored: Engine) -> None:
    """Its retries may leave one; a task that names the file of a failed task gets the reason. A full path is its own
    value."""
    await stored.cluster.worker(SHOAL_WORKER__GROUPS="small", SHOAL_WORKER__OUTPUT_FILES_BYTES_MAX="2000")
    small = {"type": "SHELL", "worker_group": "small", **OUT}
    tasks = [{"name": name, "params": {"script": script}, **small} for name, (script, _) in BAD.items()]
    retried = {"params": {"script": '[ "$SHOAL_ATTEMPT" = 2 ] && echo two > a.csv; true'}, "retry_times": 1}
    full = {"params": {"script": 'echo one > b.csv; echo "#{setValue(it=$PWD/b.csv)}"'}}
    shared = {"params": {"script": "echo '#{setValue(it=/mnt/of all)}'"}}
    read = 'echo "#{setValue(seen=$(cat ${retried.it} ${full.it} | tr "\\n" ,) $SHOAL_PARAM_there)}"'
    seen = {"name": "seen", "type": "SHELL", "after": ["retried", "full", "shared"], "worker_group": "other"}
    run = await stored.run(
        stored.define(
            *tasks,
            {"name": "retried", **small, **retried},
            {"name": "full", **small, **full},
            {"name": "shared", **small, **shared},
            {**seen, "params": {"script": read}, "local_params": {"there": {"type": "FILE", "value": "${shared.it}"}}},
            use("cat ${missing.it}", on_exit=True, after=[], timeout=5),
        )
    )
    for name, (_, said) in BAD.items():
        assert stored.tasks(run)[name] == "FAILURE" and said in stored.why(run, name)
    assert stored.attempts(run, "retried") == [("FAILURE", "NO"), ("SUCCESS", "YES")]
    assert stored.printed(run, "seen") == {"seen": "two,one, /mnt/of all"}, stored.why(run, "seen")
    assert stored.why(run, "use") == '${missing.it} has no value: task "missing" failed, so it hands no file on'


async def test_a_rerun_takes_the_file_that_is_there_after_all_processes_were_killed(
    stored: Engine, tmp_path: Path
) -> None:
    """Once the file is missing or changed, who needs it fails and says which task to run again."""
    code = stored.define(
        {**MAKE, "params": {"script": "mkdir out; date +%s%N > out/sales.csv"}},
        use('until [ -e ../../go ]; do sleep 0.1; done; echo "#{setValue(seen=$(cat ${make.report}))}"'),
    )
    run = await stored.begin(code)
    await stored.task_becomes(run, "use", "RUNNING_EXECUTION")
    for node in list(stored.cluster.nodes):
        node.kill()
    await stored.cluster.master()
    place = tmp_path / "place"
    (place / "work").mkdir(parents=True, mode=0o700)
    (place / "go").touch()
    await stored.cluster.worker(SHOAL_WORKER__FOLDER=str(place))
    assert await stored.end(run) == "SUCCESS", stored.why(run, "use")
    [file] = kept(stored, tmp_path, run)
    first = file.read_text().strip()
    assert stored.printed(run, "use") == {"seen": first}
    for damage in ("changed", "missing"):
        if damage == "changed":
            file.write_text(file.read_text()[::-1])
        else:
            file.unlink()
        await stored.change("EXECUTE_TASK", run, start_tasks="use")
        assert await stored.end(run) == "FAILURE"
        reason = stored.why(run, "use")
        assert reason.startswith('the file "sales.csv" of task "make" (') and reason.endswith('; run "make" again')
        assert damage in reason
    await stored.change("EXECUTE_TASK", run, start_tasks="make", task_depend_type="TASK_POST")
    assert await stored.end(run) == "SUCCESS"
    [file] = kept(stored, tmp_path, run)
    assert stored.printed(run, "use") == {"seen": file.read_text().strip()} != {"seen": first}


async def test_a_file_and_what_it_is_are_read_by_name(stored: Engine) -> None:
    run = await stored.run(stored.define(MAKE, params={"rows": "3"}))
    assert stored.cluster.shoal("log", f"{run}/make", "--value", "report") == "1\n2\n3\n"
    assert stored.cluster.shoal("log", f"{run}/make", "--value", "report.name") == "sales.csv"


JSON = """mkdir out; echo b > out/b.txt; cat > said <<.
#{setValue(it={"a": [{"shoal_file": "out/b.txt", "kind": "text"}], "n": 7, "again": {"shoal_file": "$PWD/out/b.txt"}})}
.
cat said"""
READ = """path=$(echo "$SHOAL_PARAM_got" | python3 -c 'import json, sys; print(json.load(sys.stdin)["a"][0]["path"])')
echo "#{setValue(seen=$(cat "$path" ${part.it.a[0]} | tr '\\n' ' ')${part.it.n} ${part.it.a[0].kind})}\""""


async def test_json_has_files_in_it_and_each_is_kept_once(stored: Engine, tmp_path: Path) -> None:
    out = {"local_params": {"it": {"direct": "OUT", "type": "FILE"}}}
    got = {"local_params": {"got": {"type": "JSON", "value": "${part.it}"}}}
    bad = """echo '#{setValue(it=[{"shoal_file": "/etc/passwd"}])}'"""
    run = await stored.run(
        stored.define(
            {"name": "part", "type": "SHELL", "params": {"script": JSON}, **out},
            {"name": "bad", "type": "SHELL", "params": {"script": bad}, **out},
            use(READ, after=["part"], worker_group="other", **got),
        )
    )
    assert stored.why(run, "bad") == 'its OUT parameter "it" has the file "/etc/passwd", which is not in its folder'
    value = json.loads(stored.printed(run, "part")["it"])
    assert value["again"]["shoal_file"] == value["a"][0]["shoal_file"]
    assert [each.read_text() for each in kept(stored, tmp_path, run)] == ["b\n"]
    assert stored.printed(run, "use") == {"seen": "b b 7 text"}, stored.why(run, "use")


async def test_without_a_log_store_a_task_that_hands_a_file_on_does_not_begin(fresh: Engine) -> None:
    await fresh.start()
    run = await fresh.run(fresh.define(MAKE, params={"rows": "1"}))
    assert (
        fresh.why(run, "make")
        == 'its OUT parameter "report" is a FILE, which goes into the log store: set log_store.url'
    )
