"""What a database is made of, by PostgreSQL's own catalogs: to tell whether two schemas are the same."""

from __future__ import annotations

from tests.dao.scene import Scene

_PARTS = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
               pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "tables": """
        SELECT relname, relpersistence, relkind, reloptions::text, obj_description(oid, 'pg_class') FROM pg_class
        WHERE relnamespace = 'public'::regnamespace
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
    """,
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": """
        SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    """,
    "functions": """
        SELECT proname, pg_get_functiondef(oid), proacl IS NULL, obj_description(oid, 'pg_proc')
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    """,
    "words": """
        SELECT t.typname, e.enumsortorder, e.enumlabel, obj_description(t.oid, 'pg_type')
        FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
    """,
    "sequences": """
        SELECT sequencename, start_value, increment_by, data_type::text FROM pg_sequences WHERE schemaname = 'public'
    """,
}


async def catalog(scene: Scene) -> dict[str, set[object]]:
    """Columns, constraints, indexes, triggers and so on, whatever the order in which they were made."""
    return {part: set(await scene.sql(query)) for part, query in _PARTS.items()}
