"""`shoal --version` and the help must answer at once: nothing heavy is imported for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["sqlalchemy", "psycopg", "pydantic_settings", "httpx", "uvicorn", "starlette", "kazoo", "ruamel", "psutil"]
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


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["runs", "--help"], ["errors", "--help"]])
def test_nothing_heavy_is_imported_before_it_is_needed(arguments: list[str]) -> None:
    heavy = HEAVY if arguments != ["--version"] else [*HEAVY, "rich", "structlog"]
    script = SCRIPT.format(arguments=arguments, heavy=heavy)
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "heavy: []"
