"""Why something does not move: one plain sentence, and one line with the next step.

Pure: facts go in, text comes out (`facts.py` computes the facts). Commands and tasks are explained here, runs in
`run_explanation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from dao.runs.rows import Elements
from model.choices import StartWhen
from model.runs.elements import element_name
from model.runs.looks import Looks
from model.runs.states import NotBegun, TaskState, WaitReason, WorkflowState
from service.explain.answer import (
    MOVES_WITHIN_S,
    NAMES_MAX,
    Why,
    drained_only,
    going_on,
    names_of,
    next_step,
    task_named,
)
from service.explain.approvals import why_asks
from service.explain.pool_explanation import why_waits_for_pools
from service.explain.streams import going_on_restarting, said_readiness, said_restart, why_pausing
from service.explain.subjects import CommandFacts, MasterFacts, TaskFacts
from service.words import counted, duration, said_progress

SILENT_AFTER_S = 6.0
"""A master whose last beat is older is considered suspect: three beats by default."""


def why_command(command: CommandFacts) -> Why:
    """Why a command is not taken, or what its result was."""
    name = f"Command {command.id}"
    if command.refused is not None:
        return Why(f"{name} was refused: {command.refused}", f"Fix that, then: shoal queue retry {command.id}")
    if not command.waits:
        became = f"it became run {command.run}" if command.run else "its history names no run"
        ask = f"Ask about the run: shoal why {command.run}" if command.run else "The runs: shoal runs"
        return Why(f"{name} no longer waits: {became}.", ask)
    waited = f"has waited for {duration(command.age_s)}" if command.age_s is not None else "waits"
    owner, slot = command.owner, command.slot
    if command.draining and (owner is None or slot is None):
        only, do = drained_only(command.draining, "master")
        return Why(f"{name} {waited}, because {only}.", do)
    if owner is None or slot is None:
        return Why(f"{name} {waited} because no master is alive.", "Start one: shoal master")
    holds = f"it belongs to slot {slot.current} of {slot.total}, and {owner.address}, which holds it,"
    if owner.beat_age_s > SILENT_AFTER_S:
        return Why(
            f"{name} {waited}: {holds} has been silent for {duration(owner.beat_age_s)}.",
            "When it has been fenced, its slot goes to another master. Watch: shoal master list",
        )
    if command.masters and all(master.is_full for master in command.masters):
        return Why(
            f"{name} {waited} for room: {full_masters(command.masters)}.",
            "A master takes it when a run has ended or only waits: shoal runs; to have more room start another: "
            "shoal master, or raise master.max_running_workflows",
        )
    if owner.is_busy:
        return Why(
            f"{name} {waited}: {holds} is BUSY like all masters ({owner.running} of {owner.capacity} runs"
            f"{f'; {owner.because}' if owner.because else ''}), and takes commands slowly.",
            "It is taken when its turn comes. To take more at once, start another: shoal master",
        )
    if command.age_s is not None and command.age_s > command.steal_after_s:
        return Why(
            f"{name} {waited}: {holds} should have taken it, and so should any free master by now.",
            "See whether the masters agree on the slots: shoal master list; their logs say why it waits: command_waits",
        )
    return Why(f"{name} {waited}: {holds} takes it next.", f"Check again in a moment: shoal why command {command.id}")


def full_masters(masters: Sequence[MasterFacts]) -> str:
    """How full the masters without room are."""
    running, capacity = sum(each.running for each in masters), sum(each.capacity for each in masters)
    who = "all masters are full" if len(masters) > 1 else f"the only master, {masters[0].address}, is full"
    return f"{who}, with {running} of {counted(capacity, 'run')}"


def why_task(task: TaskFacts, run_state: WorkflowState) -> Why:
    """Why a task does not begin or end, or how it ended."""
    match task.state:
        case None:
            return _not_begun(task, run_state)
        case TaskState.DELAY_EXECUTION:
            return why_delayed(task)
        case TaskState.QUEUED:
            return why_queued(task)
        case TaskState.DISPATCH | TaskState.RUNNING_EXECUTION:
            return why_running(task, halting=run_state in (WorkflowState.READY_PAUSE, WorkflowState.READY_STOP))
        case TaskState.NEED_FAULT_TOLERANCE:
            lost = f"{task.name} lost its worker {task.worker or ''}".rstrip()
            if run_state.is_final:
                return Why(f"{lost}, and its run has ended as {run_state}.", f"See the run: shoal show {task.run}")
            if task.loss_is_final:
                return Why(
                    f"{lost}, and may not run again (on_worker_loss: fail); the other tasks of its run go on.",
                    f"When the run has ended: shoal rerun {task.run} --failed",
                )
            return next_step(lost, "decide on a new attempt", task.idle_s, f"Then: shoal show {task.run}")
        case TaskState.PAUSE if task.is_stream and run_state in (
            WorkflowState.RUNNING_EXECUTION,
            WorkflowState.FAILOVER,
        ):
            ended = f"{task.name} ended to be started again: {task.reason or 'its run is paused'}"
            return next_step(ended, "queue it", task.idle_s, f"Then: shoal show {task.run}")
        case TaskState.PAUSE:
            return Why(f"{task.name} was held back by a pause.", f"Go on: shoal resume {task.run}")
        case TaskState.FORCED_SUCCESS:
            return Why(
                f"{task.name} failed and was declared a success.", f"Go on from it: shoal rerun {task.run} --failed"
            )
        case TaskState.SUCCESS | TaskState.FAILURE | TaskState.KILL | TaskState.SKIPPED:
            return _ended(task)


def _ended(task: TaskFacts) -> Why:
    """For a task that has ended: what it did, and where its log is, if it has one."""
    do = f"Its log: shoal log {task.id}" if task.worker else f"See the run: shoal show {task.run}"
    if task.state is TaskState.SUCCESS:
        ended = f"{task.name} has ended: SUCCESS in {duration(task.since_s)}."
        if task.choice:
            return Why(f"{ended} {task.choice}.", do)
        if task.children:
            first = task.children[0][0]
            more = f" and {len(task.children) - 1} more" if len(task.children) > 1 else ""
            return Why(f"{ended} It stood for run {first}{more}.", f"See what it did: shoal show {first}")
        return Why(ended, do)
    ended = f"{task.name} has ended as {task.state}"
    failed = [id_ for id_, state in task.children if state is WorkflowState.FAILURE]
    if task.state is TaskState.FAILURE and failed:
        which = f"{len(failed)} of the {len(task.children)} runs" if len(task.children) > 1 else "the run"
        because = f"{ended}, since {which} that it stands for failed"
        if task.child is None:
            return Why(f"{because}: run {failed[0]}.", f"Ask about it: shoal why {failed[0]}")
        return Why(f"{because}. {task.child.sentence}", task.child.do)
    if task.elements is not None and task.elements.first_failed is not None:
        do = f"Its log: shoal log {task_named(task.run, element_name(task.name, task.elements.first_failed))}"
    return Why(f"{ended}: {task.reason}" if task.reason else ended, do)


def _not_begun(task: TaskFacts, run_state: WorkflowState) -> Why:
    show = f"See the run: shoal show {task.run}"
    match task.not_begun:
        case NotBegun.FORBIDDEN:
            return Why(
                f"{task.name} does not run: its definition forbids it (flag: NO).",
                "To run it, remove the flag and apply the workflow again: shoal workflow apply FILE",
            )
        case NotBegun.SKIPPED if task.unmet is not None:
            return Why(f"{task.name} is skipped: {task.unmet}.", show)
        case NotBegun.SKIPPED:
            chosen = f" {task.choice}." if task.choice else ""
            return Why(f"{task.name} is skipped: it depends only on branches that were not chosen.{chosen}", show)
        case NotBegun.LEFT_OUT:
            return Why(
                f"{task.name} does not run: the run was started, or run again, for other tasks only.",
                f"When it has ended: shoal rerun {task.run} --task {quote(task.name)}",
            )
    if run_state.is_final:
        failed = [name for name, state in task.waits_for if state in (TaskState.FAILURE, TaskState.KILL)]
        because = f", because {names_of(failed)} did not succeed" if failed else ""
        do = show if run_state is WorkflowState.SUCCESS else f"{show}   Go on: {going_on(task.run, run_state)}"
        return Why(f"{task.name} never began: its run ended as {run_state} first{because}.", do)
    if task.never:
        names = names_of([name for name, _ in task.waits_for])
        return Why(
            f"{task.name} will not begin, because {names} failed or will not begin either (start_when: {task.rule}).",
            show,
        )
    failed = [name for name, state in task.waits_for if state is TaskState.FAILURE]
    if failed:
        return Why(f"{task.name} will not begin, because {names_of(failed)} failed; other branches go on.", show)
    if task.waits_for:
        reasons = [f"{name} {_stands(state)}" for name, state in task.waits_for[:NAMES_MAX]]
        more = len(task.waits_for) - NAMES_MAX
        reasons += [f"{more} more have not ended"] if more > 0 else []
        first = task.waits_for[0][0]
        rule = f"; it starts {_STARTS[task.rule]} (start_when: {task.rule})" if task.rule in _STARTS else ""
        return Why(
            f"{task.name} waits because {' and '.join(reasons)}{rule}.",
            f"Then ask: shoal why {task_named(task.run, first)}",
        )
    if task.closes:
        return Why(
            f"{task.name} waits until all else of its run is over, and cleans up then.",
            f"Ask what that waits for: shoal why {task.run}",
        )
    return next_step(f"{task.name} waits for nothing", "queue it", task.idle_s, show)


_STARTS = {
    StartWhen.ALL_DONE: "when all tasks before it have ended",
    StartWhen.ONE_SUCCESS: "when one task before it has succeeded",
    StartWhen.ONE_FAILED: "when one task before it has failed",
    StartWhen.ALL_FAILED: "when all tasks before it have failed",
    StartWhen.NONE_FAILED: "when all tasks before it have ended and none has failed",
}
"""When a task starts, by its start rule, where that is not the default."""


_WAITED_FOR = {
    WaitReason.DELAY: "its delay to pass",
    WaitReason.RETRY: "its next attempt",
    WaitReason.LOOK: "its next look",
}


def why_delayed(task: TaskFacts) -> Why:
    """For a task whose time has not come."""
    what = _WAITED_FOR[task.wait_reason or WaitReason.DELAY]
    again = f"Check again then: shoal why {task_named(task.run, task.name)}"
    if task.due_in_s is None:
        return next_step(f"{task.name} waits for {what}, and no time is stored for that", "set it", task.idle_s, again)
    if task.due_in_s <= -MOVES_WITHIN_S:
        was_due = f"{task.name} waits for {what}, which was due {duration(-task.due_in_s)} ago"
        return next_step(was_due, "queue it", -task.due_in_s, again)
    if task.is_stream and task.wait_reason is WaitReason.RETRY:
        return why_pausing(task, task.due_in_s)
    if task.wait_reason is WaitReason.LOOK and task.looks is not None:
        return _why_waiting(task, task.looks, task.due_in_s)
    due = f"due in {duration(task.due_in_s)}" if task.due_in_s > 0 else "due now"
    return Why(f"{task.name} waits for {what}, {due}.", again)


def _why_waiting(task: TaskFacts, looks: Looks, due_in_s: float) -> Why:
    """For a task that looks for something, between two looks."""
    looked = f"looked {counted(looks.count, 'time')}, last {duration(looks.ago_s)} ago"
    again = f"it looks again in {duration(due_in_s)}" if due_in_s > 0 else "it looks again now"
    return Why(
        f"{task.name} waits: {looks.said.rstrip('.')}. It {looked}; {again}.",
        f"What its looks saw: shoal log {task_named(task.run, task.name)}",
    )


def why_queued(task: TaskFacts) -> Why:
    """For a task that waits for a worker, and why the last worker gave it back."""
    why = _queued(task)
    if task.given_back is None:
        return why
    return Why(f"{why.sentence} Its previous attempt did not begin: {task.given_back.rstrip('.')}.", why.do)


def _queued(task: TaskFacts) -> Why:
    group = task.group
    if group is None:
        return Why(f"{task.name} is queued for a worker.", "Who is there: shoal worker list")
    start = f"shoal worker --group {quote(group.name)}"
    if not group.workers:
        waiting = f"{group.waiting} tasks wait" if group.waiting > 1 else "it waits alone"
        return Why(
            f"{task.name} waits for a worker in group {group.name}: none is alive; {waiting}.", f"Start one: {start}"
        )
    if len(group.draining) >= group.workers:
        only, do = drained_only(group.draining, "worker", f" of group {group.name}")
        return Why(f"{task.name} waits, because {only}.", f"{do} --group {quote(group.name)}")
    if group.takes_nothing:
        drained = f"; drained: {names_of(group.draining)}" if group.draining else ""
        return Why(
            f"{task.name} waits, because all workers of group {group.name} are busy: {group.reasons}{drained}.",
            f"They take tasks again when that has passed; or start another elsewhere: {start}",
        )
    if (for_pools := why_waits_for_pools(task.name, task.pools)) is not None:
        return for_pools
    if group.running >= group.places:
        at = f", and it is number {task.place} in the queue" if task.place else ""
        ready, busy = group.workers - group.busy - len(group.draining), ""
        if group.draining:
            busy = f" ({len(group.draining)} more drained: {names_of(group.draining)})"
        if group.busy:
            busy += f" ({group.busy} more take{'s' * (group.busy == 1)} nothing: {group.reasons})"
        return Why(
            f"{task.name} waits for a free place in group {group.name}: its {counted(ready, 'worker')}{busy} "
            f"{'has' if ready == 1 else 'have'} all {group.places} places taken{at}.",
            f"It starts when enough tasks have ended; or start another: {start}",
        )
    free = group.places - group.running
    if task.queued_s > MOVES_WITHIN_S:
        return Why(
            f"{task.name} has been queued for {duration(task.queued_s)}, though group {group.name} has {free} free "
            f"places: no worker has taken it.",
            f"Check its workers: shoal worker list   shoal doctor; or start another: {start}",
        )
    return Why(
        f"{task.name} is queued, and group {group.name} has {free} free places: a worker takes it in a moment.",
        f"Check again: shoal why {task_named(task.run, task.name)}",
    )


def why_running(task: TaskFacts, *, halting: bool = False) -> Why:
    """For a task that runs, on a worker or in a master; `halting`: its run is being paused or stopped."""
    if task.depends_on:
        waits = " and ".join(task.depends_on[:NAMES_MAX])
        more = f" and {len(task.depends_on) - NAMES_MAX} more" if len(task.depends_on) > NAMES_MAX else ""
        first = f": {task.awaits}" if task.awaits else ""
        return Why(f"{task.name} depends on {waits}{more}, and waits for that{first}.", "What has run: shoal runs")
    if task.asks is not None:
        return why_asks(task, task.asks)
    if task.children or task.asked:
        return _stands_for(task, halting=halting)
    if task.hidden:
        return Why(
            f"{task.name} stands for {counted(task.hidden, 'run')} of another project, and waits for that.",
            "Ask who may see that project; its owners give roles there",
        )
    if task.elements is not None:
        return _has_elements(task, task.elements)
    lives_in_master = task.state is TaskState.RUNNING_EXECUTION and not task.worker
    on = f"on {task.worker}" if task.worker else "in its master" if lives_in_master else "on a worker"
    if task.worker_gone:
        return Why(
            f"{task.name} ran {on}, which is gone; a master decides on a new attempt within seconds.",
            "Watch: shoal master list and shoal worker list",
        )
    since = f" for {duration(task.since_s)}" if task.since_s is not None else ""
    follow = f"Follow its log: shoal log {task.id} -f"
    if task.kill_requested:
        return Why(f"{task.name} is being killed {on}; it had been running{since}.", follow)
    progress = f", and reports {said_progress(task.progress)}" if task.progress else ""
    runs = f"{task.name} runs {on}{since}{said_readiness(task)}{progress}.{said_restart(task)}"
    return Why(runs, follow + going_on_restarting(task))


def _has_elements(task: TaskFacts, elements: Elements) -> Why:
    """For a task that ends when its elements have."""
    parts = (
        (elements.running, "run"),
        (elements.queued, "wait for a worker or a time"),
        (elements.failed, "failed"),
        (elements.killed, "were killed"),
    )
    said = "".join(f", {number:,} {what}" for number, what in parts if number)
    see = f"See them: shoal show {task.run} --elements {quote(task.name)}"
    waits = not elements.running and elements.first_queued is not None
    first = elements.first_queued if waits else elements.first_failed
    if first is not None:
        named = task_named(task.run, element_name(task.name, first))
        see += f"   Why the first {'waits' if waits else 'failed'}: shoal why {named}"
    return Why(f"{task.name} ends when its {elements.total:,} elements have: {elements.done:,} are done{said}.", see)


def _stands_for(task: TaskFacts, *, halting: bool) -> Why:
    """For a task that represents child runs: its progress is theirs. A paused one comes first: somebody must act."""
    stands = f"{task.name} stands for {counted(len(task.children) + len(task.asked), 'run')}"
    paused = [id_ for id_, state in task.children if state is WorkflowState.PAUSE and not halting]
    waits = paused + [id_ for id_, state in task.children if not state.is_final]
    if waits:
        more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
        sentence = f"{stands} and waits for run {waits[0]}{more}"
        ask = f"Ask about it: shoal why {waits[0]}"
        if paused:
            sentence += f"; run {paused[0]} is paused, and goes on when somebody resumes it"
            ask = f"Let it go on: shoal resume {paused[0]}"
    elif task.asked:
        sentence = (
            f"{stands}, and no master has begun {'it' if len(task.asked) == 1 else f'{len(task.asked)} of them'} yet"
        )
        ask = f"Ask about it: shoal why command {task.asked[0]}"
    else:
        return next_step(f"{stands}, which ended", "continue it", task.idle_s, f"See the run: shoal show {task.run}")
    return Why(f"{sentence}. {task.child.sentence}", task.child.do) if task.child else Why(f"{sentence}.", ask)


def _stands(state: TaskState | None) -> str:
    match state:
        case None:
            return "has not begun"
        case TaskState.DELAY_EXECUTION:
            return "waits for its time"
        case TaskState.QUEUED:
            return "is queued"
        case TaskState.DISPATCH | TaskState.RUNNING_EXECUTION:
            return "is still running"
        case TaskState.NEED_FAULT_TOLERANCE:
            return "has lost its worker"
        case TaskState.PAUSE:
            return "was held back by a pause"
        case _:
            return f"has ended as {state}"
