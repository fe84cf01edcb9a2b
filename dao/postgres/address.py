"""Where a database is: the one place that makes the arguments of a connection, from all of the URL.

Every user of a connection takes them from here: pools, LISTEN, beats, checks, psql, and other clients by `shoal db
url`. libpq never parses the URL itself: its errors repeat what they could not read, with the password in it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv6Address
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from psycopg import OperationalError, pq

from dao.postgres.client_files import ClientFiles
from dao.secrets.kept import Kept
from dao.secrets.secret_file import read_secret
from dao.secrets.url_options import is_secret_option
from model.errors import InvalidSettings
from model.near import nearest

SCHEME = "postgresql+psycopg"
_FORM = f"{SCHEME}://user:password@host:5432/name"
_URL = re.compile(
    r"(?P<scheme>[\w+]+)://(?>(?:(?P<user>[^:/]*)(?::(?P<password>[^@]*))?@)?)"
    r"(?P<hosts>[^/?]*)(?:/(?P<name>[^?]*))?(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_HOST_AND_PORT = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<name>[^:\[\]]*))(?::(?P<port>\d*))?")
_WRITABLE = ("any", "primary", "read-write")
_WHOLE_NUMBERS = ("connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
                  "tcp_user_timeout")  # fmt: skip


PASSWORD_FILE = "password_file"  # noqa: S105 - a name
URL_FILE = "url_file"
FORMER_PASSWORD = "former_password"  # noqa: S105 - a name
"""Arguments of Shoal's own: the file that has the password, or the whole URL, which each new connection reads; and what
to try if the server refuses the password."""
_OWN = (PASSWORD_FILE, URL_FILE)


class Address:
    """A database URL that has been read; made by `Address.of`.

    `arguments` are named as libpq names them, with several hosts separated by commas. `settings` are those of the
    argument `options`, which Shoal sets itself once it is connected, since a pooler may drop them. `shown` has no
    secrets; `place` has no user either, and is the same for the same place. Only `current` has what is in a file.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._files = {name: Path(arguments[name]) for name in _OWN if name in arguments}
        self._kept: Kept[Mapping[str, str]] | None = None
        self.arguments = arguments = {name: value for name, value in arguments.items() if name not in _OWN}
        self._client_files = ClientFiles(arguments)
        self.settings = dict(_settings(arguments.get("options", "")))
        hidden = {name: "***" for name in arguments if is_secret_option(name)}
        self.shown = _written(SCHEME, {**arguments, **hidden})
        self.place = _written(SCHEME, {k: v for k, v in arguments.items() if k != "user" and k not in hidden})

    @staticmethod
    @lru_cache(maxsize=64)
    def of(url: str) -> Address:
        """Read a URL. Raises `InvalidSettings` and says how to correct it; no message contains a secret."""
        return Address(_arguments(url))

    def url(self) -> str:
        """For clients that use libpq, with the password. Raises as `current`."""
        return _written("postgresql", self.current())

    def current(self) -> Mapping[str, str]:
        """The arguments with the password as it is now. Raises `InvalidSettings`: its file could never be used."""
        if not self._files:
            return self.arguments
        if self._kept is None:
            self._kept = Kept([*self._files.values()], self._read, what="the password of the database")
        return self._kept.now()

    def _read(self) -> Mapping[str, str]:
        now = dict(self.arguments)
        if (path := self._files.get(URL_FILE)) is not None:
            found = Address(_arguments(read_secret(path, "database_url_file")))
            if found.place != self.place:
                raise InvalidSettings(f"{path} names another database now; restart this process to use that one")
            now = dict(found.arguments)
        if (path := self._files.get(PASSWORD_FILE)) is not None:
            now["password"] = read_secret(path, "database_password_file")
        return now

    def hosts(self) -> list[dict[str, str]]:
        """The arguments for each host, in the order in which to try them; without the options: see `settings`.

        Raises `psycopg.OperationalError`: the file of the password cannot be used, perhaps for a moment.
        """
        try:
            current = {**self.current(), **self._client_files.now()}
        except InvalidSettings as error:
            raise OperationalError(str(error)) from None
        former = self._kept.former if self._kept is not None else None
        if former and former.get("user") == current.get("user") and former.get("password"):
            current[FORMER_PASSWORD] = former["password"]
        common = {**current, "options": ""}  # "" = nor those of the environment
        lists = {name: common[name].split(",") for name in ("host", "hostaddr", "port") if common.get(name)}
        count = max((len(values) for values in lists.values()), default=1)
        order = list(range(count))
        if common.pop("load_balance_hosts", "") == "random":
            random.shuffle(order)
        return [{**common, **{name: each[n % len(each)] for name, each in lists.items()}} for n in order]


def with_argument(url: str, name: str, value: str) -> str:
    """A URL with one more argument, which wins over what stands before its hosts."""
    return f"{url}{'&' if '?' in url else '?'}{name}={quote(value, safe='')}"


