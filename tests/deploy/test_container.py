"""`deploy/container`: the image runs without privileges, and each service of compose.yaml works on real servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML
from sqlalchemy import make_url

from shoal.config.settings import load_settings
from tests.cluster.cluster import TIMING, Cluster
from tests.deploy.units import OWN_PROGRAM, ROOT, started
from tests.eventually import eventually
from tests.servers.notify_socket import notify_socket
from tests.servers.prometheus import promtool
from tests.servers.warm import run_verb

FOLDER = ROOT / "deploy" / "container"
COMPOSE: dict[str, Any] = YAML(typ="safe").load(FOLDER / "compose.yaml")
SERVICES: dict[str, Any] = COMPOSE["services"]
ROLES = ("master", "worker", "api", "alert")
PROBE = re.compile(r"127\.0\.0\.1:9465")


def environment_of(service: str, cluster: Cluster) -> dict[str, str]:
    """Its variables, with the database of a test, which is the registry too."""
    url = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    bare = url.set(password=None).render_as_string(hide_password=False)
    given = {name: str(value) for name, value in SERVICES[service]["environment"].items()}
    assert given["SHOAL_DATABASE_PASSWORD"] == "${SHOAL_DATABASE_PASSWORD:?}"
    assert given["SHOAL_REGISTRY_URL"].startswith("zookeeper://")
    own = {"SHOAL_DATABASE_URL": bare, "SHOAL_REGISTRY_URL": bare, "SHOAL_DATABASE_PASSWORD": str(url.password)}
    ports = {"SHOAL_METRICS__PORT": "0", "SHOAL_API__PORT": "0", "SHOAL_FOLDER": str(cluster.folder)}
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        **TIMING,
        **given,
        **own,
        **ports,
        "SHOAL_LOG_FORMAT": "json",
    }


def instructions() -> list[tuple[str, str]]:
    text = (FOLDER / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, words) for name, _, words in lines]


def test_the_image_runs_the_program_as_nobody_special(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = instructions()
    stages = [place for place, (name, _) in enumerate(lines) if name == "FROM"]
    assert len(stages) == 2
    last = dict(lines[stages[-1] :])
    assert (last["USER"], last["ENTRYPOINT"], last["STOPSIGNAL"]) == ("10001", '["shoal"]', "SIGTERM")
    variables = dict(each.split("=", 1) for each in last["ENV"].split())
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(load_settings().folder) == last["VOLUME"] == last["WORKDIR"]
    exposed = {str(load_settings().api.port), str(load_settings().metrics.port)}
    assert exposed == set(last["EXPOSE"].split())


@pytest.mark.soak
def test_compose_fits_its_schema() -> None:
    schema = json.loads((ROOT / "build" / "helm" / "compose-spec.json").read_text("utf-8"))
    assert not list(jsonschema_rs.validator_for(schema).iter_errors(COMPOSE))
    wrong = {**COMPOSE, "services": {**SERVICES, "api": {**SERVICES["api"], "commands": []}}}
    assert len(list(jsonschema_rs.validator_for(schema).iter_errors(wrong))) == 1


def test_what_a_service_needs_is_a_service() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= set(SERVICES), name
        if name in ROLES:
            assert service["command"][0] == name
            assert service["init"] is True


def content(name: str) -> Any:
    """A file that compose writes, with the token in place of its variable."""
    return YAML(typ="safe").load(COMPOSE["configs"][name]["content"].replace("${SHOAL_METRICS_TOKEN:?}", "0" * 16))


def mounted(service: str) -> dict[str, Path]:
    """Paths in a container -> folders of this repository."""
    pairs = [volume.split(":")[:2] for volume in SERVICES[service]["volumes"] if volume.startswith(".")]
    return {target: (FOLDER / source).resolve() for source, target in pairs}


def test_prometheus_asks_each_role_and_has_the_rules(tmp_path: Path) -> None:
    settings = content("prometheus")
    [job] = settings["scrape_configs"]
    [found] = job["dns_sd_configs"]
    assert set(found["names"]) == set(ROLES)
    for role in ROLES:
        environment = SERVICES[role]["environment"]
        assert (environment["SHOAL_METRICS__HOST"], environment["SHOAL_METRICS__PORT"]) == (
            "0.0.0.0",
            str(found["port"]),
        )
        assert environment["SHOAL_METRICS__TOKEN"] == "${SHOAL_METRICS_TOKEN:?}"
    [(target, rules)] = mounted("prometheus").items()
    settings["rule_files"] = [each.replace(target, str(rules)) for each in settings["rule_files"]]
    (tmp_path / "prometheus.yml").write_text(json.dumps(settings))
    assert " rules found" in promtool("check", "config", str(tmp_path / "prometheus.yml"))


def test_grafana_has_the_dashboards_and_prometheus() -> None:
    [provider] = content("dashboards")["providers"]
    assert sorted(mounted("grafana")[provider["options"]["path"]].glob("*.json"))
    [source] = content("datasources")["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://prometheus:9090")
    for each in SERVICES["grafana"]["configs"]:
        assert each["target"] == f"/etc/grafana/provisioning/{each['source']}/shoal.yaml"


def test_the_schema_is_made_once_and_again_without_harm(cluster: Cluster) -> None:
    answer = run_verb(SERVICES["schema"]["command"], {**os.environ, **environment_of("schema", cluster)})
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("role", ROLES)
async def test_a_service_becomes_ready_and_stops_in_its_time(role: str, cluster: Cluster) -> None:
    service = SERVICES[role]
    command = [str(OWN_PROGRAM), *service["command"]]
    with notify_socket(cluster.folder / "notify") as supervisor:
        told = {"NOTIFY_SOCKET": supervisor.address}
        process = started(command, cluster, role, {**environment_of(role, cluster), **told})
        try:
            await eventually(lambda: "STATUS=ready" in supervisor.heard(), within_s=60)
            [port] = re.findall(r"http://[\d.]+:(\d+)/metrics", Path(cluster.folder / f"{role}.log").read_text())
            address = f"127.0.0.1:{port}"
            _, _, *words = service["healthcheck"]["test"]
            probe = [sys.executable, *(PROBE.sub(address, word) for word in words)]
            assert any(address in word for word in probe)
            subprocess.run(probe, check=True, timeout=60)
            process.send(signal.SIGTERM)
            within_s = int(service["stop_grace_period"].removesuffix("s"))
            await eventually(lambda: not process.running, within_s=within_s)
            assert process.exit_code == 0, process.log_tail()
        finally:
            process.kill()
