"""The README of the SDK, typed as it stands: files, commands, and what these print; its types by mypy and pyright."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.sdk.conftest import ROOT, Shoal

README = (ROOT / "sdk" / "README.md").read_text("utf-8")
BLOCK = re.compile(r"(?ms)^```(python)?\n(.*?)^```$")


def type_lines(folder: Path, variables: Mapping[str, str], server: str) -> float:
    """Write its files and type its lines, which must print what it shows; returns after how many seconds the first
    flow has ended."""
    for language, text in BLOCK.findall(README):
        if language:
            name, _, content = text.removeprefix("# ").partition("\n")
            (folder / name).write_text(content)
    environment, began, first_flow_s = dict(variables), time.monotonic(), 0.0
    for command, expected in _commands():
        typed, exported = command, ""
        if command.startswith("export "):
            exported, _, typed = command.removeprefix("export ").partition("=")
            typed = f"echo {typed}"
        elif command.startswith(("shoal-sdk", "python start")):  # the verbs of `shoal` are asked on the database
            typed = f"SHOAL_SERVER={server} {command}"
        done = subprocess.run(
            ["bash", "-c", typed], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        if exported:
            environment[exported] = done.stdout.strip()
        elif "pytest" not in command:
            said, told = (re.sub(r"(?m)^run \d+ of", "run N of", each) for each in (done.stdout, "\n".join(expected)))
            assert said.splitlines() == told.splitlines()
        if "shoal-sdk run" in command:
            first_flow_s = first_flow_s or time.monotonic() - began
    assert first_flow_s
    return first_flow_s


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Each line that it types, and what it says is printed then."""
    for language, text in BLOCK.findall(README):
        if not language and text.startswith("$ "):
            for part in text.removeprefix("$ ").split("\n$ "):
                command, *said = part.splitlines()
                yield command, said


def test_its_lines_do_what_it_says_and_its_types_are_right(stored_shoal: Shoal, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    folder = tmp_path / "typed"
    folder.mkdir()
    shared = {**os.environ, **stored_shoal.cluster.environment, "PATH": path, "PYTHONPATH": str(folder)}
    type_lines(folder, shared, stored_shoal.url)
    files = [f"{name}.py" for name in ("flows", "start", "reports", "test_flows")]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "sdk")}
    checked = {"typeCheckingMode": "strict", "include": files, "extraPaths": [str(ROOT / "sdk")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(checked))  # pyright with a Node of its own in the wheel
    for checker in (["mypy", "--strict", "--config-file=", *files], ["basedpyright", "--pythonpath", sys.executable]):
        types = subprocess.run(
            [sys.executable, "-m", *checker], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert types.returncode == 0, types.stdout
