"""The README of the SDK: its types by mypy and pyright. `tests/test_wheel.py` types its lines as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.test_repository import ROOT

README = (ROOT / "sdk" / "README.md").read_text("utf-8")
BLOCK = re.compile(r"(?ms)^```(python)?\n(.*?)^```$")


def write_files(folder: Path) -> None:
    """The files that it shows."""
    for language, text in BLOCK.findall(README):
        if language:
            name, _, content = text.removeprefix("# ").partition("\n")
            (folder / name).write_text(content)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each line that it types, and what it says is printed then."""
    for language, text in BLOCK.findall(README):
        if not language and text.startswith("$ "):
            for part in text.removeprefix("$ ").split("\n$ "):
                command, *said = part.splitlines()
                yield command, said


def test_its_types_are_right(tmp_path: Path) -> None:
    write_files(tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    environment = {**os.environ, "MYPYPATH": str(ROOT / "sdk")}
    checked = {"typeCheckingMode": "strict", "include": files, "extraPaths": [str(ROOT / "sdk")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(checked))  # pyright with a Node of its own in the wheel
    for checker in (["mypy", "--strict", "--config-file=", *files], ["basedpyright", "--pythonpath", sys.executable]):
        types = subprocess.run(
            [sys.executable, "-m", *checker], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert types.returncode == 0, types.stdout
