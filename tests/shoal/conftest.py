"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url


@pytest.fixture
def sql(database_url: str) -> Iterator[Any]:
    """Runs one statement on the database of the test, and returns its rows."""
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:

        def run(query: str) -> list[Any]:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

        yield run
