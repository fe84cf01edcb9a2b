"""The wheel beside other packages: it takes the name `shoal` and no other, and runs where all its old names are taken.

No download: the libraries are those of the environment that runs the tests.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk.test_readme import type_lines
from tests.test_layers import BELOW
from tests.test_repository import BUILT_PAGE, ROOT

TARGETS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
MOVED = sorted(set(BELOW) - {"shoal"})
FIRST_FLOW_S_MAX = 60.0
"""From the first line of the SDK's README to the result of its flow."""
STRANGER = 'raise ImportError("this is the package of somebody else")\n'

PLUGIN = '''
"""Task types of a package that has a `model` itself."""

from model import MARK
from shoal.plugin import Task, TaskContext, TaskParams, TaskResult, run_process


class OwnModel(Task):
    class Params(TaskParams):
        text: str

    params: Params

    async def run(self, context: TaskContext) -> TaskResult:
        return await run_process(["echo", f"{MARK}: {self.params.text}"], context)


class BelowKeeper(OwnModel):
    below_keeper = True

    async def run(self, context: TaskContext) -> TaskResult:
        context.may_go_on()
        context.log.write(f"{MARK}, below a keeper: {self.params.text}\\n")
        return TaskResult.success()
'''
WORKFLOW = """
name: strangers
tasks:
  - {name: shell, type: SHELL, params: {script: "echo from a shell"}}
  - {name: own, type: OWN_MODEL, params: {text: hello}}
  - {name: below, type: BELOW_KEEPER, params: {text: hello}}
"""


