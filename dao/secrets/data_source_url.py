"""The URL of a data source: which driver it needs, which parts may be shown, which are secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dao.secrets.url_options import is_secret_option
from model.errors import Refused

if TYPE_CHECKING:
    from sqlalchemy import URL

URL_BYTES_MAX = 10_000

_DRIVERS: Mapping[str, str] = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
"""The one supported driver of each kind: others put values into the SQL text themselves, or cannot be cancelled."""

STORAGE = "s3"
"""No database: a bucket, for tasks that wait for its objects and for programs."""
_FILES = ("sqlite", "duckdb")
_SERVERS = ("postgresql", "mysql")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_HARMLESS_OPTIONS = {"sslmode", "connect_timeout", "application_name", "charset"}
"""Others choose another server, or read files of the machine that connects."""


def parse_data_source_url(text: str) -> URL:
    """A URL with its driver. Raises `Refused`; no message contains a part of the URL that could be secret."""
    from sqlalchemy import exc, make_url

    form = "write it as dialect://user:password@host:port/database, such as postgresql://ada:secret@db/shop"
    if len(text.encode(errors="surrogatepass")) > URL_BYTES_MAX:
        raise Refused(f"the data source's URL is longer than {URL_BYTES_MAX} bytes")
    try:
        url = make_url(text.strip())
    except (exc.ArgumentError, ValueError):
        raise Refused(f"the data source's URL cannot be read; {form}") from None
    if "@" in (url.host or "") or "@" in (url.username or ""):
        raise Refused("the data source's URL has an @ too many; write one in a password as %40, and a / as %2F")
    dialect = url.get_backend_name()
    if (
        dialect in _FILES
        and url.database
        and url.database != ":memory:"
        and not url.database.startswith(("/", "file:/"))
    ):
        raise Refused(
            f"the data source's file {url.database!r} has no absolute path, and each worker has a separate folder; "
            f"write {dialect}:////the/whole/path"
        )
    if dialect == STORAGE:
        _check_storage(url)
    return url.set(drivername=_DRIVERS.get(dialect, url.drivername))


def _check_storage(url: URL) -> None:
    whole = url.host and url.username and url.password and _BUCKET.fullmatch(url.database or "")
    if not whole or set(url.query) - {"region", "tls"} or url.query.get("tls", "off") not in ("on", "off"):
        raise Refused(
            "S3-compatible storage is s3://KEY:SECRET@HOST/BUCKET, perhaps with ?region=eu-central-1, and with tls=off "
            "for http"
        )


def shown_url(url: URL) -> str:
    """The URL for display, without the password and without options that look like secrets."""
    hidden = {name: "***" for name in url.query if is_secret_option(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def secrets_of(url: URL) -> list[str]:
    """The texts that must never be shown."""
    options = [each for name, value in url.query.items() if is_secret_option(name) for each in _texts(value)]
    return [each for each in (url.password, *options) if each]


def checkable_host(url: URL) -> str:
    """The one host to which a URL leads, if somebody else's process may connect to it without a risk to its machine.

    Raises `Refused` for a file, a socket, several hosts, an option that could choose another server or a file, or a URL
    without a password: the driver would search for one in the files and variables of that process.
    """
    elsewhere = "test it from a machine of the cluster on its database: shoal datasource test NAME"
    if url.get_backend_name() not in _SERVERS:
        raise Refused(f"the API tests PostgreSQL, MySQL and MariaDB only; {elsewhere}")
    if not url.host or "," in url.host or url.host.startswith("/"):
        raise Refused(f"the API tests data sources with one host; {elsewhere}")
    if others := sorted(set(url.query) - _HARMLESS_OPTIONS):
        raise Refused(f"the API tests no data source with the option {others[0][:60]!r}; {elsewhere}")
    if not url.username or not url.password:
        raise Refused(f"the API tests data sources with user and password only; {elsewhere}")
    return url.host


def pinned(url: URL, address: str) -> URL:
    """The same URL at this address of its host, whatever other addresses its name has or gets."""
    if url.get_backend_name() == "postgresql":
        return url.update_query_dict({"hostaddr": address})
    return url.set(host=address)


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
