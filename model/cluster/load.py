"""When a node is overloaded: limits with hysteresis, so that slots and claims do not flap. Pure.

A measure that exceeds its limit makes the node BUSY until the measure is back within a second bound. Whatever the
measures do, the status changes at most once in `hold_s`. Each change of a master's status rebalances the slots of all
masters, so a flapping status costs more than a late one. The design follows DolphinScheduler's server load protection;
`model/cluster/slot_view.py` handles the case of a single overloaded master that would leave the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from model.cluster.nodes import NodeStatus
from model.cluster.timing import Duration

MIB = 1 << 20

FREE_FILES_MIN = 1_000
"""The minimum of free inodes: a disk can run out of them while it has free space."""


class Measure(StrEnum):
    """A measure, under its name in messages."""

    RUNS = "runs"
    """The used share of the runs that a master may drive."""
    CPU = "CPU"
    """The used share of the CPUs."""
    LOAD = "load"
    """Processes per core that run or wait for the disk, over the last minute and still now."""
    MEMORY = "memory"
    """The used share of the memory."""
    DISK = "disk"
    """The used share of the disk."""
    FREE_DISK = "free disk"
    """Free bytes."""
    FREE_FILES = "free files on its disk"
    """Files that may still be created."""
    FREE_DESCRIPTORS = "free descriptors"
    """Files and connections that the process may still open."""


@dataclass(frozen=True)
class Limit:
    """The limit of one measure: BUSY beyond `enter`, until the value is back within `leave`.

    With `leave` below `enter` high values are bad, with `leave` above `enter` low ones. From `at_once` on, if given,
    the node is BUSY even if the status changed a moment ago: it can take nothing at all.
    """

    measure: Measure
    enter: float
    leave: float
    at_once: float | None = None

    def is_passed(self, value: float, *, was_passed: bool) -> bool:
        """Whether the value makes the node busy; `was_passed` is the previous answer."""
        if self.leave < self.enter:
            return value > self.enter or (was_passed and value >= self.leave)
        return value < self.enter or (was_passed and value <= self.leave)

    def words(self, value: float) -> str:
        """Such as `memory 93 % > 90 %`, or `memory 88 % (was > 90 %, must be < 85 %)` on the way back."""
        beyond, back = (">", "<") if self.leave < self.enter else ("<", ">")
        now, enter, leave = (_said(self.measure, each) for each in (value, self.enter, self.leave))
        if self.is_passed(value, was_passed=False):
            return f"{self.measure} {now} {beyond} {enter}"
        return f"{self.measure} {now} (was {beyond} {enter}, must be {back} {leave})"


RUNS_LIMIT = Limit(Measure.RUNS, enter=0.8, leave=0.6, at_once=1.0)
"""A master leaves the slots before it is full, and returns when it has room for more than a few runs."""


class Hysteresis:
    """Derives NORMAL or BUSY from any number of limits, without flapping."""

    def __init__(self, limits: Iterable[Limit], hold_s: float = 10.0) -> None:
        self.status = NodeStatus.NORMAL
        self.because = ""
        """While BUSY: the limits that were passed, in words."""
        self.passed: frozenset[Measure] = frozenset()
        """The measures that are beyond their limits, whether or not the status has changed yet."""
        self._limits = tuple(limits)
        self._hold_s = hold_s
        self._changed_at: float | None = None

    def update(self, values: Mapping[Measure, float], now_s: float) -> NodeStatus:
        """The status at `now_s` seconds of any monotonic clock. A measure without a value counts as harmless."""
        passed = [
            limit
            for limit in self._limits
            if limit.measure in values
            and limit.is_passed(values[limit.measure], was_passed=limit.measure in self.passed)
        ]
        self.passed = frozenset(limit.measure for limit in passed)
        wanted = NodeStatus.BUSY if passed else NodeStatus.NORMAL
        held = self._changed_at is not None and now_s - self._changed_at < self._hold_s
        at_once = any(limit.at_once is not None and values[limit.measure] >= limit.at_once for limit in passed)
        if wanted is not self.status and (at_once or not held):
            self.status = wanted
            self._changed_at = now_s
        if self.status is NodeStatus.NORMAL:
            self.because = ""
        elif passed:
            self.because = "; ".join(limit.words(values[limit.measure]) for limit in passed)
        return self.status


class LoadSettings(BaseModel):
    """The load of the machine, or of its container, beyond which a node takes nothing new."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_max: float = Field(0.9, gt=0, le=1, description="share of the memory in use that makes it BUSY; 1 = never")
    cpu_max: float = Field(1, gt=0, le=1, description="share of the CPUs in use that makes it BUSY; 1 = never")
    load_max: float = Field(
        32, ge=0, allow_inf_nan=False, description="one-minute load average per core that makes it BUSY; 0 = never"
    )
    descriptors_free_min: int = Field(
        32, ge=0, description="files and connections that it may still open; BUSY below that; 0 = never"
    )
    margin: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="how far a share must fall below its limit to end BUSY; of load, files and bytes, this part",
    )
    hold: Duration = Field(timedelta(seconds=10), description="minimum time between two changes of BUSY and NORMAL")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        for name, limit in self._shares().items():
            if limit <= self.margin:
                raise ValueError(
                    f"margin ({self.margin:g}) must be smaller than {name} ({limit:g}): "
                    f"once BUSY, the node would stay BUSY forever"
                )
        return self

    def _shares(self) -> dict[str, float]:
        """The limits that are shares, by setting name."""
        return {"memory_max": self.memory_max, "cpu_max": self.cpu_max}

    def limits(self) -> tuple[Limit, ...]:
        found = [self._share(Measure.MEMORY, self.memory_max), self._share(Measure.CPU, self.cpu_max)]
        if self.load_max:
            found.append(Limit(Measure.LOAD, self.load_max, self.load_max * (1 - self.margin)))
        if self.descriptors_free_min:
            enough = self.descriptors_free_min * (1 + self.margin)
            found.append(Limit(Measure.FREE_DESCRIPTORS, self.descriptors_free_min, enough))
        return tuple(limit for limit in found if limit is not None)

    def _share(self, measure: Measure, enter: float) -> Limit | None:
        return Limit(measure, enter, enter - self.margin) if enter < 1 else None


class WorkerLoadSettings(LoadSettings):
    """The same limits for a worker, which also checks the disk that holds its folder."""

    disk_max: float = Field(
        1, gt=0, le=1, description="used share of the disk with its folder that makes it BUSY; 1 = never"
    )
    disk_free_min: int = Field(
        256 * MIB, ge=0, description="bytes free on that disk below which it is BUSY; 0 = it does not check"
    )

    def _shares(self) -> dict[str, float]:
        return {**super()._shares(), "disk_max": self.disk_max}

    def limits(self) -> tuple[Limit, ...]:
        found = [*super().limits()]
        if (disk := self._share(Measure.DISK, self.disk_max)) is not None:
            found.append(disk)
        if self.disk_free_min:
            enough = self.disk_free_min * (1 + self.margin)
            found.append(Limit(Measure.FREE_DISK, self.disk_free_min, enough))
            found.append(Limit(Measure.FREE_FILES, FREE_FILES_MIN, FREE_FILES_MIN * (1 + self.margin)))
        return tuple(found)


def _said(measure: Measure, value: float) -> str:
    match measure:
        case Measure.LOAD:
            return f"{value:.3g} a core"
        case Measure.FREE_DISK:
            return f"{value / MIB:.0f} MiB"
        case Measure.FREE_FILES | Measure.FREE_DESCRIPTORS:
            return f"{value:.0f}"
        case _:
            return f"{100 * value:.3g} %"