def build(tree: Path, folder: Path, target: str) -> Path:
    """The one file that hatchling builds."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=180)
    (built,) = folder.iterdir()
    return built


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        return {name: archive.read(name) for name in names}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT / "sdk", tmp_path_factory.mktemp("sdk"), "wheel")


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT / "sdk" / "rules", tmp_path_factory.mktemp("rules"), "wheel")


class Environment:
    """A virtual environment, and a folder outside of it from which its programs are started."""

    def __init__(self, folder: Path) -> None:
        self.here, self.venv = folder / "here", folder / "venv"
        self.here.mkdir()
        python = str(Path(sys.executable).resolve())  # that of a venv without pip has no pip to give
        subprocess.run([python, "-m", "venv", "--without-pip", str(self.venv)], check=True, timeout=180)
        self._pip = [python, "-m", "pip", "--python", str(self.venv / "bin/python"), "--disable-pip-version-check"]
        (self.packages,) = self.venv.glob("lib/python*/site-packages")

    def install(self, wheel: Path) -> None:
        """Install as a user does, but without the required libraries."""
        command = [*self._pip, "install", "--no-deps", "--no-index", str(wheel)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)

    @property
    def installed(self) -> set[str]:
        return {each.name for each in (*self.packages.iterdir(), *(self.venv / "bin").iterdir())}

    @property
    def variables(self) -> dict[str, str]:
        """No variable of ours, and no path by which the repository could be found."""
        ours = ("SHOAL_", "PYTHON")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {**clean, "SHOAL_FOLDER": str(self.here / "data"), "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(self.venv / "bin/shoal"), *arguments]
        return subprocess.Popen(command, cwd=self.here, env=self.variables, stdout=subprocess.PIPE, text=True)

    def shoal(self, *arguments: str, within_s: float = 60) -> str:
        """The output of a verb."""
        with self.start(*arguments) as process:
            said, _ = process.communicate(timeout=within_s)
            assert process.returncode == 0, said
            return said


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel, with foreign packages that have the names of our folders, and with a plug-in."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    before = made.installed
    made.install(wheel)
    version = contents_name(wheel)
    assert made.installed - before == {"shoal", f"{version}.dist-info"}  # `shoal` is its command's name too
    assert (made.venv / "bin/shoal").is_file()
    for name in MOVED:
        (made.packages / name).mkdir()
        (made.packages / name / "__init__.py").write_text('MARK = "my own"\n' if name == "model" else STRANGER)
    (made.packages / "stranger.py").write_text(PLUGIN)
    facts = made.packages / "stranger-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[shoal.tasks]\nOWN_MODEL = stranger:OwnModel\nBELOW_KEEPER = stranger:BelowKeeper\n"
    )
    libraries = [path for path in sys.path if path.endswith("-packages")]
    (made.packages / "libraries.pth").write_text("\n".join([*libraries, ""]))
    return made


def contents_name(wheel: Path) -> str:
    """Name and version, such as shoal-0.1.0."""
    return "-".join(wheel.name.split("-")[:2])


def test_the_wheel_takes_one_name(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in contents(wheel)} == {"shoal", f"{contents_name(wheel)}.dist-info"}


def test_every_folder_of_the_product_is_in_it_with_all_its_files(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *BELOW],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    listed += [str(path.relative_to(ROOT)) for path in BUILT_PAGE.rglob("*")]
    assert "api/page/index.html" in listed
    ours = {name if name.startswith("shoal/") else f"shoal/{name}" for name in listed if (ROOT / name).is_file()}
    assert {name for name in contents(wheel) if ".dist-info/" not in name} == ours
    assert set(TARGETS["wheel"]["only-include"]) == set(BELOW) <= set(TARGETS["sdist"]["only-include"])
    assert TARGETS["wheel"]["sources"] == {name: f"shoal/{name}" for name in MOVED}


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, tmp_path / "sdist", "sdist")) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    assert {each.name for each in tree.iterdir()} == {
        *BELOW, "docs", "deploy", "requirements.lock", "examples", "hatch_build.py", "pyproject.toml", "PKG-INFO",
        "README.md", "CHANGELOG.md", "LICENSE", ".gitignore",
    }  # fmt: skip
    assert contents(build(tree, tmp_path / "again", "wheel")) == contents(wheel)


@pytest.mark.parametrize("folder", ["sdk", "sdk/rules"])
def test_the_sdist_of_another_package_builds_the_same_wheel_without_this_tree(folder: str, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT / folder, tmp_path / "sdist", "sdist")) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    packages = {each.name for each in tree.iterdir() if each.is_dir()}
    assert len(packages) == 1
    first, again = build(ROOT / folder, tmp_path / "first", "wheel"), build(tree, tmp_path / "again", "wheel")
    record = f"{contents_name(first)}.dist-info/RECORD"  # lists the same files in another order
    made, remade = contents(first), contents(again)
    assert sorted(made.pop(record).splitlines()) == sorted(remade.pop(record).splitlines())
    assert made == remade


def test_no_module_of_it_names_one_by_its_name_in_the_repository(wheel: Path) -> None:
    """An import or a text that the build did not rewrite would find a stranger's package, and only there."""
    inside = contents(wheel)
    modules = {
        re.sub(r"(/__init__)?\.py$", "", name).removeprefix("shoal/").replace("/", ".")
        for name in inside
        if name.endswith(".py") and name.split("/")[1] in MOVED
    }
    named = re.compile(rf"(?:from |import )?((?:{'|'.join(MOVED)})(?:\.\w+)*)(?: import .*|:\w+)?")

    def is_ours(text: str) -> bool:
        return any((found := named.fullmatch(line.strip())) and found[1] in modules for line in text.splitlines())

    wrong = []
    for name, source in inside.items():
        for node in ast.walk(ast.parse(source)) if name.endswith(".py") else ():
            match node:
                case ast.ImportFrom(str(module), _, 0) if module.partition(".")[0] in MOVED:
                    wrong.append(f"{name}:{node.lineno} {ast.unparse(node)}")
                case ast.Import(names) if any(each.name.partition(".")[0] in MOVED for each in names):
                    wrong.append(f"{name}:{node.lineno} {ast.unparse(node)}")
                case ast.Constant(str(text)) if ("." in text or " import " in text) and is_ours(text):
                    wrong.append(f"{name}:{node.lineno} {text!r}")
    assert not wrong


@pytest.mark.parametrize(
    ("source", "rewritten"),
    [
        ("from model.ids import Epoch\n", "from shoal.model.ids import Epoch\n"),
        ("é = 'ü'; from dao import x as y\n", "é = 'ü'; from shoal.dao import x as y\n"),
        ("if x:\n    from worker.a import (\n        b)\n", "if x:\n    from shoal.worker.a import (\n        b)\n"),
        ("import sql\n", "from shoal import sql\n"),
        ("import sql as words\n", "from shoal import sql as words\n"),
        ('files("sql")\n', 'files("shoal.sql")\n'),
        ('importlib.import_module("worker.a.b")\n', 'importlib.import_module("shoal.worker.a.b")\n'),
        ("from models import x\n", "from models import x\n"),
        ("import modelling\n", "import modelling\n"),
        ("files('other')\n", "files('other')\n"),
        ("from shoal.cli import main\n", "from shoal.cli import main\n"),
        ("import model.ids\n", None),
        ("import sql, os\n", None),
    ],
)  # fmt: skip
def test_imports_are_rewritten_or_refused(source: str, rewritten: str | None) -> None:
    from hatch_build import below_shoal

    if rewritten is None:
        with pytest.raises(SyntaxError, match="the wheel cannot contain it"):
            below_shoal(source.encode(), set(MOVED), "example.py")
    else:
        assert below_shoal(source.encode(), set(MOVED), "example.py").decode() == rewritten


