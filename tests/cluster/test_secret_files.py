"""Secrets from files: what processes do with them, and a password that changes while they work."""

from __future__ import annotations

import secrets
import signal
from pathlib import Path

from sqlalchemy import make_url

from tests.cluster.cluster import Cluster, Node
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    """A file with a secret, put in place as a whole: no reader sees half of it."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.chmod(mode)
    return new.replace(path)


async def ended_with(cluster: Cluster, **environment: str) -> tuple[int, str]:
    """The exit code and the last line of a master."""
    node = Node(cluster, "master", len(cluster.nodes), environment)
    cluster.nodes.append(node)
    return await node.ended(), node.log.read_text().splitlines()[-1]


async def test_a_password_changes_in_its_file_while_nodes_work(laptop: Cluster) -> None:
    cluster, user = laptop, f"rotated_{secrets.token_hex(4)}"
    plain = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    cluster.rows(f"CREATE ROLE {user} LOGIN SUPERUSER PASSWORD 'first'")
    url = plain.set(username=user, password=None).render_as_string(hide_password=False)
    file = written(cluster.folder / "password", "first\n")
    given = {"SHOAL_DATABASE_URL": url, "SHOAL_REGISTRY_URL": "", "SHOAL_DATABASE_PASSWORD_FILE": str(file)}
    nodes = [await cluster.master(**given), await cluster.worker(**given)]
    epochs = [node.epoch for node in nodes]
    cluster.define(1, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "sleep 3"}}])
    cluster.start(1, 5)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'") == 5)
    cluster.rows(f"ALTER ROLE {user} PASSWORD 'second'")
    written(file, "second\n")
    cluster.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", user)
    cluster.start(1, 5)
    await cluster.all_ends()
    cluster.check_exactly_once(10)
    assert [node.epoch for node in nodes] == epochs
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    assert not [node for node in nodes if "authentication failed" in node.log.read_text()]
    for node in nodes:
        node.signal(signal.SIGTERM)
        assert await node.ended() == 0
    cluster.rows(f"DROP ROLE {user}")


async def test_a_refused_login_and_a_wrong_setting_have_their_exit_codes(laptop: Cluster) -> None:
    url = make_url(laptop.environment["SHOAL_DATABASE_URL"]).set(password=None).render_as_string(hide_password=False)
    wrong = written(laptop.folder / "wrong", "secret-that-is-wrong")
    code, said = await ended_with(laptop, SHOAL_DATABASE_URL=url, SHOAL_DATABASE_PASSWORD_FILE=str(wrong))
    assert (code, "password authentication failed" in said, "secret" in said) == (77, True, False)
    for file, fault in (
        (laptop.folder / "none", "cannot be read: No such file or directory"),
        (written(laptop.folder / "open", "x", 0o604), "is open to every user of this machine; chmod 600 it"),
        (written(laptop.folder / "empty", "\n"), "is empty"),
        (laptop.folder, "cannot be read: Is a directory"),
        (Path("/dev/null"), "is no file"),
    ):
        for variable in ("SHOAL_DATABASE_PASSWORD_FILE", "SHOAL_LOG_STORE__SECRET_ACCESS_KEY_FILE"):
            code, said = await ended_with(laptop, **{variable: str(file)})
            assert (code, fault in said, str(file) in said) == (78, True, True), said
    code, said = await ended_with(laptop, SHOAL_MASTER__NIX="1")
    assert (code, "master.nix" in said) == (78, True)


async def test_every_secret_of_a_cluster_may_come_from_a_file(laptop: Cluster) -> None:
    url = written(laptop.folder / "url", laptop.environment.pop("SHOAL_DATABASE_URL"), 0o640)
    laptop.environment |= {"SHOAL_DATABASE_URL_FILE": str(url)}
    laptop.environment |= {"SHOAL_REGISTRY_URL_FILE": str(url)}
    del laptop.environment["SHOAL_REGISTRY_URL"]
    await laptop.master()
    await laptop.worker()
    laptop.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "env | grep -c SHOAL_DATABASE"}}])
    laptop.start(1)
    await laptop.all_ends()
    assert laptop.one("SELECT reason FROM task_instance") == "exit code 1: 0"
    code, said = await ended_with(laptop, SHOAL_DATABASE_URL="postgresql+psycopg://x/y")
    assert (code, "SHOAL_DATABASE_URL and SHOAL_DATABASE_URL_FILE are both set" in said) == (78, True)
