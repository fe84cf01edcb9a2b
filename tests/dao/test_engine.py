"""SQLAlchemy's engine without its ORM, and with it for whoever asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = "from dao.postgres.engine import AsyncConnection as Ours"
THEIRS = "import sqlalchemy.ext.asyncio"
ORDERS = {
    "the engine first": f"{OURS}\n{{check}}\n{THEIRS}",
    "the package first": f"{THEIRS}\n{OURS}",
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_plug_in_that_uses_the_orm_gets_the_same_classes(order: str) -> None:
    script = ORDERS[order].format(check="import sys; assert 'sqlalchemy.orm' not in sys.modules")
    script += "\nfrom sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_sessionmaker"
    script += "\nassert AsyncConnection is Ours\nassert sqlalchemy.ext.asyncio.engine.AsyncConnection is Ours"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nobody_but_the_module_imports_the_package() -> None:
    folders = ["model", "dao", "registry", "node", "master", "worker", "service", "api", "shoal"]
    found = {
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if "from sqlalchemy.ext.asyncio" in path.read_text("utf-8")
    }
    assert found == {"dao/postgres/engine.py"}
