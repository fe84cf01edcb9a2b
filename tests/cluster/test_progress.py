"""The progress that a task reports, with a real worker: stored on its attempt, shown, and never on another's row."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually

REPORTED = """SELECT task_name, progress_done, progress_total, progress_text FROM task_instance
              WHERE progress_at IS NOT NULL ORDER BY task_code"""


async def test_what_tasks_report_is_stored_while_they_run_and_shown(cluster: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    python = (
        "import os, pathlib, time\n"
        "pathlib.Path(os.environ['SHOAL_PROGRESS']).write_text('30% by file')\n"
        f"while not os.path.exists('{gate}'): time.sleep(0.05)\n"
    )
    printed = f"echo '::progress 40/100 epoch 12'\n{wait}\necho '::progress 100/100 done'"
    flood = f"yes '::progress 7/9' | head -n 300000\nhead -c 5000000 /dev/zero | tr '\\0' x\n{wait}"
    tasks = [
        ("printed", "SHELL", {"script": printed}),
        ("file", "PYTHON", {"script": python}),
        ("flood", "SHELL", {"script": flood}),
        ("silent", "SHELL", {"script": f"echo 'at ::progress 1/2'\n{wait}"}),
    ]
    cluster.define(1, "w", tasks=[{"name": name, "type": type_, "params": params} for name, type_, params in tasks])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    running = [
        ("printed", 40, 100, "epoch 12"),
        ("file", 30, None, "by file"),
        ("flood", 7, 9, None),
    ]
    await eventually(lambda: cluster.rows(REPORTED) == running, within_s=15)
    page = cluster.shoal("show", "1")
    assert "40/100 (40 %) epoch 12" in page
    assert "30 % by file" in page
    said = {task["name"]: task for task in json.loads(cluster.shoal("show", "1", "--json"))["tasks"]}
    assert said["printed"]["progress"] == {"done": 40, "total": 100, "text": "epoch 12", "percent": 40}
    assert said["printed"]["left_s"] >= 0
    assert "progress" not in said["silent"]
    assert "reports 40/100 (40 %) epoch 12" in cluster.shoal("why", "1/printed")
    gate.touch()
    await cluster.all_ends()
    assert cluster.rows(REPORTED)[0] == ("printed", 100, 100, "done")
    assert cluster.rows("SELECT state FROM workflow_instance") == [("SUCCESS",)]
