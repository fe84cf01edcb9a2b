"""A cluster on ZooKeeper and PostgreSQL for each test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.conftest import timing as timing


@pytest.fixture
def cluster(database_url: str, zookeeper_url: str, tmp_path: Path, timing: Mapping[str, str]) -> Iterator[Cluster]:
    """No process yet; all that the test starts are ended after it."""
    with Cluster(database_url, zookeeper_url, tmp_path, timing) as made:
        yield made


@pytest.fixture
def laptop(database_url: str, tmp_path: Path, timing: Mapping[str, str]) -> Iterator[Cluster]:
    """A cluster with PostgreSQL as the registry."""
    with Cluster(database_url, database_url, tmp_path, timing) as made:
        yield made
