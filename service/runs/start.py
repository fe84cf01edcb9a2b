"""Asking for a start: the arguments are checked, secrets are sealed, and one command is inserted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions.definitions import Definition
from model.ids import CommandId
from service.projects.limits import check_limits_of_start
from service.runs.start_check import check_start
from service.secret_keys import SecretSettings
from service.workflows.sealing import sealed_for_start


async def ask_start(
    connection: AsyncConnection,
    head: Definition,
    values: Mapping[str, str],
    new: NewCommand,
    secrets: SecretSettings,
    *,
    tasks: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> CommandId:
    """Insert a command that starts a workflow.

    Args:
        connection: the transaction in which it is inserted.
        head: the workflow.
        values: of parameters, as the user gave them.
        new: the command without these values and tasks.
        secrets: where the keys are.
        tasks: with which the run begins; none = all.
        more: what the parameters contain besides values.
    Raises:
        Refused: a parameter or task is unknown, a secret cannot be sealed, or its project is limited to others than its
            tenants and worker groups.
    """
    version = new.workflow_version
    await check_start(connection, head, values, tasks, version)
    await check_limits_of_start(connection, head, version, new.worker_group)
    sealed = await sealed_for_start(connection, head, values, secrets, version)
    params = json.dumps({**sealed, **(more or {})}, ensure_ascii=False)
    start_tasks = json.dumps(list(tasks)) if tasks else None
    return await commands.insert(connection, replace(new, params=params, start_tasks=start_tasks))