@pytest.fixture(scope="module")
def api(environment: Environment) -> Iterator[str]:
    """The address of the API of a `shoal up` from the wheel, whose sample workflow has run."""
    with environment.start("up", "--masters", "1", "--workers", "1") as up:
        try:
            assert up.stdout is not None
            said = ""
            for line in up.stdout:
                said += line
                if "In another terminal" in line:
                    break
            assert "SUCCESS, 4 tasks" in said
            address = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert address, said
            yield address[0]
        finally:
            up.terminate()
            up.wait(60)


@pytest.mark.usefixtures("api")
def test_it_runs_a_cluster_and_a_plug_in_where_all_its_old_names_are_taken(environment: Environment) -> None:
    assert environment.shoal("--version").startswith("shoal ")
    (environment.here / "strangers.yaml").write_text(WORKFLOW)
    environment.shoal("workflow", "apply", "strangers.yaml")
    environment.shoal("run", "strangers", "--wait")
    logs = {task: environment.shoal("log", f"@last/{task}") for task in ("shell", "own", "below")}
    assert logs == {
        "shell": "from a shell\n",
        "own": "my own: hello\n",
        "below": "my own, below a keeper: hello\n",
    }


def test_the_lines_of_the_sdks_readme_do_what_it_says_and_the_first_flow_takes_less_than_a_minute(
    environment: Environment, api: str, sdk: Path, rules: Path
) -> None:
    environment.install(sdk)
    environment.install(rules)
    variables = {**environment.variables, "PATH": f"{environment.venv / 'bin'}:{os.environ['PATH']}"}
    assert type_lines(environment.here, variables, api) < FIRST_FLOW_S_MAX


def test_every_package_has_the_licence(wheel: Path, sdk: Path, rules: Path) -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    for built in (wheel, sdk, rules):
        assert contents(built)[f"{contents_name(built)}.dist-info/licenses/LICENSE"] == licence, built.name


FLOW = """
from shoal_sdk import branch, flow, shell, task
from shoal_sdk.testing import simulate

@task
def load(day: str) -> int:
    return len(day)

@flow
def daily(day: str = "2026-01-31") -> int:
    loaded = load(day)
    branch(loaded > 3, then=shell("many", "true"), otherwise=shell("few", "true"))
    return loaded

print(sorted(simulate(daily, at="2026-01-31 05:00", results={"load": 7}).states().items()))
"""


def test_the_wheel_of_the_rules_simulates_a_flow_without_shoal(sdk: Path, rules: Path, tmp_path: Path) -> None:
    """It contains only rules: nothing that a master does with a database, a registry or a file."""
    made = Environment(tmp_path)
    made.install(sdk)
    made.install(rules)
    (made.packages / "libraries.pth").write_text("\n".join([path for path in sys.path if path.endswith("-packages")]))
    (made.here / "flows.py").write_text(FLOW)
    command = [str(made.venv / "bin/python"), "flows.py"]
    done = subprocess.run(command, cwd=made.here, env=made.variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[('branch', 'SUCCESS'), ('few', 'SKIPPED'), ('load', 'SUCCESS'), ('many', 'SUCCESS')]\n"
    inside = contents(rules)
    assert {name.partition("/")[0] for name in inside} == {"shoal_model", f"{contents_name(rules)}.dist-info"}
    imported = set()
    for name, source in inside.items():
        for node in ast.walk(ast.parse(source)) if name.endswith(".py") else ():
            if isinstance(node, ast.ImportFrom | ast.Import):
                named = [each.name for each in node.names] if isinstance(node, ast.Import) else [str(node.module)]
                imported |= {each.partition(".")[0] for each in named}
    asked = {"annotated_types", "cel", "cronsim", "pydantic", "pydantic_core"}
    assert imported - sys.stdlib_module_names <= asked | {"shoal_model"}
    assert not imported & {"asyncio", "socket", "subprocess", "urllib.request"}


@pytest.mark.soak  # the test above does most of it in a third of the time
def test_the_demo_runs_from_it(environment: Environment) -> None:
    said = environment.shoal("demo", "--commands", "10", "--seconds", "5", "--json", within_s=150)
    assert json.loads(said)["passed"] is True
