"""`shoal workflow sync` and `diff` of a folder: what is saved, kept, refused and deleted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine


@pytest.fixture
def shoal(database_url: str) -> CommandLine:
    """The command line at a database without masters."""
    return CommandLine.at(database_url)


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    """A folder with two workflows, one of them in a folder of it."""
    (tmp_path / "flows" / "more").mkdir(parents=True)
    write(tmp_path / "flows", "a")
    write(tmp_path / "flows", "more/b")
    return tmp_path / "flows"


def write(folder: Path, name: str, script: str = "echo 1", more: str = "") -> None:
    task = f"{{name: t, type: SHELL, params: {{script: {script}}}}}"
    (folder / f"{name}.yaml").write_text(f"# of people\nname: {Path(name).name}\n{more}tasks: [{task}]\n")


async def test_a_folder_is_saved_with_its_origin_and_commit_and_then_is_the_same(
    shoal: CommandLine, flows: Path
) -> None:
    git = ["git", "-C", str(flows), "-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], check=True, capture_output=True, text=True).stdout
    dry, differs, first, again, text, same = await shoal.each(
        f"workflow sync {flows} --dry-run --json",
        f"workflow diff {flows}/",
        f"workflow sync {flows}",
        f"workflow sync {flows} --json",
        "workflow export a",
        f"workflow diff {flows}/",
    )
    assert (dry.code, [each["what"] for each in dry.json["workflows"]]) == (0, ["new", "new"])
    assert (differs.code, differs.out.splitlines()) == (1, ["new      default/a", "new      default/b"])
    assert (first.code, first.out.splitlines()) == (0, ["new      default/a", "new      default/b"])
    assert [each["what"] for each in again.json["workflows"]] == ["same", "same"]
    assert text.out.startswith(f"# shoal workflow sync: origin flows, commit {head.strip()}, version 1\n# of people\n")
    assert (same.code, same.out.splitlines()) == (0, ["same     default/a", "same     default/b"])


async def test_yaml_files_that_tasks_use_are_no_workflows(shoal: CommandLine, flows: Path) -> None:
    text = (flows / "more/b.yaml").read_text().replace("type: SHELL", "type: SHELL, files: [shop/, conf.yml]")
    (flows / "more/b.yaml").write_text(text)
    (flows / "more/shop/models").mkdir(parents=True)
    for name in ("shop/dbt_project.yml", "shop/models/orders.yml", "conf.yml"):
        (flows / "more" / name).write_text("version: 2\nmodels: {{ all }}\n")
    (flows / "shop").mkdir()
    write(flows, "shop/c")
    put, synced = await shoal.each(
        f"project file put {flows / 'more/shop'} {flows / 'more/conf.yml'}", f"workflow sync {flows}"
    )
    assert put.code == 0, put.err
    assert (synced.code, synced.out.splitlines()) == (0, [f"new      default/{name}" for name in "abc"])


async def test_what_others_changed_is_not_replaced_without_force(
    shoal: CommandLine, flows: Path, tmp_path: Path
) -> None:
    write(tmp_path, "a", "echo other")
    await shoal.each(f"workflow sync {flows}", f"workflow apply {tmp_path / 'a.yaml'}")
    write(flows, "a", "echo 2")
    write(flows, "more/b", "echo 2")
    dry, refused, kept, forced, again = await shoal.each(
        f"workflow sync {flows} --dry-run",
        f"workflow sync {flows}",
        "workflow export b",
        f"workflow sync {flows} --force",
        f"workflow sync {flows} --json",
    )
    assert dry.code == 2
    assert "+      script: echo 2" in dry.out and 'conflict: workflow "a"' in dry.out
    assert refused.code == 2
    assert 'workflow "a" of project "default" was not made by a sync (version 2' in refused.sentence
    assert "echo 1" in kept.out, "all or none"
    assert (forced.code, {each["what"] for each in again.json["workflows"]}) == (0, {"same"})


async def test_a_version_that_goes_back_is_no_version_of_the_folder(
    shoal: CommandLine, flows: Path, tmp_path: Path
) -> None:
    await shoal.each(f"workflow sync {flows}")
    write(flows, "a", "echo 2")
    second, old = await shoal.each(f"workflow sync {flows}", "workflow export a --version 1")
    (tmp_path / "old.yaml").write_text(old.out)
    applied, back = await shoal.each(f"workflow apply {tmp_path / 'old.yaml'}", f"workflow sync {flows}")
    assert (second.code, applied.code, back.code) == (0, 0, 2)
    assert "was changed since it was deployed (version 3" in back.sentence


async def test_only_what_came_from_the_folder_is_deleted(shoal: CommandLine, flows: Path, tmp_path: Path) -> None:
    write(tmp_path, "own")
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", "c")
    await shoal.each(
        f"workflow sync {flows}", f"workflow apply {tmp_path / 'own.yaml'}", f"workflow sync {tmp_path / 'other'}"
    )
    (flows / "more" / "b.yaml").unlink()
    kept, dry, pruned, listed, audited = await shoal.each(
        f"workflow sync {flows} --json",
        f"workflow diff {flows}/",
        f"workflow sync {flows} --prune",
        "workflow list --json",
        "user audit --json",
    )
    assert [each["what"] for each in kept.json["workflows"]] == ["same"]
    assert (dry.code, dry.out.splitlines()) == (1, ["same     default/a", "deleted  default/b"])
    assert (pruned.code, pruned.out.splitlines()) == (0, ["same     default/a", "deleted  default/b"])
    assert [each["name"] for each in listed.json] == ["a", "c", "own"]
    assert any(each["object_name"] == "b" and each["before"] == {"version": 1} for each in audited.json)


async def test_a_deletion_is_refused_where_others_changed_it_or_use_it(
    shoal: CommandLine, flows: Path, tmp_path: Path
) -> None:
    (tmp_path / "user.yaml").write_text("name: user\ntasks: [{name: t, type: SUB_PROCESS, params: {workflow: b}}]\n")
    await shoal.each(f"workflow sync {flows}", f"workflow apply {tmp_path / 'user.yaml'}")
    (flows / "more" / "b.yaml").unlink()
    used, listed = await shoal.each(f"workflow sync {flows} --prune", "workflow list --json")
    assert used.code == 2 and 'workflow "b" cannot be deleted' in used.sentence
    assert [each["name"] for each in listed.json] == ["a", "b", "user"]


async def test_a_folder_with_nothing_or_with_errors_saves_nothing(shoal: CommandLine, tmp_path: Path) -> None:
    empty, absent = await shoal.each(f"workflow sync {tmp_path}", f"workflow sync {tmp_path / 'no'}")
    assert (empty.code, absent.code) == (2, 5)
    write(tmp_path, "a")
    (tmp_path / "b.yaml").write_text("name: b\ntasks: [{name: t, type: NOTHING}]\n")
    wrong, listed = await shoal.each(f"workflow sync {tmp_path}", "workflow list --json")
    assert wrong.code == 2 and "b.yaml" in wrong.sentence
    assert listed.json == []
