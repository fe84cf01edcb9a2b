"""Pages of alerts: what other projects have hides nothing."""

from __future__ import annotations

import pytest

from dao.alerts import alert_listings as alerts
from dao.alerts.alert_listings import AlertFilter
from tests.dao.scene import Scene

MANY = 10_001
"""More than were read before the filter, once."""


@pytest.mark.parametrize("result", ["FAILED", "WAIT"])
async def test_many_alerts_of_others_with_the_same_result_hide_none_of_a_project(scene: Scene, result: str) -> None:
    await scene.sql("INSERT INTO alert_channel (name, kind, url, key_id) VALUES ('mail', 'mailto', 'x', 'k')")
    await scene.sql(
        "INSERT INTO alert (kind, severity, subject, alert_group, project, state) "
        "SELECT 'RULE', 'INFO', 's', 'ops', CASE WHEN n IN (1, :many) THEN 'mine' ELSE 'theirs' END, 'EXPANDED' "
        "FROM generate_series(1, CAST(:many AS integer)) AS n",
        many=MANY,
    )
    await scene.sql(
        "INSERT INTO alert_delivery (alert_id, channel_id, state) "
        "SELECT a.id, c.id, :result FROM alert a CROSS JOIN alert_channel c WHERE a.id < :many",
        result=result,
        many=MANY,
    )
    async with scene.database.reading() as connection:
        found = await alerts.page(connection, AlertFilter({"mine"}, (), result=result), 50, MANY + 1)
    assert [(each.id, each.project) for each in found] == [(1, "mine")]
