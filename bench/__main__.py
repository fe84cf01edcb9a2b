"""`python -m bench`: measures, prints the table, and writes the result to files if requested.

`--compare REV` measures this tree and another revision in turn, and shows where they differ (`bench/comparison.py`).
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.cluster import BenchFailed
from bench.comparison import PAIRS_MIN
from bench.course import ENDURANCE, PARTS, run
from bench.performance_page import write_page
from bench.revisions import PARTS as COMPARED
from bench.revisions import compare_with, print_comparison
from bench.sizes import FULL, QUICK
from bench.table import print_table
from tests.servers.child import ServerFailed

PAIRS = 5
FAILED = 2
"""The exit code after a measurement that failed."""
STOPPED = 130
"""The exit code after Ctrl-C or SIGTERM."""
HISTORY_MIN = 10_000
"""With fewer attempts some of the workflows have no run."""


def main() -> int:
    """Exit code 0 when everything was measured, whatever the values; 1 when a measurement failed.

    With `--compare`: 1 when a figure is slower here by more than its spread, 2 when a measurement failed.
    """
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.history and (arguments.parts or arguments.compare):
        parser.error("--history is a part of its own: leave out --parts and --compare")
    if arguments.write and (arguments.quick or arguments.parts or arguments.compare or arguments.history):
        parser.error("--write wants a full run of this tree: the figures of a quick one, or of parts, mean little")
    if arguments.pairs < PAIRS_MIN:
        parser.error(f"--pairs must be at least {PAIRS_MIN}: fewer runs have no spread worth the name")
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _compare(arguments) if arguments.compare else _measure(arguments)
    except (BenchFailed, ServerFailed) as failed:
        print(f"bench: {failed}", file=sys.stderr)
        return 2 if arguments.compare else 1
    except KeyboardInterrupt:
        print("bench: stopped", file=sys.stderr)
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Shoal beside its PostgreSQL alone.")
    parser.add_argument("--quick", action="store_true", help="small counts: shows that everything runs, in a minute")
    names = ", ".join((*PARTS, ENDURANCE))
    parser.add_argument("--parts", type=_parts, metavar="P,P", help=f"measure only these: {names}")
    parser.add_argument("--history", type=_attempts, metavar="N", help="measure only beside a history of N attempts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    parser.add_argument("--write", action="store_true", help="put the result into docs/internals/performance.md")
    parser.add_argument("--compare", metavar="REV", help=f"compare with this revision; parts: {','.join(COMPARED)}")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"with --compare: runs of each tree ({PAIRS})")
    return parser


def _parts(given: str) -> list[str]:
    known = (*PARTS, ENDURANCE)
    unknown = [part for part in given.split(",") if part not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f'there is no part "{unknown[0]}"; there are: {", ".join(known)}')
    return given.split(",")


def _attempts(given: str) -> int:
    attempts = int(given.replace("_", "")) if given.replace("_", "").isdecimal() else 0
    if attempts < HISTORY_MIN:
        raise argparse.ArgumentTypeError(f"the number of attempts must be at least {HISTORY_MIN}, not {given}")
    return attempts


def _measure(arguments: argparse.Namespace) -> int:
    sizes = QUICK if arguments.quick else FULL
    if arguments.history:
        sizes = replace(sizes, history_attempts=arguments.history)
    result = run(sizes, _say, ["history"] if arguments.history else arguments.parts or PARTS)
    if arguments.json is not None:
        arguments.json.write_text(_json(result.as_json()))
    if arguments.write and result.is_whole:
        write_page(result)
    print_table(result, _console())
    if not result.is_whole:
        ended = "a measurement failed" if result.has_failed else "stopped"
        print(f"bench: {ended}; above is what had been measured until then", file=sys.stderr)
    return FAILED if result.has_failed else 0 if result.is_whole else STOPPED


def _compare(arguments: argparse.Namespace) -> int:
    parts = arguments.parts or COMPARED
    report = compare_with(arguments.compare, parts, arguments.pairs, is_quick=arguments.quick, say=_say)
    if arguments.json is not None:
        arguments.json.write_text(_json(report.as_json()))
    print_comparison(report, _console())
    return 1 if report.comparison.slower else 0


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=180)


def _say(what: str) -> None:
    print(f"measuring: {what} ...", file=sys.stderr, flush=True)


def _stop(_number: int, _frame: object) -> None:
    """SIGTERM ends it like Ctrl-C, so that everything is cleaned up."""
    raise KeyboardInterrupt


def _json(result: dict[str, object]) -> str:
    return json.dumps(_without_nan(result), indent=2, ensure_ascii=False) + "\n"


def _without_nan(value: Any) -> Any:
    """A value that was not measured is null: JSON has no NaN."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return [_without_nan(each) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
