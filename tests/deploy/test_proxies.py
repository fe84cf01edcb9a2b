"""`deploy/haproxy.cfg` and `deploy/pgbouncer.ini`, on the real programs before real processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.cluster.cluster import Cluster
from tests.cluster.tls import certificate
from tests.deploy.units import ROOT
from tests.eventually import eventually
from tests.metrics.test_prometheus import started_api
from tests.servers.child import Child, PrivateFolder, free_port
from tests.servers.postgres import PostgresServer, unprivileged_user

HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


def status(url: str) -> int:
    """The status for a browser that trusts any certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=30, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.skipif(HAPROXY is None, reason="haproxy is not among what the tests install")
async def test_haproxy_sends_requests_to_those_that_are_ready(cluster: Cluster, tmp_path: Path) -> None:
    assert HAPROXY is not None
    api, address = await started_api(cluster)
    port, nobody = free_port(), free_port()
    text = (ROOT / "deploy" / "haproxy.cfg").read_text()
    own = {
        ":443": f"127.0.0.1:{port}",
        "/etc/haproxy/shoal.pem": str(certificate(tmp_path)),
        "api1:7465": address.removeprefix("http://"),
        "api2:7465": f"127.0.0.1:{nobody}",
    }
    for written, meant in own.items():
        assert text.count(written) == 1
        text = text.replace(written, meant)
    file = tmp_path / "haproxy.cfg"
    file.write_text(text)
    subprocess.run([HAPROXY, "-c", "-f", str(file)], check=True, capture_output=True)
    proxy = Child.of([HAPROXY, "-db", "-f", str(file)], cwd=tmp_path, log=tmp_path / "haproxy.log")
    try:
        await eventually(lambda: status(f"https://127.0.0.1:{port}/login"), until=200, within_s=20)
        # The dead one is found out, and no longer gets requests.
        await eventually(lambda: "api2 is DOWN" in proxy.log_tail(100), within_s=20)
        await eventually(lambda: {status(f"https://127.0.0.1:{port}/login") for _ in range(20)}, until={200})
        api.signal(signal.SIGTERM)
        await eventually(lambda: status(f"https://127.0.0.1:{port}/login"), until=503, within_s=20)
    finally:
        proxy.kill()


def test_pgbouncer_takes_more_clients_than_it_has_connections() -> None:
    """Otherwise who makes `pool_size` larger, as the page says, would meet the default of `max_client_conn`: 100."""
    text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
    [places], [clients] = (re.findall(rf"\b{name} ?= ?(\d+)", text) for name in ("pool_size", "max_client_conn"))
    assert int(clients) >= 2 * int(places)


async def test_a_cluster_works_through_pgbouncer(cluster: Cluster, postgres_server: PostgresServer) -> None:
    assert PGBOUNCER is not None, "run tests/servers/install"
    url, port, user = make_url(cluster.environment["SHOAL_DATABASE_URL"]), free_port(), unprivileged_user()
    folder = PrivateFolder("shoal-pgbouncer-", owner=user)
    try:
        text = (ROOT / "deploy" / "pgbouncer.ini").read_text()
        own = {
            r"^shoal = host=db port=5432": f"{url.database} = host=127.0.0.1 port={postgres_server.port}",
            "6432": str(port),
            "/etc/pgbouncer/userlist.txt": str(folder.path / "userlist.txt"),
        }
        for written, meant in own.items():
            text, count = re.subn(written, meant, text, flags=re.MULTILINE)
            assert count == 1, written
        (folder.path / "userlist.txt").write_text(f'"{url.username}" "{url.password}"\n')
        (folder.path / "ini").write_text(text)
        pooler = Child.of([PGBOUNCER, str(folder.path / "ini")], cwd=folder.path, log=folder.path / "log", user=user)
        try:
            pooled = url.set(port=port).render_as_string(hide_password=False)
            cluster.environment |= {"SHOAL_DATABASE_URL": pooled, "SHOAL_REGISTRY_URL": pooled}
            await cluster.master()
            await cluster.worker()
            cluster.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "true"}}])
            cluster.start(1, 5)
            await cluster.all_ends()
            cluster.check_exactly_once(5)
            for node in cluster.nodes:
                node.close()
        finally:
            pooler.end(signal.SIGTERM, timeout_s=10)
    finally:
        folder.close()
