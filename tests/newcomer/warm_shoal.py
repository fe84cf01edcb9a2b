"""`shoal` without the second that Python takes to import it: each call is forked from a process that has.

    python warm_shoal.py serve SOCKET          imports, then forks a process for each call
    python -IS warm_shoal.py call SOCKET ...   what stands for `shoal`: hands over its descriptors and waits for the end

A call is a process like any other, with the caller's arguments, folder, environment, input and output.
"""

import json
import os
import socket
import sys
from pathlib import Path

_MESSAGE_MAX = 1 << 20


def call(path: str, arguments: list[str]) -> int:
    """The exit code of one call."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        message = json.dumps([arguments, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(connection, [len(message).to_bytes(4) + message], [0, 1, 2])
        return (connection.recv(1) or b"\xff")[0]


def serve(path: str) -> None:
    """Serve until it is killed; no call continues then."""
    import pkgutil
    import signal
    from contextlib import suppress
    from importlib import import_module

    import dao
    import shoal

    for package in (dao, shoal):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in ("tzdata", "worker.tasks.catalog"):
        with suppress(ImportError):
            import_module(name)
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import_module("tests.servers.built")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _die_with_parent()
                os._exit(_answer(connection))
            connection.close()


def _answer(connection: socket.socket) -> int:
    """Run a call in a child and tell its exit code; a caller that goes away takes the child with it."""
    import select
    import signal

    start, descriptors, *_ = socket.recv_fds(connection, _MESSAGE_MAX, 3)
    while len(start) < 4 + int.from_bytes(start[:4]):
        start += connection.recv(_MESSAGE_MAX)
    arguments, folder, environment = json.loads(start[4:])
    child = os.fork()
    if child == 0:
        _die_with_parent()
        _become(arguments, folder, environment, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if select.select([connection], [], [], 0.01)[0]:
            os.kill(child, signal.SIGKILL)
    connection.send(bytes([os.waitstatus_to_exitcode(ended[1]) & 0xFF]))
    return 0


def _become(arguments: list[str], folder: str, environment: dict[str, str], descriptors: list[int]) -> None:
    import io
    import signal
    import traceback

    from shoal.cli import main

    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
    sys.argv = ["shoal", *arguments]
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as Python does with what nobody catches
        traceback.print_exc()
        code = 1
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _die_with_parent() -> None:
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    sys.exit(call(sys.argv[2], sys.argv[3:]))
