"""Traces of a real cluster, sent to a receiver on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dao.postgres.database import Database
from model.accounts.rights import Scope
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from tests.api.serving import token_of
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.metrics.receiver import Receiver, attributes, receiving
from tests.metrics.scraping import scraped, value
from tests.metrics.test_prometheus import started_api

ROOT = Path(__file__).parents[2]
JOINED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNRECORDED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def traced(cluster: Cluster, receiver: Receiver) -> None:
    """All that the cluster starts from now on."""
    cluster.environment |= {
        "SHOAL_TRACING__ENDPOINT": receiver.url,
        "SHOAL_TRACING__HEADERS": "x-key=secret-of-the-receiver, x-tenant=t1",
        "SHOAL_TRACING__SERVICE": "nightly",
    }


def shell(name: str, *after: str, script: str | None = None) -> dict[str, object]:
    """A task that writes down the trace that it is part of."""
    said = 'echo "$SHOAL_TASK_INSTANCE $TRACEPARENT" >> {folder}/said'
    return {"name": name, "type": "SHELL", "after": list(after), "params": {"script": script or said}}


def said(cluster: Cluster) -> dict[int, str]:
    """Attempt -> its TRACEPARENT."""
    lines = (cluster.folder / "said").read_text().splitlines()
    return {int(attempt): trace for attempt, _, trace in (line.partition(" ") for line in lines)}


def define(cluster: Cluster, code: int, *tasks: dict[str, object]) -> None:
    cluster.define(code, f"w{code}", tasks=json.loads(json.dumps(tasks).replace("{folder}", str(cluster.folder))))


async def test_a_run_is_one_trace_and_each_attempt_a_span(cluster: Cluster, receiver: Receiver) -> None:
    traced(cluster, receiver)
    define(
        cluster,
        1,
        shell("first"),
        {
            "name": "choose",
            "type": "SWITCH",
            "after": ["first"],
            "params": {"cases": [{"when": "1 == 1", "then": "second"}]},
        },
        shell("second", "choose"),
        {**shell("third", "second", script="exit 3"), "retry_times": 1, "retry_interval": 0},
    )
    master = await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: receiver.named("w1"), within_s=60)
    [root] = receiver.named("w1")
    await eventually(lambda: len(receiver.spans) == 6, within_s=20)
    assert {span.trace_id for span in receiver.spans} == {root.trace_id}
    assert root.parent_span_id == b""
    attempts = [span for span in receiver.spans if span is not root]
    assert sorted(span.name for span in attempts) == ["choose", "first", "second", "third", "third"]
    assert {span.parent_span_id for span in attempts} == {root.span_id}
    assert len({span.span_id for span in receiver.spans}) == 6
    assert [span.status.code for span in attempts if span.name == "third"] == [2, 2]
    assert root.status.code == 2
    assert attributes(root)["shoal.state"] == "FAILURE"
    for span in attempts:
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    by_id = {attributes(span)["shoal.attempt_id"]: span for span in attempts}
    for attempt, trace in said(cluster).items():
        assert trace == f"00-{root.trace_id.hex()}-{by_id[attempt].span_id.hex()}-01"
    assert receiver.services == {"nightly"}
    assert receiver.headers[0]["x-key"] == "secret-of-the-receiver"
    assert "secret-of-the-receiver" not in master.log.read_text()
    await eventually(lambda: value(scraped(master), "shoal_master_spans_sent_total") == 6)


async def test_another_master_goes_on_in_the_same_trace(cluster: Cluster, receiver: Receiver) -> None:
    traced(cluster, receiver)
    define(cluster, 1, shell("before"), {"name": "wait", "type": "FAKE", "after": ["before"], "params": {"sleep_s": 3}})
    former = await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: (cluster.folder / "said").exists(), within_s=60)
    former.kill()
    await cluster.master()
    await eventually(lambda: receiver.named("w1"), within_s=90)
    [root] = receiver.named("w1")
    [(attempt, trace)] = said(cluster).items()
    [before] = receiver.named("before")
    assert attributes(before)["shoal.attempt_id"] == attempt
    assert trace == f"00-{root.trace_id.hex()}-{before.span_id.hex()}-01"
    assert len(receiver.named("wait")) == 1


async def test_a_run_joins_the_trace_of_the_request_that_started_it(
    cluster: Cluster, receiver: Receiver, database_url: str
) -> None:
    traced(cluster, receiver)
    define(cluster, 1, shell("a"))
    await cluster.master()
    await cluster.worker()
    _, address = await started_api(cluster)
    database = Database(database_url, application_name="test")
    token = await token_of(
        backend_of(database, load_settings({})), "robot", is_admin=True, scopes=frozenset({Scope.ADMIN})
    )
    await database.close()
    url = f"{address}/api/v1/workflow-definitions/1/runs"
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60) as client:
        for trace in (UNRECORDED, JOINED):
            answer = await client.post(url, json={}, headers={"traceparent": trace})
            assert answer.status_code == 202, answer.text
            assert answer.headers["traceparent"] == trace
    await cluster.all_ends()
    await eventually(lambda: receiver.named("w1"), within_s=20)
    [root] = receiver.named("w1")
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (JOINED[3:35], JOINED[36:52])
    traces = sorted(said(cluster).values())
    assert [each[:35] for each in traces] == sorted([UNRECORDED[:35], JOINED[:35]])
    assert {each[-2:] for each in traces} == {"00", "01"}
    # By plain SQL too; what is no trace context is none, and no error.
    cluster.rows("INSERT INTO command (type, workflow_code, traceparent) VALUES ('START_PROCESS', 1, %s)", JOINED)
    cluster.rows("INSERT INTO command (type, workflow_code, traceparent) VALUES ('START_PROCESS', 1, %s)", "x" * 10_000)
    await eventually(lambda: len(receiver.named("w1")) == 3, within_s=30)
    assert sorted(span.trace_id.hex() == JOINED[3:35] for span in receiver.named("w1")) == [False, True, True]
    assert cluster.one("SELECT count(*) FROM error_command") == 0


async def test_without_an_endpoint_tasks_get_what_the_request_sent_or_nothing(cluster: Cluster) -> None:
    define(cluster, 1, shell("a"))
    await cluster.master()
    await cluster.worker(TRACEPARENT="00-11111111111111111111111111111111-1111111111111111-01")
    cluster.start(1)
    await cluster.all_ends()
    assert list(said(cluster).values()) == [""]
    cluster.rows("INSERT INTO command (type, workflow_code, traceparent) VALUES ('START_PROCESS', 1, %s)", JOINED)
    await cluster.all_ends()
    assert sorted(said(cluster).values()) == ["", JOINED]


async def test_a_line_of_a_worker_about_an_attempt_names_the_trace_of_its_run(
    cluster: Cluster, receiver: Receiver
) -> None:
    traced(cluster, receiver)
    slow = {"params": {"sleep_s": 0.6}, "timeout": 0.005, "timeout_strategy": "WARN"}
    define(cluster, 1, {"name": "a", "type": "FAKE", **slow})
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: receiver.named("w1"), within_s=20)
    (line,) = worker.events("task_takes_too_long")
    assert line["trace"] == receiver.named("w1")[0].trace_id.hex()


async def test_a_receiver_that_hangs_fails_or_is_away_delays_nothing(cluster: Cluster, receiver: Receiver) -> None:
    traced(cluster, receiver)
    define(cluster, 1, {"name": "a", "type": "FAKE"})
    receiver.hangs_s = 3600
    hanging = await cluster.master()
    away = await cluster.master(SHOAL_TRACING__ENDPOINT="http://127.0.0.1:9/v1/traces")
    await cluster.worker()
    await cluster.slots_become(2)
    cluster.start(1, 200)
    await cluster.all_ends()
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 200
    await eventually(lambda: away.events("traces_not_sent"), within_s=60)
    assert len(away.events("traces_not_sent")) == 1, "it is said once, not for each run"
    assert value(scraped(hanging), "shoal_node_beats_failed_total") == 0
    for master in (hanging, away):
        master.signal(15)
    assert [await master.ended(30) for master in (hanging, away)] == [0, 0]


def test_without_the_extra_nothing_of_it_is_imported_and_the_setting_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ModuleNotFoundError(name='opentelemetry')")
    program = """
        import sys
        import master.server, worker.server
        assert not any(name.startswith("opentelemetry") for name in sys.modules)
        from master.tracing.otlp import OtlpSender
        from model.cluster.tracing_settings import TracingSettings
        OtlpSender(TracingSettings(endpoint="http://127.0.0.1:4318/v1/traces"), "1")
    """
    lines = "\n".join(line.strip() for line in program.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", lines],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "Refused: tracing.endpoint is set, and opentelemetry is not installed; install shoal[otel]" in done.stderr
