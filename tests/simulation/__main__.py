"""`python -m tests.simulation --seeds 20000 [--first 0] [--without fencing] [--jobs 2]`: many seeds, and a verdict.

Exit code 0 when nothing was violated, 1 when something was: then the trace of the first such seed is printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

from tests.simulation.many import Told, many
from tests.simulation.protections import NAMES, Protections
from tests.simulation.run import run


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--without", choices=NAMES, help="a protection that is switched off")
    parser.add_argument("--jobs", type=int, help="processes; one a processor unless said")
    parser.add_argument(
        "--trace", action="store_true", help="print the trace of the first seed, whatever becomes of it"
    )
    given = parser.parse_args()
    if given.trace:
        _say(run(given.first, Protections().without(given.without) if given.without else None).trace.text())
    began_s, told = time.monotonic(), list[Told]()
    for each in many(range(given.first, given.first + given.seeds), given.without, given.jobs):
        told.append(each)
        if each[1] is not None:
            return _fail(each, given.without, len(told))
        if len(told) % 500 == 0:
            _say(f"{len(told)} seeds, {len(told) / (time.monotonic() - began_s):.0f} a second")
    _sum_up(told, time.monotonic() - began_s)
    return 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for people


def _fail(told: Told, without: str | None, number: int) -> int:
    """The same seed again, for its trace."""
    verdict = run(told[0], Protections().without(without) if without else None)
    _say(verdict.trace.text())
    off = f" --without {without}" if without else ""
    _say(f"\nseed {told[0]} ({number} run): {told[1]}")
    _say(f"again: python -m tests.simulation --seeds 1 --first {told[0]}{off}")
    return 1


def _sum_up(told: Sequence[Told], took_s: float) -> None:
    steps, virtual_s = (statistics.mean(each[place] for each in told) for place in (2, 3))
    commands, instances, attempts = (sum(each[place] for each in told) for place in (4, 5, 6))
    _say(
        f"{len(told)} seeds, 0 violations, in {took_s:.0f} s ({len(told) / took_s:.0f} a second): {commands} commands, "
        f"{instances} workflow instances, {attempts} attempts; a seed has {steps:.0f} steps and {virtual_s:.0f} s of "
        "virtual time"
    )


if __name__ == "__main__":
    sys.exit(_main())
