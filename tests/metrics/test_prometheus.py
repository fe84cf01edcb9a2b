"""A real Prometheus scrapes a whole cluster under load, and answers what the dashboards and rules ask."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.cluster.cluster import Cluster, Node
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually
from tests.metrics.scraping import scraped, started_sender, url_of
from tests.servers.prometheus import PrometheusServer, promtool

CHAIN, WAITING = 1, 2
RATE_INTERVAL = "20s"


def expressions(folder: Path) -> Iterator[tuple[str, str]]:
    """Title of the panel and query, of all dashboards in a folder."""
    for file in sorted(folder.glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{file.name}: {panel['title']}", target["expr"].replace("$__rate_interval", RATE_INTERVAL)


async def started_api(cluster: Cluster) -> tuple[Node, str]:
    """An API process, and its address."""
    node = Node(cluster, "api", len(cluster.nodes), {"SHOAL_API__PORT": "0"})
    cluster.nodes.append(node)
    await eventually(lambda: node.events("metrics_served"), within_s=60)
    found = re.search(r"serves at (\S+)", node.log.read_text())
    assert found is not None
    return node, found[1]


async def test_every_query_of_the_dashboards_and_rules_has_an_answer(cluster: Cluster, tmp_path: Path) -> None:
    masters = [await cluster.master(), await cluster.master()]
    worker = await cluster.worker()
    api, address = await started_api(cluster)
    sender = await started_sender(cluster)
    await cluster.slots_become(2)
    tasks = [{"name": f"t{n}", "type": "FAKE", "after": [f"t{n - 1}"] if n else []} for n in range(3)]
    cluster.define(CHAIN, "chain", tasks=tasks)
    cluster.define(WAITING, "waiting", tasks=[{"name": "a", "type": "FAKE", "worker_group": "nobody"}])
    cluster.rows("INSERT INTO resource_pool (name, counted) VALUES ('licences', 1)")
    cluster.rows("INSERT INTO pool_resource (pool_code, name) SELECT code, 'only' FROM resource_pool")
    cluster.start(WAITING, 3)
    grafana, rules = tmp_path / "grafana", tmp_path / "prometheus"
    cluster.shoal("config", "grafana", "--out", str(grafana))
    cluster.shoal("config", "prometheus", "--out", str(rules))
    wanted = dict(expressions(grafana))
    assert len(wanted) >= 40
    nodes = {"master": masters, "worker": [worker], "api": [api], "alert": [sender]}
    targets = {job: [urlsplit(url_of(each)).netloc for each in given] for job, given in nodes.items()}
    with PrometheusServer(targets, sorted(rules.glob("*.yml"))) as prometheus:
        unanswered = dict(expressions(grafana))

        def ask() -> bool:
            """Under load: each time some more runs and requests."""
            cluster.start(CHAIN, 5)
            urllib.request.urlopen(f"{address}/api/v1/version").close()
            for title, expression in list(unanswered.items()):
                if prometheus.query(expression):
                    del unanswered[title]
            return not unanswered

        try:
            await eventually(ask, within_s=20, every_s=0.5)
        except AssertionError:
            raise AssertionError(f"no data for {unanswered}") from None
        assert {each["health"] for each in prometheus.targets()} == {"up"}, prometheus.targets()
        await eventually(lambda: {each["health"] for each in prometheus.rules()} == {"ok"}, within_s=20)
        assert len(prometheus.rules()) > 20
        await eventually(lambda: prometheus.query("shoal:task_lag_seconds:mean5m"), within_s=20)
        # Of the alerts that need no fault, the one that this cluster has.
        pending = 'ALERTS{alertname="ShoalGroupWithoutWorkers", worker_group="nobody"}'
        await eventually(lambda: prometheus.query(pending), within_s=20)
        [depth] = prometheus.query('max by (worker_group) (shoal_cluster_queue_waiting{worker_group="nobody"})')
        assert depth["value"][1] == "3"
        # Both masters and the API show the same of the cluster.
        same = (
            'count by (value) (count_values by (value) ("value", shoal_cluster_nodes{kind="MASTER", status="normal"}))'
        )
        await eventually(lambda: [each["metric"]["value"] for each in prometheus.query(same)] == ["2"], within_s=20)
        assert len(prometheus.query('shoal_cluster_nodes{kind="MASTER", status="normal"}')) == 3
    for each in (*masters, worker, api, sender):
        assert promtool("check", "metrics", given=scraped(each).encode()) == ""


async def test_only_metrics_that_exist_are_asked_for(cluster: Cluster) -> None:
    """A name that no process shows would be an empty panel, or an alert that never comes."""
    folder = Path(__file__).parents[2] / "metrics"
    nodes = [
        await cluster.master(),
        await cluster.worker(),
        (await started_api(cluster))[0],
        await started_sender(cluster),
    ]
    await eventually(lambda: "shoal_cluster_runs" in scraped(nodes[0]))
    shown = "".join(map(scraped, nodes))
    known = {re.sub("_total$", "", name) for name in re.findall(r"(?m)^# TYPE (\S+)", shown)}
    rules = [line for line in (folder / "rules" / "shoal.yml").read_text().splitlines() if not line.startswith("#")]
    asked = [*(query for _, query in expressions(folder / "dashboards")), *rules]
    names = {name for each in asked for name in re.findall(r"\b(?:shoal|process)_[a-z_]+\b", each)}
    bare = {re.sub("_(total|bucket|sum|count)$", "", name) for name in names}
    assert len(bare) > 30
    assert bare <= known, bare - known
