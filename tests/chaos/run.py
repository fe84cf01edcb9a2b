"""One run: everything starts, load and faults come for a time, everything heals and ends, and it is judged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos import duty_rules
from tests.chaos.checker import Checker, Violation
from tests.chaos.faults import stream
from tests.chaos.journal import Line
from tests.chaos.keyed import KeyedStarts
from tests.chaos.leftovers import leftovers
from tests.chaos.load import Load, Promises
from tests.chaos.recovery import Recovery
from tests.chaos.report import Report
from tests.chaos.site import Site
from tests.chaos.strangers import bury
from tests.chaos.workflows import EDITED
from tests.eventually import eventually

WARM_UP_S = 3.0
PAUSE_S = 1.0
"""Between a recovery and the next fault."""
END_WITHIN_S = 120.0

_COUNTS = """
SELECT 'commands handled', count(*) FROM command_history UNION ALL
SELECT 'of them refused', count(*) FROM command_history WHERE outcome = 'ERROR' UNION ALL
SELECT 'taken by age', count(*) FROM command_history WHERE slot_current IS NULL OR command_id % slot_total <> slot_current UNION ALL
SELECT 'instances', count(*) FROM workflow_instance UNION ALL
SELECT 'failed over', count(*) FROM command_history WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND outcome = 'DONE'
UNION ALL
SELECT 'given up', count(*) FROM workflow_instance WHERE reason LIKE 'its masters died%' UNION ALL
SELECT 'task attempts', count(*) FROM task_instance UNION ALL
SELECT 'lost with their worker', count(*) FROM task_instance WHERE state = 'NEED_FAULT_TOLERANCE' UNION ALL
SELECT 'schedule fires', count(*) FROM chaos.fire UNION ALL
SELECT 'lives', count(*) FROM node UNION ALL
SELECT 'fenced', count(*) FROM node WHERE state = 'FENCED'
"""  # noqa: E501 - a table

_LEFT = """
WITH edited AS (SELECT id FROM workflow_instance WHERE workflow_code = %s)
SELECT (SELECT count(*) FROM command WHERE workflow_code IS DISTINCT FROM %s
        AND (workflow_instance_id IS NULL OR workflow_instance_id NOT IN (SELECT id FROM edited)))
     + (SELECT count(*) FROM task_event WHERE workflow_instance_id NOT IN (SELECT id FROM edited))
     + (SELECT count(*) FROM workflow_instance WHERE ended_at IS NULL AND workflow_code <> %s)
