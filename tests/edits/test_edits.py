"""Whatever a person writes into one column of one row, everything else continues."""

from __future__ import annotations

import os

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import cluster, timing  # noqa: F401 - fixtures
from tests.edits.stage import GO_ON_WITHIN_S, Stage

OFTEN = ("LOOK_EVERY", "SWEEP_EVERY", "WATCH_EVERY", "STUCK_AFTER")
COUNT = int(os.environ.get("SHOAL_EDITS", "60"))
SEED = int(os.environ.get("SHOAL_EDITS_SEED", "1"))
PAUSE_S = float(os.environ.get("SHOAL_EDITS_PAUSE", "0.1"))
WITHIN_S = float(os.environ.get("SHOAL_EDITS_WITHIN", str(GO_ON_WITHIN_S)))
TABLES = os.environ.get("SHOAL_EDITS_TABLES", "").split()


@pytest.mark.timeout(86_400)
async def test_whatever_one_column_of_one_row_becomes_all_others_go_on(cluster: Cluster) -> None:  # noqa: F811
    cluster.environment |= {f"SHOAL_MASTER__{name}": "1" for name in OFTEN}
    stage = Stage(cluster, SEED, WITHIN_S)
    stage.define()
    for _ in range(2):
        await cluster.worker()
        await cluster.master()
    await cluster.slots_become(2)
    await stage.run(COUNT, PAUSE_S, TABLES or None)
    taken = [edit for edit in stage.edits if not edit.refused and edit.before != "nothing"]
    assert len(taken) > COUNT / 4
    for node in cluster.nodes:
        assert node.is_alive, node.log.read_text()[-2000:]
        assert not node.events("life_crashed"), node.events("life_crashed")
