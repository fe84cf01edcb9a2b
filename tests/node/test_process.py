"""Whether a neighbour's process is gone, as the kernel really tells it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.servers.hidden_proc import INVISIBLE, NO_ACCESS, needs_root, seeing

NEIGHBOURS = """
import json, os, subprocess, sys
from dataclasses import asdict
from model.cluster.nodes import ProcessIdentity
from registry.process import is_gone, this_process
from node.prctl import hide_from_own_user

if sys.argv[1:] == ["worker"]:
    hide_from_own_user()
    print(json.dumps(asdict(this_process())), flush=True)
    sys.stdin.read()
else:
    worker = subprocess.Popen(
        [sys.executable, *sys.orig_argv[1:3], "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    identity = ProcessIdentity(**json.loads(worker.stdout.readline()))
    print("lives", is_gone(identity))
    former = ProcessIdentity(identity.boot, identity.pid, identity.started - 1)
    print("had its pid before", is_gone(former))
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    print("corpse", is_gone(identity))
    worker.wait()
    print("gone", is_gone(identity))
    print("of another boot", is_gone(ProcessIdentity("another", identity.pid, identity.started)))
"""


def _told(before: Sequence[str] = ()) -> dict[str, bool]:
    command = [*before, sys.executable, "-c", NEIGHBOURS]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=180).stdout
    return {what: is_gone == "True" for what, _, is_gone in (line.rpartition(" ") for line in told.splitlines())}


def test_a_process_is_gone_once_it_has_ended_whoever_has_its_pid_now() -> None:
    assert _told() == {
        "lives": False,
        "had its pid before": True,
        "corpse": True,
        "gone": True,
        "of another boot": False,
    }


@needs_root
@pytest.mark.parametrize("option", [NO_ACCESS, INVISIBLE])
def test_a_living_process_that_proc_hides_is_not_gone(option: str) -> None:
    """What cannot be decided is no death: the former owner of a pid, and a zombie. Only a free pid is certain."""
    assert _told(seeing(option)) == {
        "lives": False,
        "had its pid before": False,
        "corpse": False,
        "gone": True,
        "of another boot": False,
    }
