"""Each alert fires when it should, and none in a cluster that is as it should be: asked of promtool."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.servers.prometheus import promtool

RULES = Path(__file__).parents[2] / "metrics" / "rules" / "shoal.yml"
MINUTES = 40
FINE = {
    'shoal_info{role="master", instance="m1"}': "1x100",
    'shoal_info{role="worker", instance="w1"}': "1x100",
    'shoal_cluster_runs{state="RUNNING_EXECUTION"}': "5x100",
    'shoal_cluster_queue_waiting{worker_group="default"}': "3x100",
    'shoal_cluster_group_workers{worker_group="default"}': "1x100",
    'shoal_cluster_queue_oldest_wait_seconds{worker_group="default"}': "2x100",
    "shoal_cluster_command_oldest_wait_seconds": "0x100",
    "shoal_cluster_schedule_overdue_seconds": "0x100",
    'shoal_master_commands_refused_total{instance="m1"}': "3x100",
    'shoal_master_commands_stolen_total{instance="m1"}': "2x100",
    'shoal_master_nodes_fenced_total{instance="m1", kind="WORKER"}': "1x100",
    'shoal_master_tasks_lost_total{instance="m1"}': "7x100",
    'shoal_master_slot_changes_total{instance="m1"}': "9x100",
    'shoal_master_slots{instance="m1"}': "2x100",
    'shoal_master_slots{instance="m2"}': "2x100",
    'shoal_master_slots{instance="drained"}': "0x100",
    'shoal_node_beat_age_seconds{instance="m1"}': "2x100",
    'shoal_node_busy{instance="m1"}': "0x100",
    'shoal_cluster_pool_waiting{pool="proxies"}': "4x100",
    'shoal_cluster_pool_resources{pool="proxies", state="free"}': "1x100",
    'shoal_master_runs_ended_total{instance="m1", state="SUCCESS"}': "0+60x100",
    'shoal_master_runs_ended_total{instance="m1", state="FAILURE"}': "0+1x100",
    'shoal_database_commit_seconds_bucket{instance="m1", le="1.0"}': "0+60x100",
    'shoal_database_commit_seconds_bucket{instance="m1", le="10.0"}': "0+60x100",
    'shoal_database_commit_seconds_bucket{instance="m1", le="+Inf"}': "0+60x100",
    'shoal_database_errors_total{instance="m1", error="Unavailable"}': "1x100",
    "shoal_cluster_alert_oldest_wait_seconds": "3x100",
    'shoal_alert_deliveries_total{instance="s1", result="failed"}': "1x100",
    'shoal_api_requests_total{instance="a1", status="2xx"}': "0+60x100",
    'shoal_api_requests_total{instance="a1", status="5xx"}': "0+1x100",
    'shoal_api_request_seconds_bucket{instance="a1", le="1.0"}': "0+60x100",
    'shoal_api_request_seconds_bucket{instance="a1", le="10.0"}': "0+60x100",
    'shoal_api_request_seconds_bucket{instance="a1", le="+Inf"}': "0+60x100",
}
"""A cluster in which some faults happened once, long ago."""
FAULTS: dict[str, dict[str, str]] = {
    "ShoalNoMaster": {'shoal_info{role="master", instance="m1"}': ""},
    "ShoalNoWorker": {'shoal_info{role="worker", instance="w1"}': ""},
    "ShoalGroupWithoutWorkers": {'shoal_cluster_group_workers{worker_group="default"}': "0x100"},
    "ShoalCommandsWait": {"shoal_cluster_command_oldest_wait_seconds": "90x100"},
    "ShoalQueueWaits": {'shoal_cluster_queue_oldest_wait_seconds{worker_group="default"}': "1000x100"},
    "ShoalErrorCommands": {'shoal_master_commands_refused_total{instance="m1"}': "0+1x100"},
    "ShoalCommandsStolen": {'shoal_master_commands_stolen_total{instance="m1"}': "0+1x100"},
    "ShoalNodeFenced": {'shoal_master_nodes_fenced_total{instance="m1", kind="WORKER"}': "0x35 1x65"},
    "ShoalAttemptsLost": {'shoal_master_tasks_lost_total{instance="m1"}': "0x35 8x65"},
    "ShoalSlotsChangeTooOften": {'shoal_master_slot_changes_total{instance="m1"}': "0+5x100"},
    "ShoalSlotsDisagree": {'shoal_master_slots{instance="m2"}': "1x100"},
    "ShoalBeatLate": {'shoal_node_beat_age_seconds{instance="m1"}': "9x100"},
    "ShoalBusy": {'shoal_node_busy{instance="m1"}': "1x100"},
    "ShoalScheduleOverdue": {"shoal_cluster_schedule_overdue_seconds": "200x100"},
    "ShoalPoolExhausted": {'shoal_cluster_pool_resources{pool="proxies", state="free"}': "0x100"},
    "ShoalRunsFail": {'shoal_master_runs_ended_total{instance="m1", state="FAILURE"}': "0+90x100"},
    "ShoalDatabaseSlow": {'shoal_database_commit_seconds_bucket{instance="m1", le="1.0"}': "0+30x100"},
    "ShoalDatabaseErrors": {'shoal_database_errors_total{instance="m1", error="Unavailable"}': "0+30x100"},
    "ShoalFiguresMissing": {'shoal_cluster_runs{state="RUNNING_EXECUTION"}': ""},
    "ShoalAlertsWait": {"shoal_cluster_alert_oldest_wait_seconds": "700x100"},
    "ShoalAlertsFail": {'shoal_alert_deliveries_total{instance="s1", result="failed"}': "0x35 2x65"},
    "ShoalApiErrors": {'shoal_api_requests_total{instance="a1", status="5xx"}': "0+30x100"},
    "ShoalApiSlow": {'shoal_api_request_seconds_bucket{instance="a1", le="1.0"}': "0+30x100"},
}
"""The differences of a cluster with the fault of each alert; an empty text: the series is missing."""


def test_each_alert_has_its_fault() -> None:
    assert re.findall(r"alert: (\w+)", RULES.read_text()) == list(FAULTS)


@pytest.mark.parametrize("alert", [None, *FAULTS])
def test_an_alert_fires_for_its_fault_and_for_no_other(alert: str | None, tmp_path: Path) -> None:
    series = {name: values for name, values in {**FINE, **FAULTS.get(alert or "", {})}.items() if values}
    # Whether it fires, not the labels and texts of what fires.
    checks = [
        {
            "expr": f'count(ALERTS{{alertstate="firing", alertname="{each}"}}) > bool 0 or vector(0)',
            "eval_time": f"{MINUTES}m",
            "exp_samples": [{"labels": "{}", "value": int(each == alert)}],
        }
        for each in FAULTS
    ]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": checks,
            }
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps(test))
    assert "SUCCESS" in promtool("test", "rules", str(tmp_path / "test.yml"))


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", str(RULES))
