"""The figures of the cluster over the last hour, as the page draws them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from model.rights import Scope
from service.cluster import figure_samples
from tests.api.serving import BASE, Serving, serving, token_of

Sql = Callable[[str], list[tuple[Any, ...]]]
NODE = """
    INSERT INTO node (kind, address, name, state, incarnation, process)
    SELECT '{kind}', '{name}', '{name}', 'ALIVE', gen_random_uuid(), to_jsonb(0) RETURNING id
"""


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[Serving]:
    async with serving(database_url) as running:
        yield running
