"""What a worker says of settings that it cannot use: the sentence, and the exit code that no supervisor tries again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine

UNUSABLE = {
    "SHOAL_SECRETS__KEYS": ("this is not a key", "key 1 of 1 for secrets is not a key"),
    "SHOAL_WORKER__FOLDER": ("/proc/shoal", "the worker's folder /proc/shoal cannot be written"),
    "SHOAL_WORKER__DEFAULT_TENANT": ("no-such-user", "worker.default_tenant cannot be used: "),
}


@pytest.mark.parametrize("variable", UNUSABLE)
async def test_a_setting_that_it_cannot_use_has_its_exit_code(database_url: str, tmp_path: Path, variable: str) -> None:
    value, said = UNUSABLE[variable]
    given = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker"), variable: value}
    worker = await CommandLine.at(database_url, **given)("worker", "--name", "w1")
    assert (worker.code, said in worker.err.replace("\n", " ")) == (78, True), worker.err
