"""Proof that the simulation would see what goes wrong: without any one protection some seed fails."""

from __future__ import annotations

import warnings
from itertools import chain, count, islice

import pytest

from tests.simulation.protections import NAMES, Protections
from tests.simulation.provoked import PROVOKED, may_show, nothing_more
from tests.simulation.run import run
from tests.simulation.world import World

FOUND: dict[str, tuple[int, str]] = {
    "licence": (3, "I4"),
    "share": (12, "I4"),
    "fencing": (3, "I4"),
    "claim": (0, "I1"),
    "attempt": (26, "I5"),
    "fire_compare": (29, "I8: command"),
    "fire_once": (29, "I8: schedule"),
    "recover": (7, "I3: two open RECOVER"),
    "failover": (2, "I3"),
    "takeovers": (39, "I16"),
    "deaths": (25, "I10"),
    "barrier": (5, "I3"),
    "horizon": (18, "I5"),
    "deadline": (25, "I5"),
    "terminate": (5, "I10"),
    "observed": (14, "I5"),
    "stated": (35, "I5"),
    "swept": (1, "I5"),
    "searched": (17, "I5"),
    "unbroken": (34, "I5"),
    "room": (7, "I10"),
    "steal": (82, "I2: command"),
    "answer_deadline": (10, "I10"),
    "periodic": (33, "I2: the masters"),
    "obeyed": (35, "I17"),
    "line": (57, "I18"),
    "older": (1, "I21"),
    "shares": (172, "I25"),
    "dealt": (172, "I25"),
    "troubled": (18, "I29"),
    "rebalance": (24, "I26: streams are spread unevenly"),
    "handover": (18, "I26: worker"),
    "duty": (6, "I27"),
    "family": (52, "I28"),
    "superseded": (1, "I19"),
    "pools_held": (2, "I22"),
    "lease": (3, "I22"),
    "timed_again": (39, "I10"),
    "reserved": (22, "I24"),
    "judged": (18, "I14"),
    "continued": (189, "I28"),
}
"""Protection -> a seed that fails without it, and how the violation begins. A change of what a seed draws or of what
Shoal does changes which seeds fail: the test then looks for another, and says what to write here."""
LOOKED_AT = 300


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protection", NAMES)
def test_without_any_one_protection_some_seed_fails(protection: str) -> None:
    off = Protections().without(protection)
    known, invariant = FOUND[protection]
    provoke = PROVOKED.get(protection, nothing_more)
    seeds = (seed for seed in count() if may_show(protection, World(seed, off)))
    for seed in chain([known], islice(seeds, LOOKED_AT)):
        if not (run(seed, off, also=provoke).violation or "").startswith(invariant):
            continue
        if seed != known:
            warnings.warn(f'"{protection}": ({seed}, "{invariant}") is the seed to write into FOUND', stacklevel=1)
        return
    pytest.fail(f"without {protection} none of {LOOKED_AT} seeds fails {invariant}: is it needed, or not simulated?")


@pytest.mark.parametrize("protection", NAMES)
def test_with_all_protections_the_same_seed_is_clean(protection: str) -> None:
    known, _ = FOUND[protection]
    assert run(known, also=PROVOKED.get(protection, nothing_more)).violation is None
