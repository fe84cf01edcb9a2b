"""The example plug-in, built and installed as a stranger would, and run by a worker that knew nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from tests.worker.errand import Errands, claimed
from worker.launcher.client import Launcher

async def main():
    launcher = Launcher(grace_s=0.5)
    errands = Errands(launcher, Path(sys.argv[1]))
    end = await errands.run(claimed(sys.argv[2], params=json.loads(sys.argv[3]), values={"name": "x"}))
    await launcher.close()
    print(json.dumps([end.state, end.reason, json.loads(end.outputs or "{}"), errands.log]))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH with the plug-in: its wheel, unpacked, which is all that pip does to it."""
    folder = tmp_path_factory.mktemp("plugin")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT / "examples" / "plugin", check=True, capture_output=True, timeout=180)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(path: list[Path], folder: Path, type_: str, **params: object) -> list[object]:
    """State, reason, outputs and log of one task, run in a process with these folders in its path."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), type_, json.dumps(params)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *path]))},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    result: list[object] = json.loads(done.stdout)
    return result


def test_the_example_plug_in_is_found_and_runs(installed: Path, tmp_path: Path) -> None:
    assert run([installed], tmp_path, "WORDCOUNT", text="to be or not to be ${name}") == [
        "SUCCESS",
        "",
        {"words": "7", "most": "to"},
        '7 words, most often "to"\n',
    ]


def test_its_processes_give_values_like_those_of_shell(installed: Path, tmp_path: Path) -> None:
    assert run([installed], tmp_path, "SORTWORDS", text="to be or not") == [
        "SUCCESS",
        "",
        {"first": "be"},
        "be\nnot\nor\nto\n#{setValue(first=be)}\n",
    ]


def test_its_wrong_parameters_are_named_like_those_of_any_type(installed: Path, tmp_path: Path) -> None:
    _, reason, _, _ = run([installed], tmp_path, "WORDCOUNT", text=5, words_max=0)
    assert reason == (
        "WORDCOUNT parameters: text: Input should be a valid string; "
        "words_max: Input should be greater than or equal to 1"
    )


def test_without_it_the_type_is_unknown(tmp_path: Path) -> None:
    _, reason, _, _ = run([], tmp_path, "WORDCOUNT", text="x")
    assert str(reason).startswith('there is no task type "WORDCOUNT"; known: ')
