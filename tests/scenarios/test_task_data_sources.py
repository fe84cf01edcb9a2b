"""Data sources of tasks that run programs: their URLs are in the environment, and masked wherever they are seen."""

from __future__ import annotations

from hashlib import sha256

from tests.cluster.own_work import OwnWork
from tests.scenarios.engine import Engine
from tests.shoal.command_line import CommandLine

URL = "postgresql+psycopg://etl:hunter22@db.example.org/crm"
DIGEST = sha256(URL.replace("+psycopg", "").encode()).hexdigest()
"""Of the URL as `psql` takes it: a script with the URL itself would put it where it must not be found."""


async def test_shell_and_python_get_the_urls_that_they_name_and_show_them_to_nobody(fresh: Engine) -> None:
    work = OwnWork(fresh.cluster)
    await work.data_source("crm-1", URL)
    await work.data_source("other", URL.replace("hunter22", "geheim99"))
    await fresh.start()
    is_right = f'printf %s "$SHOAL_DATA_SOURCE_CRM_1" | sha256sum | grep {DIGEST} && test -z "$SHOAL_DATA_SOURCE_OTHER"'
    shows = 'echo "$SHOAL_DATA_SOURCE_CRM_1"; echo "#{setValue(url=$SHOAL_DATA_SOURCE_CRM_1)}"'
    python = "import os, sys; url = os.environ['SHOAL_DATA_SOURCE_CRM_1']; print(url); sys.exit(url)"
    names = {"data_sources": ["crm-1"]}
    run = await fresh.run(
        fresh.define(
            {"name": "shell", "type": "SHELL", "params": {"script": f"{shows}; {is_right}"}, **names},
            {"name": "python", "type": "PYTHON", "params": {"script": python}, **names},
            {"name": "without", "type": "SHELL", "params": {"script": "! env | grep SHOAL_DATA_SOURCE"}},
            {"name": "unknown", "type": "SHELL", "params": {"script": ":"}, "data_sources": ["nowhere"]},
        )
    )
    states = {"shell": "SUCCESS", "python": "FAILURE", "without": "SUCCESS", "unknown": "FAILURE"}
    assert fresh.tasks(run) == states, [fresh.why(run, each) for each in states]
    assert "nowhere" in fresh.why(run, "unknown")
    shoal = CommandLine.at(fresh.cluster.environment["SHOAL_DATABASE_URL"])
    for task in ("shell", "python"):
        log = (await shoal("log", f"{run}/{task}")).out
        assert "hunter22" not in log
        assert "*" in log
    rows = fresh.cluster.rows("SELECT t::text FROM task_instance t UNION ALL SELECT e::text FROM task_event e")
    assert "hunter22" not in str(rows)
    assert "hunter22" not in str(fresh.printed(run, "shell")) + fresh.why(run, "python")
