"""What a person with psql may write into one column of one row: from the live catalog, its types and CHECKs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Query = Callable[..., list[Any]]
"""Runs a statement with its values, and gives its rows."""

_COLUMNS = """
    SELECT c.relname, a.attname, format_type(a.atttypid, NULL), NOT a.attnotnull, t.typtype = 'e', a.attidentity <> '',
           coalesce((SELECT string_agg(pg_get_constraintdef(k.oid), ' ') FROM pg_constraint k
                     WHERE k.conrelid = c.oid AND k.contype = 'c' AND a.attnum = ANY(k.conkey)), ''),
           (SELECT array_agg(e.enumlabel::text) FROM pg_enum e WHERE e.enumtypid = t.oid)
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    JOIN pg_type t ON t.oid = a.atttypid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    ORDER BY c.relname, a.attnum
"""
_NUMBERS = {"smallint": 2**15, "integer": 2**31, "bigint": 2**63}
_TEXTS = ("''", "'x'", "'{'", "'{}'", "'[]'", "'null'", "'7'", "'\"'", "repeat('x', 100000)", "'a\u202eb'")
_JSON = ("'{}'", "'[]'", "'null'", "'{\"tasks\": 3}'", "'{\"tasks\": []}'")
_TIMES = (
    *("'epoch'", "'infinity'", "'-infinity'", "'9999-12-31'", "'200000-01-01'", "'4000-01-01 BC'"),
    *("now()", "now() + interval '10 years'", "now() - interval '10 years'"),
)
_LITERAL = re.compile(r"'([A-Za-z_]+)'::text")


@dataclass(frozen=True)
class Column:
    """One column, and what may be written there: each value as an SQL expression."""

    table: str
    name: str
    values: tuple[str, ...]


def columns(query: Query) -> list[Column]:
    """Every column of every table that somebody may write."""
    return [
        Column(table, name, tuple(dict.fromkeys(_values(table, name, type_, nullable, identity, checks, labels))))
        for table, name, type_, nullable, _, identity, checks, labels in query(_COLUMNS)
    ]


def _values(
    table: str, name: str, type_: str, nullable: bool, identity: bool, checks: str, labels: list[str] | None
) -> list[str]:
    if identity:
        return ["DEFAULT"]
    values = ["NULL"] if nullable else []
    values.append(f"(SELECT o.{name} FROM {table} o ORDER BY random() LIMIT 1)")
    if type_ in _NUMBERS:
        values += ["0", "-1", "1", "7", str(_NUMBERS[type_] - 1), str(-_NUMBERS[type_])]
        if name in ("master_id", "worker_id", "tried_by", "node_id"):
            values += ["(SELECT n.id FROM node n ORDER BY random() LIMIT 1)"] * 3
    elif type_ == "double precision":
        values += ["0", "-1", "1e300", "'NaN'", "'infinity'"]
    elif type_ == "boolean":
        values += ["true", "false"]
    elif type_.startswith("timestamp"):
        values += _TIMES
    elif type_ in ("jsonb", "json"):
        values += _JSON
    elif type_ == "bytea":
        values += ["''", "'\\x00'"]
    elif type_ == "uuid":
        values.append("gen_random_uuid()")
    elif type_ == "text":
        values += [f"'{literal}'" for literal in _LITERAL.findall(checks)] or list(_TEXTS)
    values += [f"'{label}'" for label in labels or ()]
    return values


def draw(random: Random, among: list[Column], tables: list[str]) -> tuple[Column, str]:
    """Any value of any column of these tables; a repeated table is drawn more often."""
    table = random.choice(tables)
    column = random.choice([each for each in among if each.table == table])
    return column, random.choice(column.values)
