"""What a stranger meets first: a README that leads on, readable files, nothing of one developer's machine."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import LONG, PARTLY_LONG, short_name
from tests.every import every

ROOT = Path(__file__).parent.parent
FOLDERS = (
    "model",
    "http_server",
    "metrics",
    "dao",
    "registry",
    "logstore",
    "node",
    "service",
    "master",
    "worker",
    "api",
    "alert",
    "importers",
    "shoal",
    "sdk",
    "ui",
    "sql",
    "tests",
    "bench",
    "examples",
    "deploy",
    "docs",
)
LINES_MAX = 450
NOT_OURS = {
    ".git",
    ".venv",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    "__pycache__",
    "dist",
    "build",
    "node_modules",
    "schema.d.ts",
}
BUILT_PAGE = ROOT / "api" / "page"
INVENTED = ("/home/ada",)
"""Paths of people who do not exist, for tests and examples."""


@cache
def files() -> tuple[Path, ...]:
    """Every file that is ours."""
    return tuple(sorted(_walk()))


def _walk() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in NOT_OURS and not name.endswith(".egg-info") and Path(folder, name) != BUILT_PAGE
        ]
        yield from (Path(folder, name) for name in names if name not in NOT_OURS)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_files() -> list[Path]:
    return [path for path in files() if path.suffix == ".py"]


def text_of(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


# ------------------------------------------------------------------------------------------------ the README


def test_the_readme_begins_with_what_it_is_and_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text("utf-8").splitlines()[:40]
    assert first_screen, "README.md is empty"
    assert first_screen[0].startswith("# ")
    for command in ("make demo", "make test"):
        assert any(command in line for line in first_screen), f"`{command}` is not on the first screen of README.md"


@every("folder", FOLDERS)
def test_the_readme_has_a_line_for_each_folder(folder: str) -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert any(re.search(rf"\b{folder}/", line) for line in lines), f"README.md does not say what {folder}/ is"


def test_no_folder_is_left_off_the_map() -> None:
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert found - NOT_OURS <= set(FOLDERS)


def test_what_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#\s]+)", (ROOT / "README.md").read_text("utf-8"))
    assert links, "a capability is a link: README.md has none"
    assert not [link for link in links if "://" not in link and not (ROOT / link).exists()]


def test_the_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))
    assert {"demo", "test", "check", "help"} <= targets
    told = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text("utf-8")))
    assert told <= targets


def test_the_licence_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8"), "LICENSE is empty or another one"


# ----------------------------------------------------------------------------------------- nobody's machine


def test_no_file_names_the_machine_of_a_developer() -> None:
    """A path of one machine works on that one only, and tells strangers a name."""
    home = re.compile(r"(?<![\w.}])/(?:home|Users)/[A-Za-z][\w.-]*")
    wrong = []
    for path in files():
        content = text_of(path)
        found = {match for match in home.findall(content) if match not in INVENTED}
        if len(ROOT.parts) > 2 and re.search(rf"{re.escape(str(ROOT))}(?![\w-])", content):
            found.add(str(ROOT))
        wrong += [f"{name_of(path)}: {match}" for match in sorted(found)]
    assert not wrong


def test_no_file_names_the_host_of_a_package_registry() -> None:
    """Users choose where packages come from: a mirror, a cache, a company's own."""
    hosts = [".".join(parts) for parts in [
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("crates", "io"),
        ("proxy", "golang", "org"), ("rubygems", "org"), ("maven", "org"), ("anaconda", "org"),
        ("deb", "debian", "org"), ("archive", "ubuntu", "com"),
    ]]  # fmt: skip
    wrong = [f"{name_of(path)}: {host}" for path in files() for host in hosts if host in text_of(path)]
    assert not wrong
    options = re.compile(r"--(?:extra-)?index-url|--find-links|--trusted-host")
    assert not [name_of(path) for path in files() if path != Path(__file__) and options.search(text_of(path))]


# ---------------------------------------------------------------------------------------- files can be read


def test_a_module_says_first_what_it_is() -> None:
    """The first lines of a module say its rule: a sentence, ended on its first line."""
    wrong = []
    for path in python_files():
        content = path.read_text("utf-8")
        if path.name == "__init__.py" and not content.strip():
            continue
        first = re.match(r'(?:#.*\n|\s)*r?"""(.+?[.`:)?])(?:\n|""")', content)
        if first is None:
            wrong.append(name_of(path))
    assert not wrong


def test_an_empty_init_is_only_found_among_the_tests() -> None:
    empty = [path for path in python_files() if path.name == "__init__.py" and not path.read_text("utf-8").strip()]
    assert not [name_of(path) for path in empty if path.relative_to(ROOT).parts[0] != "tests"]


def test_no_file_is_longer_than_a_person_reads_at_once() -> None:
    lines = {name_of(path): text_of(path).count("\n") for path in python_files()}
    assert not {name: count for name, count in lines.items() if count > LINES_MAX}, "it holds two concepts: find them"


def test_text_ends_with_a_newline_and_has_no_carriage_returns() -> None:
    ours = {".py", ".md", ".sql", ".toml", ".yaml", ".yml"}
    texts = {path: path.read_bytes() for path in files() if path.suffix in ours or path.name == "Makefile"}
    assert not [name_of(path) for path, data in texts.items() if b"\r" in data or (data and not data.endswith(b"\n"))]


def test_a_run_of_the_longest_tests_reads_every_file_that_has_some() -> None:
    """Otherwise nothing would run the longest tests of a file that `conftest.py` does not name."""
    mark = "pytest.mark." + "long"
    tests = [path for path in python_files() if path.name.startswith("test_")]
    assert {short_name(path) for path in tests if mark in text_of(path)} == PARTLY_LONG
    assert {short_name(path) for path in tests} >= LONG


def test_every_test_has_a_sentence_for_a_name() -> None:
    """At least three words: who, what, and of whom."""
    wrong = [
        f"{name_of(path)}: {name}"
        for path in python_files()
        if path.name.startswith("test_")
        for name in re.findall(r"(?m)^ *(?:async )?def (test_\w+)", text_of(path))
        if name.count("_") < 3
    ]
    assert not wrong
