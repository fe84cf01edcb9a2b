"""The folder of a worker: checked when it starts, and served at the same address as before."""

from __future__ import annotations

import tempfile
from pathlib import Path

from model.errors import Refused, Unavailable
from worker.log_service import LogService


class WorkerFolder:
    """Holds `logs/` and `work/`, and in `log-port` where the logs were served last."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def make(self) -> None:
        """Make it, if it is missing, and try to write. Raises `Refused`.

        A worker that cannot write would fail every task within milliseconds, and so take the most of all.
        """
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._path) as probe:
                probe.write(b"0" * 4096)
        except OSError as error:
            raise Refused(
                f"the worker's folder {self._path} cannot be written ({error.strerror}); "
                f"give another by --folder or SHOAL_WORKER__FOLDER, or make room"
            ) from None

    async def serve_logs(self, host: str, port: int, token: str | None) -> LogService:
        """Serve the logs; with port 0 where they were served last, if that is free, else anywhere.

        Logs of earlier lives lie in the same folder, and the database knows them by their address.
        """
        for wanted in (port or self._last_port(), port):
            logs = LogService(self._path / "logs", host, wanted, token)
            try:
                await logs.start()
            except Unavailable:
                if wanted == port:
                    raise
                continue
            self._port_file.write_text(str(logs.address[1]))
            return logs
        raise AssertionError("the last address tried is the one that was asked for")

    @property
    def _port_file(self) -> Path:
        return self._path / "log-port"

    def _last_port(self) -> int:
        try:
            port = int(self._port_file.read_text())
        except (OSError, ValueError):
            return 0
        return port if 0 < port < 65536 else 0
