"""The operation that shows which settings are in force: those of the process that answers, and the cluster's times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dao.cluster import cluster
from model.accounts.rights import Right
from service.call import Call
from service.fields import Answer
from service.operation import operation


class SettingAnswer(Answer):
    """A setting: its name in a settings file, its environment variable, its value as text, and its default.

    The value of a secret is `***` if it is set.
    """

    name: str
    variable: str
    value: str
    default: str
    description: str


class SettingsAnswer(Answer):
    """The settings of the process that answers, and the times of the cluster, in seconds.

    `timing` is what all nodes take at their start; without it no node has started yet.
    """

    settings: Sequence[SettingAnswer]
    timing: Mapping[str, float] | None = None


@operation("GET", "/settings", Right.VIEW_CLUSTER, "cluster")
async def get_settings(call: Call) -> SettingsAnswer:
    """Show the settings of the process that answers, without its secrets, and the times of the cluster."""
    timing = await call.read(cluster.timing)
    return SettingsAnswer(
        settings=[SettingAnswer.model_validate(each) for each in call.settings.in_force()],
        timing=timing.seconds() if timing is not None else None,
    )
