"""Where memory runs out, the task that took it fails; its worker and the other tasks go on."""

from __future__ import annotations

import psutil
import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.memory_group import may_limit_memory, memory_group

GREEDY = """python3 -c 'held = []
while True: held.append(bytearray(b"x") * (8 << 20))'"""
STATES = "SELECT workflow_instance_id, state, exit_code FROM task_instance ORDER BY 1"


@pytest.mark.skipif(not may_limit_memory(), reason="only root may make control groups, and not in every container")
async def test_a_task_that_takes_all_memory_is_ended_and_nothing_else(cluster: Cluster) -> None:
    with memory_group(384 << 20) as group:
        gate = cluster.folder / "gate"
        waits = f"while [ ! -e {gate} ]; do sleep 0.1; done"
        cluster.define(1, "patient", tasks=[{"name": "a", "type": "SHELL", "params": {"script": waits}}])
        cluster.define(2, "greedy", tasks=[{"name": "a", "type": "SHELL", "params": {"script": GREEDY}}])
        await cluster.master()
        worker = await cluster.worker(SHOAL_WORKER__LOAD__MEMORY_MAX="1")
        for process in _tree(worker):
            (group / "cgroup.procs").write_text(str(process.pid))
        cluster.start(1)
        await eventually(lambda: cluster.rows(STATES), until=[(1, "RUNNING_EXECUTION", None)], within_s=20)
        cluster.start(2)
        ended = (2, "FAILURE", 137)
        await eventually(lambda: cluster.rows(STATES), until=[(1, "RUNNING_EXECUTION", None), ended], within_s=60)
        gate.touch()
        await cluster.all_ends()
        assert cluster.rows(STATES) == [(1, "SUCCESS", 0), ended]
        assert worker.is_alive
        worker.kill()
        await eventually(lambda: not (group / "cgroup.procs").read_text(), within_s=20)


def _tree(node: Node) -> list[psutil.Process]:
    worker = psutil.Process(node.pid)
    return [worker, *worker.children(recursive=True)]
