"""The verbs about the cluster: `slots`, `workers`, `queue`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.call import Call
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.lists import GroupQueue
    from shoal.slot_report import MasterSlot, SlotReport


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal slots", "shoal slots --json")(slots)
    verb(app, "shoal workers")(workers)
    verb(app, "shoal queue", "shoal queue --limit 100")(queue)


async def slots(call: Call) -> None:
    """Which master has which slot: the truth beside what each believes, and who was fenced last."""
    from shoal.cli import answer
    from shoal.cli.answer import Column
    from shoal.cli.words import ago, plain, when
    from shoal.slot_report import read_slots

    async with call.asking() as ask:
        found = await read_slots(ask.connection, call.settings.registry(), call.settings.timing)
    if call.as_json:
        answer.print_json(_slots_fields(found))
        return
    if found.registry_fault:
        answer.say(f"The registry cannot be asked ({plain(found.registry_fault)}); this is what the database tells.")
    rows: list[tuple[object, ...]] = [_master_row(master, call.utc) for master in found.masters]
    for node in found.fenced:
        why = f"{when(node.fenced_at, ask.now, utc=call.utc)}: {node.why}"
        rows.append(("-", node.address, node.epoch, answer.state("FENCED"), "-", "-", "-", "-", why))
    if not rows:
        answer.say("No master is alive.")
        answer.hint("Start one: shoal master")
        return
    answer.say(f"total {found.total}")
    columns = [
        Column("SLOT", right=True),
        Column("MASTER"),
        Column("EPOCH", keep=2, right=True),
        Column("STATE"),
        Column("RUNS", keep=5, right=True),
        Column("LOAD", keep=1, right=True),
        Column("BELIEVES", keep=4, right=True),
        Column("BEAT", keep=3, right=True),
        Column("NOTE", keep=0, sentence=True),
    ]
    answer.table(columns, rows)
    for master in found.masters:
        if not master.agrees:
            believed = f"slot {master.believes}" if master.believes else "no slot"
            answer.say(f"{master.row.address} still believes {believed}. Safe: the claim transaction decides.")
    if not found.masters:
        answer.hint(f"No master is alive (the last was fenced {ago(0)}). Start one: shoal master")
    else:
        answer.hint("What waits for them: shoal queue")


async def workers(call: Call) -> None:
    """The living workers: their groups, how full they are, and where their logs are served."""
    from dao import lists
    from shoal.cli import answer
    from shoal.cli.answer import Column
    from shoal.cli.words import ago

    async with call.asking() as ask:
        found = await lists.workers(ask.connection)
    if call.as_json:
        answer.print_json(
            [
                answer.json_fields(
                    {
                        "epoch": row.epoch,
                        "address": row.address,
                        "state": row.state,
                        "beat_age_s": row.beat_age_s,
                        "log_url": row.log_url,
                        **({} if row.heartbeat is None else _beat_fields(row.heartbeat, with_slot=False)),
                    }
                )
                for row in found
            ]
        )
        return
    if not found:
        answer.say("No worker is alive.")
        answer.hint("Start one: shoal worker")
        return
    columns = [
        Column("WORKER"),
        Column("EPOCH", keep=1, right=True),
        Column("STATE"),
        Column("GROUPS", keep=4),
        Column("RUNS", keep=5, right=True),
        Column("PLACES", keep=5, right=True),
        Column("LOAD", keep=0, right=True),
        Column("BEAT", keep=2, right=True),
    ]
    rows = []
    for row in found:
        beat = row.heartbeat
        groups, running, capacity, load = (
            (", ".join(beat.groups), beat.running, beat.capacity, f"{beat.load:.2f}") if beat else ("-",) * 4
        )
        state = answer.state(row.state)
        rows.append((row.address, row.epoch, state, groups, running, capacity, load, ago(row.beat_age_s)))
    answer.table(columns, rows)
    answer.hint("What waits for them: shoal queue")


async def queue(
    call: Call, limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many commands.")] = 20
) -> None:
    """What waits: commands for the masters, tasks for the worker groups."""
    from dao import lists
    from shoal.cli import answer
    from shoal.cli.answer import Column
    from shoal.cli.words import duration
    from shoal.slot_report import read_slots

    async with call.asking() as ask:
        report = await read_slots(ask.connection, call.settings.registry(), call.settings.timing)
        step = call.settings.master.id_step
        commands = await lists.waiting_commands(ask.connection, limit)
        residues = await lists.waiting_by_residue(ask.connection, report.total, step) if report.total else []
        groups = await lists.queue_by_group(ask.connection)
        living = await lists.workers(ask.connection)
    slot_of = {row.id: (row.id // step) % report.total for row in commands} if report.total else {}
    owners = {master.slot.current: master.row.address for master in report.masters if master.slot}
    if call.as_json:
        answer.print_json(
            {
                "commands": [
                    answer.json_fields(
                        {
                            "id": row.id,
                            "type": row.type,
                            "workflow_code": row.workflow_code,
                            "workflow": row.workflow,
                            "priority": row.priority,
                            "age_s": row.age_s,
                            "slot": slot_of.get(row.id),
                            "created_by": row.created_by,
                        }
                    )
                    for row in commands
                ],
                "slots": [
                    answer.json_fields({"slot": each.slot, "waiting": each.waiting, "oldest_s": each.oldest_s})
                    for each in residues
                ],
                "worker_groups": [_group_fields(group) for group in groups],
            }
        )
        return
    waiting = sum(each.waiting for each in residues) if report.total else len(commands)
    if not commands and not groups:
        answer.say("Nothing waits.")
        answer.hint("Start something: shoal run NAME   What ran: shoal runs")
        return
    answer.say(f"{waiting} commands wait for a master" + ("" if report.total else ", and no master is alive") + ".")
    if commands and report.total:
        answer.table(
            [Column("SLOT", right=True), Column("MASTER"), Column("WAITING", right=True), Column("OLDEST", right=True)],
            [(each.slot, owners.get(each.slot, "-"), each.waiting, duration(each.oldest_s)) for each in residues],
            indent=2,
        )
    answer.table(
        [
            Column("COMMAND", right=True),
            Column("TYPE"),
            Column("WORKFLOW", keep=3),
            Column("PRIORITY", keep=1),
            Column("SLOT", right=True, keep=4),
            Column("AGE", right=True, keep=2),
            Column("BY", keep=0),
        ],
        [
            (
                row.id,
                row.type,
                row.workflow or f"code {row.workflow_code}",
                row.priority or "-",
                slot_of.get(row.id, "-"),
                duration(row.age_s),
                row.created_by,
            )
            for row in commands
        ],
        indent=2,
    )
    answer.say(f"{sum(group.waiting for group in groups)} tasks wait for a worker.")
    places: dict[str, int] = {}
    for worker in living:
        for name in worker.heartbeat.groups if worker.heartbeat else ():
            places[name] = places.get(name, 0) + 1
    answer.table(
        [
            Column("GROUP"),
            Column("WAITING", right=True),
            Column("OLDEST", right=True),
            Column("RUNNING", right=True),
            Column("WORKERS", right=True),
        ],
        [
            (each.worker_group, each.waiting, duration(each.oldest_s), each.running, places.get(each.worker_group, 0))
            for each in groups
        ],
        indent=2,
    )
    next_command = f"Why one waits: shoal why command {commands[0].id}" if commands else "Who runs them: shoal workers"
    answer.hint(next_command)
