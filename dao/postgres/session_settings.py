"""The settings of every session that Shoal opens: bounded waits, READ COMMITTED, formats, and fixed plans."""

from __future__ import annotations

from collections.abc import Mapping

STATEMENT_S_MAX = 6.0
"""The server ends a statement that takes longer."""

_DRIVERS_SETTINGS: Mapping[str, str] = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "client_encoding": "UTF8",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "array_nulls": "on",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "xmloption": "content",
    "row_security": "on",
    "client_min_messages": "notice",
}
"""How values are written and read: psycopg and our statements rely on it, and a database or a role may have others."""

# Of these, 57014, 55P03 and 25P03 limit how long a black-holed network, another session's lock or a stopped process can
# block us. Together they stay below the registry's session time-out, so that a fence never waits for long. The last
# four fix the plans: our tables fill and empty within seconds, the statistics of ANALYZE are soon outdated, and a plan
# must be right for any statistics (tests/dao/test_plans.py). Sequential scans: whole tables are never read. A bitmap
# scan loses its index's order, so that a LIMIT reads everything first, and it never marks dead entries for the next
# reader. Compiling takes longer than any of our statements. For the same reason a condition on rows that a batch names
# by id, such as their state and owner, is wrapped in coalesce(..., false): the planner then expects half of the rows to
# match. From statistics it may conclude that none does, and read the whole table for the one row that it expects,
# comparing each row with the whole batch.
SESSION_SETTINGS: Mapping[str, str] = {
    "statement_timeout": f"{STATEMENT_S_MAX:g}s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "3s",
    "idle_session_timeout": "0",
    "default_transaction_isolation": "read committed",
    "synchronous_commit": "on",
    **_DRIVERS_SETTINGS,
    "plan_cache_mode": "force_custom_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "random_page_cost": "1.1",
    "jit": "off",
}
