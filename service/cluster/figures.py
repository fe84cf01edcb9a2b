"""The operation about the figures of the cluster: how much is done in a second, what waits, and for how long.

They are the same that Prometheus is shown, for those who have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from model.accounts.rights import Right
from service.call import Call
from service.cluster.figure_samples import EVERY_S, FiguresAnswer
from service.fields import Answer, Asked, Moment
from service.operation import operation


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
    samples = call.backend.samples
    await samples.renew(call.backend.database)
    return FiguresPage(
        every_s=EVERY_S,
        items=[each for each in samples.kept if query.since is None or each.at > query.since],
    )
