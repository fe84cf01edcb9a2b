"""Asking for a start: the arguments are checked, secrets are sealed, and one command is inserted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dao.accounts import members
from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions
from dao.definitions.definitions import Definition
from dao.postgres.pool import AsyncConnection
from model.accounts.project_limits import NO_LIMITS, used_by, used_by_start
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import CommandId, WorkflowCode
from model.parameters.parameters import check_size, parse_parameters
from service.runs.start_check import ReadVersion, check_names, check_tasks, check_values
from service.secrets.key_settings import SecretSettings
from service.workflows.sealing import sealed_for, secrets_among


@dataclass(frozen=True, slots=True)
class Start:
    """A start of a workflow.

    Args:
        new: the command without values and tasks.
        values: of parameters, as the user gave them.
        tasks: with which the run begins; none = all.
        more: what the parameters contain besides values.
    """

    new: NewCommand
    values: Mapping[str, str] = field(default_factory=dict)
    tasks: Sequence[str] = ()
    more: Mapping[str, Any] | None = None

    def version(self, head: Definition) -> tuple[WorkflowCode, int]:
        return head.code, self.new.workflow_version or head.version

    def needs_content(self, head: Definition) -> bool:
        """Whether the version must be read for `command`, whatever stands in it; most starts need none."""
        return bool(self.values or self.tasks or head.limits != NO_LIMITS)

    def command(self, head: Definition, version: ReadVersion | Refused | None, secrets: SecretSettings) -> NewCommand:
        """The command to insert.

        A version that is missing or cannot be read is left to the master, which writes an error command.

        Args:
            head: the workflow.
            version: None: it is missing, or need not be read.
            secrets: where the keys are.
        Raises:
            Refused: a parameter or task is unknown, a value is not as declared, a secret cannot be sealed, the
                parameters are too large, or its project may not use something that it names.
        """
        spec: WorkflowSpec | Refused | None
        if isinstance(version, ReadVersion):
            spec = version.spec
            check_tasks(head, version, self.tasks)
            if self.values:
                where = f'the parameters of project "{head.project}"'
                check_names(head, version, self.values, parse_parameters(head.project_params, where))
            check_values(head, spec, self.values)
            head.limits.check(head.project, used_by(spec) | used_by_start(self.new, spec))
        else:
            spec = version
        sealed = sealed_for(head, secrets_among(head, self.values, spec), self.values, secrets) if self.values else {}
        params = json.dumps({**sealed, **(self.more or {})}, ensure_ascii=False)
        check_size(params, "params")  # as the master does, and the database for twice as much
        return replace(self.new, params=params, start_tasks=json.dumps(list(self.tasks)) if self.tasks else None)


async def ask_start(connection: AsyncConnection, head: Definition, start: Start, secrets: SecretSettings) -> CommandId:
    """Insert the command of a start.

    Args:
        connection: the transaction in which it is inserted.
        head: the workflow, with the parameters of its project.
        start: how it is started.
        secrets: where the keys are.
    Raises:
        Refused: see `Start.command`.
    """
    head = replace(head, limits=await members.limits(connection, head.project))
    spec = await definitions.spec_of(connection, *start.version(head))
    version = ReadVersion(spec) if isinstance(spec, WorkflowSpec) else spec
    return await commands.insert(connection, start.command(head, version, secrets))
