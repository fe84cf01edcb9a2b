"""SECRET parameters through a whole cluster: no table, log or answer has one in clear, whichever way it came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from dao.secrets.parameters import seal
from dao.secrets.vault import Vault, new_key
from tests.cluster.cluster import Cluster
from tests.scenarios.engine import Engine
from tests.shoal.command_line import Answer, CommandLine

CANARY = "canary-4711-and-more"

WORKFLOW = """
name: NAME
params:
  region: north
  password: {type: SECRET, value: GLOBAL}
  token: {type: SECRET}
tasks:
  - name: a
    type: SHELL
    params: {script: 'echo "p ${#SHOAL_PARAM_password} ${password} #{setValue(x=1)}"'}
    local_params:
      mine: {type: SECRET, value: LOCAL}
    cache: true
  - name: b
    type: SHELL
    after: [a]
    params: {script: 'echo "t ${token}"; echo "#{setValue(given=${token})}"; [ -n "${token}" ] || exit 3'}
  - name: below
    type: SUB_PROCESS
    after: [b]
    params: {workflow: NAME_below}
---
name: NAME_below
params:
  password: {type: SECRET}
tasks:
  - name: c
    type: SHELL
    retry_times: 1
    params: {script: 'echo "c ${password}"; echo "${password}" >&2; exit 9'}
"""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(new_key())
    return path


@pytest_asyncio.fixture
async def secret_engine(fresh: Engine, keys: Path) -> AsyncIterator[Engine]:
    """A master without keys and a worker with them."""
    await fresh.cluster.master()
    await fresh.cluster.worker(SHOAL_SECRETS__KEY_FILE=str(keys))
    await fresh.cluster.slots_become(1)
    yield fresh


def in_clear(cluster: Cluster, text: str = CANARY) -> list[str]:
    """All columns of all tables in which a text stands, as `table.column`."""
    columns = cluster.rows(
        """SELECT c.table_name, c.column_name FROM information_schema.columns c
           JOIN information_schema.tables t USING (table_schema, table_name)
           WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'"""
    )
    assert len(columns) > 100
    found = []
    for table, column in columns:
        query = f"SELECT EXISTS (SELECT FROM {table} WHERE position(%s IN {column}::text) > 0)"
        if cluster.one(query, text):
            found.append(f"{table}.{column}")
    return found


def on_disk(cluster: Cluster) -> list[Path]:
    """All files of the cluster in which the canary stands: logs of nodes and of tasks, spools, work folders."""
    return [path for path in cluster.folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


async def given(shoal: CommandLine, text: str, *arguments: str) -> Answer:
    """Run a verb with `text` on its standard input."""
    process = await shoal.start(*arguments, stdin=asyncio.subprocess.PIPE)
    out, err = await process.communicate(text.encode())
    return Answer(process.returncode or 0, out.decode(), err.decode())


async def test_no_table_log_or_answer_has_a_secret_in_clear(
    secret_engine: Engine, keys: Path, tmp_path: Path, database_url: str
) -> None:
    cluster = secret_engine.cluster
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(keys))
    file = tmp_path / "files" / "workflow.yaml"
    file.parent.mkdir()
    file.write_text(
        WORKFLOW.replace("NAME", "flow").replace("GLOBAL", f"{CANARY}-global").replace("LOCAL", f"{CANARY}-local")
    )
    saved = await shoal("workflow", "apply", str(file))
    assert saved.code == 0, saved.err
    again = await shoal("workflow", "apply", str(file))
    assert "unchanged, version 1" in again.out, "what is the same makes no version"
    ran = await shoal("run", "flow", "-p", f"token={CANARY}-token", "--wait", "--json")
    assert ran.code == 1, (ran.out, ran.err)
    run = cluster.one("SELECT id FROM workflow_instance WHERE parent_instance_id IS NULL")
    assert secret_engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS", "below": "FAILURE"}
    assert secret_engine.printed(run, "b") == {"given": "******"}
    (child,) = secret_engine.children(run)
    assert [state for state, _ in secret_engine.attempts(child, "c")] == ["FAILURE", "FAILURE"]
    assert secret_engine.why(child, "c") == "exit code 9: ******"
    scheduled = await shoal("schedule", "add", "flow", "0 0 1 1 *", "-p", f"token={CANARY}-schedule")
    assert scheduled.code == 0, scheduled.err
    asked = await shoal("backfill", "flow", "--date", "2026-01-01", "-p", f"token={CANARY}-backfill")
    assert asked.code == 0, asked.err
    answers = await shoal.each(
        "workflow show flow --json", "workflow show flow", f"show {run} --json", f"show {run}", f"log {run}/b",
        f"show {child} --json", "schedule list --json", "queue errors --json", "runs --json", "why flow",
        f"log {run}/a",
    )  # fmt: skip
    said = "".join(each.out + each.err for each in (saved, again, ran, scheduled, asked, *answers))
    assert CANARY not in said
    assert "sealed:v2:" not in said
    assert "t ******" in said
    assert f"p {len(CANARY + '-global')} ******" in said, "the task had it"
    assert in_clear(cluster) == []
    file.unlink()
    assert on_disk(cluster) == []
    assert "workflow_version.spec" in in_clear(cluster, "sealed:v2:"), "so it was looked for where it is"


