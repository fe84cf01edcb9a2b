"""Every sentence of `shoal why`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.choices import StartWhen
from model.cluster.slots import Slot
from model.runs.states import TaskState, WaitReason, WorkflowState
from service.explain.answer import Why
from service.explain.explanation import why_command, why_task
from service.explain.run_explanation import RunFacts, why_run
from service.explain.subjects import CommandFacts, GroupFacts, MasterFacts, TaskFacts
from tests.every import every

M2 = MasterFacts("m2:5678", is_busy=False, running=3, capacity=512, beat_age_s=0.5)
COMMAND = CommandFacts(4711, waits=True, age_s=1.0, slot=Slot(1, 3), owner=M2)
GPU = GroupFacts("gpu", workers=2, running=5, places=16, waiting=3)
MEMORY = "memory 93 % > 90 %"
TASK = TaskFacts(12, "load", 88, TaskState.RUNNING_EXECUTION, group=GPU, worker="w3:1", since_s=12.0)
RUN = RunFacts(12, "sales", WorkflowState.RUNNING_EXECUTION, [], 5.0, owner="m1:1")
R, F = WorkflowState.RUNNING_EXECUTION, WorkflowState.FAILURE


@every(
    ("changed", "sentence", "do"),
    [
        (
            {"refused": "there is no workflow 7"},
            "Command 4711 was refused: there is no workflow 7",
            "queue retry 4711",
        ),
        ({"waits": False, "run": 12}, "Command 4711 no longer waits: it became run 12.", "shoal why 12"),
        ({"waits": False}, "Command 4711 no longer waits: its history names no run.", "shoal runs"),
        (
            {"slot": None, "owner": None},
            "Command 4711 has waited for 1.0 s because no master is alive.",
            "shoal master",
        ),
        (
            {"owner": replace(M2, beat_age_s=12.0)},
            "it belongs to slot 1 of 3, and m2:5678, which holds it, has been silent for 12.0 s.",
            "shoal master list",
        ),
        (
            {"owner": replace(M2, is_busy=True, running=512)},
            "it belongs to slot 1 of 3, and m2:5678, which holds it, is BUSY like all masters (512 of 512 runs), and "
            "takes commands slowly.",
            "start another: shoal master",
        ),
        (
            {"owner": replace(M2, is_busy=True, because="memory 93 % > 90 %")},
            "is BUSY like all masters (3 of 512 runs; memory 93 % > 90 %)",
            "start another: shoal master",
        ),
        (
            {"owner": (full := replace(M2, is_busy=True, running=512)), "masters": [full, replace(full, running=513)]},
            "Command 4711 has waited for 1.0 s for room: all masters are full, with 1025 of 1024 runs.",
            "start another: shoal master, or raise master.max_running_workflows",
        ),
        ({"masters": [M2, replace(M2, running=512)]}, "takes it next.", "shoal why command 4711"),
        ({"age_s": 60.0}, "should have taken it, and so should any free master by now.", "shoal master list"),
        (
            {},
            "Command 4711 has waited for 1.0 s: it belongs to slot 1 of 3, and m2:5678, which holds it, takes it next.",
            "why",
        ),
        ({"age_s": None}, "Command 4711 waits: it belongs to slot 1 of 3", "why command 4711"),
    ],
)
def test_each_state_of_a_command_has_its_sentence(changed: dict[str, Any], sentence: str, do: str) -> None:
    _says(why_command(replace(COMMAND, **changed)), sentence, do)


@every(
    ("changed", "run", "sentence", "do"),
    [
        (
            {"state": None, "waits_for": [("transform", TaskState.RUNNING_EXECUTION), ("check", None)]},
            R,
            "load waits because transform is still running and check has not begun.",
            "shoal why 12/transform",
        ),
        (
            {"state": None, "waits_for": [("a", TaskState.QUEUED)], "rule": StartWhen.ALL_DONE},
            R,
            "load waits because a is queued; it starts when all tasks before it have ended (start_when: all_done).",
            "shoal why 12/a",
        ),
        (
            {
                "state": None,
                "waits_for": [("a", TaskState.FAILURE), ("b", None)],
                "rule": StartWhen.ONE_SUCCESS,
                "never": True,
            },
            R,
            "load will not begin, because a, b failed or will not begin either (start_when: one_success).",
            "shoal show 12",
        ),
        (
            {"state": None, "waits_for": [(f"t{n}", TaskState.QUEUED) for n in range(7)]},
            R,
            "t4 is queued and 2 more have not ended.",
            "shoal why 12/t0",
        ),
        (
            {"state": None, "waits_for": [("a", TaskState.NEED_FAULT_TOLERANCE)]},
            R,
            "load waits because a has lost its worker.",
            "shoal why 12/a",
        ),
        (
            {"state": None, "waits_for": [("a", TaskState.PAUSE)]},
            R,
            "load waits because a was held back by a pause.",
            "shoal why 12/a",
        ),
        (
            {"state": None, "waits_for": [("transform", TaskState.FAILURE)]},
            R,
            "load will not begin, because transform failed; other branches go on.",
            "shoal show 12",
        ),
        (
            {"state": None, "waits_for": [("transform", TaskState.FAILURE)]},
            F,
            "load never began: its run ended as FAILURE first, because transform did not succeed.",
            "shoal show 12",
        ),
        ({"state": None}, F, "load never began: its run ended as FAILURE first.", "shoal show 12"),
        ({"state": None}, R, "load waits for nothing; its master is about to queue it.", "shoal show 12"),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, workers=0)},
            R,
            "load waits for a worker in group gpu: none is alive; 3 tasks wait.",
            "shoal worker --group gpu",
        ),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, workers=0, waiting=1)},
            R,
            "none is alive; it waits alone.",
            "shoal worker --group gpu",
        ),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, running=16), "place": 4},
            R,
            "load waits for a free place in group gpu: its 2 workers have all 16 places taken, "
            "and it is number 4 in the queue.",
            "shoal worker --group gpu",
        ),
        ({"state": TaskState.QUEUED}, R, "group gpu has 11 free places: a worker takes it in a moment.", "why 12/load"),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, running=0, places=0, busy=2, because=[MEMORY, MEMORY])},
            R,
            "load waits, because all workers of group gpu are busy: memory 93 % > 90 %.",
            "shoal worker --group gpu",
        ),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, busy=2, because=[MEMORY, "free disk 3 MiB < 256 MiB"])},
            R,
            "are busy: free disk 3 MiB < 256 MiB; memory 93 % > 90 %.",
            "They take tasks again when that has passed",
        ),
        (
            {"state": TaskState.QUEUED, "group": replace(GPU, running=8, places=8, busy=1, because=[MEMORY])},
            R,
            "its 1 worker (1 more takes nothing: memory 93 % > 90 %) has all 8 places taken.",
            "shoal worker --group gpu",
        ),
        (
            {"state": TaskState.QUEUED, "given_back": "its worker gave it back: Too many open files"},
            R,
            "in a moment. Its previous attempt did not begin: its worker gave it back: Too many open files.",
            "why 12/load",
        ),
        ({"state": TaskState.QUEUED, "group": None}, R, "load is queued for a worker.", "shoal worker list"),
        (
            {"state": TaskState.DELAY_EXECUTION, "wait_reason": WaitReason.RETRY, "due_in_s": 72.0},
            R,
            "load waits for its next attempt, due in 1 min 12 s.",
            "shoal why 12/load",
        ),
        (
            {"state": TaskState.DELAY_EXECUTION, "wait_reason": WaitReason.DELAY, "due_in_s": -0.1},
            R,
            "load waits for its delay to pass, due now.",
            "shoal why 12/load",
        ),
        ({}, R, "load runs on w3:1 for 12.0 s.", "shoal log 88 -f"),
        (
            {"state": TaskState.DISPATCH, "worker": None, "since_s": None},
            R,
            "load runs on a worker.",
            "shoal log 88 -f",
        ),
        ({"kill_requested": True}, R, "load is being killed on w3:1; it had been running for 12.0 s.", "shoal log"),
        (
            {"worker_gone": True},
            R,
            "load ran on w3:1, which is gone; a master decides on a new",
            "shoal worker list",
        ),
        (
            {"state": TaskState.NEED_FAULT_TOLERANCE},
            R,
            "load lost its worker w3:1; its master is about to decide on a new attempt.",
            "shoal show 12",
        ),
        (
            {"state": TaskState.NEED_FAULT_TOLERANCE},
            F,
            "load lost its worker w3:1, and its run has ended as FAILURE.",
            "shoal show 12",
        ),
        ({"state": TaskState.SUCCESS}, R, "load has ended: SUCCESS in 12.0 s.", "shoal log 88"),
        ({"state": TaskState.FAILURE, "reason": "exit code 3"}, F, "load has ended as FAILURE: exit code 3", "log 88"),
        ({"state": TaskState.KILL}, F, "load has ended as KILL", "shoal log 88"),
    ],
)
def test_each_state_of_a_task_has_its_sentence(
    changed: dict[str, Any], run: WorkflowState, sentence: str, do: str
) -> None:
    _says(why_task(replace(TASK, **changed), run), sentence, do)


QUEUED = replace(TASK, name="queued", state=TaskState.QUEUED)


@every(
    ("changed", "sentence", "do"),
    [
        ({"state": WorkflowState.SUCCESS}, "Run 12 of sales has ended: SUCCESS in 5.0 s.", "shoal run sales"),
        ({"state": F, "reason": 'task "load" failed'}, 'has ended as FAILURE: task "load" failed', "shoal show 12"),
        (
            {"state": F, "tasks": [replace(TASK, state=TaskState.FAILURE)]},
            "has ended as FAILURE: no reason was stored",
            "shoal log 88",
        ),
        (
            {"state": WorkflowState.FAILOVER, "failing_over": COMMAND, "owner_gone": True},
            "Run 12 of sales lost its master m1:1 and waits to be failed over. Command 4711 has waited",
            "shoal why command 4711",
        ),
        (
            {"owner_gone": True},
            "its master m1:1; the others check for such runs every few seconds.",
            "shoal master list",
        ),
        ({"owner_gone": True, "masters": 0}, "lost its master m1:1, and no other is alive.", "shoal master"),
        ({"tasks": [TASK]}, "Run 12 of sales waits for load. load runs on w3:1 for 12.0 s.", "shoal log 88 -f"),
        (
            {"tasks": [TASK, QUEUED, replace(TASK, name="b", since_s=1)]},
            "waits for load. 2 of its tasks run.",
            "log 88",
        ),
        (
            {"tasks": [TASK, replace(QUEUED, group=replace(GPU, workers=0))]},
            "waits for queued. queued waits for a worker in group gpu: none is alive",
            "shoal worker --group gpu",
        ),
        (
            {"tasks": [TASK, replace(QUEUED, group=replace(GPU, busy=2, because=[MEMORY]))]},
            "waits for queued. queued waits, because all workers of group gpu are busy: memory 93 % > 90 %.",
            "shoal worker --group gpu",
        ),
        ({"tasks": [QUEUED]}, "waits for queued. queued is queued, and group gpu has 11 free places", "12/queued"),
        (
            {"tasks": [TASK, replace(TASK, name="lost", worker_gone=True, since_s=1)]},
            "waits for lost. 2 of its tasks run. lost ran on w3:1, which is gone",
            "shoal worker list",
        ),
        ({}, "has no task that runs or waits; its master m1:1 is about to continue it.", "shoal show 12"),
    ],
)
def test_each_state_of_a_run_has_its_sentence(changed: dict[str, Any], sentence: str, do: str) -> None:
    _says(why_run(replace(RUN, **changed)), sentence, do)


def _says(why: Why, sentence: str, do: str) -> None:
    assert sentence in why.sentence
    assert do in why.do
    assert "\n" not in why.sentence + why.do
