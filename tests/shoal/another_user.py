"""Acts as another user of this machine: a fork of this process that became `nobody`, if we are root."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable

from model.errors import Refused


def told_to_nobody(act: Callable[[], object]) -> str:
    """The sentence with which `act` is refused there, else what it returned or raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                nobody = pwd.getpwnam("nobody")
                os.setgroups([])
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)
            said = repr(act())
        except Refused as refused:
            said = str(refused)
        except Exception as error:  # noqa: BLE001 - it is told
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said
