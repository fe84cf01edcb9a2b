"""Every verb, wherever it cannot work: one sentence that names what is wrong and how to fix it, and its exit code.

The verbs come from the command line itself, so that a new one is in it. Most run in this process, which is quick; those
that change their process, such as `master`, run in one of their own.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest
import typer
from sqlalchemy import URL, make_url

from dao.secrets.vault import new_key
from shoal.cli import app, main
from tests.conftest import TEMPLATE
from tests.servers.postgres import PostgresServer
from tests.servers.warm import Answer, run_verb
from tests.shoal.command_line import NOTHING, CommandLine

EXAMPLE = Path(__file__).parents[2] / "examples" / "hello.yaml"
POOL = Path(__file__).parent / "pool.yaml"
CRONTAB = Path(__file__).parent / "crontab.txt"
DAG = Path(__file__).parent / "dag.txt"
EXPORT = Path(__file__).parent / "export.json"
ARGUMENTS = {
    "to": "sales",
    "name": "hello",
    "run": "1",
    "task": "1/greet",
    "what": "1",
    "workflow": "hello",
    "files": str(EXAMPLE),
    "folder": str(EXAMPLE.parent),
    "path": str(EXAMPLE),
    "cron": "0 0 5 * * ?",
    "schedule": "1",
    "commands": "1",
    "param": "a=b",
    "role": "VIEWER",
    "token": "1",
    "days": "30",
    "pool": "proxies",
    "pool_files": str(POOL),
    "tables": str(CRONTAB),
    "resource": "p1",
    "alert": "1",
    "silence": "1",
    "span": "2h",
    "words": "any run of load fails -> group data",
}
"""A value for each argument of a verb, by its name."""
MORE = {
    "backfill": ["--date", "2026-01-01"],
    **{f"runs {action}": ["--all"] for action in ("rerun", "rerun-failed", "pause", "stop", "resume")},
    "project set": ["name=value"],
    "alert channel set": ["mailto://127.0.0.1?from=shoal@example.org&to=ops@example.org"],
    "alert channel test": ["--wait", "0"],
    "db wait": ["--within", "0"],
    "datasource set": ["sqlite:////nothing"],
    "environment set": [str(EXAMPLE)],
    "queue delete": ["1"],
    "queue retry": ["1"],
    "task mark": ["--success"],
    "config grafana": ["--out", "written"],
    "config prometheus": ["--out", "written"],
    "workflow import airflow": [str(DAG), "--out", "imported"],
    "workflow import crontab": ["--out", "imported"],
    "workflow import dolphinscheduler": [str(EXPORT), "--out", "imported"],
    "schedule next": ["hello"],
    "user token make": ["--scope", "runs:read"],
    "user token list": ["--user", "anna"],
    "user token revoke": ["--user", "anna"],
    "schedule edit": ["--off"],
}
"""Further arguments that verbs need."""
NEEDS_NO_DATABASE = {
    "workflow check",
    "config add-key",
    "project seal",
    "config show",
    "config grafana",
    "config prometheus",
    "workflow import airflow",
    "workflow import crontab",
    "workflow import dolphinscheduler",
}
BRINGS_ITS_OWN = {"up", "demo"}
NEEDS_A_SERVER = {"login"}
IN_A_PROCESS = {"master", "worker", "api", "alert", "db init", "db upgrade", "db psql"}
"""Verbs that change their process: its logging, its environment, or the program that it runs."""

BUILT = cache(typer.main.get_command)
"""The command line, built once: that takes longer than most calls."""


@dataclass(frozen=True)
class Condition:
    """A fault, the message of each verb, and its exit code. `codes` has the verbs with another code."""

    url: str
    says: str
    code: int = 2
    codes: dict[str, int] = field(default_factory=dict)
    without: frozenset[str] = frozenset()


MADE_BY_THEM = frozenset({"db init", "db upgrade"})
CONDITIONS = {
    "no database is named": Condition("", "give --database-url or SHOAL_DATABASE_URL, or use `shoal up`", 78),
    "no server answers": Condition(
        "postgresql+psycopg://me:secret@127.0.0.1:1/x",
        "127.0.0.1:1/x: the database does not answer",
        3,
        {"master": 1, "worker": 1, "api": 1, "alert": 1},
    ),
    "the password is wrong": Condition("{wrong}", "; fix user and password in the database URL", 77, {"doctor": 3}),
    "there is no such database": Condition("{nowhere}", '"nowhere" does not exist; create it, or', 77, {"doctor": 3}),
    "no right to read": Condition(
        "{reader}", "; grant it (docs/reference/roles.md), or name another user", 77, {"doctor": 1}
    ),
    "no right but for the versions": Condition(
        "{half}",
        "; grant it (docs/reference/roles.md), or name another user",
        77,
        {"doctor": 1},
        frozenset({"db check", "db roles", "db wait", "user token make"}) | MADE_BY_THEM,
    ),
    "no right on the schema": Condition(
        "{outsider}", "may not use its schema public; grant it", 77, {"doctor": 1}, MADE_BY_THEM
    ),
    "the database is empty": Condition("{empty}", "run `shoal db init`", 2, {"doctor": 1}, MADE_BY_THEM),
    "the schema is newer": Condition("{newer}", "install a newer Shoal than this", 2, {"doctor": 1}),
}
LIKE_OTHERS = {"there is no such database", "no right but for the versions", "no right on the schema"}
"""Conditions that a verb meets where it meets one of the others."""


def verbs() -> Iterator[tuple[str, list[str]]]:
    """Each verb, and a whole call of it."""

    def walk(group: object, path: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
        commands = getattr(group, "commands", None)
        if commands is None or (path and getattr(group, "invoke_without_command", False)):
            name = " ".join(path)
            params = [each for each in group.params if each.param_type_name == "argument" and each.required]  # type: ignore[attr-defined]
            yield name, [*path, *(ARGUMENTS[each.name] for each in params), *MORE.get(name, [])]
        for name, each in (commands or {}).items():
            yield from walk(each, (*path, name))

    yield from walk(BUILT(app), ())


class Ascii(io.TextIOWrapper):
    """An output that can show ASCII only, or UTF-8."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict", write_through=True)

    def text(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def call(
    patch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], encoding: str = "utf-8"
) -> Answer:
    """A verb in this process."""
    out, err = Ascii(encoding), Ascii(encoding)
    code = 0
    with patch.context() as here:
        for name in [name for name in os.environ if name.startswith("SHOAL_")]:
            here.delenv(name)
        for name, value in environment.items():
            here.setenv(name, value)
        for name, value in {"argv": ["shoal", *arguments], "stdout": out, "stderr": err}.items():
            here.setattr(sys, name, value)
        here.setattr(typer.main, "get_command", BUILT)
        here.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a long secret")))
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return Answer(code, out.text(), err.text())


