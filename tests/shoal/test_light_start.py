"""`shoal --version`, the help and lists must answer at once: nothing is imported for them that they do not use."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

from tests.api.serving import serving, token_of

HEAVY = ["sqlalchemy", "psycopg", "pydantic_settings", "httpx", "uvicorn", "starlette", "kazoo", "ruamel", "psutil"]
BESIDES = {"--version": ("rich", "structlog"), "--help": ("pydantic",)}
"""The help loads all modules with verbs, and parses no option: Typer does that with pydantic."""
SCRIPT = """
import os
import sys
from shoal.cli import main
for arguments, heavy in {calls!r}:
    if os.fork():
        assert os.wait()[1] == 0, arguments
        continue
    sys.argv = ["shoal", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print("heavy:", arguments, [name for name in heavy if name in sys.modules], flush=True)
    os._exit(0)
"""
"""Each call is a fork of a process that has imported no more than `main`, which they all do."""


def loaded_by(calls: Sequence[tuple[Sequence[str], Sequence[str]]], **environment: str) -> list[str]:
    """The loaded modules among those given with each successful call; a line for each call that loaded any."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(calls=calls)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("heavy:")]
    assert len(said) == len(calls), done.stdout
    return [line for line in said if not line.endswith(" []")]


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    calls = ["--version"], ["--help"], ["runs", "--help"], ["queue", "errors", "--help"]
    assert loaded_by([(each, [*HEAVY, *BESIDES.get(each[0], ())]) for each in calls]) == []


LISTS = [
    *(
        ["runs"],
        ["task", "list"],
        ["workflow", "list"],
        ["schedule", "list"],
        ["queue"],
        ["queue", "errors"],
        ["master", "list"],
    ),
    *(["worker", "list"], ["datasource", "list"], ["environment", "list"], ["user", "audit"], ["user", "list"]),
    *(["pool", "list"], ["alert", "list"], ["alert", "channel", "list"], ["alert", "silence", "list"]),
]
ON_DATABASE = [
    "sqlalchemy",
    "structlog",
    "httpx",
    "kazoo",
    "ruamel",
    "cryptography",
    "psutil",
    "model.definitions.plan",
]
THROUGH_API = ["sqlalchemy", "psycopg", "argon2", "structlog", "kazoo", "ruamel", "cryptography", "psutil"]
CHECKS_DEFINITIONS = (["queue", "errors"],)
"""Their requests correct starts."""
LIMITS_BESIDE_STATEMENTS = (["datasource", "list"], ["environment", "list"])
"""Their requests have limits that stand in `dao/`."""


def test_a_list_from_the_database_imports_only_what_it_uses(database_url: str) -> None:
    assert loaded_by([(each, ON_DATABASE) for each in LISTS], SHOAL_DATABASE_URL=database_url) == []


async def test_a_list_through_an_api_imports_no_statement(database_url: str) -> None:
    calls = [
        (each, THROUGH_API if each in CHECKS_DEFINITIONS else [*THROUGH_API, "model.definitions.workflow"])
        for each in LISTS
        if each not in LIMITS_BESIDE_STATEMENTS
    ]
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        assert await asyncio.to_thread(loaded_by, calls, SHOAL_SERVER=api.url, SHOAL_TOKEN=token) == []
