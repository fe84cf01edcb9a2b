"""SECRET parameters as a worker gives them: opened for the task that uses them, masked in all that is said of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from dao.postgres.database import Database
from dao.secrets.parameters import seal
from dao.secrets.vault import Vault, key_id_of, new_key
from dao.tasks.task_claims import ClaimedTask, Report
from model.cluster.nodes import NodeKind
from model.ids import Epoch
from model.parameters.secret_values import mark_of
from model.runs.states import TaskState
from node.overload import Overload
from tests.dao.scene import Scene as Rows
from tests.worker.http_server import http_server, says
from tests.worker.scene import Scene
from worker.attempts.executor import Executor
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

SECRET = 'can\'ary "zq4"&more'


@dataclass
class Bench:
    """A worker's executor with keys, and its logs."""

    executor: Executor
    claimed: ClaimedTask
    folder: Path
    vault: Vault

    async def run(
        self, type_: str, values: dict[str, str], types: dict[str, str] | None = None, **params: Any
    ) -> tuple[Report, str]:
        """Run a task; the report, and its log."""
        task = self.claimed._replace(
            type=type_,
            params=json.dumps(params),
            parameter_values=json.dumps(values),
            parameter_types=json.dumps(types) if types else None,
        )
        report = await self.executor.run(task)
        logs = list((self.folder / "logs").rglob("*.log"))
        text = "".join(log.read_text() for log in logs)
        for log in logs:
            log.unlink()
        return report, text

    def sealed(self, name: str = "password", secret: str = SECRET) -> dict[str, str]:
        """The parameter as a task's row has it."""
        return {name: seal(name, secret, self.vault, "default")}


