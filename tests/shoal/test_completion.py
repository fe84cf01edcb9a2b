"""The shell's completion, by the protocol with which a shell asks for it."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.serving import serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

AS_SHOAL = "import sys; sys.argv = ['shoal']; from shoal.cli import completion, main; {}main()"
LAZY_SHOAL = AS_SHOAL.format(
    "from dao.postgres.database import Database; Database.__init__.__kwdefaults__['answer_within_s'] = 3600;"
    "from shoal.clients import remote; remote.TIMEOUT_S = 3600; "
)
"""With clients that wait for an hour: a command that ends has not waited for them."""
PATIENT_SHOAL = AS_SHOAL.format("completion.WITHIN_S = 60; ")
"""Where it is asked for names: a machine that does much else answers too late, and then nothing is offered."""
TASKS = [{"name": "a", "type": "FAKE", "params": {}}]


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


async def completed(
    shoal: CommandLine, line: str, shell: str = "bash", program: str = PATIENT_SHOAL
) -> tuple[list[str], str]:
    """What a shell would offer at the end of a line, and what it would print into it."""
    environment = {
        **shoal.environment,
        "_SHOAL_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), env=environment, stdout=-1, stderr=-1, cwd=Path(__file__).parents[2]
    )
    out, err = await process.communicate()
    return [line for line in out.decode().splitlines() if line], err.decode()


async def test_a_shell_completes_names_of_workflows_and_ids_of_runs(cluster: Cluster, database_url: str) -> None:
    for code, name in ((7, "hello"), (8, "help me"), (9, "other")):
        cluster.define(code, name, tasks=TASKS)
    cluster.rows("UPDATE workflow_definition SET project = 'p' WHERE code = 9")
    await cluster.master()
    await cluster.worker()
    cluster.start(7)
    await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'"), within_s=20)
    run = str(cluster.one("SELECT max(id) FROM workflow_instance"))

    async def offered(shoal: CommandLine, line: str, wanted: list[str]) -> None:
        assert (await completed(shoal, line))[0] == wanted

    direct = CommandLine.at(database_url)
    await offered(direct, "shoal run hel", ["hello", "help me"])
    await offered(direct, "shoal workflow show --project p ", ["other"])
    await offered(direct, "shoal show ", ["@last", "@failed", run, "hello", "help me", "other"])
    await offered(direct, f"shoal log {run}", [run])
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        remote = CommandLine.at(None, SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
        await offered(remote, "shoal rerun @", ["@last", "@failed"])
        await offered(remote, f"shoal why {run}", [run])
        described = "".join((await completed(remote, f"shoal show {run}", "zsh"))[0])
        assert f'"{run}":"hello, SUCCESS"' in described
        stranger = CommandLine.at(None, SHOAL_SERVER=api.url, SHOAL_TOKEN=await token_of(api.backend, "eve"))
        assert await completed(stranger, "shoal run ") == ([], "")


async def test_a_server_that_does_not_answer_is_waited_for_shortly_and_nothing_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for shoal in (
            CommandLine.at(f"postgresql://shoal@127.0.0.1:{port}/shoal"),
            CommandLine.at(None, SHOAL_SERVER=f"http://127.0.0.1:{port}"),
            CommandLine.at(None, SHOAL_SERVER="http://127.0.0.1:1"),
            CommandLine.at(None),
            CommandLine.at(None, SHOAL_SERVER="nonsense"),
        ):
            async with asyncio.timeout(200):
                assert await completed(shoal, "shoal run hel", program=LAZY_SHOAL) == ([], "")
