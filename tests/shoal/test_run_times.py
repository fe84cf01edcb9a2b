"""TOOK counts the time in which tasks ran on workers, and nothing at rest: by rows, as `shoal runs` shows them."""

from __future__ import annotations

import psycopg
from sqlalchemy import make_url

from tests.shoal.command_line import CommandLine

RUN = """
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
        priority, worker_group, started_at, ended_at, parent_instance_id, parent_task_code, parent_attempt, child_index)
    VALUES (%(command)s, 1001, 1, %(state)s, %(master)s, 'CONTINUE', 'MEDIUM', 'default', now() - interval '2 h',
            CASE WHEN %(state)s IN ('SUCCESS', 'STOP') THEN now() END, %(parent)s, 1, 1, 0)
    RETURNING id
"""
TASK = """
    INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
        workflow_priority, task_priority, worker_id, queued_at, started_at, ended_at)
    VALUES (%(run)s, %(code)s, 1, 'a', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', %(worker)s,
            now() - interval '2 h', now() - make_interval(secs => %(begin)s), now() - make_interval(secs => %(end)s))
"""


async def test_only_the_time_in_which_tasks_ran_is_counted(database_url: str) -> None:
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:

        def run(command: int, state: str, *, master: int = 1, parent: int | None = None) -> int:
            values = {"command": command, "state": state, "master": master, "parent": parent}
            row = connection.execute(RUN, values).fetchone()
            assert row is not None
            return int(row[0])

        def task(of: int, code: int, begin: float, end: float, worker: int | None = 7) -> None:
            values = {"run": of, "code": code, "begin": begin, "end": end, "worker": worker}
            connection.execute(TASK, values)

        paused = run(1, "SUCCESS")  # an hour of rest between two tasks, of which two ran beside each other
        task(paused, 1, 3700, 3697)
        task(paused, 2, 3699, 3695.5)
        task(paused, 3, 10, 8)
        parent = run(2, "SUCCESS")  # its own task only stands for the child
        task(parent, 1, 7000, 5, None)
        child = run(3, "SUCCESS", parent=parent)
        task(child, 1, 100, 96)
        waiting = run(4, "SERIAL_WAIT", master=0)
        stopped = run(5, "STOP", master=0)
        without = run(6, "SUCCESS")
        queued = run(7, "RUNNING_EXECUTION")
        task(queued, 1, 60, 60, None)
    found = (await CommandLine.at(database_url)("runs", "--children", "--json")).json
    took = {int(run["id"]): round(run["took_s"], 1) for run in found}
    assert took == {paused: 6.5, parent: 4.0, child: 4.0, waiting: 0, stopped: 0, without: 7200, queued: 0}
    assert all(7199 < run["elapsed_s"] < 7300 for run in found)
    shown = await CommandLine.at(database_url)("show", str(paused))
    assert "✓ SUCCESS   6.5 s of 2 h 0 min" in shown.out
