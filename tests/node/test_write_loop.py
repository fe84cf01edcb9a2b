"""Which errors of a round blame its data: unexpected ones, never those of an unavailable server."""

from __future__ import annotations

import psycopg
import pytest

from dao.postgres.errors import BadData
from model.errors import Fenced, Unavailable
from node.write_loop import blaming_the_data


def test_a_server_that_goes_away_is_nobody_s_fault() -> None:
    for cause in (psycopg.errors.AdminShutdown("bye"), psycopg.OperationalError("server closed the connection")):
        with pytest.raises(Unavailable), blaming_the_data():
            raise cause


def test_what_nobody_foresaw_blames_what_the_round_held() -> None:
    with pytest.raises(BadData, match="KeyError"), blaming_the_data():
        raise KeyError("a")


def test_an_error_of_ours_comes_out_as_it_is() -> None:
    with pytest.raises(Fenced), blaming_the_data():
        raise Fenced("by others")
