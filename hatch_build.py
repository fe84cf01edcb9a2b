"""Builds the wheel: every folder of the product goes below `shoal/`, with its imports rewritten.

In the repository the layers are top-level packages (`model`, `dao`, `worker` ...). Such names must not get into a
site-packages that other packages share. `sources` in pyproject.toml moves the files; this hook rewrites what names a
module of ours: imports, `files("...")`, `import_module("...")` and entry points. An editable install is left alone.
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
NAMES_A_MODULE = {"files", "import_module"}
"""Functions whose first argument, if it is a text, is the name of a module."""


class BelowShoal(BuildHookInterface[Any]):
    """Gives hatchling the rewritten copy of each module in place of the original, and builds the web page before."""

    def dependencies(self) -> list[str]:
        """What the build needs: Node, if the page is not built yet."""
        if Path(self.root, PAGE).exists():
            return []
        return Path(self.root, "ui", "node.in").read_text("utf-8").split()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build. Raises `SyntaxError` for an import that cannot be rewritten, `CalledProcessError`
        if the web page cannot be built."""
        if version != "standard":
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

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Called after each build."""
        if version == "standard":
            self._copies.cleanup()


def below_shoal(source: bytes, moved: set[str], name: str) -> bytes:
    """A module's source, with the packages `moved` named as `shoal.model` and so on; its lines stay where they are.

    Raises:
        SyntaxError: `import model.names` binds `model`, which would be another object then.
    """
    lines = source.splitlines(keepends=True)
    for line, column, old, new in sorted(_changes(ast.parse(source), moved, name), reverse=True):
        text = lines[line - 1]
        assert text[column:].startswith(old), f"{name}:{line}: {text!r}"
        lines[line - 1] = text[:column] + new + text[column + len(old) :]
    return b"".join(lines)


def _changes(tree: ast.Module, moved: set[str], name: str) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Line, column in bytes, the bytes there and those that replace them."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(str(module), _, 0) if _top(module) in moved:
                yield node.lineno, node.col_offset, b"from ", f"from {HOME}.".encode()
            case ast.Import(names) if any(_top(alias.name) in moved for alias in names):
                if len(names) > 1 or "." in names[0].name:
                    why = "the wheel cannot contain it: write `from package import module`"
                    raise SyntaxError(why, (name, node.lineno, node.col_offset + 1, ast.unparse(node)))
                yield node.lineno, node.col_offset, b"import ", f"from {HOME} import ".encode()
            case ast.Call(ast.Name(called) | ast.Attribute(_, called), [ast.Constant(str(module)) as text, *_]) if (
                called in NAMES_A_MODULE and _top(module) in moved
            ):
                quoted = f'"{module}"'.encode()
                yield text.lineno, text.col_offset, quoted, f'"{HOME}.{module}"'.encode()


def _top(name: str) -> str:
    return name.partition(":")[0].partition(".")[0]
