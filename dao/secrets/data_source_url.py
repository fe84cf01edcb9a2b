"""The URL of a data source: which driver it needs, which parts may be shown, which are secret."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from model.errors import Refused

URL_BYTES_MAX = 10_000

_DRIVERS: Mapping[str, str] = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
"""The one supported driver of each kind: others put values into the SQL text themselves, or cannot be cancelled."""

_FILES = ("sqlite", "duckdb")
_SECRET_OPTION = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_SHOWN_OPTIONS = {"sslkey", "ssl_key", "sslrootcert", "keepalives"}


def parse_data_source_url(text: str) -> URL:
    """A URL with its driver. Raises `Refused`; no message contains a part of the URL that could be secret."""
    form = "write it as dialect://user:password@host:port/database, such as postgresql://ada:secret@db/shop"
    if len(text.encode(errors="surrogatepass")) > URL_BYTES_MAX:
        raise Refused(f"the data source's URL is longer than {URL_BYTES_MAX} bytes")
    try:
        url = make_url(text.strip())
    except (ArgumentError, ValueError):
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
    return url.set(drivername=_DRIVERS.get(dialect, url.drivername))


def shown_url(url: URL) -> str:
    """The URL for display, without the password and without options that look like secrets."""
    hidden = {name: "***" for name in url.query if _is_secret(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def secrets_of(url: URL) -> list[str]:
    """The texts that must never be shown."""
    options = [each for name, value in url.query.items() if _is_secret(name) for each in _texts(value)]
    return [each for each in (url.password, *options) if each]


def _is_secret(option: str) -> bool:
    return _SECRET_OPTION.search(option) is not None and option not in _SHOWN_OPTIONS


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value
