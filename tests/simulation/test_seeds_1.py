"""Whole clusters under all faults at once: the first half of the seeds that run with each push."""

from __future__ import annotations

import pytest

from tests.simulation.portion import SEEDS, guilty


@pytest.mark.timeout(600)
def test_no_seed_of_the_first_half_violates_anything() -> None:
    """Goal: no command lost or handled twice, no owner, attempt or fire doubled, and everything ends."""
    assert not guilty(range(SEEDS // 2))
