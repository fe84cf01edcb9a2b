"""The result of a run of chaos: as JSON for programs and as a table for people."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests.chaos.checker import Violation
from tests.chaos.limits import Limits
from tests.chaos.recovery import Struck


@dataclass
class Report:
    """`counts` are of the tables at the end; `commands` by type, as acknowledged; times in seconds."""

    seed: int
    minutes: float
    masters: int
    workers: int
    limits: Limits
    faults: list[Struck] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    commands: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    end_s: float | None = None
    """Seconds from the last fault until everything had ended; None = it never did."""

    def recoveries(self) -> dict[str, dict[str, Any]]:
        """For each kind of fault and for all: count, p50 and max, from its begin and after its end."""
        by_kind: dict[str, list[Struck]] = defaultdict(list)
        for struck in self.faults:
            by_kind[struck.kind].append(struck)
        return {**{kind: _figures(each) for kind, each in sorted(by_kind.items())}, "all": _figures(self.faults)}

    def as_json(self) -> str:
        """All of it."""
        content = {
            "seed": self.seed,
            "minutes": self.minutes,
            "masters": self.masters,
            "workers": self.workers,
            "limits": dataclasses.asdict(self.limits),
            "violations": [dataclasses.asdict(each) for each in self.violations],
            "recovery_s": self.recoveries(),
            "everything_ended_after_s": self.end_s,
            "commands": self.commands,
            "counts": self.counts,
            "faults": [dataclasses.asdict(each) for each in self.faults],
        }
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def as_text(self) -> str:
        head = f"chaos: seed {self.seed}, {self.minutes:g} minutes, {self.masters} masters, {self.workers} workers"
        head += f" ({self.limits.runs} runs and {self.limits.tasks} tasks each)"
        lines = [head, "", f"{'fault':<24}{'count':>6}{'recovered, s from its begin':>31}{'s after its end':>24}"]
        lines.append(f"{'':<30}{'p50':>20}{'max':>11}{'p50':>13}{'max':>11}")
        for kind, figures in self.recoveries().items():
            times = "".join(
                f"{_shown(figures[name]):>{width}}"
                for name, width in (("begin_p50", 20), ("begin_max", 11), ("end_p50", 13), ("end_max", 11))
            )
            lines.append(f"{kind:<24}{figures['count']:>6}{times}")
        lines += ["", f"commands acknowledged: {sum(self.commands.values())} ({_listed(self.commands)})"]
        lines.append(f"in the tables: {_listed(self.counts)}")
        lines.append(f"everything had ended {_shown(self.end_s)} s after the last fault")
        lines += ["", f"violations: {len(self.violations)}"]
        lines += [f"  {each.rule}: {each.what}" for each in self.violations]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> Path:
        """Write both into a folder; the path of the text."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{self.seed}.json").write_text(self.as_json())
        text = folder / f"seed-{self.seed}.txt"
        text.write_text(self.as_text())
        return text


def _figures(faults: list[Struck]) -> dict[str, Any]:
    begin = [each.recovered_s for each in faults if each.recovered_s is not None]
    end = [each.after_end_s for each in faults if each.after_end_s is not None]
    return {
        "count": len(faults),
        "begin_p50": round(median(begin), 2) if begin else None,
        "begin_max": max(begin, default=None),
        "end_p50": round(median(end), 2) if end else None,
        "end_max": max(end, default=None),
    }


def _shown(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
