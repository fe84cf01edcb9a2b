"""The operation about the figures of the cluster: how much is done in a second, what waits, and for how long.

They are the same that Prometheus is shown, for those who have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from model.accounts.rights import Right
from service.call import Call
from service.cluster.figure_samples import EVERY_S
from service.fields import Answer, Asked, Moment
from service.operation import operation


class FiguresAnswer(Answer):
    """The figures of the cluster at a time.

    `runs` that are unfinished, `commands` that wait and the seconds that the oldest has waited, attempts that are
    `queued` and the seconds that the oldest has waited, attempts that are `running`; each counted up to 50,000. A
    second, all nodes together: commands that masters took, attempts that workers started, and whose end was reported.
    `lag_s`: the mean seconds from the end of a task to the start of what follows it; left out while no task starts. All
    rates are left out where they are not known yet.
    """

    at: Moment
    runs: int
    commands: int
    oldest_command_s: float
    queued: int
    oldest_queued_s: float
    running: int
    commands_per_s: float | None = None
    started_per_s: float | None = None
    ended_per_s: float | None = None
    lag_s: float | None = None


class FiguresPage(Answer):
    """Figures of the last hour, oldest first, as far as this process has read any: every `every_s` seconds while
    somebody asks."""

    every_s: float
    items: Sequence[FiguresAnswer]


class FiguresQuery(Asked):
    """Which figures."""

    since: Annotated[Moment | None, Field(description="only later ones: `at` of the last one that is known")] = None


@operation("GET", "/cluster-figures", Right.VIEW_CLUSTER, "cluster")
async def list_cluster_figures(call: Call, query: FiguresQuery) -> FiguresPage:
    """List how much the cluster did in a second and what waited, over the last hour in which somebody asked."""
    call.permit(None)
    samples = call.backend.samples
    await samples.renew(call.backend.database)
    return FiguresPage(
        every_s=EVERY_S,
        items=[
            FiguresAnswer.model_validate(each) for each in samples.kept if query.since is None or each.at > query.since
        ],
    )
