"""The pages list exactly what exists: fields of definitions, dependencies; and their links have targets."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from model.definitions.workflow import TaskSpec, WorkflowSpec
from service.workflows.workflow_file import Head
from tests.every import every

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_the_page_on_workflows_names_every_field() -> None:
    text = (ROOT / "docs" / "guides" / "workflows.md").read_text("utf-8")
    rows = {
        name for line in text.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    fields = {*Head.model_fields, *WorkflowSpec.model_fields, *TaskSpec.model_fields}
    assert not fields - rows


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[\[<>=,]", each)[0] for each in wanted} - {"shoal"}
    rows = (ROOT / "docs" / "reference" / "dependencies.md").read_text("utf-8").split("|")
    told = {name for row in rows for name in re.findall(r"[\w.-]+", row)}
    assert not names - told


def test_the_index_has_a_line_for_each_page() -> None:
    """Task types and commands have indexes of their own."""
    docs = ROOT / "docs"
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")} - {"README.md"}
    pages = {page for page in pages if page.endswith("/README.md") or not re.match("reference/(tasks|commands)/", page)}
    listed = re.findall(r"(?m)^\| \[[^\]]+\]\(([^)]+)\)", (docs / "README.md").read_text("utf-8"))
    assert sorted(listed) == sorted(pages)


@every("page", PAGES)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text("utf-8"))
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    wrong = [link for link in links if not _is_there(page, link)]
    assert not wrong


def _is_there(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists() or not anchor:
        return target.exists()
    headings = re.findall(r"(?m)^#+ (.+)$", target.read_text("utf-8"))
    return anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
