"""How the code of a task reaches the worker: in its script, as files of the project, or installed there."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shoal_sdk import in_task
from shoal_sdk.errors import WrongFlow

FILE_BYTES_MAX, FILES_MAX = 2_097_152, 500
SHIM = "shoal_sdk_in_task"
"""The module of a bundle that does in a task what `in_task.py` says."""
BEGIN = '_shoal = _shoal_sdk()\n__import__("sys").modules.update(_shoal.modules)\n'
"""What stands before the code of a flow: from then on it imports what stands in for `shoal_sdk`."""
_REFERENCE = re.compile(
    r"(?<!\$)(\$*)\$\{[A-Za-z_][A-Za-z0-9_.]*"
    r"(?:\[(?:-?[0-9]{1,9}|\"[^\"\x00-\x1f]{1,200}\"|'[^'\x00-\x1f]{1,200}')\](?:\.[A-Za-z0-9_]+)*)*\}"
)
"""What Shoal replaces by a value, if it knows one."""
_TIME = re.compile(r"(?<!\$)\$\[[^\[\]\n]{1,1000}\]")
"""What Shoal replaces by a time, if it is one."""
_IGNORED = {"__pycache__", "node_modules", "build", "dist"}


@dataclass(frozen=True)
class Bundle:
    """Files that travel with a flow; made by `bundle`. `root` is the folder from which they are imported."""

    root: Path
    include: tuple[str, ...]

    def files(self) -> dict[str, bytes]:
        """The content of each file by its path below the root, sorted. Raises `WrongFlow` for too many or too large."""
        found: dict[str, bytes] = {}
        for path in sorted({each for pattern in self.include for each in self.root.glob(pattern)}):
            if not path.is_file() or not is_ours(path, self.root):
                continue
            content = path.read_bytes()
            if len(content) > FILE_BYTES_MAX:
                raise WrongFlow(f"{path} has {len(content):,} bytes, and a file has at most {FILE_BYTES_MAX:,}")
            found[path.relative_to(self.root).as_posix()] = content
        if not found:
            raise WrongFlow(f"{self.root} has no file for {', '.join(self.include)}; name others in include")
        if len(found) >= FILES_MAX:
            raise WrongFlow(f"{self.root} has {len(found)} files, more than {FILES_MAX}; choose fewer by include")
        return {**found, f"{SHIM}.py": _shim().encode()}


Code = Literal["inline", "bundle", "installed"] | Bundle


def bundle(root: str | Path, include: Sequence[str] = ("**/*.py",)) -> Bundle:
    """Files that travel with a flow, found below a folder by patterns; modules are imported from that folder.

    Raises:
        WrongFlow: there is no such folder.
    """
    folder = Path(root).resolve()
    if not folder.is_dir():
        raise WrongFlow(f"bundle: there is no folder {folder}")
    return Bundle(folder, tuple(include))


def address_of(files: Mapping[str, bytes]) -> str:
    """What files are known by: 16 digits of the SHA-256 of their paths and contents."""
    hashed = hashlib.sha256()
    for path, content in sorted(files.items()):
        hashed.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return hashed.hexdigest()[:16]


def bundle_of(code: Code, function: Callable[..., Any]) -> Bundle | None:
    """The files of a flow; None if it has none."""
    if isinstance(code, Bundle):
        return code
    return Bundle(import_root(_file_of(function)), ("**/*.py",)) if code == "bundle" else None


@dataclass
class Call:
    """A call in the script of a task, which is written when the whole flow is known.

    `arguments` are expressions of Python. `names` are those under which the result is given, as a text or as JSON.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, str]
    names: tuple[str, ...] = ("result",)
    is_text: bool = False
    has_files: bool = False

    def script(self, code: Code, files: Bundle | None, folder: str | None) -> str:
        """The script of the task.

        Args:
            code: how the function gets there.
            files: those that travel with it, which are in this `folder` below that of the task.
        Raises:
            WrongFlow: the function is not at the top of a module, or `inline` cannot carry what its file imports.
        """
        function = self.function
        if function.__qualname__ != function.__name__:
            raise WrongFlow(f"{function.__qualname__} is inside another function; put it at the top of its file")
        given = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        names = ", ".join(map(repr, self.names)) + ", text=True" * self.is_text + ", files=True" * self.has_files
        call = f"_shoal.gives({names})({function.__name__}{', ' if given else ''}{given})\n"
        if code == "inline":
            return _inline(function) + escaped(call)
        module = f"from {_module_of(function, files)} import {function.__name__}"
        if folder is None:
            return escaped(f"{_shim()}\n\n{BEGIN}\n{module}\n\n{call}")
        path = f"import sys, os\n\nsys.path.insert(0, os.path.abspath({folder!r}))\nfrom {SHIM} import _shoal_sdk\n\n"
        return escaped(f"{path}{BEGIN}{module}\n\n{call}")


