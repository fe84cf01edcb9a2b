"""The pages about commands, logic tasks and parameters show what happens; and each of these has a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.logic.catalog import LOGIC_TYPES
from model.runs.command_moves import CommandType
from tests.every import every
from tests.scenarios.engine import Engine
from tests.scenarios.pages import DOCS, Page

COMMANDS = [DOCS / "reference" / "commands" / f"{type_.lower().replace('_', '-')}.md" for type_ in CommandType]
LOGIC_TASKS = [DOCS / "reference" / "tasks" / f"{type_.lower()}.md" for type_ in LOGIC_TYPES]
OTHERS = [
    DOCS / "reference" / "parameters.md",
    DOCS / "reference" / "tasks" / "each.md",
    DOCS / "concepts" / "execution-types.md",
]


@pytest.mark.parametrize("page", [*COMMANDS, *LOGIC_TASKS, *OTHERS], ids=lambda path: path.stem)
async def test_what_a_page_shows_is_what_happens(engine: Engine, page: Path) -> None:
    assert await Page(engine, page).run() > 0


@pytest.mark.parametrize("folder", ["commands", "tasks"])
def test_the_index_names_every_page(folder: str) -> None:
    index = (DOCS / "reference" / folder / "README.md").read_text("utf-8")
    pages = {path.name for path in (DOCS / "reference" / folder).glob("*.md")} - {"README.md"}
    assert not [name for name in sorted(pages) if f"]({name})" not in index]


@every("page", COMMANDS)
def test_a_page_of_a_command_gives_its_insert(page: Path) -> None:
    type_ = page.stem.upper().replace("-", "_")
    text = page.read_text("utf-8")
    assert text.startswith(f"# {type_}: ")
    assert "INSERT INTO command" in text
    assert f"'{type_}'" in text


@pytest.mark.parametrize("type_", LOGIC_TYPES)
def test_a_page_of_a_logic_task_names_every_field(type_: str) -> None:
    text = (DOCS / "reference" / "tasks" / f"{type_.lower()}.md").read_text("utf-8")
    assert not [name for name in LOGIC_TYPES[type_].model_fields if f"`{name}`" not in text]
