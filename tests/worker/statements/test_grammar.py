"""Where statements end, and what is inside quotes, for each kind of database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.every import every
from worker.statements.binding import Binder
from worker.statements.grammar import DUCKDB, MYSQL, POSTGRES, SQLITE, STANDARD, Grammar, Kind

GRAMMARS = {"postgresql": POSTGRES, "mysql": MYSQL, "sqlite": SQLITE, "duckdb": DUCKDB, "any": STANDARD}
SQLISH = st.text(st.sampled_from("'\"`[]$;-/*#\\eE \nabx1{}!:%?"), max_size=60)


def divided(grammar: Grammar, text: str) -> list[str]:
    return [statement.shown for statement in Binder(grammar, {}, {}).statements(text)]


@every("name", GRAMMARS)
@every(
    ("text", "statements"),
    [
        ("a; b ;; c", ["a", "b", "c"]),
        ("a;", ["a"]),
        ("", []),
        (" ;\n; -- only a comment; here\n;", []),
        ("SELECT 'a;b'; c", ["SELECT 'a;b'", "c"]),
        ("SELECT 'it''s; x'; c", ["SELECT 'it''s; x'", "c"]),
        ("SELECT 1 -- a; 'b\n; c", ["SELECT 1 -- a; 'b", "c"]),
        ("SELECT /* ; ' */ 1; c", ["SELECT /* ; ' */ 1", "c"]),
        ('SELECT "a;b"; c', ['SELECT "a;b"', "c"]),
        ("a 'never; ended", ["a 'never; ended"]),
        ("a /* never; ended", ["a /* never; ended"]),
        ("a - 1; b / 2", ["a - 1", "b / 2"]),
    ],
)
def test_all_databases_divide_alike(name: str, text: str, statements: list[str]) -> None:
    assert divided(GRAMMARS[name], text) == statements


@every(
    ("name", "text", "statements"),
    [
        ("postgresql", r"SELECT 'a\'; b", [r"SELECT 'a\'", "b"]),
        ("postgresql", r"SELECT E'a\'; b'; c", [r"SELECT E'a\'; b'", "c"]),
        ("postgresql", r"SELECT date'a\'; b", [r"SELECT date'a\'", "b"]),
        ("postgresql", "DO $$ a; 'b $$; c", ["DO $$ a; 'b $$", "c"]),
        ("postgresql", "DO $x$ a; $$ ; $y$ ; $x$; c", ["DO $x$ a; $$ ; $y$ ; $x$", "c"]),
        ("postgresql", "SELECT a$1$b; c$1$", ["SELECT a$1$b", "c$1$"]),
        ("postgresql", "SELECT $1; $2", ["SELECT $1", "$2"]),
        ("postgresql", "/* a /* b; */ c; */ d; e", ["/* a /* b; */ c; */ d", "e"]),
        ("postgresql", "SELECT a[1]; b[';']", ["SELECT a[1]", "b[';']"]),
        ("postgresql", "SELECT 1 # 2; b", ["SELECT 1 # 2", "b"]),
        ("duckdb", "SELECT $$a;b$$; c", ["SELECT $$a;b$$", "c"]),
        ("mysql", r"SELECT 'a\'; b'; c", [r"SELECT 'a\'; b'", "c"]),
        ("mysql", r"SELECT 'a\\'; c", [r"SELECT 'a\\'", "c"]),
        ("mysql", r'SELECT "a\"; b"; c', [r'SELECT "a\"; b"', "c"]),
        ("mysql", "SELECT `a;b`; c", ["SELECT `a;b`", "c"]),
        ("mysql", "SELECT 1 # a; 'b\n; c", ["SELECT 1 # a; 'b", "c"]),
        ("mysql", "SELECT 5--1; c", ["SELECT 5--1", "c"]),
        ("mysql", "SELECT 5 -- 1; c", ["SELECT 5 -- 1; c"]),
        ("mysql", "/* a /* b; */ c; d", ["/* a /* b; */ c", "d"]),
        ("mysql", "SELECT $$a; b$$", ["SELECT $$a", "b$$"]),
        ("sqlite", "SELECT [a;b], `c;d`; e", ["SELECT [a;b], `c;d`", "e"]),
        ("sqlite", r"SELECT 'a\'; b", [r"SELECT 'a\'", "b"]),
    ],
)
def test_each_database_has_quotes_of_its_own(name: str, text: str, statements: list[str]) -> None:
    assert divided(GRAMMARS[name], text) == statements


def test_the_statements_of_a_list_are_not_divided() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END;"
    statements = Binder(SQLITE, {}, {}).statements([trigger, " ", "-- nothing", "SELECT 1"])
    assert [each.shown for each in statements] == [trigger, "SELECT 1"]


@given(text=SQLISH, name=st.sampled_from(sorted(GRAMMARS)))
def test_the_pieces_are_the_whole_text(text: str, name: str) -> None:
    pieces = list(GRAMMARS[name].pieces(text))
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)
    assert all(piece.text == ";" for piece in pieces if piece.kind is Kind.END)


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_long_text_is_divided_in_time(name: str) -> None:
    text = "INSERT INTO t VALUES ('a''b', $1, \"c\", `d`, [e]); -- f\n/* g */ " * 15_000
    assert len(divided(GRAMMARS[name], text)) in (15_000, 15_001)
