"""`dao/checks/table_checks.py`: each check is broken on purpose and seen, alone; elsewhere none sees anything."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from dao.checks import table_checks
from dao.checks.table_checks import AFTER_REASONS, BEFORE_REASONS, RECENT, SHOWN_MAX, Check
from dao.cluster.nodes import Me
from model.cluster.duties import DutyName
from model.runs.instances import Parent
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.dao.scene import Scene

CHECKS = {check.name: check for check in (*BEFORE_REASONS, *AFTER_REASONS)}
VALUES = {"failed_over_after": timedelta(seconds=20)}
NORMAL = '{"epoch":1,"status":"NORMAL"}'


async def finds(scene: Scene, check: Check) -> tuple[int, list[str]]:
    async with scene.database.reading() as connection:
        found = await table_checks.find(connection, check, VALUES)
    return found.count, list(found.shown)


async def broken(scene: Scene) -> dict[str, list[str]]:
    """The finds of all checks that find any."""
    return {name: shown for name, check in CHECKS.items() if (shown := (await finds(scene, check))[1])}


async def accepting(scene: Scene) -> Me:
    """A living master that has room, as its beat tells."""
    master = await scene.master()
    await scene.sql("UPDATE node_beat SET heartbeat = :beat WHERE node_id = :id", beat=NORMAL, id=master.epoch)
    return master


async def a_task(scene: Scene, run: int, state: str, attempt: int = 1, **more: object) -> None:
    columns = "".join(f", {name}" for name in more)
    values = "".join(f", :{name}" for name in more)
    await scene.sql(
        f"INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        f"workflow_priority, task_priority, attempt{columns}) "
        f"VALUES (:run, 1, 'load', 'FAKE', :state, 'default', 'MEDIUM', 'MEDIUM', :attempt{values})",
        run=run, state=state, attempt=attempt, **more,
    )  # fmt: skip


async def test_where_all_is_well_nothing_is_found(scene: Scene) -> None:
    """Of everything that may be under way one, and of everything that ended."""
    master, worker = await accepting(scene), await scene.worker()
    await scene.commands(3)
    running, delayed, ended, above = [await scene.instance(master) for _ in range(4)]
    await scene.queue(running, 1, 2, master=master)
    await scene.claim(worker, limit=1)
    await scene.queue(delayed, 1, master=master, wait_reason=WaitReason.RETRY, due_in_minutes=0.01)
    await scene.queue(above, 1, master=master, type_="SUB_PROCESS", state=TaskState.RUNNING_EXECUTION)
    await scene.instance(master, parent=Parent(above, 1, 1, 0))  # type: ignore[arg-type]
    await scene.sql("UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() WHERE id = :id", id=ended)
    await scene.instance(master, code=7)
    await scene.instance(master, code=7, state=WorkflowState.SERIAL_WAIT)
    await scene.sql("INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (1, 1, 1, 'x')")
    await scene.sql("INSERT INTO schedule (workflow_code, crontab, next_fire_at) VALUES (1, '* * * * *', now())")
    await scene.sql("INSERT INTO schedule (workflow_code, crontab, problem) VALUES (1, 'x', 'it is broken')")
    await scene.sql("INSERT INTO duty (name, every_s) SELECT unnest(CAST(:names AS text[])), 60", names=list(DutyName))
    await scene.sql("UPDATE duty SET due_at = now() - interval '1 d' WHERE name = 'alert_rules'")  # nothing to do since
    dead = await scene.master()
    failed_over = await scene.instance(dead)
    await scene.fence(dead)
    await scene.sql(
        "INSERT INTO alert (kind, severity, subject, unique_key) VALUES ('FAILOVER', 'WARNING', 'x', :key)",
        key=f"failover:{dead.epoch}",
    )
    await scene.sql("UPDATE node SET ended_at = now() - interval '1 hour' WHERE id = :id", id=dead.epoch)
    await scene.sql(
        "INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', :id)",
        id=failed_over,
    )
    assert await broken(scene) == {}


async def old_command(scene: Scene) -> str:
    await accepting(scene)
    (command,) = await scene.commands(1, age="31 s")
    return f"command {command} (START_PROCESS) waits since "


async def history_twice(scene: Scene) -> str:
    await scene.sql("ALTER TABLE command_history DROP CONSTRAINT command_history_pkey")
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "SELECT 7, 'STOP', 'DONE', 1, now() FROM generate_series(1, 2)"
    )
    await scene.sql("SELECT setval(pg_get_serial_sequence('command', 'id'), 10)")
    return "command 7 has 2 rows in command_history"


async def runs_twice(scene: Scene) -> str:
    master = await scene.master()
    await scene.sql("ALTER TABLE workflow_instance DROP CONSTRAINT workflow_instance_command")
    for _ in range(2):
        await scene.instance(master)
    await scene.sql("UPDATE workflow_instance SET command_id = 7")
    return "command 7 made 2 runs"


async def refused_and_done(scene: Scene) -> str:
    await scene.sql("SELECT setval(pg_get_serial_sequence('command', 'id'), 10)")
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "VALUES (7, 'STOP', 'DONE', 1, now())"
    )
    await scene.sql("INSERT INTO error_command (command_id, reason, master_id) VALUES (7, 'x', 1)")
    return "command 7 is recorded as an error and as done"


async def handled_and_waiting(scene: Scene) -> str:
    (command,) = await scene.commands(1)
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, master_id, created_at) "
        "VALUES (:id, 'STOP', 'DONE', 1, now())",
        id=command,
    )
    return f"command {command} waits, and was handled before"


async def sequence_set_back(scene: Scene) -> str:
    await scene.commands(5)
    await scene.sql("SELECT setval(pg_get_serial_sequence('command', 'id'), 2)")
    return "the last id that the sequence gave to a command is 2, and there was a command 5"


async def owner_fenced(scene: Scene) -> str:
    master = await scene.master()
    run = await scene.instance(master)
    await scene.fence(master)
    assert await broken(scene) == {}, "the living have some time to see to it"
    await scene.sql("UPDATE node SET ended_at = now() - interval '1 min'")
    return f"run {run} is RUNNING_EXECUTION, and its master {master.epoch} is FENCED since "


async def owner_unknown(scene: Scene) -> str:
    master = await scene.master()
    run = await scene.instance(master)
    await scene.sql("DELETE FROM node")
    return f"run {run} is RUNNING_EXECUTION, and its master {master.epoch} is not known"


async def line_forgotten(scene: Scene) -> str:
    run = await scene.instance(await scene.master(), code=7, state=WorkflowState.SERIAL_WAIT)
    return f"run {run} is SERIAL_WAIT, and nothing of its workflow is before it"


async def two_attempts(scene: Scene) -> str:
    run, worker = await scene.instance(await scene.master()), await scene.worker()
    await a_task(scene, run, "RUNNING_EXECUTION", worker_id=worker.epoch)
    await a_task(scene, run, "RUNNING_EXECUTION", 2, worker_id=worker.epoch)
    return f'task "load" of run {run}: attempt 1 is RUNNING_EXECUTION while attempt 2 is RUNNING_EXECUTION'


async def one_runs_one_waits(scene: Scene) -> str:
    run, worker = await scene.instance(await scene.master()), await scene.worker()
    await a_task(scene, run, "QUEUED")
    await a_task(scene, run, "RUNNING_EXECUTION", 2, worker_id=worker.epoch)
    return f'task "load" of run {run}: attempt 2 is RUNNING_EXECUTION while attempt 1 is QUEUED'


async def attempt_deleted(scene: Scene) -> str:
    run = await scene.instance(await scene.master())
    await a_task(scene, run, "QUEUED", 2)
    return f'task "load" of run {run} has 1 attempts, and the last is number 2'


async def stream_began(scene: Scene, *attempts: int) -> int:
    """A run of a stream of which these attempts are left."""
    run = await scene.instance(await scene.master())
    for attempt in attempts:
        await a_task(scene, run, "FAILURE", attempt, stream="{}", ended_at=datetime.now(UTC))
    return run


async def attempts_of_stream_deleted(scene: Scene) -> str:
    run = await stream_began(scene, *range(2, 21))
    return f'task "load" of run {run} has 19 attempts, and the last is number 20'


async def attempt_of_stream_deleted(scene: Scene) -> str:
    await stream_began(scene, *range(6, 26))
    assert await broken(scene) == {}, "the last 20 stay"
    await scene.sql("DELETE FROM task_instance")
    run = await stream_began(scene, *range(3, 9), *range(10, 26))
    return f'task "load" of run {run} has 22 attempts, and the last is number 25'


async def worker_fenced(scene: Scene) -> str:
    run, worker = await scene.instance(await scene.master()), await scene.worker()
    await a_task(scene, run, "DISPATCH", worker_id=worker.epoch)
    await scene.fence(worker)
    assert await broken(scene) == {}, "the living have some time to see to it"
    await scene.sql("UPDATE node SET ended_at = now() - interval '1 min' WHERE kind = 'WORKER'")
    return f'task 1 ("load" of run {run}) is DISPATCH on worker {worker.epoch}, which is FENCED'


async def worker_unknown(scene: Scene) -> str:
    run = await scene.instance(await scene.master())
    await a_task(scene, run, "RUNNING_EXECUTION", worker_id=99)
    return f'task 1 ("load" of run {run}) is RUNNING_EXECUTION on worker 99, which is not known'


async def timer_overdue(scene: Scene) -> str:
    run = await scene.instance(await scene.master())
    await a_task(scene, run, "DELAY_EXECUTION")
    await scene.sql("UPDATE task_instance SET due_at = now() - interval '31 s'")
    return f'task 1 ("load" of run {run}) was to be queued at '


async def timer_lost(scene: Scene) -> str:
    run = await scene.instance(await scene.master())
    await a_task(scene, run, "DELAY_EXECUTION")
    return f'task 1 ("load" of run {run}) waits for a time that it does not have'


async def schedule_late(scene: Scene) -> str:
    await scene.sql(
        "INSERT INTO schedule (workflow_code, crontab, next_fire_at) VALUES (5, '* * * * *', now() - interval '2 min')"
    )
    return "schedule 1 of workflow 5 was to fire at "


async def schedule_without_next_time(scene: Scene) -> str:
    await scene.sql(
        "INSERT INTO schedule (workflow_code, crontab, updated_at) VALUES (5, '* * * * *', now() - interval '2 min')"
    )
    return "schedule 1 of workflow 5 has no next time"


async def event_of_no_run(scene: Scene) -> str:
    await scene.sql(
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, created_at) "
        "VALUES (99, 3, 1, 'SUCCESS', now() - interval '31 s')"
    )
    return "event 1 (SUCCESS of task 3 of run 99) is unread since "


async def event_of_a_master(scene: Scene) -> str:
    run = await scene.instance(await scene.master())
    await scene.sql(
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, created_at) "
        "VALUES (:run, 3, 1, 'SUCCESS', now() - interval '31 s')",
        run=run,
    )
    return f"event 1 (SUCCESS of task 3 of run {run}) is unread since "


async def duty_fails(scene: Scene) -> str:
    await scene.sql("INSERT INTO duty (name, every_s, failures, error) VALUES ('sweep', 60, 3, 'no right on x')")
    return "duty sweep has failed 3 times in a row: no right on x"


async def ids_in_blocks(scene: Scene) -> str:
    await scene.sql("ALTER SEQUENCE command_id_seq CACHE 20")
    return "the sequence of the ids of command gives them with CACHE 20, INCREMENT 1: of two rows"


async def retention_leaves_some(scene: Scene) -> str:
    await scene.sql(
        "INSERT INTO duty_done (name, due_at, node_id, node_name, began_at, ended_at, steps, late, is_fine, result) "
        "SELECT 'retention', now() - n * interval '1 min', 1, 'm', now(), now(), 1, false, n = 2, 'run ' || n "
        "FROM generate_series(1, 2) AS n"
    )
    return "duty retention: run 1"


async def duty_late(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql("INSERT INTO duty (name, every_s, due_at) VALUES ('sweep', 60, now() - interval '3 min')")
    return "duty sweep was due at "


ALERTS_DUE = "INSERT INTO duty (name, every_s, due_at) VALUES ('alert_rules', 15, now() - interval '1 d')"


async def refused_without_alert(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql(ALERTS_DUE)
    await scene.sql("INSERT INTO error_command (command_id, reason, master_id) VALUES (7, 'x', 1)")
    assert await broken(scene) == {}, "the living have some time to write the alert"
    await scene.sql("UPDATE error_command SET refused_at = now() - interval '3 min'")
    return "duty alert_rules was due at "


async def lost_without_alert(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql(ALERTS_DUE)
    await scene.sql("UPDATE schema_version SET applied_at = now() - interval '1 d'")
    await scene.fence(await scene.worker())
    assert await broken(scene) == {}, "the living have some time to write the alert"
    await scene.sql("UPDATE node SET ended_at = now() - interval '3 min' WHERE kind = 'WORKER'")
    return "duty alert_rules was due at "


async def long_task_without_alert(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql(ALERTS_DUE)
    run, worker = await scene.instance(await scene.master()), await scene.worker()
    warns = {"timeout_s": 60, "timeout_strategy": "WARN"}
    await a_task(scene, run, "RUNNING_EXECUTION", worker_id=worker.epoch, **warns)
    await scene.sql("UPDATE task_instance SET started_at = now() - interval '2 min'")
    assert await broken(scene) == {}, "the living have some time to write the alert"
    await scene.sql("UPDATE task_instance SET started_at = now() - interval '4 min'")
    return "duty alert_rules was due at "


async def rules_not_applied(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql(ALERTS_DUE)
    await scene.sql(
        "INSERT INTO alert_rule (project, name, text) VALUES ('default', 'r', 'any run of a fails -> group b')"
    )
    assert await broken(scene) == {}, "the living have some time to apply it"
    await scene.sql("UPDATE alert_rule SET updated_at = now() - interval '3 min'")
    return "duty alert_rules was due at "


async def end_without_rules(scene: Scene) -> str:
    await accepting(scene)
    await scene.sql(ALERTS_DUE)
    await scene.sql(
        "INSERT INTO run_end (workflow_instance_id, workflow_code, state, ended_at, is_child) "
        "VALUES (1, 1, 'FAILURE', now(), false)"
    )
    assert await broken(scene) == {}, "the living have some time to apply the rules"
    await scene.sql("UPDATE run_end SET ended_at = now() - interval '3 min'")
    return "duty alert_rules was due at "


BREAKING: dict[Callable[[Scene], Awaitable[str]], str] = {
    old_command: "commands_are_taken",
    history_twice: "commands_have_one_outcome",
    runs_twice: "commands_have_one_outcome",
    refused_and_done: "commands_have_one_outcome",
    handled_and_waiting: "commands_have_one_outcome",
    sequence_set_back: "ids_are_new",
    owner_fenced: "runs_have_an_owner",
    owner_unknown: "runs_have_an_owner",
    line_forgotten: "runs_in_line_are_called",
    two_attempts: "attempts_do_not_overlap",
    one_runs_one_waits: "attempts_do_not_overlap",
    attempt_deleted: "attempts_are_dense",
    attempts_of_stream_deleted: "attempts_are_dense",
    attempt_of_stream_deleted: "attempts_are_dense",
    worker_fenced: "running_tasks_have_a_worker",
    worker_unknown: "running_tasks_have_a_worker",
    timer_overdue: "timers_go_off",
    timer_lost: "timers_go_off",
    schedule_late: "schedules_fire",
    schedule_without_next_time: "schedules_fire",
    event_of_no_run: "events_are_read",
    event_of_a_master: "events_are_read",
    duty_fails: "duties_are_done",
    duty_late: "duties_are_done",
    retention_leaves_some: "duties_are_done",
    ids_in_blocks: "ids_are_new",
    refused_without_alert: "duties_are_done",
    lost_without_alert: "duties_are_done",
    long_task_without_alert: "duties_are_done",
    rules_not_applied: "duties_are_done",
    end_without_rules: "duties_are_done",
}


@pytest.mark.parametrize("break_it", BREAKING, ids=lambda each: each.__name__)
async def test_what_breaks_a_check_is_told_by_that_one_alone(
    scene: Scene, break_it: Callable[[Scene], Awaitable[str]]
) -> None:
    sentence = await break_it(scene)
    found = await broken(scene)
    assert list(found) == [BREAKING[break_it]]
    (shown,) = found[BREAKING[break_it]]
    assert shown.startswith(sentence)


ADVISED = re.compile(r"(?:SELECT|UPDATE|DELETE) .*?(?=\.$|\. )")


@pytest.mark.parametrize(
    "break_it", [handled_and_waiting, sequence_set_back, event_of_no_run], ids=lambda f: f.__name__
)
async def test_the_sql_that_the_doctor_advises_heals_what_it_found(
    scene: Scene, break_it: Callable[[Scene], Awaitable[str]]
) -> None:
    await scene.sql("SELECT nextval(pg_get_serial_sequence('command', 'id')) FROM generate_series(1, 3)")
    await break_it(scene)
    name = BREAKING[break_it]
    _, (shown,) = await finds(scene, CHECKS[name])
    (statement,) = ADVISED.findall(CHECKS[name].fix)
    number = re.search(r"\d+", shown)
    assert number is not None
    await scene.sql(re.sub(r"\bID\b", number[0], statement))
    assert await broken(scene) == {}


def test_whatever_sql_the_doctor_advises_is_tried() -> None:
    advising = {name for name, check in CHECKS.items() if ADVISED.search(check.fix)}
    assert advising == {"commands_have_one_outcome", "ids_are_new", "events_are_read"}


def test_each_check_is_broken_by_a_test() -> None:
    assert set(BREAKING.values()) == set(CHECKS)


async def test_commands_may_wait_when_no_master_has_room(scene: Scene) -> None:
    master = await accepting(scene)
    await scene.commands(1, age="1 h")
    await scene.sql("UPDATE node_beat SET heartbeat = replace(heartbeat, 'NORMAL', 'BUSY')")
    assert await broken(scene) == {}
    await scene.sql("UPDATE node_beat SET heartbeat = :beat WHERE node_id = :id", beat=NORMAL, id=master.epoch)
    assert list(await broken(scene)) == ["commands_are_taken"]


async def test_of_many_finds_the_first_are_told_and_all_are_counted(scene: Scene) -> None:
    await accepting(scene)
    oldest = await scene.commands(1, age="2 h")
    await scene.commands(40, age="1 h")
    count, shown = await finds(scene, CHECKS["commands_are_taken"])
    assert (count, len(shown)) == (41, SHOWN_MAX)
    assert shown[0].startswith(f"command {oldest[0]} ")
    assert count < RECENT