def escaped(source: str) -> str:
    """Source in which Shoal replaces nothing. Raises `WrongFlow` for what it would replace whatever one writes."""

    def literal(found: re.Match[str]) -> str:
        if found[1]:
            raise WrongFlow(f'the code has "{found[0]}", which a script cannot; write @flow(code="bundle")')
        return f"${found[0]}"

    if found := _TIME.search(source):
        raise WrongFlow(f'the code has "{found[0]}", which would become a time; write @flow(code="bundle")')
    return _REFERENCE.sub(literal, source)


def _inline(function: Callable[..., Any]) -> str:
    """The source of its file without flows and main program, which no task needs: so a change of a flow changes none of
    its scripts."""
    file = _file_of(function)
    lines = file.read_text("utf-8").splitlines(keepends=True)
    tree = ast.parse("".join(lines), str(file))
    _check_imports(tree, file)
    head = 0
    for place, node in enumerate(tree.body):
        is_text = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head = node.end_lineno or head
    for node in tree.body:
        if _is_flow(node) or _is_main(node):
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            first = min(node.lineno, *(each.lineno for each in decorators)) if decorators else node.lineno
            lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    before, after = "".join(lines[:head]), "".join(lines[head:]).strip("\n")
    after = re.sub(r"\n{4,}", "\n\n\n", after)
    return escaped(f"{before}\n{_shim()}\n\n{BEGIN}\n{after}\n\n\n".lstrip("\n"))


def _is_flow(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(
        (isinstance(each, ast.Name) and each.id == "flow") or (isinstance(each, ast.Attribute) and each.attr == "flow")
        for each in called
    )


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).replace('"', "'") == "__name__ == '__main__'"


def _check_imports(tree: ast.Module, file: Path) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name.partition(".")[0] for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["."] if node.level else [(node.module or "").partition(".")[0]]
        else:
            continue
        for name in names:
            for folder in {file.parent, import_root(file)}:
                if name == "." or (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file():
                    raise WrongFlow(
                        f'{file}, line {node.lineno}: it imports "{name}" of this project, and only the file itself '
                        'reaches the workers; write @flow(code="bundle")'
                    )


def _file_of(function: Callable[..., Any]) -> Path:
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        file = None
    if file is None or not Path(file).is_file():
        raise WrongFlow(f"the code of {function.__name__} stands in no file, which workers would need; save it in one")
    return Path(file).resolve()


def is_ours(path: Path, root: Path) -> bool:
    """Whether a file below a folder is source: not hidden, and of no environment or build."""
    if any(each.startswith(".") or each in _IGNORED for each in path.relative_to(root).parts):
        return False
    return not any((parent / "pyvenv.cfg").exists() for parent in path.parents if parent.is_relative_to(root))


def import_root(file: Path) -> Path:
    """The folder from which a file is imported: the first one up that is no package."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _module_of(function: Callable[..., Any], files: Bundle | None) -> str:
    """The name under which the worker imports the module of a function."""
    if files is None:
        if function.__module__ == "__main__":
            raise WrongFlow(f"{function.__name__} is in the main program; import its flow from a module to install it")
        return function.__module__
    file = _file_of(function)
    if not file.is_relative_to(files.root):
        raise WrongFlow(f"{file} is not below {files.root}, the root of the bundle; give another root")
    parts = file.relative_to(files.root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _shim() -> str:
    source = Path(in_task.__file__).read_text("utf-8")
    needed = [node for node in ast.parse(source).body if not isinstance(node, ast.Expr)][:2]
    body = "".join(source.splitlines(keepends=True)[needed[0].lineno - 1 : needed[-1].end_lineno])
    return f"# What shoal-sdk adds: it reads the arguments of the function and prints its result.\n{body}"
