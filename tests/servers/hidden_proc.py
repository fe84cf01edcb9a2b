"""Programs that see /proc as on a machine that hides processes: hidepid, or systemd's ProtectProc.

What it hides from other users it hides from a process's own user too, once the process is not dumpable, as a worker is
not. Only CAP_SYS_PTRACE and the mount's group (0) see through it; so a program of root stands for any other user's
here when it has neither.
"""

from __future__ import annotations

import os
import pwd

import pytest

NO_ACCESS, INVISIBLE = "hidepid=1", "hidepid=2"
"""Others' files in /proc cannot be opened; others are not there at all."""

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can mount another /proc; run the tests as root too"
)


def seeing(option: str) -> list[str]:
    """The beginning of a command that runs with a /proc of its own, mounted so, and without those rights."""
    group = pwd.getpwnam("nobody").pw_gid
    without_rights = f"setpriv --regid {group} --clear-groups --bounding-set=-sys_ptrace --"
    script = f'mount -t proc -o {option} proc /proc && exec {without_rights} "$@"'
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script, "sh"]
