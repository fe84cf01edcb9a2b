"""`python -m tests.chaos --minutes 10 --seed 1`: break a cluster for a time, and say whether it kept its promises."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.disk import mount_apart
from tests.chaos.limits import limits_of
from tests.chaos.run import Plan, run
from tests.chaos.site import Site

FOLDER = Path(__file__).parents[2] / "build" / "chaos"


def main() -> int:
    """Exit code 0 without violations, 1 with, 130 when it was stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2, help="how long faults come (default 2)")
    parser.add_argument("--seed", type=int, default=1, help="of faults and load (default 1)")
    parser.add_argument("--masters", type=int, default=4)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--apis", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5, help="commands a second (default 5)")
    parser.add_argument("--outage", type=float, default=30, help="seconds of an ensemble stop (default 30)")
    parser.add_argument(
        "--only", action="append", default=[], help="a kind of fault, as the report names it; may repeat"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the report (default build/chaos)")
    arguments = parser.parse_args()
    plan = Plan(arguments.seed, arguments.minutes, arguments.rate, arguments.outage, tuple(arguments.only))
    limits = limits_of(arguments.seed)
    os.environ.setdefault("TEST_PATIENCE", "1")
    began_s = time.monotonic()
    signal.signal(signal.SIGTERM, _stop)
    mount_apart()

    def tell(what: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began_s:6.1f}] {what}\n")

    with (
        tempfile.TemporaryDirectory(prefix="shoal-chaos-") as folder,
        Site(
            Path(folder),
            masters=arguments.masters,
            workers=arguments.workers,
            apis=arguments.apis,
            limits=limits,
        ) as site,
    ):
        report = asyncio.run(run(site, plan, tell))
        text = report.write(arguments.out)
        sys.stdout.write(report.as_text())
        tell(f"written to {text}")
        if report.violations:
            kept = arguments.out / f"seed-{plan.seed}"
            _keep(site, kept)
            tell(f"logs, journal and tables are kept in {kept}")
    return 1 if report.violations else 0


def _stop(_number: int, _frame: object) -> None:
    """SIGTERM ends it as Ctrl-C does, so that everything is put away."""
    raise KeyboardInterrupt


def _keep(site: Site, folder: Path) -> None:
    """Keep what an investigation needs. No log and no row contains a password."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in (*site.folder.glob("*.log"), site.journal.path):
        shutil.copy(file, folder)
    for table in ("node", "command", "command_history", "error_command", "workflow_instance", "task_instance",
                  "task_event", "chaos.change", "chaos.fire"):  # fmt: skip
        rows = site.cluster.rows(f"SELECT to_jsonb(t)::text FROM {table} t")
        (folder / f"{table}.jsonl").write_text("".join(f"{row}\n" for (row,) in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.stderr.write("chaos: stopped\n")
        sys.exit(130)
