"""Builds the wheel: every folder of the product goes below `shoal/`, with its imports rewritten.

In the repository the layers are top-level packages (`model`, `dao`, `worker` ...). Such names must not get into a
site-packages that other packages share. `sources` in pyproject.toml moves the files; this hook rewrites what names a
module of ours: imports, `files("...")`, `import_module("...")` and entry points. An editable install is left alone.

The wheel `shoal-model` (sdk/rules) has the same, of some modules and of all that they import, below `shoal_model/`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME = "shoal"
PAGE = "api/page/index.html"
OF_COPIES = b'[tool.hatch.build.targets.wheel]\npackages = ["%s"]\n'
NAMES_A_MODULE = {"files", "import_module"}
"""Functions whose first argument, if it is a text, is the name of a module."""


class BelowShoal(BuildHookInterface[Any]):
    """Gives hatchling the rewritten copy of each module in place of the original, and builds the web page before."""

    def dependencies(self) -> list[str]:
        """What the build needs: Node, if the page is not built yet."""
        if Path(self.root, PAGE).exists() or "modules" in self.config:
            return []
        return Path(self.root, "ui", "node.in").read_text("utf-8").split()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build. Raises `SyntaxError` for an import that cannot be rewritten, `CalledProcessError`
        if the web page cannot be built."""
        if version != "standard":
            return
        if "modules" in self.config:
            self._take(build_data)
            return
        if not Path(self.root, PAGE).exists():
            subprocess.run([sys.executable, str(Path(self.root, "ui", "page.py")), "require"], check=True)
        moved = {folder for folder in self.build_config.only_include.values() if folder != HOME}
        self._copies = TemporaryDirectory(prefix="shoal-wheel-")
        for number, file in enumerate(self.build_config.builder.recurse_selected_project_files()):
            original = Path(file.path)
            if original.suffix == ".py":
                source = original.read_bytes()
                if (rewritten := below_shoal(source, moved, file.relative_path)) != source:
                    copy = Path(self._copies.name, f"{number}.py")
                    copy.write_bytes(rewritten)
                    copy.chmod(original.stat().st_mode)
                    build_data["force_include"][str(copy)] = file.distribution_path
        for group in self.metadata.core.entry_points.values():
            group.update({name: f"{HOME}.{target}" for name, target in group.items() if _top(target) in moved})

    def _take(self, build_data: dict[str, Any]) -> None:
        """Give hatchling the rewritten copies of modules of the repository, with what they import."""
        tree, home = Path(self.root, self.config["path"]).resolve().parent, self.config["home"]
        self._copies = TemporaryDirectory(prefix="shoal-wheel-")
        found = closure(tree, self.config["modules"])
        moved = {_top(each) for each in found}
        taken = {f"{home}/__init__.py": b""}
        for name, path in found.items():
            taken[f"{home}/{path.relative_to(tree)}"] = below_shoal(path.read_bytes(), moved, name, home)
        if self.target_name == "sdist":  # it has the copies, and is built without this hook and the repository
            own = Path(self.root, "pyproject.toml")
            taken[own.name] = own.read_bytes().partition(b"[tool.hatch")[0] + OF_COPIES % home.encode()
            del build_data["force_include"][str(own)]
        for number, (place, source) in enumerate(taken.items()):
            copy = Path(self._copies.name, str(number))
            copy.write_bytes(source)
            build_data["force_include"][str(copy)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Called after each build."""
        if version == "standard":
            self._copies.cleanup()


def closure(tree: Path, modules: list[str]) -> dict[str, Path]:
    """The modules of a tree by their names: these, their packages, and what they import when they run."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        place = tree.joinpath(*name.split("."))
        path = place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"
        if name in found or not path.is_file():
            continue
        found[name] = path
        todo += [name.rpartition(".")[0]] if "." in name else []
        parsed = ast.parse(path.read_bytes())
        for_types = [each for each in ast.walk(parsed) if isinstance(each, ast.If) and _is_for_types(each)]
        unused = {id(each) for block in for_types for each in ast.walk(block)}
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level and id(node) not in unused:
                todo += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return found


def _is_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def below_shoal(source: bytes, moved: set[str], name: str, home: str = HOME) -> bytes:
    """A module's source, with the packages `moved` named as `shoal.model` and so on; its lines stay where they are.

    Raises:
        SyntaxError: `import model.names` binds `model`, which would be another object then.
    """
    lines = source.splitlines(keepends=True)
    for line, column, old, new in sorted(_changes(ast.parse(source), moved, name, home), reverse=True):
        text = lines[line - 1]
        assert text[column:].startswith(old), f"{name}:{line}: {text!r}"
        lines[line - 1] = text[:column] + new + text[column + len(old) :]
    return b"".join(lines)


def _changes(tree: ast.Module, moved: set[str], name: str, home: str) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Line, column in bytes, the bytes there and those that replace them."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(str(module), _, 0) if _top(module) in moved:
                yield node.lineno, node.col_offset, b"from ", f"from {home}.".encode()
            case ast.Import(names) if any(_top(alias.name) in moved for alias in names):
                if len(names) > 1 or "." in names[0].name:
                    why = "the wheel cannot contain it: write `from package import module`"
                    raise SyntaxError(why, (name, node.lineno, node.col_offset + 1, ast.unparse(node)))
                yield node.lineno, node.col_offset, b"import ", f"from {home} import ".encode()
            case ast.Call(ast.Name(called) | ast.Attribute(_, called), [ast.Constant(str(module)) as text, *_]) if (
                called in NAMES_A_MODULE and _top(module) in moved
            ):
                quoted = f'"{module}"'.encode()
                yield text.lineno, text.col_offset, quoted, f'"{home}.{module}"'.encode()


def _top(name: str) -> str:
    return name.partition(":")[0].partition(".")[0]
