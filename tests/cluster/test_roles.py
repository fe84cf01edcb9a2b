"""Masters and workers that log in with the rights of their own part alone."""

from __future__ import annotations

import json
import secrets

from sqlalchemy import make_url

from dao.postgres import roles
from dao.postgres.database import Database
from tests.cluster.cluster import Cluster
from tests.eventually import eventually

TASKS = [
    {"name": "a", "type": "SHELL", "params": {"script": "echo '#{setValue(x=1)}'"}},
    {"name": "b", "type": "SUB_PROCESS", "after": ["a"], "params": {"workflow": 2}},
    {"name": "c", "type": "FAKE", "after": ["a"], "cache": True, "params": {"outputs": {"x": "1"}}},
    {"name": "d", "type": "SHELL", "after": ["b", "c"], "params": {"script": "sleep 1"}, "retry_times": 1},
]


async def test_a_cluster_works_with_a_role_for_each_part_and_fences_across_them(laptop: Cluster) -> None:
    cluster = laptop
    prefix, password = f"t{secrets.token_hex(4)}_", secrets.token_hex(8)
    url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    owner = Database(url.render_as_string(hide_password=False), application_name="shoal-test")
    await roles.grant(owner, prefix)
    await owner.close()
    users = {}
    for part in ("master", "worker", "submitter"):
        cluster.rows(f"CREATE USER {prefix}{part}_1 PASSWORD '{password}' IN ROLE {prefix}{part}")
        user = url.set(username=f"{prefix}{part}_1", password=password).render_as_string(hide_password=False)
        users[part] = {"SHOAL_DATABASE_URL": user, "SHOAL_REGISTRY_URL": user}
    cluster.define(2, "below", tasks=[{"name": "a", "type": "FAKE"}], execution_type="SERIAL_WAIT")
    cluster.define(1, "above", tasks=TASKS)
    cluster.rows("INSERT INTO schedule (workflow_code, crontab) VALUES (2, '* * * * * ?')")
    masters = [await cluster.master(**users["master"]) for _ in range(2)]
    workers = [await cluster.worker(**users["worker"]) for _ in range(2)]
    for _ in range(10):
        cluster.rows(f"SET ROLE {prefix}submitter")
        cluster.rows("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
        cluster.rows("RESET ROLE")
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'") > 0)
    masters[0].kill()
    workers[0].kill()
    ended = "SELECT count(*) FROM workflow_instance WHERE workflow_code = 1 AND state = 'SUCCESS'"
    await eventually(lambda: cluster.one(ended) == 10, within_s=90)
    await eventually(lambda: cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 2, within_s=30)
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE schedule_id IS NOT NULL AND state = 'SUCCESS'") > 0
    refused = [line for node in cluster.nodes for line in node.lines() if "permission denied" in json.dumps(line)]
    assert not refused, refused[:3]
