"""A crowd of idle processes: each scan of /proc takes long, as on a large or busy machine."""

from __future__ import annotations

import subprocess
import sys

SIZE = 3_000

# They end with whoever gathered them: their parent kills them when its pipe closes, and they end when theirs does. Not
# all at once, or the machine's load average rises so far that its nodes are BUSY. Where so many are not allowed there
# are none: the cluster needs the rest.
_GATHER = """
import os, signal, sys
life, held = os.pipe()
there, tells = os.pipe()
crowd = []
try:
    for number in range(1, int(sys.argv[1]) + 1):
        pid = os.fork()
        if pid == 0:
            os.close(0), os.close(1), os.close(held)
            os.write(tells, b".")
            os.read(life, 1)
            os._exit(0)
        crowd.append(pid)
        if number % 20 == 0:
            os.read(there, 20)
    os.close(1)
    os.read(0, 1)
except OSError:
    os.close(1)
while crowd:
    some, crowd = crowd[:20], crowd[20:]
    for pid in some:
        os.kill(pid, signal.SIGKILL)
    for pid in some:
        os.waitpid(pid, 0)
"""


class Crowd:
    """`gather` it and `disperse` it once."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._parent: subprocess.Popen[bytes] | None = None

    def gather(self) -> None:
        """Return when all are there."""
        self._parent = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GATHER, str(self._size)],
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._parent.stdout is not None
        self._parent.stdout.read()

    def disperse(self) -> None:
        """Return when none is left."""
        if self._parent is not None:
            self._parent.communicate()