"""

_SILENT = """
SELECT count(*) FROM node_beat b JOIN node n ON n.id = b.node_id WHERE n.state = 'ALIVE' AND b.beaten_at <= %s
"""


@dataclass(frozen=True)
class Plan:
    """`rate`: commands a second, at most. `outage_s`: how long the whole ensemble is stopped. `only`: kinds of faults;
    none = all."""

    seed: int
    minutes: float
    rate: float = 5.0
    outage_s: float = 30.0
    only: tuple[str, ...] = ()


async def run(site: Site, plan: Plan, tell: Callable[[str], None]) -> Report:
    """Run the plan. `tell` gets a line for each event."""
    masters, workers = len(site.masters), len(site.workers)
    tell(f"seed {plan.seed}: starting {masters} masters and {workers} workers, {site.limits}")
    if any(worker.disk is None for worker in site.workers):
        tell("no disk is filled: only root can mount a small one, and not in every container")
    await site.start()
    site.cluster.rows(duty_rules.FASTER)
    load = Load(site.load_connection, site.kinds, plan.seed, site.limits.rate(plan.rate, masters, workers))
    load.start()
    keyed = KeyedStarts(site.watch_connection, [api.url for api in site.apis], plan.seed)
    keyed.start()
    report = Report(plan.seed, plan.minutes, masters, workers, site.limits)
    recovery = Recovery(site)
    await asyncio.sleep(WARM_UP_S)
    try:
        await _faults(site, plan, recovery, report, tell)
    finally:
        load.stop()
        keyed.stop()
    healed_s = time.monotonic()
    tell("the faults are over; waiting for the end of everything")
    report.violations += await _end(site, load.promises)
    report.end_s = round(time.monotonic() - healed_s, 1) if not report.violations else None
    lines = site.journal.lines()
    load.promises.keyed |= keyed.answered
    load.promises.acknowledged |= {id_: "START_PROCESS" for named in keyed.answered.values() for id_ in named}
    odd = "the API answers 202, or that it is disturbed"
    report.violations += [Violation(odd, f"{keyed.heard[status]} times {status}") for status in keyed.unforeseen()]
    report.violations += Checker(site.cluster, site.kinds, _all(load.promises, recovery, site), lines).violations()
    report.violations += leftovers(site)
    report.commands = dict(sorted(load.promises.by_kind().items()))
    report.counts = {name: int(count) for name, count in site.cluster.rows(_COUNTS.replace("%", "%%"))}
    spared = "SELECT count(*) FROM node WHERE state = 'FENCED' AND id <> ALL(%s)"
    report.counts["fenced though not ended"] = int(site.cluster.one(spared, list(recovery.doomed)))
    report.counts |= _lost_ends(site, lines)
    report.counts |= {"journal lines": len(lines), "inserts of unknown outcome": load.promises.doubtful}
    report.counts |= {f"API: {what}": count for what, count in sorted(keyed.heard.items())}
    report.counts["keys answered"] = len(keyed.answered)
    return report


def _lost_ends(site: Site, lines: list[Line]) -> dict[str, int]:
    """Of the attempts whose script ended on a worker that was fenced then or later: how many run again."""
    rows = site.cluster.rows
    fenced = {epoch for (epoch,) in rows("SELECT id FROM node WHERE kind = 'WORKER' AND state = 'FENCED'")}
    ended = {(line.key, line.attempt) for line in lines if line.what == "end" and line.worker in fenced}
    lost = rows(
        "SELECT workflow_instance_id || '.' || task_code, attempt FROM task_instance "
        "WHERE state = 'NEED_FAULT_TOLERANCE'"
    )
    return {"scripts ended on fenced workers": len(ended), "of those lost": len(ended & set(lost))}


async def _faults(site: Site, plan: Plan, recovery: Recovery, report: Report, tell: Callable[[str], None]) -> None:
    faults = stream(plan.seed, site, plan.outage_s, plan.only)
    ends_s = time.monotonic() + 60 * plan.minutes
    while time.monotonic() < ends_s:
        struck = await recovery.strike(next(faults))
        report.faults.append(struck)
        when = "never" if struck.recovered_s is None else f"after {struck.recovered_s:.1f} s"
        tell(f"{struck.at_s:6.1f} s  {struck.what}: recovered {when}")
        if struck.recovered_s is None:
            waits = f"{struck.what} at {struck.at_s} s: not recovered, waits for {struck.waits_for}"
            report.violations.append(Violation("the cluster recovers from every fault", waits))
            return
        site.heal()
        await site.whole()
        await asyncio.sleep(PAUSE_S)


async def _end(site: Site, promises: Promises) -> list[Violation]:
    """Wait until all is healed and all has ended, but for what people edited, and take that out; what is missing
    stands in the checker's findings too."""
    try:
        site.heal()
        await site.whole()
    except AssertionError as error:
        return [Violation("all members come back and agree on the slots", str(error))]
    try:
        await eventually(lambda: site.cluster.one(_LEFT, *[EDITED] * 3) == 0, within_s=END_WITHIN_S)
    except AssertionError as error:
        return [Violation("everything ends", str(error))]
    finally:
        bury(site, promises)
    since = site.cluster.one("SELECT clock_timestamp()")
    try:
        # What was buried may be held by a node that has not said so yet; a watcher drops it after two checks.
        await eventually(lambda: site.cluster.one(_SILENT, since) == 0 and not leftovers(site), within_s=60)
    except AssertionError as error:
        return [Violation("nothing is left", str(error))]
    return []


def _all(promises: Promises, recovery: Recovery, site: Site) -> Promises:
    promises.acknowledged |= dict.fromkeys(recovery.canaries, "START_PROCESS")
    promises.unkept |= site.unkept
    promises.cramped |= site.cramped
    return promises
