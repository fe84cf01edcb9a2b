"""The statements that run often, each as a call of `dao`, with the indexes that it must walk and what it may read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

from dao.checks import stuck_runs
from dao.checks.stuck_runs import UnderWay
from dao.cluster import nodes
from dao.commands import commands, waiting_work
from dao.commands.older_starts import backlogs, older_starts
from dao.definitions import definitions, schedules
from dao.definitions.schedules import Fire
from dao.duties import duties
from dao.pools import pool_claims, pool_leases
from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.retention import gone_runs, old_commands, old_runs
from dao.retention.old_runs import OldRuns
from dao.runs import after_end, children, control, dependencies, failover, serial_line, started_runs, workflow_instances
from dao.runs.children import Unmade
from dao.runs.control import Revival
from dao.runs.dependencies import Span
from dao.runs.workflow_instances import InstanceEnd
from dao.streams import stream_claims, stream_ends, stream_readiness, streams
from dao.streams.stream_readiness import Probed
from dao.tasks import lost_tasks, past_attempts, stored_logs, task_claims, task_events, task_instances, task_progress
from dao.tasks.stored_logs import StoredLog
from dao.tasks.task_claims import Report
from dao.tasks.task_progress import Reported
from model.choices import Priority
from model.cluster.low_water import Marks
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch, ScheduleId, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from model.pools.turns import PoolRoom
from model.runs.instances import AttemptEnd, Parent
from model.runs.looks import Again
from model.runs.serial_lines import Line
from model.runs.states import TaskState, WorkflowState
from model.time.schedules import ScheduleRow
from tests.dao.hot import RUNNING, WAITERS, Hot
from tests.dao.hot_views import VIEWS
from tests.dao.scene import new_task

BIG = {"command", "pool_line", "pool_resource", "schedule", "task_instance", "workflow_instance"}
LIVING_MASTER, LIVING_WORKER, DEAD_WORKER = Epoch(1), Epoch(51), Epoch(53)
ABOVE = RUNNING[:20]
"""Those of them that have children."""
SPANS = [Span(WorkflowCode(7), datetime(1, 1, 3, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), dated=True)]
"""All dates before one."""
OVER = range(2_001, 2_021)
"""Instances that have ended, some of a serial workflow, some under another."""


def log_of(id_: int) -> LogName:
    """The log of an attempt of the first of them."""
    return LogName("20260131", WorkflowCode(1001), WorkflowInstanceId(RUNNING[0]), TaskInstanceId(id_))


FIRES = [
    Fire(
        ScheduleRow(
            *(ScheduleId(id_), 1001, "0 5 * * *", "UTC", None, None, "ONLINE", "SKIP", 60.0),
            *("2026-01-01 00:00:00+00", None, None, "2026-01-01 00:00:00+00", "2026-01-01 00:00:00+00"),
        ),
        [datetime(2026, 1, 1, tzinfo=UTC)],
        datetime(2026, 1, 2, tzinfo=UTC),
    )
    for id_ in range(1, 201)
]
"""Of the schedules that are due."""


def licensed(connection: AsyncConnection) -> FencedTransaction:
    """Only the plan of what is sent in it is looked at."""
    return cast(FencedTransaction, connection)


ROOMS = {"a": PoolRoom(40, 40, is_held=True), "b": PoolRoom(0, 500, is_held=False)}
KEYS = [Line(WorkflowCode(3003), f"key {number}") for number in range(10)]
HOT = VIEWS | {
    "which duty is due": Hot(
        lambda c: duties.read_next(c, LIVING_MASTER, ["retention"], ["retention", "left_work"]), {"duty_pkey"}, 10
    ),
    "which runs are over": Hot(
        lambda c: old_runs.find(c, 2_000, 1, [WorkflowCode(7)], [WorkflowCode(8)], 10),
        {"workflow_instance_pkey"},
        2_000,
    ),
    "deletion of runs": Hot(
        lambda c: old_runs.delete(
            cast(FencedTransaction, c),
            OldRuns(
                [WorkflowInstanceId(id_) for id_ in OVER], [datetime(2026, 1, 1, tzinfo=UTC)] * len(OVER), 0, False
            ),
        ),
        {"workflow_instance_pkey"},
        1_000,
    ),
    "deletion of commands without runs": Hot(
        lambda c: old_commands.delete(cast(FencedTransaction, c), 0, 90), {"command_history_pkey"}, 3_000
    ),
    "runs that are gone": Hot(lambda c: gone_runs.gone(c, RUNNING[:200]), {"workflow_instance_pkey"}, 500),
    "attempts that are gone": Hot(
        lambda c: gone_runs.gone_attempts(
            c, RUNNING[0], WorkflowCode(1001), [TaskInstanceId(id_) for id_ in range(1, 201)]
        ),
        {"workflow_instance_pkey", "task_instance_pkey", "task_instance_attempt"},
        2_000,
    ),
    "logs that are to be copied": Hot(
        lambda c: stored_logs.wanted(c, [log_of(id_) for id_ in range(1, 201)], "w1"), {"task_instance_pkey"}, 500
    ),
    "copies of logs": Hot(
        lambda c: stored_logs.record(
            cast(FencedTransaction, c), [StoredLog(TaskInstanceId(id_), 4, None) for id_ in range(1, 201)]
        ),
        {"task_instance_pkey"},
        500,
    ),
    "copies that were deleted": Hot(
        lambda c: stored_logs.delete(cast(FencedTransaction, c), [TaskInstanceId(id_) for id_ in range(1, 201)]),
        {"stored_log_pkey"},
        500,
    ),
    "progress of tasks": Hot(
        lambda c: task_progress.record(
            c, [Reported(TaskInstanceId(id_), 1, 1.0, None, None) for id_ in range(1, 501)], LIVING_WORKER
        ),
        {"task_instance_pkey"},
        1_100,
    ),
    "claim, small batch": Hot(lambda c: commands.claim(c, Slot(1, 2), 20, 1), {"command_claim"}, 100),
    "claim, large batch of three": Hot(lambda c: commands.claim(c, Slot(1, 3), 5_000, 1), {"command_claim"}, 25_000),
    "claim of a full master": Hot(
        lambda c: commands.claim_urgent(c, Slot(1, 2), timedelta(seconds=5), 500, 1), {"command_claim"}, 3_000
    ),
    "steal": Hot(lambda c: commands.steal(c, timedelta(0), 500), {"command_age"}, 1_000),
    "steal, nothing is old": Hot(lambda c: commands.steal(c, timedelta(days=1), 500), {"command_age"}, 0),
    "claim, many aside": Hot(
        lambda c: commands.claim(c, Slot(1, 2), 20, 1, [CommandId(each) for each in range(1, 1_001)]),
        {"command_claim"},
        2_100,
    ),
    "steal, many aside": Hot(
        lambda c: commands.steal(c, timedelta(0), 500, [CommandId(each) for each in range(1, 1_001)]),
        {"command_age"},
        2_000,
    ),
    "idle look of a master": Hot(
        lambda c: waiting_work.work_waits(c, Slot(0, 2), timedelta(days=1), 1, Epoch(77)),
        {"command_age", "task_instance_stream"},
        2_100,
    ),
    "idle look without a slot": Hot(
        lambda c: waiting_work.work_waits(c, None, timedelta(days=1), 1, LIVING_MASTER), {"command_age"}, 2_100
    ),
    "idle look of a master from its marks": Hot(
        lambda c: waiting_work.work_waits(c, Slot(0, 2), timedelta(days=1), 1, LIVING_MASTER, marks=Marks(1e9, 100)),
        {"command_age", "task_event_pkey"},
        2_100,
    ),
    "consume": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100), {"task_event_pkey", "workflow_instance_pkey"}, 500
    ),
    "consume from a mark": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100, first=100),
        {"task_event_pkey", "workflow_instance_pkey"},
        500,
    ),
    "consume, many aside": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100, without=RUNNING[:200]),
        {"task_event_pkey", "workflow_instance_pkey"},
        2_100,
    ),
    "consume, of one alone": Hot(
        lambda c: task_events.consume(c, LIVING_MASTER, 100, only=RUNNING[-1]), {"workflow_instance_pkey"}, 500
    ),
    "queue": Hot(
        lambda c: task_instances.queue(c, [new_task(each, 2) for each in RUNNING], LIVING_MASTER),
        {"workflow_instance_pkey"},
        len(RUNNING),
    ),
    "halt": Hot(
        lambda c: task_instances.halt(c, dict.fromkeys(RUNNING[:5], (TaskState.KILL, "x")), (), LIVING_MASTER),
        {"task_instance_attempt"},
        100,
    ),
    # Of some tasks or of all that run, which are few beside those that are over: either way is right.
    "ask kill": Hot(lambda c: task_instances.ask_kill(c, RUNNING[:5], LIVING_MASTER), set(), 2_100),
    "end in master": Hot(
        lambda c: task_instances.end_in_master(
            c, [(each, AttemptEnd(TaskCode(3), 1, TaskState.SUCCESS)) for each in ABOVE], LIVING_MASTER
        ),
        set(),
        4 * len(ABOVE),
    ),
    "invalidate": Hot(
        lambda c: task_instances.invalidate(c, [(each, TaskCode(1)) for each in RUNNING[:5]]),
        {"task_instance_attempt"},
        20,
    ),
    "hold a line": Hot(lambda c: serial_line.lock(c, [WorkflowCode(2002)]), set(), 10),
    "serial line": Hot(
        lambda c: serial_line.standing(c, [Line(WorkflowCode(2002))]),
        {"workflow_instance_line", "workflow_instance_turn", "workflow_version_pkey"},
        10,
    ),
    "lines of keys": Hot(
        lambda c: serial_line.standing(c, KEYS), {"workflow_instance_line", "workflow_instance_turn"}, 60
    ),
    "who runs in a line": Hot(lambda c: serial_line.live(c, Line(WorkflowCode(2002))), {"workflow_instance_line"}, 10),
    "who waits in a line": Hot(
        lambda c: serial_line.waiting(c, {Line(WorkflowCode(2002)): 1}), {"workflow_instance_turn"}, 10
    ),
    "who waits in lines of keys": Hot(
        lambda c: serial_line.waiting(c, dict.fromkeys(KEYS, 1)), {"workflow_instance_turn"}, 60
    ),
    "who is overtaken in a line": Hot(
        lambda c: serial_line.overtaken(c, {Line(WorkflowCode(2002)): 2}, 500), {"workflow_instance_urgent_turn"}, 10
    ),
    "lines with room": Hot(
        lambda c: serial_line.with_room(c, WorkflowCode(3003), 20),
        {"workflow_instance_line", "workflow_instance_turn"},
        120,
    ),
    "call the lines of a workflow": Hot(
        lambda c: serial_line.call(c, [WorkflowCode(3003)]), {"workflow_instance_turn", "command_calls"}, 10
    ),
    "call the lines of a workflow without its lock": Hot(
        lambda c: serial_line.call_without_lock(c, WorkflowCode(3003)), {"workflow_instance_turn"}, 10
    ),
    "backlogs of starts": Hot(lambda c: backlogs(c, {WorkflowCode(1001): 20}), {"command_start"}, 40),
    "older starts": Hot(lambda c: older_starts(c, {WorkflowCode(1001): CommandId(900_000)}, 10), {"command_start"}, 40),
    "call the forgotten": Hot(
        serial_line.call_missed, {"workflow_instance_turn", "workflow_instance_line", "command_calls"}, 1_100
    ),
    "who waits for itself": Hot(
        serial_line.deadlocked,
        {"workflow_instance_turn", "workflow_instance_line", "workflow_instance_child"},
        10_000,
    ),
    "hold runs": Hot(lambda c: control.lock(c, RUNNING[:5]), {"workflow_instance_pkey"}, 5),
    "ask for a halt": Hot(
        lambda c: control.ask_halt(c, dict.fromkeys(RUNNING[:5], WorkflowState.READY_STOP)),
        {"workflow_instance_pkey"},
        5,
    ),
    "revive": Hot(
        lambda c: control.revive(c, [Revival(WorkflowInstanceId(each)) for each in OVER], LIVING_MASTER),
        {"workflow_instance_pkey"},
        len(OVER),
    ),
    "who is above": Hot(lambda c: children.above(c, ABOVE), {"workflow_instance_pkey"}, 4 * len(ABOVE)),
    "children of": Hot(lambda c: children.of(c, ABOVE), {"workflow_instance_child"}, 10 * len(ABOVE)),
    "existing children": Hot(
        lambda c: children.existing(c, [Parent(each, TaskCode(3), 1, 7) for each in ABOVE]),
        {"workflow_instance_child"},
        len(ABOVE),
    ),
    "what was started apart": Hot(
        lambda c: started_runs.existing(c, [Parent(each, TaskCode(3), 1, 0, waits=False) for each in ABOVE]),
        {"workflow_instance_started_by_task"},
        len(ABOVE),
    ),
    "what runs have started": Hot(
        lambda c: started_runs.of(c, ABOVE), {"workflow_instance_started_by_task"}, len(ABOVE)
    ),
    "dates that come": Hot(lambda c: dependencies.coming(c, SPANS), {"command_dated"}, 10),
    "the run of a date": Hot(lambda c: dependencies.find(c, SPANS), {"workflow_instance_time"}, 10),
    "the run before a date": Hot(lambda c: dependencies.before(c, SPANS), {"workflow_instance_time"}, 10),
    "halt children": Hot(lambda c: children.halt(c, dict.fromkeys(ABOVE, TaskState.KILL)), set(), 2_100),
    "resume children": Hot(
        lambda c: children.resume(c, [(Parent(each, TaskCode(3), 1, 7), 2) for each in ABOVE]),
        {"workflow_instance_child", "workflow_instance_pkey", "workflow_definition_pkey"},
        4 * len(ABOVE),
    ),
    "tell who is above": Hot(
        lambda c: children.report_unmade(
            c, [Unmade(Parent(each, TaskCode(3), 1, 7), WorkflowState.FAILURE) for each in ABOVE]
        ),
        {"workflow_instance_pkey"},
        len(ABOVE),
    ),
    "tell who waits for an end": Hot(
        lambda c: after_end.notify_awaiting(c, [WorkflowInstanceId(each) for each in OVER]),
        {"workflow_instance_pkey"},
        5 * len(OVER),
    ),
    "latest attempts": Hot(
        lambda c: past_attempts.latest_attempts(c, RUNNING), {"task_instance_attempt"}, len(RUNNING)
    ),
    "finish": Hot(
        lambda c: workflow_instances.finish(
            c, [InstanceEnd(each, WorkflowState.SUCCESS, "") for each in RUNNING], LIVING_MASTER
        ),
        {"workflow_instance_pkey"},
        len(RUNNING),
    ),
    "walk of the watcher": Hot(
        lambda c: stuck_runs.walk(c, LIVING_MASTER, WorkflowInstanceId(0), 200, timedelta(0)),
        {"workflow_instance_unfinished", "task_instance_attempt"},
        500,
    ),
    "what is stuck of all": Hot(
        lambda c: stuck_runs.stuck(c, timedelta(0)), {"workflow_instance_unfinished", "task_instance_attempt"}, 1_100
    ),
    "what was not heard": Hot(
        lambda c: stuck_runs.unheard(c, [UnderWay(each, TaskCode(1), 1) for each in RUNNING], timedelta(0)),
        {"task_instance_attempt"},
        2 * len(RUNNING),
    ),
    "claim a failover": Hot(
        lambda c: failover.claim_failover(c, [WorkflowInstanceId(2), WorkflowInstanceId(3)], LIVING_MASTER),
        {"workflow_instance_pkey"},
        10,
    ),
    "owned": Hot(lambda c: workflow_instances.owned(c, LIVING_MASTER), {"workflow_instance_unfinished"}, 250),
    "fail over": Hot(
        lambda c: failover.fail_over(c, 100),
        {"workflow_instance_unfinished", "workflow_instance_pkey"},
        1_200,
    ),
    "mark lost": Hot(lambda c: lost_tasks.mark_lost(c, 100), {"task_instance_running", "task_instance_pkey"}, 720),
    "task claim": Hot(
        lambda c: task_claims.claim(c, ["gpu", "default"], 50, LIVING_WORKER),
        {"task_instance_queue", "task_instance_pkey", "workflow_instance_pkey"},
        200,
    ),
    "task claim, nothing is queued": Hot(
        lambda c: task_claims.claim(c, ["gpu"], 50, LIVING_WORKER), {"task_instance_queue"}, 0
    ),
    "task claim, where tasks are": Hot(
        lambda c: task_claims.claim(
            c, ["gpu", "default"], 50, LIVING_WORKER, {Priority.MEDIUM: {"gpu": 0, "default": 0}}
        ),
        {"task_instance_queue", "task_instance_pkey", "workflow_instance_pkey"},
        200,
    ),
    "count of streams": Hot(
        lambda c: stream_claims.count(licensed(c), ["streams"]), {"task_instance_stream", "task_instance_attempt"}, 220
    ),
    "workers on which streams fail": Hot(
        lambda c: stream_claims.troubled(licensed(c)), {"task_instance_stream", "task_instance_attempt"}, 120
    ),
    "claim of streams": Hot(
        lambda c: stream_claims.claim(licensed(c), {"streams": 10}, LIVING_WORKER),
        {"task_instance_stream", "task_instance_pkey", "workflow_instance_pkey"},
        170,
    ),
    "claim of streams, none wait": Hot(
        lambda c: stream_claims.claim(licensed(c), {"gpu": 10}, LIVING_WORKER), {"task_instance_stream"}, 0
    ),
    "streams for a master": Hot(lambda c: streams.living(c), {"task_instance_stream"}, 110),
    "who is first in the lines of pools": Hot(
        lambda c: streams.first_in_line(c), {"pool_line_kind", "task_instance_pkey", "task_instance_stream"}, 400
    ),
    "handover of streams": Hot(
        lambda c: streams.hand_over(licensed(c), dict.fromkeys([TaskInstanceId(1), TaskInstanceId(2)], "it moves")),
        {"task_instance_pkey"},
        10,
    ),
    "restarts of streams": Hot(lambda c: streams.restarts(c), set(), 10),
    "how long streams ran": Hot(
        lambda c: stream_ends.ran_s(c, [(each, TaskCode(1), 1) for each in RUNNING[:50]]),
        {"task_instance_attempt"},
        60,
    ),
    "deletion of old attempts": Hot(
        lambda c: stream_ends.delete_old(licensed(c), [(each, TaskCode(1), 5) for each in RUNNING[:20]], LIVING_MASTER),
        {"task_instance_attempt", "workflow_instance_pkey"},
        70,
    ),
    "readiness of streams": Hot(
        lambda c: stream_readiness.record(
            licensed(c), [Probed(TaskInstanceId(2), RUNNING[0], 1, is_ready=True)], LIVING_WORKER
        ),
        {"task_instance_pkey"},
        10,
    ),
    "idle look of a worker": Hot(
        lambda c: task_claims.work_waits(c, ["gpu"], LIVING_WORKER),
        {"task_instance_queue", "task_instance_running", "pool_line_group"},
        135,
    ),
    "idle look of a worker from its mark": Hot(
        lambda c: task_claims.work_waits(c, ["nix"], LIVING_WORKER, first=6_000_000, runs=False),
        {"task_instance_pkey"},
        135,
    ),
    "pools for which somebody waits": Hot(
        lambda c: pool_claims.hold_pools(c, ["pooled", "gpu"], LIVING_WORKER), {"pool_line_group"}, 10
    ),
    "room of pools": Hot(lambda c: pool_claims.rooms(c, {"a": True}), {"pool_line_pkey"}, 1_310),
    "who waits for pools": Hot(
        lambda c: pool_claims.waiters(c, ROOMS, ["pooled"], ["gpu"], 50),
        {"pool_line_kind", "task_instance_pkey", "task_instance_queue"},
        600,
    ),
    "claim with leases": Hot(
        lambda c: pool_claims.claim(cast(FencedTransaction, c), WAITERS, LIVING_WORKER),
        {"task_instance_pkey", "pool_resource_free"},
        1_000,
    ),
    "resources that are held": Hot(lambda c: pool_leases.held(c, LIVING_WORKER), {"pool_resource_worker"}, 10),
    "resources that are given back": Hot(
        lambda c: pool_leases.free(licensed(c), [each.id for each in WAITERS], LIVING_WORKER),
        {"pool_resource_holder"},
        10,
    ),
    "resources of attempts that are marked as lost": Hot(
        lambda c: pool_leases.hold(licensed(c), [each.id for each in WAITERS]), {"pool_resource_holder"}, 10
    ),
    "report": Hot(
        lambda c: task_claims.report(
            c,
            [Report(TaskInstanceId(id_), 1, TaskState.SUCCESS, "", 0, None) for id_ in range(2, 501, 4)],
            DEAD_WORKER,
        ),
        {"task_instance_pkey", "workflow_instance_pkey"},
        250,
    ),
    "look in vain": Hot(
        lambda c: task_claims.report(
            c,
            [
                Report(TaskInstanceId(id_), 1, TaskState.DELAY_EXECUTION, "", None, None, again=Again(60, within_s=60))
                for id_ in range(2, 501, 4)
            ],
            DEAD_WORKER,
        ),
        {"task_instance_pkey", "workflow_instance_pkey", "task_instance_attempt"},
        800,
    ),
    "what is started": Hot(
        lambda c: definitions.to_start(c, [WorkflowCode(1001)], [ScheduleId(1)], []), {"schedule_pkey"}, 2
    ),
    "due schedules": Hot(lambda c: schedules.due(c, Slot(0, 2), 50), {"schedule_due"}, 110),
    "idle look at the schedules": Hot(lambda c: schedules.next_due_in_s(c, Slot(1, 2)), {"schedule_due"}, 5),
    "fire": Hot(lambda c: schedules.fire(c, FIRES), {"schedule_pkey"}, 4 * len(FIRES)),
    "living nodes": Hot(lambda c: nodes.living(c), {"node_alive", "node_beat_pkey"}, 0),
}
