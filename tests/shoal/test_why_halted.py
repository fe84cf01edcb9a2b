"""Every sentence of `shoal why` about what is halted, waits for others, or is not meant to run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.runs.states import NotBegun, TaskState, WorkflowState
from service.explain.answer import Why
from service.explain.explanation import why_task
from service.explain.run_explanation import RunFacts, why_run
from service.explain.subjects import CommandFacts, GroupFacts, TaskFacts
from tests.every import every

T, W = TaskState, WorkflowState
TASK = TaskFacts(12, "load", 88, T.RUNNING_EXECUTION, worker="w3:1", since_s=12.0)
OPEN = TaskFacts(12, "next", not_begun=NotBegun.NOT_BEGUN)
RUN = RunFacts(12, "sales", W.RUNNING_EXECUTION, [TASK, OPEN], 5.0, owner="m1:1")


@every(
    ("changed", "sentence", "do"),
    [
        (
            {"state": W.SERIAL_WAIT, "before": [(9, W.READY_STOP)]},
            "Run 12 of sales waits for its turn, since its workflow runs one at a time: run 9 is READY_STOP.",
            "shoal why 9",
        ),
        ({"state": W.SERIAL_WAIT, "before": [(9, W.PAUSE), (10, W.SERIAL_WAIT)]}, "and 1 more is before it.", "why 9"),
        (
            {"state": W.SERIAL_WAIT, "before": [(9, W.RUNNING_EXECUTION)], "serial_key": "LH1"},
            'since its workflow runs one at a time for the key "LH1": run 9 is RUNNING_EXECUTION.',
            "shoal why 9",
        ),
        (
            {"state": W.SERIAL_WAIT, "serial_key": "LH1", "older": 77},
            'in the line of the key "LH1": command 77 of its workflow is older and not handled yet, and may have',
            "shoal why command 77",
        ),
        ({"state": W.SERIAL_WAIT}, "nothing is before it now: a master begins it within seconds.", "shoal why 12"),
        ({"state": W.SERIAL_WAIT, "masters": 0}, "and no master is alive to begin it.", "shoal master"),
        ({"state": W.READY_PAUSE}, "is being paused: load still runs. load runs on w3:1 for 12.0 s.", "shoal stop 12"),
        ({"requested": W.READY_PAUSE}, "is being paused: load still runs.", "shoal stop 12"),
        (
            {"state": W.READY_STOP, "tasks": [replace(TASK, kill_requested=True), TASK]},
            "is being stopped: load, load still run. load is being killed on w3:1",
            "shoal log 88 -f",
        ),
        (
            {"state": W.READY_STOP, "tasks": []},
            "is being stopped, and nothing of it still runs; its master m1:1 is about to end it.",
            "shoal show 12",
        ),
        (
            {"state": W.PAUSE, "reason": "it was paused", "tasks": [replace(TASK, state=T.PAUSE), OPEN]},
            "has ended as PAUSE: it was paused; it goes on when it is resumed; load, next would run then.",
            "shoal resume 12",
        ),
        ({"state": W.STOP, "tasks": []}, "has ended as STOP: no reason was stored; it goes on", "shoal resume 12"),
        (
            {"state": W.STOP, "dates_left": 1},
            "next would run then. 1 date of its backfill waits for it.",
            "resume",
        ),
        (
            {"state": W.FAILURE, "reason": "so it is", "tasks": [], "dates_left": 3},
            "has ended as FAILURE: so it is. 3 dates of its backfill wait for it.",
            "shoal rerun 12 --failed",
        ),
        (
            {"state": W.PAUSE, "resuming": CommandFacts(7, waits=True, age_s=3.0)},
            "Run 12 of sales is PAUSE, and is asked to go on. Command 7 has waited for 3.0 s because no master is",
            "shoal master",
        ),
        (
            {"state": W.FAILURE, "tasks": [], "above": (3, W.FAILURE)},
            "has ended as FAILURE",
            "Then go on with the run above it: shoal rerun 3 --failed",
        ),
        ({"state": W.PAUSE, "above": (3, W.PAUSE)}, "as PAUSE", "Let it go on with the run above it: shoal resume 3"),
        ({"state": W.PAUSE, "above": (3, W.RUNNING_EXECUTION)}, "as PAUSE", "Let it go on: shoal resume 12"),
        (
            {"state": W.STOP, "above": (3, W.RUNNING_EXECUTION)},
            "as STOP",
            "See the run above it, which goes on without it: shoal show 3",
        ),
        (
            {"silent_s": 40.0},
            "Run 12 of sales does not move: its master m1:1 has been silent for 40.0 s; another drives it when",
            "shoal master list",
        ),
        ({"silent_s": 40.0, "masters": 0}, "has been silent for 40.0 s, and no other is alive.", "shoal master"),
        (
            {"tasks": [], "idle_s": 75.0},
            "its master m1:1 should continue it, but nothing of the run has",
            "shoal doctor",
        ),
        (
            {"state": W.READY_STOP, "tasks": [], "idle_s": 75.0},
            "nothing of it still runs; its master m1:1 should end it, but nothing of the run has changed for",
            "shoal doctor",
        ),
    ],
)
def test_each_way_to_rest_has_its_sentence(changed: dict[str, Any], sentence: str, do: str) -> None:
    _says(why_run(replace(RUN, **changed)), sentence, do)


@every(
    ("changed", "sentence", "do"),
    [
        (
            {"state": None, "not_begun": NotBegun.SKIPPED},
            "load is skipped: it depends only on branches that were not chosen.",
            "shoal show 12",
        ),
        (
            {"state": None, "not_begun": NotBegun.SKIPPED, "unmet": "it starts only if a task before it fails"},
            "load is skipped: it starts only if a task before it fails.",
            "shoal show 12",
        ),
        (
            {"state": None, "not_begun": NotBegun.FORBIDDEN},
            "load does not run: its definition forbids it (flag: NO).",
            "shoal workflow apply",
        ),
        (
            {"state": None, "not_begun": NotBegun.LEFT_OUT},
            "load does not run: the run was started, or run again, for other tasks only.",
            "shoal rerun 12 --task load",
        ),
        (
            {"depends_on": ['workflow "a" (today)', 'workflow "b" (today)']},
            'load depends on workflow "a" (today) and workflow "b" (today), and waits for that.',
            "shoal runs",
        ),
        ({"depends_on": list("abcdefg")}, "load depends on a and b and c and d and e and 2 more, and", "shoal runs"),
        (
            {"children": [(20, W.SUCCESS), (21, W.RUNNING_EXECUTION)]},
            "load stands for 2 runs and waits for run 21.",
            "shoal why 21",
        ),
        (
            {"children": [(20, W.READY_STOP), (21, W.SERIAL_WAIT)], "child": Why("Run 20 rests.", "Wake it")},
            "load stands for 2 runs and waits for run 20 and 1 more. Run 20 rests.",
            "Wake it",
        ),
        (
            {"children": [(20, W.SUCCESS)]},
            "load stands for 1 run, which ended; its master is about to continue it.",
            "shoal show 12",
        ),
        (
            {"children": [(20, W.PAUSE), (21, W.RUNNING_EXECUTION)]},
            "load stands for 2 runs and waits for run 20 and 1 more; run 20 is paused, and goes on when somebody",
            "Let it go on: shoal resume 20",
        ),
        (
            {"children": [(20, W.SUCCESS)], "idle_s": 75.0},
            "which ended; its master should continue it, but nothing of the run has changed for 1 min 15 s.",
            "shoal doctor",
        ),
        (
            {"state": None, "idle_s": 75.0},
            "load waits for nothing; its master should queue it, but nothing of the run has changed for 1 min 15 s.",
            "shoal doctor",
        ),
        ({"state": T.NEED_FAULT_TOLERANCE, "idle_s": 75.0}, "its master should decide on a new attempt, but", "doctor"),
        (
            {"state": T.NEED_FAULT_TOLERANCE, "loss_is_final": True, "idle_s": 75.0},
            "load lost its worker w3:1, and may not run again (on_worker_loss: fail); the other tasks of its run",
            "shoal rerun 12 --failed",
        ),
        (
            {"state": T.DELAY_EXECUTION, "due_in_s": -75.0},
            "load waits for its delay to pass, which was due 1 min 15 s ago; its master should queue it, but",
            "shoal doctor",
        ),
        (
            {"state": T.QUEUED, "queued_s": 75.0, "group": GroupFacts("gpu", 1, 0, 8, 1)},
            "load has been queued for 1 min 15 s, though group gpu has 8 free places: no worker has taken it.",
            "shoal worker list",
        ),
        (
            {"state": T.FAILURE, "children": [(20, W.FAILURE)], "child": Why("Run 20 failed.", "Its log: shoal log 5")},
            "load has ended as FAILURE, since the run that it stands for failed. Run 20 failed.",
            "Its log: shoal log 5",
        ),
        (
            {"state": T.FAILURE, "worker": None, "reason": "no"},
            "load has ended as FAILURE: no",
            "See the run: shoal show",
        ),
        ({"state": T.SUCCESS, "children": [(20, W.SUCCESS)]}, "SUCCESS in 12.0 s. It stood for run 20.", "show 20"),
        ({"state": T.SUCCESS, "worker": None, "choice": "load chose a"}, "12.0 s. load chose a.", "shoal show 12"),
    ],
)
def test_each_way_to_wait_for_others_has_its_sentence(changed: dict[str, Any], sentence: str, do: str) -> None:
    _says(why_task(replace(TASK, **changed), W.RUNNING_EXECUTION), sentence, do)


def _says(why: Why, sentence: str, do: str) -> None:
    assert sentence in why.sentence
    assert do in why.do
    assert "\n" not in why.sentence + why.do
