"""Fixtures for what `deploy/` starts: real servers, with PostgreSQL as the registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    """No process yet; all that the test starts are ended after it."""
    with Cluster(database_url, database_url, tmp_path) as made:
        yield made
