"""Names of tables and columns that are parameters: SQL binds `${x}` as a value, and puts `!{x}` into the text."""

from __future__ import annotations

from dataclasses import replace

from importers.script_checks import names_meant
from worker.statements.grammar import Grammar, Kind

NAMES_MAX = 50
"""So many are looked for in a text."""


def with_names(statement: str, grammar: Grammar) -> str:
    """A statement with `!{x}` where `${x}` stands for the name of a table or column."""
    for _ in range(NAMES_MAX):
        if not (names := set(names_meant(statement, grammar))):
            break
        parts = list(grammar.pieces(statement))
        for name in names:
            old, new = f"${{{name}}}", f"!{{{name}}}"
            parts = [
                part if part.kind is Kind.TEXT else replace(part, text=part.text.replace(old, new)) for part in parts
            ]
        if (changed := "".join(part.text for part in parts)) == statement:
            break
        statement = changed
    return statement
