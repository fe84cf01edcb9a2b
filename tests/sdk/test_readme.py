"""The README of the SDK, typed as it stands: files, commands, and what these print; its types by mypy and pyright."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.sdk.conftest import ROOT, Shoal

README = (ROOT / "sdk" / "README.md").read_text("utf-8")
BLOCK = re.compile(r"(?ms)^```(python)?\n(.*?)^```$")


def test_its_lines_do_what_it_says(shoal: Shoal, tmp_path: Path) -> None:
    script, expected = ["set -e"], []
    for language, text in BLOCK.findall(README):
        if language:
            name, _, content = text.removeprefix("# ").partition("\n")
            (tmp_path / name).write_text(content)
            continue
        for line in text.splitlines():
            command = line.removeprefix("$ ")
            if command == line:
                expected += [line] if "$ " in text else []
            elif command.startswith(("shoal-sdk", "python start")):  # the verbs of `shoal` are asked on the database
                script.append(f"SHOAL_SERVER={shoal.url} {command}")
            else:
                script.append(command + (" > /dev/null" if "pytest" in command else ""))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **shoal.cluster.environment, "PATH": path, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    said, told = (re.sub(r"(?m)^run \d+ of", "run N of", text) for text in (done.stdout, "\n".join(expected)))
    assert (done.returncode, said.splitlines()) == (0, told.splitlines()), done.stderr
    files = [f"{name}.py" for name in ("flows", "start", "reports", "test_flows")]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "sdk")}
    checked = {"typeCheckingMode": "strict", "include": files, "extraPaths": [str(ROOT / "sdk")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(checked))  # pyright with a Node of its own in the wheel
    for checker in (["mypy", "--strict", "--config-file=", *files], ["basedpyright", "--pythonpath", sys.executable]):
        types = subprocess.run(
            [sys.executable, "-m", *checker], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert types.returncode == 0, types.stdout
