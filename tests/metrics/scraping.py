"""Shared by the tests of metrics: a scrape, and a value in it."""

from __future__ import annotations

import re
import urllib.request

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually


def url_of(node: Node) -> str:
    """Where a process shows its metrics."""
    return str(node.events("metrics_served")[-1]["url"])


def scraped(node: Node) -> str:
    """The text of a scrape."""
    with urllib.request.urlopen(url_of(node), timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def value(text: str, series: str, /, **labels: str) -> float:
    """The value of one series; labels that are not given do not matter. Raises if there is not exactly one."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(rf"{re.escape(series)}(?:{{(.*)}})? (\S+)", line)
        if match and labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', match[1] or "")).items():
            found.append(float(match[2]))
    [one] = found
    return one


async def started_sender(cluster: Cluster, **environment: str) -> Node:
    """A sender of alerts that shows its metrics."""
    node = Node(cluster, "alert", len(cluster.nodes), environment)
    cluster.nodes.append(node)
    await eventually(lambda: node.events("metrics_served"), within_s=60)
    return node
