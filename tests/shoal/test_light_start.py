"""`shoal --version`, the help and lists must answer at once: nothing is imported for them that they do not use."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from tests.api.serving import serving, token_of

HEAVY = ["sqlalchemy", "psycopg", "pydantic_settings", "httpx", "uvicorn", "starlette", "kazoo", "ruamel", "psutil"]
BESIDES = {"--version": ("rich", "structlog"), "--help": ("pydantic",)}
"""The help loads all modules with verbs, and parses no option: Typer does that with pydantic."""
SCRIPT = """
import sys
from shoal.cli import main
sys.argv = ["shoal", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("heavy:", [name for name in {heavy!r} if name in sys.modules])
"""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["runs", "--help"], ["queue", "errors", "--help"]])
def test_nothing_heavy_is_imported_before_it_is_needed(arguments: list[str]) -> None:
    heavy = [*HEAVY, *BESIDES.get(arguments[0], ())]
    script = SCRIPT.format(arguments=arguments, heavy=heavy)
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "heavy: []"


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
    "sqlalchemy.orm",
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
"""Its requests correct starts."""
LIMITS_BESIDE_STATEMENTS = (["datasource", "list"], ["environment", "list"])
"""Their requests have limits that stand in `dao/`."""


def loaded_by(arguments: list[str], heavy: list[str], **environment: str) -> str:
    """What a verb that succeeds prints last: which of these modules it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(arguments=arguments, heavy=heavy)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_a_list_from_the_database_imports_only_what_it_uses(arguments: list[str], database_url: str) -> None:
    assert loaded_by(arguments, ON_DATABASE, SHOAL_DATABASE_URL=database_url) == "heavy: []"


async def test_a_list_through_an_api_imports_no_statement(database_url: str) -> None:
    lists = [each for each in LISTS if each not in LIMITS_BESIDE_STATEMENTS]
    async with serving(database_url) as api:
        token = await token_of(api.backend, "ada", is_admin=True)
        for arguments in lists:
            heavy = THROUGH_API if arguments in CHECKS_DEFINITIONS else [*THROUGH_API, "model.definitions.workflow"]
            loaded = await asyncio.to_thread(loaded_by, arguments, heavy, SHOAL_SERVER=api.url, SHOAL_TOKEN=token)
            assert loaded == "heavy: []", arguments
