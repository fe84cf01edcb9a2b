"""Tasks that run as another operating-system user: `nobody`, which every machine has.

Only root can become another user. Without it, only the refusals can be tested.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from model.runs.states import TaskState
from tests.eventually import eventually
from tests.worker.errand import Errands, claimed
from tests.worker.scene import FAMILY, FAMILY_SIZE
from worker.folder import WorkerFolder
from worker.launcher import tree
from worker.launcher.client import Launcher

ROOT = Path(__file__).parents[2]
NOBODY = pwd.getpwnam("nobody")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; run the tests as root too")


@pytest.fixture
async def tenants() -> AsyncIterator[Errands]:
    """A worker that may run tasks as nobody, in a folder that nobody can reach (those of pytest are root's alone)."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-tenants-", dir="/tmp"))
    folder.chmod(0o755)
    OTHERS.clear()
    OTHERS.update(nobodys())
    launcher = Launcher(grace_s=0.5)
    launcher.open()
    WorkerFolder(folder / "worker").make()
    yield Errands(launcher, folder / "worker", {"tenants": ("nobody",)})
    await launcher.close()
    assert nobodys() == set()
    shutil.rmtree(folder)


OTHERS: set[int] = set()
"""Other processes of nobody: a server of other tests."""


def nobodys() -> set[int]:
    """Living processes of nobody below this one, without those of other tests."""
    found = set()
    for pid in set(tree.descendants(os.getpid())) - OTHERS:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        if f"Uid:\t{NOBODY.pw_uid}\t" in status and "State:\tZ" not in status:
            found.add(pid)
    return found


@as_root
async def test_a_task_runs_as_its_tenant_and_nothing_of_root_is_left_to_it(tenants: Errands) -> None:
    script = (
        "id -un; id -u; id -g; id -G; echo $HOME $USER $LOGNAME; umask; grep -E '^(Uid|Gid|CapEff)' /proc/$$/status"
    )
    end = await tenants.shell(script, tenant="nobody")
    uid, gid = NOBODY.pw_uid, NOBODY.pw_gid
    assert end.state is TaskState.SUCCESS
    assert tenants.log.splitlines() == [
        *("nobody", str(uid), str(gid), str(gid), f"{NOBODY.pw_dir} nobody nobody", "0077"),
        "\t".join(["Uid:", *[str(uid)] * 4]),
        "\t".join(["Gid:", *[str(gid)] * 4]),
        "CapEff:\t0000000000000000",
    ]


@as_root
async def test_the_work_folder_is_the_tenants_and_private(tenants: Errands) -> None:
    script = 'stat -c "%U %a" . script.sh; echo x > made; chmod 600 made; echo "${system.task.execute.path}"; pwd'
    end = await tenants.shell(script, tenant="nobody")
    path = f"{tenants.folder}/work/5"
    assert (end.state, tenants.log) == (TaskState.SUCCESS, f"nobody 700\nnobody 700\n{path}\n{path}\n")
    assert list((tenants.folder / "work").iterdir()) == []


@as_root
async def test_a_tenant_sees_nothing_of_the_worker(tenants: Errands) -> None:
    """Neither its folder, nor logs (its own neither), nor the memory and environment of worker, zygote and keeper."""
    script = f"""
        ls {tenants.folder}; ls {tenants.folder}/work; cat {tenants.log_file}; cat /etc/shadow
        cat /proc/$PPID/environ; cat /proc/{os.getpid()}/environ; kill -0 $PPID; kill -0 {os.getpid()}
    """
    await tenants.shell("echo begun", tenant="nobody")  # there is a log now
    count = f"(\n{script}) 2>&1 | grep -c -i -E 'denied|not permitted'"
    await tenants.shell(f"{count}; ls -l /proc/self/fd | grep -c ' -> '", tenant="nobody")
    assert tenants.log == "begun\n8\n4\n"  # the fourth descriptor is the listing's own


@as_root
async def test_a_task_without_a_tenant_runs_as_the_default_one(tenants: Errands) -> None:
    """As root it would read the memory and environment of its worker, and with it keys and database URL."""
    tenants.settings = {"default_tenant": "nobody"}
    script = f"id -un; cat /proc/{os.getpid()}/environ 2>&1 | grep -c denied"
    assert (await tenants.shell(script)).state is TaskState.SUCCESS
    assert tenants.log == "nobody\n1\n"
    other = await tenants.shell("id -un", tenant="daemon")
    assert "runs nothing as the tenant" in other.reason
    assert (await tenants.shell("id -un", tenant="nobody")).state is TaskState.SUCCESS


@as_root
async def test_what_a_tenant_prints_goes_to_the_log_by_every_way(tenants: Errands) -> None:
    script = "echo one; echo two >&2; echo three > /dev/stdout; echo four > /dev/stderr; echo '${setValue(a=1)}'"
    end = await tenants.shell(script, tenant="nobody")
    assert (end.state, end.outputs) == (TaskState.SUCCESS, '{"a": "1"}')
    assert tenants.log == "one\ntwo\nthree\nfour\n${setValue(a=1)}\n"


@as_root
async def test_python_runs_as_its_tenant_too(tenants: Errands) -> None:
    """Found in the PATH by the tenant itself: the first python3 there may be in a folder of root's."""
    params = {"script": "import os; print(os.getuid(), os.path.expanduser('~'))"}
    end = await tenants.run(claimed("PYTHON", params=params, tenant="nobody"))
    assert (end.state, tenants.log) == (TaskState.SUCCESS, f"{NOBODY.pw_uid} {NOBODY.pw_dir}\n")


@as_root
@pytest.mark.parametrize("script", [FAMILY + "sleep 0.2", FAMILY + "trap '' TERM; echo ready; sleep 1000"])
async def test_nothing_of_a_tenants_family_outlives_its_task(tenants: Errands, script: str) -> None:
    run = tenants.start(script.replace("$MARK", "tenant"), tenant="nobody")
    await eventually(lambda: len(nobodys()) >= FAMILY_SIZE, within_s=5)
    if "ready" in script:
        await eventually(lambda: "ready" in tenants.log, within_s=5)
        run.cancel()
    await asyncio.wait([run])
    assert nobodys() == set()


@as_root
async def test_a_tenants_task_dies_with_its_keeper(tenants: Errands) -> None:
    """The change of the user takes the parent-death signal away; it must have been asked for again."""
    run = tenants.start(FAMILY.replace("$MARK", "tenant") + "trap '' TERM; echo ready; sleep 1000", tenant="nobody")
    await eventually(lambda: "ready" in tenants.log, within_s=5)
    assert tenants.launcher.zygote_pid is not None
    (keeper,) = tree.children(tenants.launcher.zygote_pid)
    os.kill(keeper, signal.SIGKILL)
    end = await run
    assert "its launcher was killed" in end.reason
    await eventually(lambda: nobodys() == set(), within_s=3)


@as_root
async def test_the_deadline_of_a_worker_ends_its_tenants_tasks(tenants: Errands) -> None:
    run = tenants.start("trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000", tenant="nobody")
    await eventually(lambda: "ready" in tenants.log, within_s=5)
    tenants.launcher.set_deadline(0.001)
    assert (await run).state is TaskState.NEED_FAULT_TOLERANCE
    assert nobodys() == set()


@as_root
async def test_a_folder_that_the_tenant_cannot_enter_is_told_with_the_cure(tenants: Errands) -> None:
    tenants.folder.parent.chmod(0o700)
    end = await tenants.shell("true", tenant="nobody")
    tenants.folder.parent.chmod(0o755)
    assert end.state is TaskState.FAILURE
    assert end.reason.endswith(
        "Permission denied; its tenant must be able to enter every folder above it: choose such a worker.folder"
    )


@as_root
async def test_a_link_in_the_place_of_the_script_is_not_followed(tenants: Errands) -> None:
    """Played by root: a process of the same tenant might have put it there, and the worker writes as root."""
    target = tenants.folder.parent / "target"
    target.write_text("untouched")
    (tenants.folder / "work/5").mkdir(parents=True)
    (tenants.folder / "work/5/script.sh").symlink_to(target)
    await tenants.shell("echo ran", tenant="nobody")
    assert (target.read_text(), target.owner()) == ("untouched", "root")
    assert tenants.log == "ran\n"


@as_root
async def test_a_look_for_a_file_sees_what_its_tenant_sees(tenants: Errands) -> None:
    private = tenants.folder.parent / "private"
    private.mkdir(mode=0o700)
    (private / "in.csv").touch()
    params = {"for": {"file": f"{private}/in.csv"}}
    assert (await tenants.run(claimed("WAIT", params=params))).state is TaskState.SUCCESS
    assert tenants.launcher.warm_pid is None, "it runs as the worker's user, so it needs no process"
    end = await tenants.run(claimed("WAIT", params=params, tenant="nobody"))
    assert (end.state, end.reason) == (TaskState.FAILURE, f"file {private}/in.csv: Permission denied")
    private.chmod(0o755)
    assert (await tenants.run(claimed("WAIT", params=params, tenant="nobody"))).state is TaskState.SUCCESS


@as_root
async def test_a_type_without_processes_has_no_use_for_a_tenant(tenants: Errands) -> None:
    end = await tenants.run(claimed("FAKE", params={}, tenant="no-such-user"))
    assert end.state is TaskState.SUCCESS


@pytest.mark.parametrize(
    ("allowed", "tenant", "sentence"),
    [
        ((), "nobody", 'runs nothing as the tenant "nobody": its operator allows it by the setting worker.tenants'),
        (("daemon",), "nobody", "such as SHOAL_WORKER__TENANTS=nobody"),
        (("*",), "no-such-user", 'the machine of this worker has no user "no-such-user"; add it there'),
        (("*",), "root", 'the tenant "root" is root, whom * does not mean; name it in the setting worker.tenants'),
    ],
)
async def test_a_tenant_that_cannot_be_is_refused_with_the_cure(
    errands: Errands, allowed: tuple[str, ...], tenant: str, sentence: str
) -> None:
    errands.settings["tenants"] = allowed
    end = await errands.shell("echo ran", tenant=tenant)
    assert end.state is TaskState.FAILURE
    assert sentence in end.reason
    assert errands.log == f"{end.reason}\n"


def test_a_worker_that_is_not_root_says_so() -> None:
    """In a process that permanently becomes nobody."""
    program = (
        "import os\n"
        "from model.errors import Refused\n"
        "from worker.attempts.tenants import account_of\n"
        f"if os.geteuid() == 0: os.setuid({NOBODY.pw_uid})\n"
        "try: account_of('daemon', ['*'])\n"
        "except Refused as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert said.stdout == (
        'this worker does not run as root, so it cannot run a task as "daemon"; start the worker as root, '
        "or a worker as that user with a worker group of its own\n"
    )
