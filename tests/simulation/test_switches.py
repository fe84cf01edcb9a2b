"""Proof that the simulation would see what goes wrong: without any one protection some seed fails."""

from __future__ import annotations

import warnings

import pytest

from tests.simulation.protections import NAMES, Protections
from tests.simulation.run import run

FOUND: dict[str, tuple[int, str]] = {
    "licence": (3, "I4"),
}
"""Of each protection: a seed that fails without it, and how the violation begins. Whoever changes what a seed draws
or what Shoal does changes which seeds fail: the test then looks for another, and says which to write here."""
LOOKED_AT = 600


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protection", NAMES)
def test_without_any_one_protection_some_seed_fails(protection: str) -> None:
    off = Protections().without(protection)
    known, invariant = FOUND[protection]
    if (run(known, off).violation or "").startswith(invariant):
        return
    for seed in range(LOOKED_AT):
        if (run(seed, off).violation or "").startswith(invariant):
            warnings.warn(f'"{protection}": ({seed}, "{invariant}") is the seed to write into FOUND', stacklevel=1)
            return
    pytest.fail(f"without {protection} no seed below {LOOKED_AT} fails {invariant}: is it needed, or not simulated?")


@pytest.mark.parametrize("protection", NAMES)
def test_with_all_protections_the_same_seed_is_clean(protection: str) -> None:
    known, _ = FOUND[protection]
    assert run(known).violation is None
