"""A fault that everything shares is blamed on nothing: nothing is refused, failed or paused, and all continues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually

GOOD, BAD = 1, 2
RAISES = """
    CREATE FUNCTION stumble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF {condition} THEN RAISE division_by_zero USING MESSAGE = 'it stumbles'; END IF;
        RETURN NEW;
    END $$
"""


@contextmanager
def stumbling(cluster: Cluster, event: str, table: str, condition: str = "true") -> Iterator[None]:
    """Each such write fails, as if its data were to blame."""
    cluster.rows(RAISES.format(condition=condition))
    cluster.rows(f"CREATE TRIGGER stumbles BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION stumble()")
    yield
    cluster.rows(f"DROP TRIGGER stumbles ON {table}")
    cluster.rows("DROP FUNCTION stumble()")


async def test_commands_that_all_fail_wait_and_are_handled_once_they_can_be(cluster: Cluster) -> None:
    cluster.define(GOOD, "good", tasks=[{"name": "a", "type": "FAKE"}])
    await cluster.worker()
    masters = [await cluster.master(), await cluster.master()]
    with stumbling(cluster, "INSERT", "workflow_instance"):
        cluster.start(GOOD, 5)

        def waits() -> dict[int, int]:
            found = [event["command"] for master in masters for event in master.events("command_waits")]
            return {id_: found.count(id_) for id_ in found}

        await eventually(lambda: len(waits()) == 5 and min(waits().values()) >= 3, within_s=30)
        assert cluster.one("SELECT count(*) FROM error_command") == 0
    await cluster.all_ends(within_s=60)
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 5
    assert cluster.one("SELECT count(*) FROM error_command") == 0


async def test_what_fails_wherever_it_is_tried_is_refused(cluster: Cluster) -> None:
    for code, name in ((GOOD, "good"), (BAD, "bad")):
        cluster.define(code, name, tasks=[{"name": "a", "type": "FAKE"}])
    await cluster.worker()
    await cluster.master()
    with stumbling(cluster, "INSERT", "workflow_instance", f"NEW.workflow_code = {BAD}"):
        cluster.start(BAD, 1)
        cluster.start(GOOD, 3)
        cluster.start(BAD, 1)
        await cluster.all_ends(within_s=30)
    reasons = {reason for (reason,) in cluster.rows("SELECT reason FROM error_command")}
    assert reasons == {"it could not be handled: it stumbles (22012)"}
    assert cluster.rows("SELECT workflow_code, state FROM workflow_instance") == [(GOOD, "SUCCESS")] * 3


async def test_the_only_command_of_all_is_refused_in_the_end(cluster: Cluster) -> None:
    cluster.define(BAD, "bad", tasks=[{"name": "a", "type": "FAKE"}])
    await cluster.master()
    with stumbling(cluster, "INSERT", "workflow_instance"):
        cluster.start(BAD, 1)
        await eventually(lambda: cluster.one("SELECT count(*) FROM error_command") == 1, within_s=40)


async def test_results_that_cannot_be_written_for_a_while_are_none_the_worse(cluster: Cluster) -> None:
    script = f"echo ran >> {cluster.folder}/ran"
    cluster.define(GOOD, "good", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    worker = await cluster.worker()
    await cluster.master()
    with stumbling(cluster, "UPDATE", "task_instance", "NEW.state IN ('SUCCESS', 'FAILURE')"):
        cluster.start(GOOD, 3)
        await eventually(lambda: len(worker.events("write_batch_failed")) >= 9, within_s=30)
        assert not worker.events("report_dropped")
    await cluster.all_ends(within_s=60)
    assert cluster.rows("SELECT state FROM task_instance") == [("SUCCESS",)] * 3
    assert (cluster.folder / "ran").read_text() == "ran\n" * 3


async def test_a_result_that_cannot_be_written_keeps_no_other_back(cluster: Cluster) -> None:
    for code, name in ((GOOD, "good"), (BAD, "bad")):
        cluster.define(code, name, tasks=[{"name": name, "type": "SHELL", "params": {"script": "true"}}])
    await cluster.worker()
    await cluster.master()
    with stumbling(cluster, "UPDATE", "task_instance", "NEW.state = 'SUCCESS' AND NEW.task_name = 'bad'"):
        cluster.start(BAD, 1)
        cluster.start(GOOD, 3)
        await cluster.all_ends(within_s=60)
    ends = cluster.rows("SELECT task_name, state, reason FROM task_instance ORDER BY task_name, id")
    assert ends[0] == ("bad", "FAILURE", "it ended, but its result could not be written")
    assert [state for _, state, _ in ends[1:]] == ["SUCCESS"] * 3
