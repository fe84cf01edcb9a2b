"""`docs/guides/metrics.md`: its settings start a process, its configuration works, its lists are complete."""

from __future__ import annotations

import json
import re
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

from shoal.config.metrics import PARTS
from tests.cluster.cluster import Cluster
from tests.metrics.receiver import receiving
from tests.metrics.scraping import scraped, started_sender, url_of
from tests.metrics.test_prometheus import started_api
from tests.servers.child import free_port
from tests.servers.prometheus import promtool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "metrics.md").read_text()
TOKEN = "0123456789abcdef0123456789abcdef"


def blocks(language: str) -> list[str]:
    """The fenced blocks of this language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", PAGE)


async def test_the_settings_of_the_page_do_what_it_says(cluster: Cluster) -> None:
    metrics, tracing = blocks("toml")
    token = cluster.folder / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    port = free_port()
    with receiving() as receiver:
        text = f"{metrics}\n{tracing}".replace("/etc/shoal/metrics-token", str(token)).replace("9465", str(port))
        text = text.replace("http://127.0.0.1:4318/v1/traces", receiver.url)
        assert tomllib.loads(text)["metrics"] == {"host": "0.0.0.0", "port": port, "token_file": str(token)}
        settings = cluster.folder / "shoal.toml"
        settings.write_text(text)
        master = await cluster.master(SHOAL_CONFIG=str(settings))
    url = url_of(master)
    assert url == f"http://0.0.0.0:{port}/metrics"
    local = url.replace("0.0.0.0", "127.0.0.1")
    try:
        urllib.request.urlopen(local)
    except urllib.error.HTTPError as error:
        assert error.code == 401
    with urllib.request.urlopen(local.replace("/metrics", "/healthz")) as answer:
        assert json.load(answer)["status"] == "ok"
    asked = urllib.request.Request(local, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(asked) as answer:
        assert b"shoal_master_slot" in answer.read()
    off = await cluster.worker(SHOAL_METRICS__ENABLED="false")
    assert not off.events("metrics_served")


async def test_the_line_of_the_log_is_as_the_page_shows_it(cluster: Cluster) -> None:
    [shown] = map(json.loads, blocks("json"))
    [line] = (await cluster.worker()).events("metrics_served")
    assert shown.keys() <= line.keys()
    assert re.sub(r"\d+/", "N/", line["url"]) == re.sub(r"\d+/", "N/", shown["url"])


def test_the_configuration_of_prometheus_is_one(tmp_path: Path) -> None:
    [text] = blocks("yaml")
    (tmp_path / "shoal-token").write_text(TOKEN)
    (tmp_path / "shoal").mkdir()
    (tmp_path / "shoal" / "shoal.yml").write_bytes((ROOT / "metrics" / "rules" / "shoal.yml").read_bytes())
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus", str(tmp_path)))
    rules = (ROOT / "metrics" / "rules" / "shoal.yml").read_text()
    count = len(re.findall(r"- (?:alert|record): ", rules))
    assert f"SUCCESS: {count} rules found" in promtool("check", "config", str(tmp_path / "prometheus.yml"))


async def test_the_page_lists_each_metric_that_there_is(cluster: Cluster) -> None:
    nodes = [await cluster.master(), await cluster.worker(), (await started_api(cluster))[0]]
    nodes.append(await started_sender(cluster))
    assert len(nodes) == len(PARTS)
    shown = {name for node in nodes for name in re.findall(r"(?m)^# TYPE (shoal_\S+)", scraped(node))}
    listed = {name.removesuffix("_total") for name in re.findall(r"`(shoal_(?!…)[a-z_]+)`", PAGE)}
    assert {name.removesuffix("_total") for name in shown} == listed
