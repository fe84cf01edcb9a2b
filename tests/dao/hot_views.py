"""The views that are read often, each as a call of `dao`, with the indexes that it must walk and what it may read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dao.cluster import cluster_figures
from dao.commands import claim_rates
from dao.definitions import schedule_listings
from dao.pools import pool_listings as pools
from dao.pools import pool_readings
from dao.run_lists import element_listings, run_counts
from dao.run_lists.wanted_runs import WantedRuns
from dao.runs import attention, backfills, bulk, last_runs, live, run_progress, run_spans, usual_times
from dao.tasks import task_logs
from model.ids import TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from tests.dao.hot import RUNNING, WAITERS, Hot

VIEWS = {
    "chains of backfills that stopped": Hot(
        lambda c: backfills.refused_chains(c, None, None, 100), {"error_command_chain"}, 10
    ),
    "chains of backfills of a workflow that stopped": Hot(
        lambda c: backfills.refused_chains(c, "w", None, 100), {"error_command_chain_of"}, 10
    ),
    "last runs of a page of workflows": Hot(
        lambda c: last_runs.last_runs(c, [WorkflowCode(1001), WorkflowCode(2002), WorkflowCode(7)], 12),
        {"workflow_instance_time"},
        50,
    ),
    "cells of a grid": Hot(lambda c: last_runs.cells(c, RUNNING[:25], 50_001), {"task_instance_valid"}, 100),
    "how far runs are": Hot(lambda c: run_progress.states(c, RUNNING[:50]), {"task_instance_valid"}, 200),
    "reports of runs": Hot(lambda c: run_progress.reports(c, RUNNING[:50], 3), {"task_instance_valid"}, 200),
    "elements of runs by state": Hot(
        lambda c: element_listings.elements(c, dict.fromkeys(RUNNING[:50], ())), {"task_instance_valid"}, 200
    ),
    "a page of elements": Hot(
        lambda c: element_listings.page(c, WorkflowInstanceId(RUNNING[0]), TaskCode(1), 50), {"task_instance_valid"}, 60
    ),
    "bars of a histogram": Hot(
        lambda c: run_counts.bars(
            c, WantedRuns(since=datetime(2026, 1, 1, tzinfo=UTC)), datetime(2100, 1, 1, tzinfo=UTC), 3600.0, 10_000
        ),
        {"workflow_instance_pkey"},
        20_000,
    ),
    "bars of one workflow": Hot(
        lambda c: run_counts.bars(
            c,
            WantedRuns(workflow="w", since=datetime(2026, 1, 1, tzinfo=UTC)),
            datetime(2100, 1, 1, tzinfo=UTC),
            3600.0,
            10_000,
        ),
        set(),
        20_000,
    ),
    "usual times of runs": Hot(
        lambda c: usual_times.of_runs(c, [WorkflowCode(1001), WorkflowCode(2002), WorkflowCode(7)]),
        {"workflow_instance_by_workflow"},
        120,
    ),
    "usual times of tasks": Hot(
        lambda c: usual_times.of_tasks(c, WorkflowCode(2002), [TaskCode(1), TaskCode(2)]),
        {"workflow_instance_by_workflow", "task_instance_attempt"},
        250,
    ),
    "a page of pools": Hot(lambda c: pools.page(c, 51), {"pool_resource_name", "pool_line_pkey"}, 6_500),
    "one pool": Hot(lambda c: pools.pool(c, "b"), {"resource_pool_name", "pool_resource_name", "pool_line_pkey"}, 610),
    "counts of all pools": Hot(pools.all_counts, {"pool_resource_name", "pool_line_pkey"}, 7_500),
    "a page of resources": Hot(
        lambda c: pools.resources(c, pools.ResourceFilter(1), 51, None, lease=timedelta(seconds=30)),
        {"pool_resource_name"},
        610,
    ),
    "a page of a line": Hot(
        lambda c: pools.line(c, "a", 51, 100),
        {"pool_line_pkey", "task_instance_pkey"},
        260,
    ),
    "why attempts wait for pools": Hot(
        lambda c: pool_readings.read(c, [each.id for each in WAITERS[:20]]),
        {"task_instance_pkey", "pool_line_pkey", "pool_resource_name"},
        20 * 650,
    ),
    "where a log is": Hot(
        lambda c: task_logs.log_place(c, TaskInstanceId(2)), {"task_instance_pkey", "workflow_instance_pkey"}, 2
    ),
    "claims of late": Hot(lambda c: claim_rates.recent(c, timedelta(days=1)), {"command_history_pkey"}, 5_000),
    "a page of schedules": Hot(lambda c: schedule_listings.page(c, 51), {"schedule_pkey"}, 51),
    "what runs for longest": Hot(lambda c: attention.running(c, 1), {"workflow_instance_by_workflow"}, 500),
    "what failed last": Hot(lambda c: attention.failed(c, 7, None, 50), {"workflow_instance_by_workflow"}, 10_000),
    "what fires next of all": Hot(lambda c: schedule_listings.upcoming(c, 50), {"schedule_due"}, 110),
    "runs that are to be stopped": Hot(lambda c: bulk.by_ids(c, RUNNING[:100]), {"workflow_instance_pkey"}, 100),
    "what became of many commands": Hot(
        lambda c: bulk.fates(c, range(1, 101)), {"command_pkey", "command_history_pkey"}, 210
    ),
    "runs that changed": Hot(lambda c: live.runs(c, RUNNING), {"workflow_instance_pkey"}, 2 * len(RUNNING)),
    "attempts that changed": Hot(lambda c: live.attempts(c, RUNNING), {"task_instance_attempt"}, 20 * len(RUNNING)),
    "counts of what changed": Hot(lambda c: live.counts(c, RUNNING), {"task_instance_attempt"}, 20 * len(RUNNING)),
    "figures of the cluster": Hot(
        lambda c: cluster_figures.read(c, 400),
        {
            *("workflow_instance_unfinished", "command_pkey", "command_age", "schedule_due", "task_instance_queue"),
            *("task_instance_running", "resource_pool_name", "pool_resource_name", "pool_line_pkey"),
        },
        5_000,
    ),
    "spans of runs": Hot(
        lambda c: run_spans.runs(c, [WorkflowInstanceId(id_) for id_ in range(2_001, 2_051)]),
        {"workflow_instance_pkey"},
        300,
    ),
    "spans of attempts": Hot(lambda c: run_spans.attempts(c, RUNNING[0], 1_000), {"task_instance_attempt"}, 20),
    "counts of the queue": Hot(live.queue, set(), 2 * live.COUNTED_MAX),
}
