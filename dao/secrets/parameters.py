"""SECRET parameters: sealed before they are stored, by a process that has the keys, and opened by the task's worker."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from dao.secrets.vault import Sealed, Vault
from model.choices import ParameterType
from model.definitions.workflow import TaskSpec, WorkflowSpec
from model.errors import Refused
from model.parameters.local import NAME, LocalParam
from model.parameters.secret_values import (
    MASK,
    SEALED_TEXT,
    SECRET_CHARACTERS_MIN,
    SealedValue,
    has_sealed,
    mark_of,
    sealed_value,
)

PURPOSE = "parameter"


def seal(name: str, value: str, vault: Vault, project: str) -> str:
    """The value encrypted for storage in a project.

    Raises `Refused` if there is no key, or if a log could not mask the value.
    """
    if re.fullmatch(NAME, name) is None:
        raise Refused(f"{name[:200]!r} is not a name for a parameter; use letters, digits, _ and . and no digit first")
    if len(value.strip()) < SECRET_CHARACTERS_MIN:
        raise Refused(
            f'the value of the SECRET parameter "{name}" has fewer than {SECRET_CHARACTERS_MIN} characters '
            f"beside blanks; so short a one cannot be masked in a log"
        )
    sealed = vault.seal(value, _purpose(name, project))
    return str(SealedValue(sealed.key_id, mark_of(project), name, sealed.data.decode()))


def unseal(name: str, sealed: SealedValue, vault: Vault, project: str) -> str:
    """The value of the parameter of this name in this project.

    Raises `Refused`: it belongs to another parameter or project, or the key is missing.
    """
    if sealed.name != name:
        raise Refused(
            f'parameter "{name}" holds the sealed value of "{sealed.name}"; a secret is known by its own name only: '
            f"write ${{{sealed.name}}} where it is needed"
        )
    if not sealed.is_of(project):
        raise Refused(
            f'parameter "{name}" holds a value that was sealed for another project, which a run of "{project}" cannot '
            f"open; give this project the secret itself"
        )
    return vault.open(Sealed(sealed.data.encode(), sealed.key_id), _purpose(name, project))


def _purpose(name: str, project: str) -> str:
    return f"{PURPOSE} {name} of project {project}"


def sealed_values(
    values: Mapping[str, str],
    secrets: Collection[str],
    vault: Vault,
    project: str,
    before: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The same values, with plaintext values of `secrets` sealed. Those that `before` has sealed are reused.

    Raises `Refused`.
    """
    sealer, former = _Sealer(vault, project), before or {}
    return {
        name: sealer.sealed(name, value, former.get(name)) if name in secrets else value
        for name, value in values.items()
    }


def sealed_spec(spec: WorkflowSpec, current: WorkflowSpec | None, vault: Vault, project: str) -> WorkflowSpec:
    """The same workflow with its secrets sealed. Values that `current` has sealed are reused.

    So an unchanged file makes no new version. Raises `Refused` if there is no key.
    """
    sealer = _Sealer(vault, project)
    before = dict(current.params) if current is not None else {}
    params = {
        name: sealer.sealed(name, value, before.get(name)) if name in spec.secrets else value
        for name, value in spec.params.items()
    }
    former = {task.name: task for task in current.tasks} if current is not None else {}
    tasks = tuple(_sealed_task(task, former.get(task.name), sealer) for task in spec.tasks)
    return spec.model_copy(update={"params": params, "tasks": tasks})


class _Sealer:
    def __init__(self, vault: Vault, project: str) -> None:
        self._vault = vault
        self._project = project

    def sealed(self, name: str, value: str, before: str | None) -> str:
        """`before` if that is the same value under the first key; else the value, sealed if it is plaintext.

        Asterisks, which readers get instead of a secret, stand for `before`.
        """
        if not value:
            return value
        if has_sealed(value):
            raise Refused(f'the SECRET parameter "{name}" has {SEALED_TEXT}')
        stored = sealed_value(before) if before else None
        if value == MASK:
            if stored is None:
                raise Refused(f'the SECRET parameter "{name}" has no value that {MASK} could stand for; give its value')
            return str(stored)
        if stored is not None and stored.key_id in self._vault.key_ids[:1]:
            try:
                if unseal(name, stored, self._vault, self._project) == value:
                    return str(stored)
            except Refused:
                pass  # a value that can no longer be decrypted is replaced
        return seal(name, value, self._vault, self._project)


def _sealed_task(task: TaskSpec, before: TaskSpec | None, sealer: _Sealer) -> TaskSpec:
    if not any(param.type is ParameterType.SECRET for param in task.local_params):
        return task
    former = {param.name: param.value for param in before.local_params} if before is not None else {}

    def sealed(param: LocalParam) -> LocalParam:
        if param.type is not ParameterType.SECRET:
            return param
        return param.model_copy(update={"value": sealer.sealed(param.name, param.value, former.get(param.name))})

    return task.model_copy(update={"local_params": tuple(map(sealed, task.local_params))})
