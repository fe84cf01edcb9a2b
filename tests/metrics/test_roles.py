"""What each role of a real cluster shows to Prometheus, under load."""

from __future__ import annotations

from dao.secrets.vault import new_key
from node.cluster_gauges import REST_S_MAX
from tests.alert.receivers import mail_server
from tests.cluster.cluster import Cluster
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually
from tests.metrics.scraping import scraped, started_sender, value
from tests.servers.prometheus import promtool


async def test_a_master_and_a_worker_show_what_they_did(cluster: Cluster) -> None:
    cluster.define(
        1, "chain", tasks=[{"name": f"t{n}", "type": "FAKE", "after": [f"t{n - 1}"] if n else []} for n in range(5)]
    )
    master, worker = await cluster.master(), await cluster.worker()
    scraped(master)  # from now on it reads the figures of the cluster
    cluster.start(1, 100)
    cluster.rows("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 4711)")
    await cluster.all_ends()
    # The text is made at most twice a second.
    await eventually(lambda: value(scraped(master), "shoal_master_runs_ended_total", state="SUCCESS") == 100)
    await eventually(lambda: value(scraped(worker), "shoal_worker_attempts_ended_total", state="SUCCESS") == 500)
    of_master, of_worker = scraped(master), scraped(worker)
    for text in (of_master, of_worker):
        assert promtool("check", "metrics", given=text.encode()) == ""
    assert value(of_master, "shoal_master_commands_claimed_total") == 101
    assert value(of_master, "shoal_master_commands_refused_total") == 1
    assert value(of_master, "shoal_master_commands_stolen_total") == 0
    assert value(of_master, "shoal_master_runs_ended_total", state="SUCCESS") == 100
    assert value(of_master, "shoal_master_event_delay_seconds_count") == 500
    assert value(of_master, "shoal_master_slot") == 0
    assert value(of_master, "shoal_master_slots") == 1
    assert value(of_master, "shoal_node_beats_total") > 0
    assert value(of_master, "shoal_node_beat_age_seconds") < 60
    assert value(of_master, "shoal_database_commit_seconds_count") > 0
    assert value(of_master, "shoal_info", role="master", name=master.events("joined")[-1]["name"]) == 1
    assert value(of_worker, "shoal_worker_attempts_claimed_total") == 500
    assert value(of_worker, "shoal_worker_attempts_ended_total", state="SUCCESS") == 500
    assert value(of_worker, "shoal_worker_queue_wait_seconds_count") == 500
    assert value(of_worker, "shoal_worker_capacity") == 32
    assert "shoal_master" not in of_worker
    # A slow read is followed by a rest.
    await eventually(lambda: value(scraped(master), "shoal_cluster_error_commands") == 1, within_s=REST_S_MAX)
    figures = scraped(master)
    assert value(figures, "shoal_cluster_runs", state="RUNNING_EXECUTION") == 0
    assert value(figures, "shoal_cluster_nodes", kind="WORKER", status="normal") == 1
    assert value(figures, "shoal_cluster_group_workers", worker_group="default") == 1


async def test_a_sender_of_alerts_shows_what_became_of_them(cluster: Cluster) -> None:
    cluster.environment["SHOAL_SECRETS__KEYS"] = new_key()
    insert = "INSERT INTO alert (kind, severity, subject) VALUES ('FAILOVER', 'WARNING', 'one')"
    with mail_server() as mails:
        for name, url in {
            "good": mails.url(),
            "bad": "mailto://127.0.0.1:1?from=a@example.org&to=b@example.org",
        }.items():
            cluster.shoal("alert", "channel", "set", name, url, "--group", "default")
        sender = await started_sender(cluster, SHOAL_ALERT__RETRY_FOR="0.1")
        cluster.rows(insert)
        cluster.rows(insert)
        ended = "shoal_alert_deliveries_total"
        await eventually(lambda: value(scraped(sender), ended, result="sent") == 2, within_s=30)
        await eventually(lambda: value(scraped(sender), ended, result="failed") == 2, within_s=30)
    text = scraped(sender)
    assert value(text, "shoal_alert_messages_total", result="sent") == 2
    assert value(text, "shoal_alert_messages_total", result="failed") == 2
    assert value(text, "shoal_alert_send_seconds_count") == 4
    assert value(text, "shoal_info", role="alert") == 1
    assert value(text, "shoal_database_commit_seconds_count") > 0
    assert promtool("check", "metrics", given=text.encode()) == ""
