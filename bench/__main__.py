"""`python -m bench`: measures, prints the table, and writes the result to files if requested."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.cluster import BenchFailed
from bench.course import Result, run
from bench.page import write_page
from bench.sizes import FULL, QUICK
from bench.table import print_table
from tests.servers.child import ServerFailed


def main() -> int:
    """Exit code 0 when everything was measured, whatever the values; 1 when a measurement failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Shoal beside its PostgreSQL alone.")
    parser.add_argument("--quick", action="store_true", help="small counts: shows that everything runs, in a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    parser.add_argument("--write", action="store_true", help="put the result into docs/performance.md")
    arguments = parser.parse_args()
    if arguments.write and arguments.quick:
        parser.error("--write wants a full run: the figures of a quick one mean little")
    signal.signal(signal.SIGTERM, _stop)
    try:
        result = run(QUICK if arguments.quick else FULL, _say)
        if arguments.json is not None:
            arguments.json.write_text(_json(result))
        if arguments.write:
            write_page(result)
    except (BenchFailed, ServerFailed) as failed:
        print(f"bench: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: stopped", file=sys.stderr)
        return 130
    console = Console()
    print_table(result, console if console.is_terminal else Console(width=180))
    return 0


def _say(what: str) -> None:
    print(f"measuring: {what} ...", file=sys.stderr, flush=True)


def _stop(_number: int, _frame: object) -> None:
    """SIGTERM ends it like Ctrl-C, so that everything is cleaned up."""
    raise KeyboardInterrupt


def _json(result: Result) -> str:
    return json.dumps(_without_nan(result.as_json()), indent=2, ensure_ascii=False) + "\n"


def _without_nan(value: Any) -> Any:
    """A value that was not measured is null: JSON has no NaN."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return [_without_nan(each) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
