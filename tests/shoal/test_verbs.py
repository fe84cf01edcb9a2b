"""Properties of all verbs."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from model.errors import Denied, Fenced, InvalidSettings, NotFound, Refused, Unavailable
from node.watchdog import HUNG_EXIT_CODE
from shoal.cli import app, exit_codes
from shoal.cli.invocation import Invocation
from shoal.cli.on_demand import GROUPS, MODULES
from shoal.cli.verbs import verb
from shoal.process import HARD_STOP_EXIT_CODE
from tests.every import every

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text()
NAMING = ["*.py", "*.md", "*.ts", "*.tsx", "ui/src/*.json", "*.sql", "*.yml", "*.yaml", "*.service", "Makefile"]
VERBS_MAX = 30


def _verbs(group: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            if command.callback is not None:
                yield " ".join((*path, name)), command
            yield from _verbs(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


VERBS = dict(_verbs(typer.main.get_command(app), ("shoal",)))


@every("name", VERBS)
def test_every_verb_begins_its_help_with_an_example_and_has_the_options_of_all(name: str) -> None:
    first_line = VERBS[name].help.splitlines()[1].strip()
    assert first_line.startswith(name)
    options = {option for parameter in VERBS[name].params for option in parameter.opts}
    assert {"--json", "--utc", "--database-url", "--registry-url", "--config"} <= options


@every("name", [name for name, verb in VERBS.items() if not verb.hidden])
def test_every_verb_stands_in_the_documentation(name: str) -> None:
    assert f"$ {name}" in PAGE


def test_exit_codes_tell_what_kind_of_error_it_was() -> None:
    assert exit_codes.of_error(Refused("")) == 2
    assert exit_codes.of_error(Unavailable("")) == 3
    assert exit_codes.of_error(NotFound("")) == 5
    assert exit_codes.of_error(Fenced("")) == 1
    assert exit_codes.of_error(Denied("")) == 77
    assert exit_codes.of_error(InvalidSettings("")) == 78


def test_the_page_lists_each_exit_code_and_no_other() -> None:
    listed = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", PAGE)}
    own = {code for name, code in vars(exit_codes).items() if name.isupper() and isinstance(code, int)}
    assert listed == {0, *own, HUNG_EXIT_CODE, HARD_STOP_EXIT_CODE}
    final = {int(code) for code in re.findall(r"(?m)^\| (\d+) \|.*\| no \|$", PAGE)}
    of_verbs = {0, exit_codes.FORBIDDEN, exit_codes.NOT_FOUND}
    assert final == {*of_verbs, *exit_codes.PERMANENT}


@every("module", sorted(set(MODULES.values())))
def test_each_module_adds_the_verbs_that_are_listed_for_it(module: str) -> None:
    group = typer.Typer()
    import_module(f"shoal.cli.{module}").add_to(group)
    listed = {name for name, home in MODULES.items() if home == module}
    assert set(typer.main.get_group(group).commands) == listed


def test_the_help_has_few_verbs() -> None:
    assert len(MODULES) <= VERBS_MAX


NAMED = re.compile(r"(?:`|\$ |: )shoal ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?: ([a-z][a-z-]*))?")
"""Where a text says what to type: in backticks, after a prompt, or after what it is for."""


def test_every_text_names_verbs_that_exist() -> None:
    listed = subprocess.run(["git", "ls-files", *NAMING], cwd=ROOT, capture_output=True, text=True, check=True)
    unknown = {
        f"{file}: {found[0]}"
        for file in listed.stdout.splitlines()
        for found in NAMED.finditer((ROOT / file).read_text("utf-8"))
        if not _is_verb(found.groups())
    }
    assert not unknown


def _is_verb(words: tuple[str | None, ...]) -> bool:
    """Whether the words begin with a verb or a group; what follows a verb are its arguments."""
    group: Any = typer.main.get_command(app)
    for word in words:
        if word is None or not hasattr(group, "commands"):
            return True
        if word not in group.commands:
            return bool(group.invoke_without_command)
        group = group.commands[word]
    return True


def test_a_list_is_a_verb_of_its_noun_except_that_of_runs() -> None:
    assert [name for name in MODULES if f"{name}s" in MODULES] == ["run"]


def test_the_help_lists_the_verbs_in_groups() -> None:
    lines = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output.splitlines()
    titles = [line.strip("╭─╮ ") for line in lines if line.startswith("╭")]
    assert titles == ["Options", *GROUPS]
    first = lines[lines.index(next(line for line in lines if line.startswith("╭─ Runs"))) + 1]
    assert first.split()[1] == "run"


def test_the_garbage_collector_rests_until_a_verb_waits() -> None:
    seen = []
    group = typer.Typer()

    @verb(group, "shoal wait")
    async def wait(_call: Invocation) -> None:
        """See the collector before and after a pause."""
        seen.append(gc.isenabled())
        await asyncio.sleep(0)
        seen.append(gc.isenabled())

    gc.disable()  # as `main` does
    try:
        group([], standalone_mode=False)
        assert seen == [False, True]
    finally:
        gc.enable()


def test_a_verb_that_stands_below_a_group_is_found_there() -> None:
    said = [CliRunner().invoke(app, [word, "x"], env={"COLUMNS": "200"}).stderr for word in ("import", "apply", "sink")]
    assert "No such command 'import'. Did you mean 'workflow import'?" in said[0]
    assert "No such command 'apply'. Did you mean 'workflow apply', 'pool apply'?" in said[1]
    assert "Did you mean" not in said[2]
