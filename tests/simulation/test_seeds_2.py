"""Whole clusters under all faults at once: the second half, in a file of its own so that another processor runs it."""

from __future__ import annotations

import pytest

from tests.simulation.portion import SEEDS, guilty


@pytest.mark.timeout(600)
def test_no_seed_of_the_second_half_violates_anything() -> None:
    """Goal: no command lost or handled twice, no owner, attempt or fire doubled, and everything ends."""
    assert not guilty(range(SEEDS // 2, SEEDS))
