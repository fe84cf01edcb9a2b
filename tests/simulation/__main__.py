"""`python -m tests.simulation --seeds 20000 [--first 0] [--without fencing] [--jobs 2]`: many seeds, and a verdict.

Exit code 0 when nothing was violated, 1 when something was: then the first such seed is made smaller, and its trace is
printed. `--found 20` says instead how many seeds it takes until a protection that is off is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tests.simulation.many import Told, many
from tests.simulation.protections import NAMES, Protections
from tests.simulation.run import run
from tests.simulation.shrinking import shrunk


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--without", choices=NAMES, help="a protection that is switched off")
    parser.add_argument("--jobs", type=int, help="processes; one a processor unless said")
    parser.add_argument("--trace", action="store_true", help="print the trace of the first seed, whatever comes of it")
    parser.add_argument("--leave-out", default="", help="names, separated by commas, of what --trace does without")
    parser.add_argument("--found", action="store_true", help="go on after a violation, and count them")
    given = parser.parse_args()
    protections = Protections().without(given.without) if given.without else None
    if given.trace:
        verdict = run(given.first, protections, {name.strip() for name in given.leave_out.split(",")})
        _say(verdict.trace.text())
        return 0 if verdict.violation is None else 1
    began_s, ran, guilty = time.monotonic(), list[Told](), list[Told]()
    for each in many(range(given.first, given.first + given.seeds), given.without, given.jobs):
        ran.append(each)
        if each.violation is not None:
            guilty.append(each)
            if not given.found:
                return _fail(each.seed, protections, given.without)
        if len(ran) % 1_000 == 0:
            _say(f"{len(ran)} seeds, {len(ran) / (time.monotonic() - began_s):.0f} a second")
    if given.found:
        _count(ran, guilty)
    _sum_up(ran, len(guilty), time.monotonic() - began_s)
    return 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for people


def _fail(seed: int, protections: Protections | None, without: str | None) -> int:
    """Run the same seed again, shrunk as far as possible, for its trace."""
    whole = run(seed, protections)
    verdict, left_out = shrunk(whole, protections)
    _say(verdict.trace.text())
    off = f" --without {without}" if without else ""
    _say(f"\nseed {seed}: {whole.violation}")
    _say(f"made smaller ({len(left_out)} of {len(whole.arranged)} things left out): {verdict.violation}")
    names = f' --leave-out "{",".join(sorted(left_out))}"' if left_out else ""
    _say(f"again: python -m tests.simulation --first {seed}{off} --trace{names}")
    return 1


def _count(ran: Sequence[Told], guilty: Sequence[Told]) -> None:
    """Count how many seeds it takes until one is guilty: the median of the distances between them."""
    numbers = [ran[0].seed - 1, *(each.seed for each in guilty)]
    distances = [after - before for before, after in pairwise(numbers)]
    median = statistics.median(distances) if distances else None
    invariants = Counter((each.violation or "").partition(":")[0] for each in guilty)
    _say(f"{len(guilty)} guilty, the first {numbers[1:4]}; median of seeds to the next: {median}; {dict(invariants)}")


def _sum_up(ran: Sequence[Told], violations: int, took_s: float) -> None:
    steps = statistics.mean(each.steps for each in ran)
    virtual_s = statistics.mean(each.virtual_s for each in ran)
    _say(
        f"{len(ran)} seeds, {violations} violations, in {took_s:.0f} s ({len(ran) / took_s:.0f} a second): "
        f"{sum(each.commands for each in ran)} commands, {sum(each.instances for each in ran)} workflow instances, "
        f"{sum(each.attempts for each in ran)} attempts; a seed has {steps:.0f} steps and {virtual_s:.0f} s of virtual "
        "time"
    )


if __name__ == "__main__":
    sys.exit(_main())
