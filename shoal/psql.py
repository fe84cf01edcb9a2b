"""Starting psql on our database without secrets in its arguments, which every user of the machine can read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from psycopg import pq

from dao.postgres.database import parse_url
from model.errors import Refused


def psql_environment(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with which psql connects to the database of a URL: PGHOST, PGPASSWORD and so on.

    Parts that the URL lacks get libpq's defaults, not the caller's PG variables, which may mean another database.
    """
    plain = parse_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    found = dict(environment)
    for option in pq.Conninfo.parse(plain.encode()):
        if option.envvar is None:
            continue
        name = option.envvar.decode()
        if option.val is not None:
            found[name] = option.val.decode()
        elif name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE"):
            found.pop(name, None)
    return found


def become_psql(url: str, arguments: Sequence[str]) -> None:
    """Replace this process by psql. Raises `Refused` when it is not installed."""
    program = shutil.which("psql")
    if program is None:
        raise Refused(
            "there is no psql on this machine; install a PostgreSQL client, or use any other with `shoal db url`"
        )
    os.execve(program, ["psql", *arguments], psql_environment(url, os.environ))  # noqa: S606 - intended
