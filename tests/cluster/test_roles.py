"""Masters and workers that log in with the rights of their own part alone."""

from __future__ import annotations

import json
import os
import secrets

from sqlalchemy import make_url

from dao.postgres import roles
from dao.postgres.database import Database
from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.warm import run_verb

TASKS = [
    {"name": "a", "type": "SHELL", "params": {"script": "echo '#{setValue(x=1)}'"}},
    {"name": "b", "type": "SUB_PROCESS", "after": ["a"], "params": {"workflow": 2}},
    {"name": "c", "type": "FAKE", "after": ["a"], "cache": True, "params": {"outputs": {"x": "1"}}},
    {"name": "d", "type": "SHELL", "after": ["b", "c"], "params": {"script": "sleep 1"}, "retry_times": 1},
]


async def users_of(cluster: Cluster) -> tuple[str, dict[str, dict[str, str]]]:
    """The prefix of new roles, and for each part the settings with which a user in its role logs in."""
    prefix, password = f"t{secrets.token_hex(4)}_", secrets.token_hex(8)
    url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    owner = Database(url.render_as_string(hide_password=False), application_name="shoal-test")
    await roles.grant(owner, prefix)
    await owner.close()
    users = {}
    for part in ("master", "worker", "api", "submitter"):
        cluster.rows(f"CREATE USER {prefix}{part}_1 PASSWORD '{password}' IN ROLE {prefix}{part}")
        user = url.set(username=f"{prefix}{part}_1", password=password).render_as_string(hide_password=False)
        users[part] = {"SHOAL_DATABASE_URL": user, "SHOAL_REGISTRY_URL": user}
    return prefix, users


def denials(node: Node) -> list[str]:
    return [line for line in map(json.dumps, node.lines()) if "permission denied" in line]


async def test_a_cluster_works_with_a_role_for_each_part_and_fences_across_them(laptop: Cluster) -> None:
    cluster = laptop
    (cluster.folder / "shared").mkdir()
    cluster.environment["SHOAL_LOG_STORE__URL"] = (cluster.folder / "shared").as_uri()
    prefix, users = await users_of(cluster)
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
    await eventually(lambda: cluster.one("SELECT count(*) FROM stored_log") > 0)
    shown = run_verb(["log", "above/d"], {**os.environ, **cluster.environment, **users["api"]}, cwd=cluster.folder)
    assert shown.code == 0, shown.err
    refused = [line for node in cluster.nodes for line in denials(node)]
    assert not refused, refused[:3]
    await a_right_is_taken_away_for_a_while(cluster, prefix, masters[1], workers[1])


async def a_right_is_taken_away_for_a_while(cluster: Cluster, prefix: str, master: Node, worker: Node) -> None:
    """They report it repeatedly with pauses, like a server that is away, and continue when the right is back."""
    cluster.rows("UPDATE schedule SET state = 'OFFLINE'")
    lives = [master.epoch, worker.epoch]
    cluster.rows(f"REVOKE DELETE ON command FROM {prefix}master; REVOKE SELECT ON task_instance FROM {prefix}worker")
    cluster.start(1)
    await eventually(lambda: len(denials(master)) > 3 and len(denials(worker)) > 3)
    assert max(len(denials(master)), len(denials(worker))) < 100
    cluster.rows(f"GRANT DELETE ON command TO {prefix}master; GRANT SELECT ON task_instance TO {prefix}worker")
    await cluster.all_ends()
    assert cluster.one("SELECT state FROM workflow_instance WHERE workflow_code = 1 ORDER BY id DESC") == "SUCCESS"
    assert [master.epoch, worker.epoch] == lives


async def test_a_node_without_its_rights_says_which_and_does_not_join(laptop: Cluster) -> None:
    """A right that only joining needs is missed later, and ends in the same way."""
    prefix, users = await users_of(laptop)
    laptop.rows(f"REVOKE INSERT ON registry_lease FROM {prefix}worker")
    for role, part, said in (
        ("master", "worker", "this user lacks rights that a master needs: UPDATE on node,"),
        ("worker", "api", "this user lacks rights that a worker needs: INSERT on cluster,"),
        (
            "worker",
            "worker",
            "permission denied for table registry_lease; grant it (docs/reference/roles.md), or name another",
        ),
    ):
        node = Node(laptop, role, len(laptop.nodes), {**users[part], "SHOAL_WORKER__FOLDER": str(laptop.folder / "w")})
        laptop.nodes.append(node)
        assert await node.ended() == 77
        text = node.log.read_text()
        assert said in text.splitlines()[-1]
        assert "Traceback" not in text
    assert laptop.rows("SELECT id FROM node WHERE state IN ('ALIVE', 'LEAVING')") == []