async def test_a_secret_given_in_clear_by_sql_is_refused_and_not_kept(secret_engine: Engine, keys: Path) -> None:
    cluster = secret_engine.cluster
    vault = Vault([keys.read_text()])
    sees = {
        "name": "a",
        "type": "SHELL",
        "params": {"script": "echo is ${password}; test ${#SHOAL_PARAM_password} = 11"},
    }
    for params in ({"password": {"type": "SECRET"}}, {"password": {"type": "SECRET", "value": ""}}):
        code = secret_engine.define(sees, params=params)
        command = secret_engine.ask("START_PROCESS", code, params={"password": "canary-4711", "other": "1"})
        sentence = await secret_engine.refused(command)
        assert sentence.startswith('parameter "password" is SECRET and was given in clear, which nobody stores; give')
        assert "shoal project seal password" in sentence
        kept = cluster.one("SELECT params FROM error_command WHERE command_id = %s", command)
        assert json.loads(kept) == {"password": "******", "other": "1"}
        run = await secret_engine.run(code, params={"password": seal("password", "canary-4711", vault, "default")})
        assert secret_engine.tasks(run) == {"a": "SUCCESS"}
        assert in_clear(cluster, "canary-4711") == []
    defined = secret_engine.define(sees, params={"password": {"type": "SECRET", "value": "a-clear-one"}})
    sentence = await secret_engine.refused(secret_engine.ask("START_PROCESS", defined))
    assert "was given in clear" in sentence and "a-clear-one" not in sentence
    local = {"password": {"type": "SECRET", "value": "a-clear-one"}}
    defined = secret_engine.define({**sees, "local_params": local})
    sentence = await secret_engine.refused(secret_engine.ask("START_PROCESS", defined))
    assert "was given in clear" in sentence and "a-clear-one" not in sentence


async def test_a_secret_is_part_of_no_other_parameter(secret_engine: Engine, keys: Path) -> None:
    sealed = seal("password", CANARY, Vault([keys.read_text()]), "default")
    code = secret_engine.define({"name": "a"}, params={"password": {"type": "SECRET", "value": sealed}})
    command = secret_engine.ask("START_PROCESS", code, params={"url": "http://me:${password}@host"})
    assert await secret_engine.refused(command) == (
        "${password} is SECRET and cannot be part of another parameter; write it where the task uses it"
    )


async def test_a_sealed_value_is_made_from_standard_input(keys: Path, database_url: str) -> None:
    shoal = CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(keys))
    made = await given(shoal, f"{CANARY}\n", "project", "seal", "password")
    assert made.out.startswith("sealed:v2:") and CANARY not in made.out
    as_json = await given(shoal, f"{CANARY}\n", "project", "seal", "password", "--json")
    assert as_json.json["sealed"].startswith("sealed:v2:")
    short = await given(shoal, "12345\n", "project", "seal", "password")
    assert (short.code, "fewer than 6 characters" in short.sentence) == (2, True)
    none = await given(CommandLine.at(database_url), f"{CANARY}\n", "project", "seal", "password")
    assert (none.code, "there is no key to encrypt the parameter password" in none.sentence) == (2, True)


SEES = {"name": "a", "type": "SHELL", "params": {"script": "echo ${password}"}}


async def test_a_secret_of_another_project_comes_in_by_no_row(secret_engine: Engine, keys: Path) -> None:
    """Somebody who read it there, and may write here: into a start, a definition, a project, or another name."""
    foreign = seal("password", CANARY, Vault([keys.read_text()]), "theirs")
    own = seal("token", CANARY, Vault([keys.read_text()]), "default")
    sentence = "was sealed for another parameter or project than"
    secret = {"password": {"type": "SECRET"}}
    for params in ({"password": foreign}, {"password": own}, {"x": own}, {"x": f"a {own}"}):
        code = secret_engine.define(SEES, params=secret)
        assert sentence in await secret_engine.refused(secret_engine.ask("START_PROCESS", code, params=params))
    for defined in ({"password": foreign}, {"password": {"type": "SECRET", "value": foreign}}):
        code = secret_engine.define(SEES, params=defined)
        assert sentence in await secret_engine.refused(secret_engine.ask("START_PROCESS", code))
    code = secret_engine.define({**SEES, "local_params": {"password": {"type": "SECRET", "value": foreign}}})
    assert sentence in await secret_engine.refused(secret_engine.ask("START_PROCESS", code))
    secret_engine.cluster.rows(
        "INSERT INTO project (name, params) VALUES ('default', %s)", json.dumps({"password": foreign})
    )
    code = secret_engine.define(SEES)
    assert sentence in await secret_engine.refused(secret_engine.ask("START_PROCESS", code))
    assert on_disk(secret_engine.cluster) == []


async def test_a_secret_goes_down_to_a_child_of_its_own_project_only(secret_engine: Engine, keys: Path) -> None:
    cluster, vault = secret_engine.cluster, Vault([keys.read_text()])
    script = "if [[ ${password} == can* ]]; then echo '${setValue(had=it)}'; else echo '${setValue(had=nothing)}'; fi"
    below = [secret_engine.define({"name": "c", "type": "SHELL", "params": {"script": script}}) for _ in range(2)]
    cluster.rows("UPDATE workflow_definition SET project = 'theirs' WHERE code = %s", below[1])
    tasks = [{"name": f"t{place}", "type": "SUB_PROCESS", "params": {"workflow": c}} for place, c in enumerate(below)]
    code = secret_engine.define(*tasks, params={"password": {"type": "SECRET"}})
    run = await secret_engine.run(code, params={"password": seal("password", CANARY, vault, "default")})
    query = "SELECT id, workflow_code, params FROM workflow_instance WHERE parent_instance_id = %s"
    given = {
        workflow: (secret_engine.printed(child, "c"), params) for child, workflow, params in cluster.rows(query, run)
    }
    assert given[below[0]][0] == {"had": "it"}
    assert given[below[1]] == ({"had": "nothing"}, "{}")
