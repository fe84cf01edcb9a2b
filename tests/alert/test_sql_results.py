"""The result of a SQL task reaches a mailbox as a table: worker, master and sender are processes."""

from __future__ import annotations

from pathlib import Path

from dao.secrets import data_sources
from dao.secrets.vault import Vault, new_key
from tests.alert.conftest import Desk
from tests.alert.receivers import MailServer
from tests.alert.test_delivery_under_faults import senders
from tests.cluster.cluster import Cluster
from tests.cluster.conftest import cluster as cluster
from tests.cluster.conftest import laptop as laptop
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually


async def test_the_result_of_a_sql_task_is_mailed_as_a_table(
    cluster: Cluster, desk: Desk, mails: MailServer, tmp_path: Path
) -> None:
    key = new_key()
    desk.vault = Vault([key])
    cluster.environment["SHOAL_SECRETS__KEYS"] = key
    await desk.channel("ops", mails.url(), "data")
    async with desk.database.writing() as connection:
        await data_sources.put(connection, "shop", f"sqlite:///{tmp_path}/shop.db", desk.vault)
    task = {
        "datasource": "shop",
        "sql": "SELECT 'PEK' AS airport, 12 AS flights UNION ALL SELECT '<SHA>', 7",
        "alert_group": "data",
        "title": "flights of today",
    }
    cluster.define(1, "flights", tasks=[{"name": "report", "type": "SQL", "params": task}])
    await cluster.master()
    await cluster.worker()
    async with senders(desk.database.url, key, tmp_path, 5):
        cluster.start(1, 1)
        await eventually(lambda: mails.mails, within_s=60)
    (mail,) = mails.mails
    assert mail["Subject"] == "[Shoal] flights of today"
    html = mail.get_body(("html",))
    assert html is not None
    content = html.get_content()
    assert ">airport</th>" in content
    assert ">PEK</td>" in content
    assert "&lt;SHA&gt;" in content
    assert "2 rows" in content
