"""Starting psql on our database without secrets in its arguments, which every user of the machine can read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from psycopg import pq

from dao.postgres.address import Address
from model.errors import Refused

_PLACE = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE")


def psql_environment(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with which psql connects to the database of a URL: PGHOST, PGPASSWORD and so on.

    Parts that the URL lacks get libpq's defaults, not the caller's PG variables, which may mean another database.
    Arguments for which libpq has no variable are given in a file that only this process and psql have open.
    """
    variables = {each.keyword.decode(): each.envvar.decode() for each in pq.Conninfo.get_defaults() if each.envvar}
    arguments = Address.of(url).current()
    found = {name: value for name, value in environment.items() if name not in _PLACE}
    found |= {variables[name]: value for name, value in arguments.items() if name in variables}
    rest = [f"{name}={value}\n" for name, value in arguments.items() if name not in variables]
    if rest and "service" not in arguments:
        file = os.memfd_create("service", 0)
        os.write(file, f"[shoal]\n{''.join(rest)}".encode())
        found |= {"PGSERVICE": "shoal", "PGSERVICEFILE": f"/proc/self/fd/{file}"}
    return found


def become_psql(url: str, arguments: Sequence[str]) -> None:
    """Replace this process by psql. Raises `Refused` when it is not installed."""
    program = shutil.which("psql")
    if program is None:
        raise Refused(
            "there is no psql on this machine; install a PostgreSQL client, or use any other with `shoal db url`"
        )
    os.execve(program, ["psql", *arguments], psql_environment(url, os.environ))  # noqa: S606 - intended
