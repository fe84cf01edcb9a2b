"""`history_floor`: up to which id commands may have been handled whose rows in the history are deleted.

The primary key of `command_history` proves that a command is handled once. When rows are deleted, the highest id of
them takes their place: a command with an id up to it that has no row was handled, or its id came again. The history has
no id below it that still waits: rows are deleted only below the first command that waits. Databases that replicate each
other give ids in strides, each at its own pace, so there is a floor for each residue.

A command whose transaction commits late comes after others with higher ids: the floor stays below what was handled in
the last day, for as long as a client may reasonably take. The newest row of the history stays, so that the floor is
never above all rows. So do those above the newest run's, so that it is not above the ids that come next, if somebody
once chose a far higher one.
"""

from __future__ import annotations

from dao.postgres.sql import Sql

ID_STEP = Sql("""
    SELECT greatest(1, abs(seqincrement)) FROM pg_sequence
    WHERE seqrelid = pg_get_serial_sequence('command', 'id')::regclass
""")
