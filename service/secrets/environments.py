"""The operations about environments: scripts for SHELL and PYTHON tasks. No answer and no audit row contains one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.secrets import environments
from dao.secrets.environments import SCRIPT_BYTES_MAX
from model.accounts.rights import Right
from model.scripts.normal_form import changed_script
from service.call import Call, Subject
from service.fields import Answer, Asked, Text
from service.operation import operation
from service.paging import ItemsOf
from service.secrets.key_settings import open_vault

TAG, KIND = "environments", "environment"
Name = Annotated[Text, Field(max_length=200)]


class EnvironmentAnswer(Answer, environments.Environment):
    """An environment: all but its script; `key_id` is the fingerprint of the key that encrypts it."""


class SavedEnvironment(EnvironmentAnswer):
    """An environment that was saved, and what of its script is not stored as it came."""

    warnings: Sequence[str]


class EnvironmentScript(Asked):
    """A bash script of exports. It is stored encrypted, and no answer contains it."""

    script: Annotated[Text, Field(max_length=SCRIPT_BYTES_MAX, repr=False, description="such as export TOKEN=secret")]


@operation("GET", "/environments", Right.VIEW_CLUSTER, TAG)
async def list_environments(call: Call) -> ItemsOf[EnvironmentAnswer]:
    """List the environments, each with the key that encrypts it; their scripts are never shown."""
    found = await call.read(environments.all_environments)
    return ItemsOf[EnvironmentAnswer](items=[EnvironmentAnswer.model_validate(each) for each in found])


@operation("GET", "/environments/{name}", Right.VIEW_CLUSTER, TAG)
async def get_environment(call: Call, name: Name) -> EnvironmentAnswer:
    """Show an environment without its script."""
    return EnvironmentAnswer.model_validate(await call.read(environments.environment_named, name))


@operation("PUT", "/environments/{name}", Right.ADMINISTER, TAG, has_secret=True)
async def save_environment(call: Call, name: Name, body: EnvironmentScript) -> SavedEnvironment:
    """Save or replace an environment. Tasks use it from the next attempt on."""
    call.permit(None)
    vault = open_vault(call.settings.secrets)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        await environments.put(change.connection, name, body.script, vault)
        shown = EnvironmentAnswer.model_validate(await environments.environment_named(change.connection, name))
        sentence = changed_script(body.script, "its script")
        change.answer = SavedEnvironment(**shown.model_dump(), warnings=[sentence] if sentence else [])
        change.after = {"key_id": change.answer.key_id}
    return change.answered(SavedEnvironment)


@operation("DELETE", "/environments/{name}", Right.ADMINISTER, TAG, status=204)
async def delete_environment(call: Call, name: Name) -> None:
    """Delete an environment. Tasks that use it fail from then on."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        await environments.remove(change.connection, name)
