"""The workflows of the load: one of each kind that a master or worker treats differently, all of them finite.

Each has the result of an undisturbed run beside it, for the checker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.chaos import pool_rules
from tests.chaos.journal import Journal


@dataclass(frozen=True)
class Kind:
    """A workflow of the load.

    `weight`: how often it is started relative to the others, 0 = never by itself. `ends`: in which states a run may end
    that nobody paused or stopped. `movable`: whether the load pauses, stops, repeats and so on its runs. `alone`:
    whether no two runs may be live at once. `once`: whether its tasks may not be started a second time. `by_key`:
    whether that holds for the runs of each key, which begin in the order of their commands.
    """

    name: str
    code: int
    spec: dict[str, Any]
    weight: int = 1
    ends: tuple[str, ...] = ("SUCCESS",)
    movable: bool = False
    alone: bool = False
    once: bool = False
    by_key: bool = False


CANARY, SCHEDULED, BACKFILLED, BELOW, EDITED, KEYED, BY_KEY = 1001, 1002, 1003, 1004, 1005, 1006, 1007


def kinds(journal: Journal) -> list[Kind]:
    """All of them; SHELL tasks write into that journal."""

    def shell(name: str, ticks: int = 1, work: str = ":", **more: Any) -> dict[str, Any]:
        return {"name": name, "type": "SHELL", "params": {"script": journal.script(ticks, work)}, **more}

    def fake(name: str, *after: str, **params: Any) -> dict[str, Any]:
        return {"name": name, "type": "FAKE", "after": list(after), "params": params}

    locks = pool_rules.locking(journal.path)
    second_time = '[ "$SHOAL_ATTEMPT" -gt 1 ] || exit 3'
    return [
        Kind("canary", CANARY, {"priority": "HIGHEST", "tasks": [fake("sing")]}, weight=0),
        Kind("scheduled", SCHEDULED, {"tasks": [fake("tick")]}, weight=0),
        Kind("backfilled", BACKFILLED, {"tasks": [shell("fill")]}, weight=0),
        Kind("below", BELOW, {"tasks": [shell("a"), fake("b", "a")]}, weight=0),
        Kind("keyed", KEYED, {"params": {"key": ""}, "tasks": [fake("a")]}, weight=0),
        Kind("edited", EDITED, {"tasks": [
            fake("a", sleep_s=1), fake("b", "a", sleep_s=2), {**fake("c", "b"), "delay_time": 0.03}]}, weight=2),
        Kind("single", 1010, {"tasks": [shell("a", 2)]}, weight=4),
        Kind("chain", 1011, {"tasks": [shell("a"), fake("b", "a"), shell("c", after=["b"])]}, weight=3, movable=True),
        Kind("fan", 1012, {"tasks": [
            fake("split"), *(fake(f"part {n}", "split", sleep_s=0.1 * n) for n in range(6)),
            shell("join", after=[f"part {n}" for n in range(6)])]}, weight=3),
        Kind("switch", 1013, {"params": {"n": "3"}, "tasks": [
            fake("look"),
            {"name": "choose", "type": "SWITCH", "after": ["look"],
             "params": {"cases": [{"when": "${n} > 5", "then": "big"}], "default": "small"}},
            shell("big", after=["choose"]), shell("small", after=["choose"]), fake("join", "big", "small")]}),
        Kind("conditions", 1014, {"tasks": [
            fake("risk", fail=True),
            {"name": "judge", "type": "CONDITIONS", "after": ["risk"],
             "params": {"when": {"risk": "SUCCESS"}, "on_success": "praise", "on_failure": "fix"}},
            fake("praise", "judge"), shell("fix", after=["judge"])]}),
        Kind("retrying", 1015, {"tasks": [
            {**fake("flaky", fail_attempts=1), "retry_times": 3},
            shell("stubborn", 1, second_time, after=["flaky"], retry_times=3, retry_interval=0.01)]}, weight=2),
        Kind("parent", 1016, {"tasks": [
            {"name": "go down", "type": "SUB_PROCESS", "params": {"workflow": BELOW}}, fake("end", "go down")]},
            weight=2, movable=True),
        Kind("grandparent", 1017, {"tasks": [
            {"name": "go down", "type": "SUB_PROCESS", "params": {"workflow": 1016}}]}),
        Kind("dynamic", 1018, {"tasks": [
            {"name": "each", "type": "DYNAMIC",
             "params": {"workflow": BELOW, "lists": [{"name": "n", "value": "1,2,3"}], "parallelism": 2}}]}),
        Kind("waiting", 1019, {"execution_type": "SERIAL_WAIT", "tasks": [shell("a", 3)]}, weight=2, movable=True,
             alone=True),
        Kind("discarding", 1020, {"execution_type": "SERIAL_DISCARD", "tasks": [shell("a", 3)]},
             ends=("SUCCESS", "STOP"), movable=True, alone=True),
        Kind("winning", 1021, {"execution_type": "SERIAL_PRIORITY", "tasks": [shell("a", 4)]},
             ends=("SUCCESS", "STOP"), movable=True, alone=True),
        Kind("by key", BY_KEY, {"execution_type": "SERIAL_WAIT", "serial_key": "${n}", "params": {"n": "0"},
             "tasks": [shell("a", 2)]}, weight=5, by_key=True),
        Kind("once", 1022, {"tasks": [shell("pay", 5, on_worker_loss="fail")]},
             weight=2, ends=("SUCCESS", "FAILURE"), once=True),
        Kind("failing", 1023, {"tasks": [fake("a"), fake("b", "a", fail_attempts=1), shell("c", after=["b"])]},
             weight=2, ends=("FAILURE", "SUCCESS"), movable=True),
        Kind("slow", 1024, {"tasks": [shell("a", 12), shell("side", 8), fake("b", "a", sleep_s=0.5)]},
             weight=4, movable=True),
        Kind("delayed", 1025, {"tasks": [{**fake("a"), "delay_time": 0.03}]}),
        Kind("hasty", 1026, {"tasks": [
            shell("a", 1, '[ "$SHOAL_ATTEMPT" -gt 1 ] || sleep 60', timeout=0.03, retry_times=3)]}),
        Kind("crawling", 1028, {"tasks": [
            shell("crawl", 8, second_time, stream=True, restart="on_failure", restart_pause=0.01),
            shell("after", after=["crawl"])]}, weight=2, movable=True),
        Kind("ending", 1027, {"failure_strategy": "END", "tasks": [
            fake("fail", fail=True, sleep_s=0.5), shell("long", 20), fake("never", "long")]}, ends=("FAILURE",)),
        Kind("pooled", 1029, {"tasks": [
            shell("one", 3, locks, resources={"proxies": 1}), shell("two", 2, locks, resources={"proxies": 2}),
            shell("both", 2, locks, resources={"licence": 1, "proxies": 1})]}, weight=2, movable=True),
    ]  # fmt: skip
