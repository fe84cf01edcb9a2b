"""What must not be left when everything has ended: processes, sessions, log lines that report a bug."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psutil

from tests.chaos.checker import Violation
from tests.chaos.site import Site

# `unforeseen` and the like are what the engine says when it survives something that nobody thought of.
BUGS = ("unforeseen", "task_broke", "report_dropped")


def leftovers(site: Site) -> list[Violation]:
    """All of it, of a site whose every member lives."""
    return [
        *(Violation("no process ended by itself", what) for what in site.ended_by_themselves()),
        *(Violation("no task process is left", what) for what in _task_processes(site)),
        *(Violation("no session is left", what) for what in _sessions(site)),
        *(Violation("no log speaks of a bug", what) for what in _told(site)),
        *(Violation("every worker is empty", what) for what in _held(site)),
    ]


def _task_processes(site: Site) -> Iterator[str]:
    for process in psutil.process_iter():
        try:
            key = process.environ().get("SHOAL_TASK_KEY")
            if key and str(site.folder) in process.cwd() and process.status() != psutil.STATUS_ZOMBIE:
                yield f"process {process.pid} of task {key}"
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess, OSError):
            continue


def _sessions(site: Site) -> Iterator[str]:
    query = """SELECT a.application_name, a.state FROM pg_stat_activity a
               LEFT JOIN node n ON n.id = substring(a.application_name FROM '^shoal-[a-z]+-(\\d+)$')::bigint
               WHERE a.datname = current_database() AND a.application_name LIKE 'shoal-%%'
                 AND (n.state NOT IN ('ALIVE', 'LEAVING')
                      OR (a.state = 'idle in transaction' AND a.state_change < clock_timestamp() - interval '2 s'))"""
    for name, state in site.cluster.rows(query):
        yield f"{name}, {state}"


def _told(site: Site) -> Iterator[str]:
    for node in site.cluster.nodes:
        for line in node.log.read_text(errors="replace").splitlines() if node.log.exists() else ():
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": line}
            if event.get("event") in BUGS or "Traceback" in line:
                yield f"{site.owners[node.pid]}, {node.log.name}: {line[:500]}"


def _held(site: Site) -> Iterator[str]:
    query = """SELECT b.node_id, b.heartbeat::json->>'running' FROM node_beat b JOIN node n ON n.id = b.node_id
               WHERE n.state = 'ALIVE' AND b.heartbeat::json->>'running' <> '0'"""
    for epoch, running in site.cluster.rows(query):
        yield f"node {epoch} believes to have {running} under way"
