"""Each example does what its header says, on a private `shoal up`: the same code as `make examples`.

Only the `shoal` that the lines call is another: it is forked from a process that has imported it, which saves a second
of processor time a line. `make examples` types the real one.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from examples.run import FOLDER, ROOT, Shell, Step, file_of, names, running, steps
from tests.every import every
from tests.servers.child import Child, PrivateFolder

TAUGHT = {
    "etl_sqlite_duckdb",
    "hourly_etl",
    "fan_out_fan_in",
    "sub_workflows",
    "switch",
    "conditions",
    "retry",
    "backfill",
    "dependent",
    "dynamic",
    "parameters",
}


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    """A folder with a `shoal` that begins where its imports end."""
    folder = PrivateFolder("shoal-warm-", runs_programs=True)
    place, program = folder.path / "place", [sys.executable, str(ROOT / "tests/newcomer/warm_shoal.py")]
    typed = folder.path / "shoal"
    typed.write_text(f'#!/bin/sh\nexec {program[0]} -IS {program[1]} call {place} "$@"\n')
    typed.chmod(0o755)
    serving = Child.of([*program, "serve", str(place)], cwd=ROOT, log=folder.path / "log")
    try:
        serving.wait_until(place.exists, 60)
        yield folder.path
    finally:
        serving.kill()
        folder.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shell(warm: Path) -> AsyncIterator[Shell]:
    """One `shoal up` for all of them."""
    async with running(warm) as found:
        yield found


@pytest.mark.parametrize("name", names())
@pytest.mark.asyncio(loop_scope="module")
async def test_an_example_does_what_its_header_says(shell: Shell, name: str) -> None:
    result = await shell.run(name)
    assert not result.fault, result.fault


@pytest.mark.asyncio(loop_scope="module")
async def test_an_example_that_does_something_else_is_found_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, shown, fault in (
        ("shoal runs --limit 1 | wc -l", "a lot", "ended with 0, should print\na lot"),
        ("false", "", "ended with 1, printed"),
    ):
        monkeypatch.setattr("examples.run.steps", partial(_only, Step(typed, shown)))
        assert fault in (await shell.run("hello")).fault


def _only(step: Step, _name: str) -> list[Step]:
    return [step]


def test_all_that_there_is_to_teach_has_an_example() -> None:
    assert set(names()) >= TAUGHT


@every("name", names())
def test_an_example_says_how_it_is_run_by_hand(name: str) -> None:
    typed = [step.typed for step in steps(name)]
    assert f"shoal workflow apply {file_of(name).relative_to(ROOT)}" in typed


def test_the_list_of_examples_is_whole() -> None:
    listed = (FOLDER / "README.md").read_text("utf-8")
    assert not [name for name in names() if f"({file_of(name).relative_to(FOLDER)})" not in listed]
