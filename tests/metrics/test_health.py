"""The probes of each role: as it starts, works, loses its database, is drained and hangs."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request

from pydantic import SecretStr

from metrics.health import Health
from metrics.serving import served
from metrics.settings import MetricsSettings
from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_hung_loops import hanging
from tests.eventually import eventually
from tests.metrics.scraping import started_sender, url_of
from tests.metrics.test_prometheus import started_api
from tests.servers.child import free_port
from tests.servers.postgres import PostgresServer

OK = (200, "ok", [])


def probed(url: str, path: str) -> tuple[int, str, list[str]]:
    """Status code, status and reasons, asked as a kubelet does: under another name, without a token."""
    request = urllib.request.Request(url.replace("/metrics", path), headers={"Host": "node-7.example.org"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            code, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        code, text = error.code, error.read()
        assert error.headers["Retry-After"] == "1"
    assert text.count(b"\n") == 1
    said = json.loads(text)
    return code, said["status"], said["reasons"]


def alive(node: Node) -> tuple[int, str, list[str]]:
    return probed(url_of(node), "/healthz")


def ready(node: Node) -> tuple[int, str, list[str]]:
    return probed(url_of(node), "/readyz")


async def test_all_roles_say_that_they_are_ready_and_what_they_lack_without_a_database(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    nodes = [await cluster.master(), await cluster.worker(), (await started_api(cluster))[0]]
    nodes.append(await started_sender(cluster))
    for node in nodes:
        await eventually(lambda node=node: ready(node), until=OK, within_s=30)
        assert alive(node) == OK
    postgres_server.pause()
    try:
        for node, lacks in zip(
            nodes, ("no beat was answered", "no beat was answered", "listen", "listen"), strict=True
        ):
            await eventually(lambda node=node, lacks=lacks: lacks in str(ready(node)), within_s=30)
            assert ready(node)[:2] == (503, "not ready")
            assert alive(node) == OK  # no restart would bring the database back
    finally:
        postgres_server.resume()
    for node in nodes:
        await eventually(lambda node=node: ready(node), until=OK, within_s=60)


async def test_a_node_that_waits_for_its_database_lives_and_is_not_ready(cluster: Cluster) -> None:
    away = f"postgresql+psycopg://shoal@127.0.0.1:{free_port()}/shoal"
    for role in ("master", "worker", "alert"):
        node = Node(cluster, role, len(cluster.nodes), {"SHOAL_DATABASE_URL": away, "SHOAL_REGISTRY_URL": away})
        cluster.nodes.append(node)
        await eventually(lambda node=node: node.events("metrics_served"), within_s=60)
        assert alive(node) == OK
        assert ready(node) == (503, "not ready", ["it has not begun its work"])


async def test_a_node_that_waits_for_a_person_says_so_until_that_person_has_looked(cluster: Cluster) -> None:
    cluster.rows("INSERT INTO went_back (node, why) VALUES ('m1', 'why')")
    folder = {"SHOAL_WORKER__FOLDER": str(cluster.folder / "worker")}
    nodes = [cluster.begin(role, folder) for role in ("master", "worker")]
    for node in nodes:
        await eventually(lambda node=node: node.events("metrics_served"), within_s=60)
        await eventually(lambda node=node: "after: shoal db restored" in str(ready(node)), within_s=60)
        assert alive(node) == OK
        [warned] = node.events("cannot_join_yet")[:1]
        assert warned["error"] in str(ready(node))
    cluster.rows("DELETE FROM went_back")
    for node in nodes:
        await eventually(lambda node=node: ready(node), until=OK, within_s=60)


async def test_what_is_drained_is_not_ready_until_it_takes_work_again(cluster: Cluster) -> None:
    master = await cluster.master(SHOAL_NAME="m1")
    worker = await cluster.worker(SHOAL_NAME="w1")
    for kind, node in (("master", master), ("worker", worker)):
        await eventually(lambda node=node: ready(node), until=OK, within_s=30)
        cluster.shoal(kind, "drain", f"{kind[0]}1")
        await eventually(lambda node=node: "it is drained" in ready(node)[2], within_s=30)
        assert alive(node) == OK
        cluster.shoal(kind, "undrain", f"{kind[0]}1")
        await eventually(lambda node=node: ready(node), until=OK, within_s=30)


async def test_a_loop_that_hangs_is_told_from_outside(cluster: Cluster) -> None:
    """With a sender: masters and workers end themselves in this case."""
    sender = await started_sender(cluster, **hanging(cluster.folder))
    await eventually(lambda: ready(sender), until=OK, within_s=30)
    sender.signal(signal.SIGUSR1)
    await eventually(lambda: alive(sender)[:2] == (503, "not ready"), within_s=30)
    [why] = alive(sender)[2]
    assert why.startswith("its loop has not turned for ")


def test_probes_need_no_token_and_tell_what_its_checks_miss() -> None:
    health = Health()
    with served(MetricsSettings(token=SecretStr("a-token-of-enough-characters")), [], "m", "m1", "1", health) as url:
        assert url is not None
        assert probed(url, "/healthz") == OK
        assert probed(url, "/readyz") == (503, "not ready", ["it has not begun its work"])
        with health.judged_by(lives=[lambda: None], ready=[lambda: None, lambda: "it has no slot"]):
            assert probed(url, "/healthz") == OK
            assert probed(url, "/readyz") == (503, "not ready", ["it has no slot"])
        with health.judged_by(lives=[lambda: "it has sent no beat for 60 s"], ready=[]):
            assert probed(url, "/healthz")[0] == probed(url, "/readyz")[0] == 503
