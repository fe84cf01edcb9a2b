"""Starting psql on our database with nothing secret among its arguments, which everybody on the machine can read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from psycopg import pq

from dao.database import parse_url
from model.errors import Refused


def psql_environment(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which psql finds the database of an URL: PGHOST, PGPASSWORD and their like.

    What the URL does not say is libpq's default, not what a PG variable of the caller says of another database.
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
    """Replace this process by psql. Raises `Refused` when there is none."""
    program = shutil.which("psql")
    if program is None:
        raise Refused(
            "there is no psql on this machine; install a PostgreSQL client, or use any other with `shoal db url`"
        )
    os.execve(program, ["psql", *arguments], psql_environment(url, os.environ))  # noqa: S606 - what it is for