def _arguments(text: str) -> dict[str, str]:
    url = _URL.fullmatch(text.strip())
    if url is None:
        raise InvalidSettings(f"the database URL cannot be read; write it as {_FORM}")
    if "@" in url["hosts"] or "@" in unquote(url["user"] or ""):
        raise InvalidSettings("the database URL has an @ too many; write one in a password as %40, and a / as %2F")
    if url["scheme"] not in (SCHEME, "postgresql", "postgres"):
        raise InvalidSettings(f"the database URL begins with {url['scheme']}://, Shoal needs {SCHEME}://")
    given = {"user": url["user"], "password": url["password"], "dbname": url["name"]}
    found = {name: unquote(value) for name, value in given.items() if value}
    query: dict[str, list[str]] = {}
    for name, value in parse_qsl(url["query"] or ""):
        query.setdefault(name, []).append(value)
    if query.get("ssl") == ["true"]:  # as JDBC has it; libpq takes it too
        query = {"sslmode": ["require"], **{name: value for name, value in query.items() if name != "ssl"}}
    found |= _hosts(url["hosts"], query)
    for name, values in query.items():
        if len(values) > 1:
            raise InvalidSettings(f"the database URL gives the argument {name[:60]} twice; leave one")
        found[name] = values[0]
    _check(found)
    if "," in found.get("host", found.get("hostaddr", "")):
        found.setdefault("target_session_attrs", "read-write")
    return found


def _hosts(authority: str, query: dict[str, list[str]]) -> dict[str, str]:
    """Hosts and ports as libpq has them, whichever way they are written; taken out of the query."""
    split = [_host_and_port(unquote(each)) for each in authority.split(",")]
    apart = [each for part in query.pop("port", []) for each in part.split(",")]
    if len(split) == 1:
        ((host, port),) = split
        split, apart = [(host, "")], apart if any(apart) or not port else [port]
    in_query = [each for part in query.pop("host", []) for each in part.split(",")]
    if any(in_query):
        split = [_host_and_port(each) for each in in_query]
    if not any(apart):
        apart = []
    if apart and any(port for _, port in split):
        raise InvalidSettings(
            "the database URL gives ports with its hosts and apart; write h1:5432,h2:5433 without port="
        )
    if len(apart) > 1 and len(apart) != len(split):
        raise InvalidSettings(
            f"the database URL gives {len(apart)} ports for {len(split)} hosts; give one for each, or one"
        )
    ports = apart or [port for _, port in split]
    for port in ports:
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise InvalidSettings("a port of the database URL is not a number from 1 to 65535")
    found = {"host": ",".join(host for host, _ in split), "port": ",".join(ports)}
    return {name: value for name, value in found.items() if value.strip(",")}


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith(("/", "@")):
        return text, ""
    if (found := _HOST_AND_PORT.fullmatch(text)) is not None:
        return found["ipv6"] or found["name"], found["port"] or ""
    try:
        IPv6Address(text)
    except ValueError:
        raise InvalidSettings(
            "a host of the database URL cannot be read; write host:port, or [address]:port for IPv6"
        ) from None
    return text, ""


def _check(arguments: Mapping[str, str]) -> None:
    known = {*_OWN} | {option.keyword.decode() for option in pq.Conninfo.get_defaults()} - {"replication"}
    for name, value in arguments.items():
        if name not in known:
            near = nearest(name, known)
            cure = f"did you mean {near}?" if near else "leave it out"
            raise InvalidSettings(f"the database URL has the argument {name[:60]!r}, which libpq does not know; {cure}")
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidSettings(
                f"the {name} of the database URL has a character that PostgreSQL cannot take; correct it"
            )
        if name in _WHOLE_NUMBERS and not re.fullmatch(r"\s*[+-]?\d{1,9}\s*", value):
            raise InvalidSettings(f"the argument {name} of the database URL is not a whole number; correct it")
    if (wanted := arguments.get("target_session_attrs", "any")) not in _WRITABLE:
        raise InvalidSettings(
            f"the database URL asks for a server with target_session_attrs={wanted[:20]}, and Shoal needs one that "
            f"accepts writes: {', '.join(_WRITABLE)}"
        )


def _settings(options: str) -> Iterator[tuple[str, str]]:
    """`-c name=value` and `--name=value`, as the server reads them: a backslash keeps a blank."""
    words = iter([re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|[^\s\\])+", options)])
    for word in words:
        text = next(words, "") if word == "-c" else word[2:]
        name, equals, value = text.partition("=")
        if not word.startswith(("-c", "--")) or not equals or not name:
            raise InvalidSettings(
                "the options of the database URL cannot be read; write each as -c name=value, with = as %3D and "
                "blanks as %20"
            )
        yield name.replace("-", "_"), value


def _written(scheme: str, arguments: Mapping[str, str]) -> str:
    rest = dict(arguments)
    user, password = rest.pop("user", ""), rest.pop("password", "")
    name, hosts = rest.pop("dbname", ""), rest.get("host", "").split(",")
    before = quote(user, safe="") + (f":{quote(password, safe='*')}" if password else "")
    where = ""
    if all(hosts) and not any(host.startswith(("/", "@")) for host in hosts):
        ports = rest.pop("port", "").split(",")
        quoted = [f"[{host}]" if ":" in host else quote(host, safe="") for host in hosts]
        apart = [ports[n % len(ports)] for n in range(len(hosts))]
        where = ",".join(f"{host}:{port}" if port else host for host, port in zip(quoted, apart, strict=True))
        rest.pop("host")
    query = "&".join(f"{key}={quote(value, safe='*,')}" for key, value in rest.items())
    at = "@" if before else ""
    return f"{scheme}://{before}{at}{where}/{quote(name, safe='')}{'?' if query else ''}{query}"
