"""Every statement of `dao/` that writes says what keeps a zombie from writing with it.

A master or worker that was taken for dead may wake in the middle of anything. Each write is stopped by one of the
fences below; a statement that is new here has to name its own. That nodes write under their licence only is seen at
run time, by the database itself (`tests/cluster/test_fencing.py`).
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from dao.postgres.sql import Sql
from tests.every import every

DAO = Path(__file__).parents[2] / "dao"
WRITES = re.compile(r"\b(INSERT\s+INTO|UPDATE\s+(?!SKIP|OF\b)\w+(\s+\w+)?\s+SET|DELETE\s+FROM|MERGE|TRUNCATE)\b", re.I)

OWNER = "the rows are those of an instance that this master owns"
ATTEMPT = "the rows are an attempt that this worker holds"
ITSELF = "the row is the node's own, of this life and not ended"
STATE = "compare-and-set: what it changes is as the writer saw it, else it hits nothing"
TAKEN = "only what is taken or locked by this very statement or one before it in the same licensed transaction"
GONE = "level-triggered: only what belonged to nodes that are gone, whoever asks and however often"
NEW = "adds rows that nobody has to own; it stands in the licensed transaction of what it follows from"
CLAIM = "the channel is claimed by this sender: another claim of it has another name"
STOPS = "it stops all nodes, whoever writes it"
PEOPLE = "only people write with it, through the command line or the API; no node does"

LITERALS = {
    OWNER: r"(WHERE|AND|ON) (coalesce\()?"
    r"((\w+\.)?master_id|runs_owner|\(SELECT master_id FROM workflow_instance i WHERE [^()]+\)) = :master\b(?! OR )",
    ATTEMPT: r"attempt = (n\.|:)attempt\b.*worker_id = :worker\b",
    ITSELF: r"= :(me\.)?epoch\b.*state (IN \('ALIVE', 'LEAVING'\)|= 'ALIVE')",
    STATE: r"(state IN \(|state = '|IS NOT DISTINCT FROM|registry_mark IS NULL|"
    r"(due|updated)_at = :(\w+\.)?(due|updated)_at)",
    CLAIM: r"claimed_by = :(channel\.)?claim\b",
    GONE: r"(state IN \('FENCED', 'LEFT'\)|state IN \('LEFT', 'FENCED'\)|FROM (gone_masters|stray_events)\(\)|"
    r"coalesce\(node_state, 'LEFT'\) IN \('FENCED', 'LEFT'\)|NOT EXISTS \(SELECT FROM node n )",
}
"""What a statement with that fence must say."""

FENCES = {
    "approvals._END_LATE": STATE,
    "duties.add": NEW,
    "duties.delete_old": TAKEN,
    "duties._END": TAKEN,
    "duties._FAILED": STATE,
    "duties._GO_ON": TAKEN,
    "duties.take": TAKEN,
    "old_commands._DELETE": TAKEN,
    "old_runs._DELETE": TAKEN,
    "old_runs._DELETE_LEFT": TAKEN,
    "task_instances.reset_retries": TAKEN,
    "task_timers.resume": TAKEN,
    "channels._CHANGE": PEOPLE,
    "channels.delete": PEOPLE,
    "channels._PUT": PEOPLE,
    "channels._RESEAL": PEOPLE,
    "channels._TRY_NOW": PEOPLE,
    "groups.delete": PEOPLE,
    "groups._JOIN": PEOPLE,
    "groups._LEAVE": PEOPLE,
    "groups._PUT": PEOPLE,
    "saved_rules.delete": PEOPLE,
    "saved_rules.put": PEOPLE,
    "silences.end": PEOPLE,
    "silences.insert": PEOPLE,
    "resend_and_test._EXPAND_AGAIN": PEOPLE,
    "resend_and_test._RETRY": PEOPLE,
    "resend_and_test._TEST": PEOPLE,
    "routing._EXPAND": TAKEN,
    "deliveries._CLAIM": TAKEN,
    "deliveries._FAILED": CLAIM,
    "deliveries.record_sent": CLAIM,
    "results.insert": NEW,
    "alerts.delete_old": TAKEN,
    "alerts._INSERT": NEW,
    "alerts.nodes_were_lost": NEW,
    "alerts.schedules_missed": NEW,
    "alerts.run_takes_too_long": NEW,
    "conditions._LASTED": TAKEN,
    "conditions._OVER": TAKEN,
    "conditions._SEEN": TAKEN,
    "refused_commands.take": TAKEN,
    "rules.consume_ends": TAKEN,
    "rules.note_ends": NEW,
    "rules.set_deadlines": TAKEN,
    "rules.set_failures": TAKEN,
    "rules.set_problem": STATE,
    "accounts._CHANGE": PEOPLE,
    "accounts.insert": PEOPLE,
    "accounts._LINK": PEOPLE,
    "accounts.rehash": PEOPLE,
    "audit._INSERT": PEOPLE,
    "saved_pools._INSERT": PEOPLE,
    "saved_pools._UPDATE": PEOPLE,
    "resource_rows._MARK_REMOVED": PEOPLE,
    "resource_rows._DELETE_REMOVED": PEOPLE,
    "resource_rows._ADD": PEOPLE,
    "resource_rows._CHECK_AGAIN": PEOPLE,
    "resource_rows._NO_CHECK": PEOPLE,
    "resource_rows.delete": PEOPLE,
    "saved_pools._DELETE": PEOPLE,
    "resource_changes._SET": PEOPLE,
    "resource_changes._TAKE_BACK": PEOPLE,
    "drains._ASK": PEOPLE,
    "drains._END": PEOPLE,
    "drains.delete_unused": GONE,
    "bulk_operations.advance": PEOPLE,
    "bulk_operations.end": PEOPLE,
    "bulk_operations._INSERT": PEOPLE,
    "bulk_operations.resume": PEOPLE,
    "saved_views.delete": PEOPLE,
    "saved_views._INSERT": PEOPLE,
    "saved_views._UPDATE": PEOPLE,
    "trials.delete_ended": PEOPLE,
    "trials.mark": PEOPLE,
    "drafts.delete": PEOPLE,
    "drafts.insert": PEOPLE,
    "drafts.update": PEOPLE,
    "idempotency._PUT": PEOPLE,
    "versions._WRITE_LAYOUT": PEOPLE,
    "versions.write_source": PEOPLE,
    "files._PUT_CONTENT": PEOPLE,
    "files._PUT": PEOPLE,
    "files.delete": PEOPLE,
    "files.delete_unnamed": TAKEN,
    "login_attempts._INSERT": PEOPLE,
    "login_attempts._SUCCEEDED": PEOPLE,
    "login_links.delete_all": PEOPLE,
    "login_links.insert": PEOPLE,
    "login_links.insert_used": PEOPLE,
    "login_links.take_used": PEOPLE,
    "login_links.use": PEOPLE,
    "members._hold_limits": PEOPLE,
    "members._LIMIT": PEOPLE,
    "members.put": PEOPLE,
    "members.remove": PEOPLE,
    "projects.delete": PEOPLE,
    "projects.insert": PEOPLE,
    "projects.keep": PEOPLE,
    "sessions.end": PEOPLE,
    "sessions.end_all": PEOPLE,
    "sessions.find": PEOPLE,
    "sessions.insert": PEOPLE,
    "slot_changes.delete_old": TAKEN,
    "slot_changes.record": NEW,
    "task_progress.record": ATTEMPT,
    "tokens.find": PEOPLE,
    "tokens._INSERT": PEOPLE,
    "tokens.revoke": PEOPLE,
    "tokens._REVOKE_ALL": PEOPLE,
    "children._START": NEW,
    "moving._move": PEOPLE,
    "release.set_state": PEOPLE,
    "release.delete": PEOPLE,
    "schedule_contents.list_in_file": PEOPLE,
    "started_runs.report": NEW,
    "children._relink": TAKEN,
    "children._ASK": NEW,
    "children._HALT": NEW,
    "children.report_unmade": NEW,
    "children.report_at_rest": NEW,
    "cluster._MAKE": NEW,
    "cluster._RECORD_REGISTRY": STATE,
    "cluster._WRITE_TIMING": PEOPLE,
    "commands.claim": TAKEN,
    "commands._CLAIM_URGENT": TAKEN,
    "commands.take": TAKEN,
    "commands.steal": TAKEN,
    "commands._RECORD": TAKEN,
    "commands._REFUSE": TAKEN,
    "commands.insert_many": NEW,
    "deadly_commands.give_back": TAKEN,
    "deadly_commands.mark_suspects": TAKEN,
    "deadly_commands.try_next": TAKEN,
    "definitions._LOCK_HEAD": PEOPLE,
    "definitions._INSERT_VERSION": PEOPLE,
    "definitions._SET_HEAD": PEOPLE,
    "demo.insert_commands": PEOPLE,
    "dependencies.end": OWNER,
    "after_end._NOTIFY_PARENT": NEW,
    "after_end._WAKE_LINE": NEW,
    "after_end._NEXT_DATE": TAKEN,
    "triggers._AFTER_UPDATES": OWNER,
    "triggers._ask": NEW,
    "error_commands._RETRY": PEOPLE,
    "error_commands.drop_error_commands": PEOPLE,
    "control.ask_halt": TAKEN,
    "control.change_version": TAKEN,
    "control.end_waiting": STATE,
    "control._REVIVE": TAKEN,
    "log_stores._ENTER": NEW,
    "log_stores.enter_as": NEW,
    "log_stores.step_done": TAKEN,
    "log_stores.say": NEW,
    "log_stores.take_step": TAKEN,
    "stored_logs.delete": NEW,
    "stored_logs.record": NEW,
    "task_logs.publish_key": NEW,
    "forced_success._FORCE": PEOPLE,
    "nodes._ENLIST": NEW,
    "nodes._BEAT": ITSELF,
    "nodes._FENCE_ALL": PEOPLE,
    "went_back._FORGET": PEOPLE,
    "went_back._RECORD": STOPS,
    "went_back._RESTORED": PEOPLE,
    "nodes._BEAT_OF_WORKER": ITSELF,
    "fencing._FENCE": STATE,
    "gone_nodes.delete_ended": GONE,
    "nodes.set_alive": STATE,
    "nodes.set_leaving": ITSELF,
    "nodes._SET_LEFT": ITSELF,
    "projects.hold": PEOPLE,
    "projects._SET": PEOPLE,
    "projects._SET_DEFAULTS": PEOPLE,
    "stuck_runs.end_timeless_waits": OWNER,
    "looks._LOOKED": ATTEMPT,
    "requeue._PUT_BACK": TAKEN,
    "schedules._FIRE": STATE,
    "schedules.insert": PEOPLE,
    "schedules.change": PEOPLE,
    "schedules.set_state": PEOPLE,
    "schedules.remove": PEOPLE,
    "data_sources.remove": PEOPLE,
    "data_sources._PUT": PEOPLE,
    "data_sources._RESEAL": PEOPLE,
    "environments.remove": PEOPLE,
    "environments._PUT": PEOPLE,
    "environments._RESEAL": PEOPLE,
    "schema._RECORD": PEOPLE,
    "serial_line.call": STATE,
    "serial_line.call_without_lock": STATE,
    "serial_line.call_from": NEW,
    "serial_line.call_missed": STATE,
    "stream_claims._CLAIM": TAKEN,
    "stream_ends.delete_old": OWNER,
    "stream_readiness.record": ATTEMPT,
    "streams._HAND_OVER": STATE,
    "streams.start_now": STATE,
    "streams.begin_restart": TAKEN,
    "streams.restarted": TAKEN,
    "streams.rebalanced": TAKEN,
    "streams.ask_restart": PEOPLE,
    "streams.ask_rebalance": PEOPLE,
    "task_instances.hand_over_streams": OWNER,
    "pool_checks._DELETE_REMOVED": TAKEN,
    "pool_checks.give_back": "only what this worker has by its own epoch, in its licensed transaction",
    "pool_checks._RECORD": TAKEN,
    "pool_checks.take": TAKEN,
    "pool_claims._CLAIM": TAKEN,
    "pool_claims._TAKE": TAKEN,
    "pool_line_repair._JOIN": TAKEN,
    "pool_line_repair.leave_lines": TAKEN,
    "task_claims._CLAIM": TAKEN,
    "task_claims._CLAIM_AT": TAKEN,
    "task_claims._MARK_RUNNING": ATTEMPT,
    "task_claims._REPORT": ATTEMPT,
    "task_events._CONSUME": OWNER,
    "task_events.delete_of": TAKEN,
    "task_events._READDRESS": GONE,
    "task_events.drop_stale": GONE,
    "task_instances._QUEUE": OWNER,
    "task_instances._REUSE": OWNER,
    "task_timers._FAIL_UNDISPATCHED": STATE,
    "task_instances._HALT": OWNER,
    "task_instances.ask_kill": OWNER,
    "task_instances._END_IN_MASTER": OWNER,
    "task_instances.invalidate": TAKEN,
    "lost_tasks._LOSE": TAKEN,
    "workflow_instances._INSERT": TAKEN,
    "workflow_instances._INSERT_ONCE": TAKEN,
    "workflow_instances._ENTER": OWNER,
    "workflow_instances._CLOSE": OWNER,
    "workflow_instances._FINISH": OWNER,
    "workflow_instances.take_back": OWNER,
    "failover.claim_failover": GONE,
    "workflow_instances.reset_takeovers": OWNER,
    "failover._FAIL_OVER": GONE,
}
"""module.statement -> its fence."""


def written() -> dict[str, str]:
    """All statements of `dao/` that write, by module and name, on one line each."""
    found = {}
    for file in sorted(DAO.rglob("*.py")):
        module = importlib.import_module(".".join(file.relative_to(DAO.parent).with_suffix("").parts))
        for name, value in vars(module).items():
            sql = getattr(value, "sql", value)
            is_here = isinstance(value, Sql) or getattr(value, "__module__", "") == module.__name__
            if is_here and isinstance(sql, Sql) and WRITES.search(sql.text):
                found[f"{file.stem}.{name}"] = re.sub(r"\s+", " ", sql.text)
    return found


def calls(tree: ast.Module, names: set[str]) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.lineno


def test_every_statement_that_writes_names_its_fence() -> None:
    unnamed = written().keys() - FENCES.keys()
    assert not unnamed, f"say in FENCES what keeps a zombie from writing with {sorted(unnamed)}"
    assert not FENCES.keys() - written().keys(), "these statements are gone"


@every("name", [name for name, fence in FENCES.items() if fence in LITERALS])
def test_a_statement_says_its_fence(name: str) -> None:
    assert re.search(LITERALS[FENCES[name]], written()[name]), f"{name}: {FENCES[name]}"


def test_no_statement_is_made_where_this_test_cannot_see_it() -> None:
    """Each text is a constant of its module."""
    for file in DAO.rglob("*.py"):
        tree = ast.parse(file.read_text())
        inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        texts = {line for function in inside for line in calls(ast.Module(function.body, []), {"Sql"})}
        lines = file.read_text().splitlines()
        hidden = [line for line in texts if WRITES.search(lines[line - 1])]
        assert not hidden, f"{file.name}:{hidden}: make the statement a constant of the module"


def test_the_pattern_knows_a_write() -> None:
    for text in ("INSERT INTO a", "UPDATE a SET b = 1", "UPDATE a x SET b = 1", "DELETE FROM a", "TRUNCATE a"):
        assert WRITES.search(text), text
    for text in ("SELECT 1 FOR UPDATE SKIP LOCKED", "SELECT 1 FOR NO KEY UPDATE", "SELECT 1 FOR UPDATE OF i"):
        assert not WRITES.search(text), text