@pytest_asyncio.fixture
async def bench(scene: Scene, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    database = Database(database_url, application_name="shoal-test")
    rows = Rows(database)
    master, worker = await rows.node(NodeKind.MASTER), await rows.node(NodeKind.WORKER, "10.0.0.2:1")
    await rows.queue(await rows.instance(master), 1, master=master)
    (claimed,) = await rows.claim(worker)
    vault = Vault([new_key()])
    settings = WorkerSettings(folder=tmp_path / "worker")
    secrets, overload = NamedSecrets(database, vault), Overload(settings.load, so="")
    executor = Executor(settings, scene.launcher, Epoch(7), secrets, overload)
    yield Bench(executor, claimed, tmp_path / "worker", vault)
    await database.close()


@pytest.mark.parametrize(
    ("type_", "script"),
    [
        ("SHELL", 'p=${password}; set -x; echo "is $p"; [ ${#p} -eq LENGTH ] && exit 7'),
        (
            "PYTHON",
            "import json\np = ${password}\nprint(p, repr(p), json.dumps(p))\nexit(7 if len(p) == LENGTH else 1)",
        ),
    ],
)
async def test_a_task_gets_its_secret_and_its_log_and_reason_do_not(bench: Bench, type_: str, script: str) -> None:
    report, log = await bench.run(type_, bench.sealed(), script=script.replace("LENGTH", str(len(SECRET))))
    assert (report.state, report.exit_code) == (TaskState.FAILURE, 7), log
    assert "******" in log
    assert "zq4" not in log + report.reason, "no form of it"


AWKWARD = ("it's-zq4-Pa55word", 'a "zq4" word', "{zq4}\\x and\\n", "tab\tzq4 gr\u00fcn", "zq4 a&b/c<d")


@pytest.mark.parametrize("secret", AWKWARD)
async def test_a_traceback_shows_no_form_of_a_secret(bench: Bench, secret: str) -> None:
    script = "def twice(number):\n    return int(number)\n\ntwice(${password})"
    report, log = await bench.run("PYTHON", bench.sealed(secret=secret), script=script)
    assert "twice(('******'))" in log
    assert "ValueError" in report.reason
    assert "zq4" not in log + report.reason


KEY = "-----BEGIN-----\nMIIzq4abc\nzq4defghi==\n-----END-----\n"


@pytest.mark.parametrize(
    ("secret", "script"),
    [
        (KEY, "echo \"${password}\" > k; grep MII k; sed 's/^/ /' k; tail -n 2 k | head -n 1; exit 4"),
        (KEY, 'echo "${password}" | base64 -w 20; echo ${password} > k; cat k; grep MII <<< "${password}"; exit 4'),
        ("zq4-a-token\n", 't=$(printf %s "${password}"); echo "using $t now"; exit 4'),
        ("\n  zq4-a-token  \n", 'printf "%q " "${password}"; echo ${password}; exit 4'),
    ],
)
async def test_no_line_of_a_secret_is_shown(bench: Bench, secret: str, script: str) -> None:
    report, log = await bench.run("SHELL", bench.sealed(secret=secret), script=script)
    assert report.exit_code == 4, log
    assert "******" in log
    assert "zq4" not in log + report.reason


async def test_no_line_of_a_secret_is_in_an_output(bench: Bench) -> None:
    script = 'k=$(grep MII <<< "${password}"); echo "#{setValue(x=<$k>)}"'
    report, _ = await bench.run("SHELL", bench.sealed(secret=KEY), script=script)
    assert json.loads(report.outputs or "") == {"x": "<******>"}


async def test_a_secret_that_a_task_does_not_name_is_not_in_its_environment(bench: Bench) -> None:
    _, log = await bench.run("SHELL", bench.sealed(), script="env | grep -c SHOAL_PARAM_pass")
    assert log == "0\n"
    _, log = await bench.run("SHELL", bench.sealed(), {"password": "SECRET"}, script="env | grep -c SHOAL_PARAM_pass")
    assert log == "1\n", "one that it declares is"


async def test_a_secret_is_never_an_output(bench: Bench) -> None:
    script = 'p=${password}; echo "#{setValue(password=other)}"; echo "#{setValue(x=<$p>)}"'
    report, log = await bench.run("SHELL", bench.sealed(), script=script)
    assert report.state is TaskState.SUCCESS, report
    assert json.loads(report.outputs or "") == {"x": "<******>"}
    assert "[shoal] a SECRET is no output, so this is not passed on: password\n" in log
    report, _ = await bench.run("FAKE", bench.sealed(), outputs={"x": "${password}", "y": "1"})
    assert json.loads(report.outputs or "") == {"x": "******", "y": "1"}


async def test_a_declared_output_that_is_left_out_or_masked_is_not_said_to_have_no_value(bench: Bench) -> None:
    script = 'p=${password}; echo "#{setValue(password=other)}"; echo "#{setValue(x=$p)}"'
    outs = {"OUT password": "strict", "OUT x": "strict"}
    report, log = await bench.run("SHELL", bench.sealed(), outs, script=script)
    left_out = "a SECRET is no output, so this is not passed on: password"
    assert report.state is TaskState.FAILURE
    assert report.reason == f"{left_out}; give the OUT parameter another name"
    assert f"[shoal] {left_out}\n" in log
    assert "without a value" not in log
    report, _ = await bench.run("SHELL", bench.sealed(), {"OUT x": "strict", "OUT y": "strict optional"}, script=script)
    assert report.state is TaskState.SUCCESS, report
    assert json.loads(report.outputs or "") == {"x": "******"}


async def test_a_request_has_the_secret_in_its_header_and_body(bench: Bench) -> None:
    async with http_server({"*": says("200 OK", json.dumps({"p": SECRET}))}) as server:
        params = {"url": server.address, "method": "POST", "body": {"p": "${password}"}, "outputs": {"p": "$.p"}}
        report, log = await bench.run("HTTP", bench.sealed(), headers={"X-Token": "${password}"}, **params)
    (seen,) = server.seen
    assert (seen.header("x-token"), json.loads(seen.body)) == (SECRET, {"p": SECRET}), "the server got it"
    assert report.state is TaskState.SUCCESS, report
    assert "zq4" not in log + (report.outputs or "") + report.reason


async def test_a_sealed_value_counts_for_its_own_name_project_and_key_only(bench: Bench) -> None:
    report, log = await bench.run("SHELL", {"x": bench.sealed()["password"]}, script="echo ${x}")
    assert report.reason.startswith('parameter "x" holds the sealed value of "password"; a secret is known by its own')
    renamed = bench.sealed()["password"].replace(":password:", ":x:")
    report, log = await bench.run("SHELL", {"x": renamed}, script="echo ${x}")
    wrong = "what is stored as parameter x of project default was encrypted as something else; set it again"
    assert report.reason == wrong
    foreign = seal("x", SECRET, bench.vault, "other")
    report, _ = await bench.run("SHELL", {"x": foreign}, script="echo ${x}")
    assert report.reason.startswith(
        'parameter "x" holds a value that was sealed for another project, which a run of "d'
    )
    marked = foreign.replace(mark_of("other"), mark_of("default"))
    report, _ = await bench.run("SHELL", {"x": marked}, script="echo ${x}")
    assert report.reason == wrong, "what is encrypted decides, not the mark"
    other = new_key()
    report, log = await bench.run("SHELL", {"x": seal("x", SECRET, Vault([other]), "default")}, script="echo ${x}")
    lacks = f"the parameter x of project default is encrypted with key {key_id_of(other)}, which this process lacks"
    assert lacks in report.reason
    assert "zq4" not in log
