"""Tenants on a real worker: a task runs as that user of the operating system, or says why it cannot."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; run the tests as root too")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-tenants-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


async def _run_as(cluster: Cluster, tenant: str, **settings: str) -> tuple[str, str | None]:
    """The end of a task of that tenant on a worker with these settings."""
    cluster.define(1, "tenant", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "id -un > who; cat who"}}])
    await cluster.master()
    cluster.start(1)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'") == 1)
    cluster.rows("UPDATE task_instance SET tenant = %s", tenant)
    await cluster.worker(**settings)
    await cluster.all_ends()
    ((state, reason),) = cluster.rows("SELECT state, reason FROM task_instance")
    return state, reason


@as_root
async def test_a_task_runs_as_its_tenant_where_the_operator_allows_it(cluster: Cluster, open_folder: Path) -> None:
    folder = open_folder / "worker"
    allowed = {"SHOAL_WORKER__TENANTS": "daemon,nobody", "SHOAL_WORKER__FOLDER": str(folder)}
    assert await _run_as(cluster, "nobody", **allowed) == ("SUCCESS", None)
    (log,) = folder.rglob("*.log")
    assert log.read_text() == "nobody\n"


async def test_without_the_setting_a_task_of_a_tenant_fails_with_its_name(cluster: Cluster) -> None:
    state, reason = await _run_as(cluster, "nobody")
    assert state == "FAILURE"
    assert "its operator allows it by the setting worker.tenants" in (reason or "")


@as_root
async def test_a_file_is_handed_on_among_tenants_and_none_of_another_user(
    cluster: Cluster, open_folder: Path, tmp_path: Path
) -> None:
    """The worker is root: it must read no more than the tenant, who may put links into its folder."""
    (tmp_path / "shared").mkdir()
    cluster.environment |= {"SHOAL_LOG_STORE__URL": (tmp_path / "shared").as_uri()}
    out = {"local_params": {"it": {"direct": "OUT", "type": "FILE", "value": "a.txt"}}}
    secret = open_folder / "secret"
    secret.write_text("of root\n")
    secret.chmod(0o600)
    cluster.define(
        1,
        "handed",
        tasks=[
            {"name": "made", "type": "SHELL", "params": {"script": "id -un > a.txt"}, **out},
            {"name": "link", "type": "SHELL", "params": {"script": f"ln -s {secret} a.txt"}, **out},
            {"name": "hard", "type": "SHELL", "params": {"script": f"ln {secret} a.txt || touch a.txt"}, **out},
            {"name": "read", "type": "SHELL", "params": {"script": "cat ${made.it}; ls -n ${made.it} | cut -d' ' -f3"},
             "after": ["made"], "tenant": "daemon"},
        ],
        tenant="nobody",
    )  # fmt: skip
    await cluster.master()
    await cluster.worker(SHOAL_WORKER__TENANTS="daemon,nobody", SHOAL_WORKER__FOLDER=str(open_folder / "worker"))
    cluster.start(1)
    await cluster.all_ends()
    states = dict(cluster.rows("SELECT task_name, state FROM task_instance"))
    assert states.pop("hard") in ("SUCCESS", "FAILURE"), "by whether the kernel lets it make such a link"
    assert states == {"made": "SUCCESS", "link": "FAILURE", "read": "SUCCESS"}
    assert cluster.shoal("log", "1/read").splitlines() == ["nobody", "1"]
    assert not any(b"of root" in each.read_bytes() for each in (tmp_path / "shared").rglob("*.file"))
