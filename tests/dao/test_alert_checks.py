"""What `shoal doctor` and `shoal why` say of alerts that reach nobody."""

from __future__ import annotations

from dao.checks import table_checks
from dao.checks.alert_checks import ALERT_CHECKS, RECENT, Unheard, unheard_of
from model.ids import WorkflowInstanceId
from tests.dao.scene import Scene

ALERT = (
    "INSERT INTO alert (kind, severity, subject, alert_group, workflow_instance_id) VALUES ('TEST', 'INFO', :s, :g, 7)"
)


async def _finds(scene: Scene) -> dict[str, list[str]]:
    async with scene.database.reading() as connection:
        return {check.name: list((await table_checks.find(connection, check, {})).shown) for check in ALERT_CHECKS}


async def _unheard(scene: Scene) -> list[Unheard]:
    async with scene.database.reading() as connection:
        return await unheard_of(connection, WorkflowInstanceId(7))


async def _group(scene: Scene, name: str) -> None:
    await scene.sql("INSERT INTO alert_group (name) VALUES (:name)", name=name)


async def _channel(scene: Scene, group: str, name: str = "mail") -> None:
    await scene.sql("INSERT INTO alert_channel (name, kind, url, key_id) VALUES (:name, 'mailto', 'x', 'k')", name=name)
    await scene.sql(
        "INSERT INTO alert_group_channel SELECT g.id, c.id FROM alert_group g, alert_channel c "
        "WHERE g.name = :group AND c.name = :name",
        group=group,
        name=name,
    )


async def test_where_nobody_uses_alerts_nothing_is_found(scene: Scene) -> None:
    await scene.sql(ALERT, s="a worker was lost", g="default")
    await scene.sql("UPDATE alert SET created_at = now() - interval '1 h'")
    assert not any((await _finds(scene)).values())


async def test_alerts_for_a_group_that_is_missing_or_empty_are_found_by_group(scene: Scene) -> None:
    await _group(scene, "empty")
    await _group(scene, "ops")
    await _channel(scene, "ops")
    for subject, group in (("one", "data"), ("two", "data"), ("three", "empty"), ("four", "ops"), ("five", "default")):
        await scene.sql(ALERT, s=subject, g=group)
    assert (await _finds(scene))["alerts_reach_somebody"] == [
        'alert group "data" does not exist: 2 alerts in the last day reached nobody; the last: two',
        'alert group "default" does not exist: 1 alerts in the last day reached nobody; the last: five',
        'alert group "empty" has no channel that is enabled: 1 alerts in the last day reached nobody; the last: three',
    ]
    assert await _unheard(scene) == [Unheard("data", False), Unheard("default", False), Unheard("empty", True)]
    await scene.sql("UPDATE alert SET state = 'NOBODY' WHERE alert_group = 'data'")
    await scene.sql("UPDATE alert SET state = 'EXPANDED' WHERE alert_group = 'empty'")
    await scene.sql("UPDATE alert_channel SET enabled = false")
    assert await _unheard(scene) == [Unheard("data", False), Unheard("default", False), Unheard("ops", True)]
    await scene.sql("UPDATE alert SET created_at = now() - interval '25 h'")
    assert not (await _finds(scene))["alerts_reach_somebody"]


async def test_alerts_that_wait_for_a_sender_and_rules_that_do_not_work_are_found(scene: Scene) -> None:
    await _group(scene, "ops")
    await scene.sql(ALERT, s="one", g="ops")
    assert not (await _finds(scene))["alerts_are_sent"]
    await scene.sql("UPDATE alert SET created_at = now() - interval '2 min'")
    ((found),) = (await _finds(scene))["alerts_are_sent"]
    assert found.startswith("1 alerts wait to be sent, the oldest since ")
    await scene.sql(
        "INSERT INTO alert_rule (project, name, text, enabled, problem) "
        "VALUES ('sales', 'a', 'x', true, 'it is wrong'), ('sales', 'b', 'x', false, 'it is wrong')"
    )
    assert (await _finds(scene))["alert_rules_work"] == ['rule "a" of project "sales": it is wrong']


async def test_many_alerts_that_reach_somebody_hide_none_that_does_not(scene: Scene) -> None:
    await scene.sql(ALERT, s="lost", g="nobody")
    await scene.sql("UPDATE alert SET state = 'NOBODY'")
    await scene.sql(
        "INSERT INTO alert (kind, severity, subject, alert_group, state) "
        "SELECT 'TEST', 'INFO', 'heard', 'ops', 'EXPANDED' FROM generate_series(1, :many)",
        many=RECENT,
    )
    await _group(scene, "ops")
    found = (await _finds(scene))["alerts_reach_somebody"]
    assert found == ['alert group "nobody" does not exist: 1 alerts in the last day reached nobody; the last: lost']
