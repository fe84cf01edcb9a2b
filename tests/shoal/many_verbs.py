"""Runs verbs one after the other in one process: a second of imports once, not for each.

Reads a list of argument lists as JSON from standard input, writes a list of [exit code, output, errors].
"""

from __future__ import annotations

import io
import json
import sys

from shoal.cli import main


def run(arguments: list[str]) -> tuple[int, str, str]:
    """One verb, as its own process would answer."""
    streams = sys.stdout, sys.stderr
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.argv, sys.stdout, sys.stderr = ["shoal", *arguments], out, err
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout, sys.stderr = streams
    out.flush()
    err.flush()
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


if __name__ == "__main__":
    json.dump([run(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
