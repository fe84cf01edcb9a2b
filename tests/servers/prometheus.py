"""One Prometheus of our own: it scrapes what a test names, every second, and answers queries."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port, program


def promtool(*words: str, given: bytes = b"") -> str:
    """The output of promtool. Raises `ServerFailed` if it finds a fault."""
    done = subprocess.run([program("promtool"), *words], input=given, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode()
    if done.returncode != 0:
        raise ServerFailed(f"promtool {' '.join(words)} ended with {done.returncode}:\n{said}")
    return said


class PrometheusServer:
    """Starts on construction. Use it as a context or `close` it.

    Args:
        targets: job -> the addresses (host:port) that it scrapes.
        rules: files with rules.
        token: what it sends with each scrape.
    """

    def __init__(
        self, targets: Mapping[str, Sequence[str]], rules: Sequence[Path] = (), token: str | None = None
    ) -> None:
        self.port = free_port()
        self._folder = PrivateFolder("shoal-prometheus-")
        folder = self._folder.path
        sends = {"authorization": {"credentials": token}} if token is not None else {}
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": list(addresses)}], **sends}
                for job, addresses in targets.items()
            ],
        }
        # YAML is a superset of JSON.
        (folder / "prometheus.yml").write_text(json.dumps(configuration))
        try:
            promtool("check", "config", str(folder / "prometheus.yml"))
            self._child = Child.of(
                [
                    program("prometheus"),
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                cwd=folder,
                log=folder / "log",
            )
        except BaseException:
            self._folder.close()
            raise
        try:
            self._child.wait_until(self._is_ready, 30)
        except BaseException:
            self.close()
            raise

    def query(self, expression: str) -> list[dict[str, Any]]:
        """An expression's present result: each with `metric` and `value`. Raises `ServerFailed` for a wrong one."""
        return list(self._get("query", query=expression)["result"])

    def rules(self) -> list[dict[str, Any]]:
        """The rules of all groups, with `health` and `lastError`."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def targets(self) -> list[dict[str, Any]]:
        """The scrape targets, with `health` and `lastError`."""
        return list(self._get("targets")["activeTargets"])

    def _get(self, what: str, **values: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(values)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return dict(json.load(answer)["data"])
        except urllib.error.HTTPError as error:
            raise ServerFailed(f"{values or what}: {error.read().decode()}") from None

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def close(self) -> None:
        """Leave nothing behind."""
        self._child.end(signal.SIGTERM, timeout_s=10)
        self._folder.close()

    def __enter__(self) -> PrometheusServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
