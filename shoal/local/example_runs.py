"""Example workflows for `shoal up`: all files of a folder are saved, and the new ones run once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from model.errors import NotFound, Refused
from service.runs.control import start_run
from service.runs.requests import StartRun, WaitQuery
from service.words import counted
from service.workflows.apply_operations import apply_workflows
from service.workflows.requests import ApplyFiles
from shoal.clients.client import Client
from shoal.clients.waiting import follow_command
from shoal.workflow_files import read_definition_files, read_texts

NEEDS_A_DATA_SOURCE = {"SQL", "PROCEDURE"}
"""Task types whose examples need a data source that must exist before."""
WITHIN_S = 60.0


async def run_all(client: Client, folder: Path) -> str:
    """Save and run them; returns the result as a sentence.

    Raises:
        NotFound: the folder has no YAML file.
        BadWorkflowFile: one of them contains errors.
        Refused: one of them cannot be saved.
    """
    files = await asyncio.to_thread(lambda: sorted(folder.glob("*.yaml")))
    if not files:
        raise NotFound(f"there is no YAML file in {folder}; --examples names a folder with workflow files")
    given = [{"name": name, "content": content} for name, content in await asyncio.to_thread(read_texts, files)]
    saved = (await client.ask(apply_workflows, ApplyFiles.read(files=given))).workflows
    documents = (await asyncio.to_thread(read_definition_files, files)).workflows
    runnable = {each.name for each in documents if not NEEDS_A_DATA_SOURCE & {task.type for task in each.spec.tasks}}
    ends = await _ends(client, [each.code for each in saved if each.is_new_version and each.name in runnable])
    states = ", ".join(f"{number} {state}" for state, number in sorted(ends.items())) or "none is new"
    return f"{counted(len(saved), 'workflow')} of {folder}; runs: {states}"


async def _ends(client: Client, codes: Sequence[int]) -> Counter[str]:
    commands = [(await client.ask(start_run, code, StartRun.read(), WaitQuery.read())).command_id for code in codes]
    ended: Counter[str] = Counter()

    async def follow(command: int) -> None:
        try:
            ended[(await follow_command(client, command)).state] += 1
        except Refused:
            ended["REFUSED"] += 1

    waiting = [asyncio.create_task(follow(command)) for command in commands]
    if waiting:
        _, unfinished = await asyncio.wait(waiting, timeout=WITHIN_S)
        for each in unfinished:
            each.cancel()
        if unfinished:
            ended["still RUNNING"] = len(unfinished)
    return ended
