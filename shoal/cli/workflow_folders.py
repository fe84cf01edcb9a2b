"""`shoal workflow sync`, and `diff` of a folder: YAML files in git compared with the server."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from model.errors import NotFound, Refused
from service.words import plain
from service.workflows import folder_sync, requests
from shoal import workflow_files
from shoal.cli import exit_codes
from shoal.cli.invocation import Invocation
from shoal.cli.output import answer_fields, print_json, say
from shoal.cli.pool_changes import print_saved as print_pool
from shoal.cli.verbs import verb

STYLES = {"+": "green", "-": "red", "@": "cyan"}
_SUFFIXES = (".yaml", ".yml")


def add_to(group: typer.Typer) -> None:
    verb(group, "shoal workflow sync flows/", "shoal workflow sync flows/ --prune --dry-run")(sync)


def is_folder(name: str) -> bool:
    """Whether a name denotes a folder: names of workflows have no slash."""
    return name in (".", "..") or ("/" in name and Path(name).is_dir())


async def sync(
    call: Invocation,
    folder: Annotated[Path, typer.Argument(help="Its YAML files, in its folders too, are what is to be saved.")],
    origin: Annotated[str | None, typer.Option(help="Marks what is saved from here; else the folder's name.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Delete what was saved from here and is gone.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be saved.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace also what others saved since.")] = False,
) -> None:
    """Save the workflows and pools of a folder, all or none, unless somebody else changed one; record its commit."""
    answer = await _synced(call, folder, origin, prune=prune, dry_run=dry_run, force=force)
    if not call.as_json:
        print_synced(answer, with_diff=dry_run)
    if dry_run and not force and any(each.conflict for each in answer.workflows):
        raise typer.Exit(exit_codes.REFUSED)


async def diff(call: Invocation, folder: Path) -> None:
    """Show what `sync` would save and delete; exit code 1 if that is anything."""
    answer = await _synced(call, folder, None, prune=True, dry_run=True, force=False)
    if not call.as_json:
        print_synced(answer, with_diff=True)
    if answer.pools or any(each.what != "same" for each in answer.workflows):
        raise typer.Exit(exit_codes.FAILED)


def print_synced(answer: folder_sync.SyncedAnswer, *, with_diff: bool) -> None:
    """Print a line for each workflow, and what changes in it."""
    for pool in answer.pools:
        print_pool(pool)
    for each in answer.workflows:
        say(plain(f"{each.what:8} {each.project}/{each.name}"))
        if each.conflict and answer.dry_run:
            say(plain(f"         conflict: {each.conflict}"), style="red")
        for line in each.diff if with_diff else ():
            say(plain(line), style="bold" if line[:3] in ("+++", "---") else STYLES.get(line[:1]))


async def _synced(
    call: Invocation, folder: Path, origin: str | None, *, prune: bool, dry_run: bool, force: bool
) -> folder_sync.SyncedAnswer:
    texts = workflow_files.read_texts(_files_of(folder))
    put = workflow_files.files_of_tasks(texts)
    body = requests.SyncFiles.read(
        files=[{"name": name, "content": text} for name, text in texts if not {Path(name), *Path(name).parents} & put],
        origin=origin or _name_of(folder),
        commit=_commit_of(folder),
        prune=prune,
        dry_run=dry_run,
        force=force,
    )
    answer = await call.ask(folder_sync.sync_workflows, body)
    if call.as_json:
        print_json(answer_fields(answer))
    return answer


def _files_of(folder: Path) -> list[Path]:
    """The YAML files of a folder and its subfolders, without hidden ones."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}")
    found = [path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    found = [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not found:
        raise Refused(f"{folder} has no YAML file; what is saved from there is not deleted by an empty folder")
    return sorted(found)


def _name_of(folder: Path) -> str:
    """The name of a folder as an origin."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", folder.resolve().name).lstrip(".-")[:51] or "folder"


def _commit_of(folder: Path) -> str | None:
    """The commit of a folder, with a + if it has changes; None outside of git."""
    try:
        head = _git(folder, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(folder, "status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout.strip()
