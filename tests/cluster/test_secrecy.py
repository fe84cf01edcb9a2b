"""What tasks of the same user cannot read from Shoal's processes."""

from __future__ import annotations

import os
import subprocess

from cryptography.fernet import Fernet

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

AS_A_TASK = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
"""Without the rights of root over other processes, on either side."""


def read_as_a_task(pid: int, file: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*AS_A_TASK, "head", "-c", "100000", f"/proc/{pid}/{file}"], capture_output=True, check=False)


async def test_no_task_of_its_user_reads_the_environment_or_memory_of_a_master_or_worker(cluster: Cluster) -> None:
    cluster.before = AS_A_TASK
    for node in (await cluster.master(), await cluster.worker()):
        for file in ("environ", "maps", "mem"):
            read = read_as_a_task(node.pid, file)
            assert (read.returncode, read.stdout) == (1, b""), (file, node.log)
            assert b"Permission denied" in read.stderr
    with subprocess.Popen([*AS_A_TASK, "sleep", "100"]) as other:
        # Readable once setpriv has dropped its capabilities and become sleep.
        await eventually(lambda: read_as_a_task(other.pid, "environ").stdout != b"", within_s=30)
        other.kill()


async def test_a_neighbour_still_proves_the_death_of_a_process_that_hides(cluster: Cluster) -> None:
    first, _second = await cluster.master(), await cluster.master()
    await cluster.slots_become(2)
    first.kill()
    await cluster.slots_become(1)
    why = cluster.one("SELECT ended_why FROM node WHERE id = %s", first.epoch)
    assert "process" in why


async def test_a_master_has_no_keys_for_stored_secrets(cluster: Cluster) -> None:
    """An invalid key would be refused by any process that opens secrets."""
    cluster.environment["SHOAL_SECRETS__KEYS"] = "this is not a key"
    await cluster.master()
    cluster.environment["SHOAL_SECRETS__KEYS"] = Fernet.generate_key().decode()
    await cluster.worker()
    cluster.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "env | grep -c SHOAL_SECRETS"}}])
    cluster.start(1)
    await eventually(lambda: cluster.unfinished() == 0, within_s=30)
    assert cluster.one("SELECT reason FROM task_instance") == "exit code 1: 0"