@pytest.fixture(scope="module")
def urls(postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """The URL of each condition."""
    good = make_url(postgres_server.create_database("every_verb", template=TEMPLATE))
    roles = [f"{name}_of_every_verb" for name in ("reader", "half")]
    with postgres_server.connect("every_verb") as by_hand:
        for role in roles:
            by_hand.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
        by_hand.execute(f"GRANT SELECT ON schema_version TO {roles[1]}")
    postgres_server.create_database("every_verb_closed", template=TEMPLATE)
    with postgres_server.connect("every_verb_closed") as by_hand:
        by_hand.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    postgres_server.create_database("every_verb_newer", template=TEMPLATE)
    with postgres_server.connect("every_verb_newer") as by_hand:
        by_hand.execute(
            "INSERT INTO schema_version (version, name, program) VALUES (9999, 'later', %s)", [version("shoal")]
        )
    postgres_server.create_database("every_verb_empty")

    def text(url: URL) -> str:
        return url.render_as_string(hide_password=False)

    yield {
        "good": text(good),
        "wrong": text(good.set(password="other")),
        "nowhere": text(good.set(database="nowhere")),
        "reader": text(good.set(username=roles[0], password="secret")),
        "half": text(good.set(username=roles[1], password="secret")),
        "outsider": text(good.set(username=roles[0], password="secret", database="every_verb_closed")),
        "newer": text(good.set(database="every_verb_newer")),
        "empty": text(good.set(database="every_verb_empty")),
    }
    for name in ("every_verb", "every_verb_closed", "every_verb_newer", "every_verb_empty"):
        postgres_server.drop_database(name)
    with postgres_server.connect() as by_hand:
        for role in roles:
            by_hand.execute(f"DROP ROLE {role}")


def settings(folder: Path, url: str) -> dict[str, str]:
    found = {
        "SHOAL_FOLDER": str(NOTHING),
        "SHOAL_WORKER__FOLDER": str(folder / "worker"),
        "SHOAL_CONNECT_TIMEOUT_S": "0.2",
        "SHOAL_SECRETS__KEYS": new_key(),
        "COLUMNS": "400",
    }
    return {**found, "SHOAL_DATABASE_URL": url} if url else found


def faults(name: str, condition: Condition, answer: Answer) -> Iterator[str]:
    """The faults in the answer of a verb to a condition."""
    said = answer.out + answer.err
    if "Traceback" in said or "Error:" in said:
        yield f"{name} ends with a traceback: {said[-300:]}"
    if name == "db psql":
        return  # psql itself says it
    if name in NEEDS_NO_DATABASE or (name == "db url" and condition.url):
        wanted, says = 0, ""
    elif name in BRINGS_ITS_OWN:
        wanted, says = 2, "brings its own database"
    elif name in NEEDS_A_SERVER:
        wanted, says = 2, "say to which server: --server"
    else:
        wanted, says = condition.codes.get(name, condition.code), condition.says
    if answer.code != wanted:
        yield f"{name} ends with {answer.code}, not {wanted}: {said[-300:]}"
    if says not in said:
        yield f"{name} does not say how to fix it: {said[-300:]}"
    spoken = [line for line in answer.err.splitlines() if not line.startswith(("{", "20"))]
    if wanted not in (0, 1) and name != "doctor" and (len(spoken) != 1 or not spoken[0].startswith("shoal: ")):
        yield f"{name} says more or less than one sentence: {answer.err[-300:]}"
    if "for now" in said:
        yield f"{name} says that it passes: {said[-300:]}"


@pytest.mark.parametrize(
    "wrong", [pytest.param(each, marks=pytest.mark.long if each in LIKE_OTHERS else ()) for each in CONDITIONS]
)
def test_each_verb_says_what_is_wrong_and_how_to_fix_it(
    wrong: str, urls: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = CONDITIONS[wrong]
    url = condition.url.format(**urls)
    environment = settings(tmp_path, url)
    apart = CommandLine.at(**environment)
    found: list[str] = []
    monkeypatch.chdir(tmp_path)
    for name, arguments in verbs():
        if name in condition.without or (name in BRINGS_ITS_OWN and (name == "demo" or not url)):
            continue
        if name == "config add-key":
            arguments = [*arguments, str(tmp_path / "keys")]
        if name in IN_A_PROCESS | BRINGS_ITS_OWN:
            answer = run(apart, arguments)
        else:
            answer = call(monkeypatch, arguments, environment)
        found += faults(name, condition, answer)
    assert not found, "\n".join(found)


def run(shoal: CommandLine, arguments: list[str]) -> Answer:
    return run_verb(arguments, shoal.environment)


def test_each_verb_can_be_shown_where_only_ascii_can(
    urls: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with names that are not ASCII, which come from others."""
    environment = settings(tmp_path, urls["good"])
    workflow = tmp_path / "wörkflow.yaml"
    workflow.write_text("name: größe\ntasks: [{name: ä, type: FAKE}]\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ARGUMENTS, "files", str(workflow))
    applied = call(monkeypatch, ["workflow", "apply", str(workflow)], environment, "ascii")
    assert "gr\\xf6\\xdfe" in applied.out, applied.err
    shown = call(monkeypatch, ["workflow", "show", "größe", "--json"], environment, "ascii")
    assert shown.json["name"] == "größe"
    absent = call(monkeypatch, ["run", "nichts…"], environment, "ascii")
    assert (absent.code, 'there is no workflow "nichts..."' in absent.sentence) == (5, True)
    for name, arguments in verbs():
        if name in IN_A_PROCESS | BRINGS_ITS_OWN:
            continue
        answer = call(monkeypatch, arguments, environment, "ascii")
        assert answer.code in (0, 1, 2, 5), (name, answer)
        helped = call(monkeypatch, [*arguments, "--help"], environment, "ascii")
        assert (helped.code, helped.err) == (0, ""), name


LOCALES = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=lambda each: next(iter(each)))
def test_another_locale_changes_neither_what_is_read_nor_whether_it_ends_well(
    locale: dict[str, str], urls: dict[str, str], tmp_path: Path
) -> None:
    workflow = tmp_path / "wörkflow.yaml"
    workflow.write_text("name: größe\ntasks: [{name: ä, type: FAKE}]\n", "utf-8")
    shoal = CommandLine.at(urls["good"], **locale)
    applied = run(shoal, ["workflow", "apply", str(workflow)])
    assert (applied.code, "gr\\xf6\\xdfe" in applied.out) == (0, True), applied.err
    started = run(shoal, ["run", "größe", "-p", "name=Ægir", "--json"])
    assert started.code == 0, started.err
    plain = make_url(urls["good"]).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        row = connection.execute("SELECT params FROM command ORDER BY id DESC LIMIT 1").fetchone()
    assert row is not None
    assert "Ægir" in row[0] or "\\u00c6gir" in row[0]


def test_an_argument_that_is_not_utf_8_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = call(monkeypatch, ["show", "\udcff"], {})
    assert (answer.code, answer.sentence) == (2, "the argument '\\udcff' is not UTF-8; write it in UTF-8")
