"""`shoal/local/local_cluster.py`: what `shoal up` says of a child that ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from model.cluster.nodes import NodeKind
from shoal.local.local_cluster import Child

LOST = '{"event": "database_not_ready", "level": "warning", "timestamp": "t", "error": "refused", "name": "m1"}'
BROKE = '{"event": "life_crashed", "level": "error", "exception": "Traceback ..."}'


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (f"{LOST}\n", "database not ready: error refused"),
        (f"{LOST}\n{BROKE}\n", "database not ready: error refused | life crashed"),
        (f"{LOST}\nshoal: no\n", "database not ready: error refused | shoal: no"),
        ('["a list"]\n{"half\n7\n', '["a list"] | {"half | 7'),
        ("", "it said nothing"),
    ],
)
async def test_the_last_words_of_a_child_are_for_people_and_no_json(tmp_path: Path, log: str, said: str) -> None:
    file = tmp_path / "m1.log"
    file.write_text(log)
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    assert Child("m1", NodeKind.MASTER, file, process).last_words() == said
