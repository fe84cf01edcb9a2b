"""A flow whose tasks give files to each other, as a person writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shoal_sdk import File, each, flow, task


@dataclass
class Report:
    text: File
    rows: int


@task
def extract(on: str, rows: int) -> File:
    path = Path(f"sales of {on}.csv")
    path.write_bytes(b"\xff\x00" + b"tea,1\n" * rows)
    return File(path, "text/csv")


@task(worker_group="other")
def report(source: File, kind: str) -> Report:
    data = source.path.read_bytes()
    assert data.startswith(b"\xff\x00")
    assert source.path.parent.parent == Path.cwd(), "it is in the folder of the task"
    path = Path("report.txt")
    path.write_text(f"{source.path.name}: {len(data):,} bytes of {kind}\n" * 5_000)
    return Report(File(path, "text/plain"), data.count(b"\n"))


@task(worker_group="other")
def part_of(place: int, source: File) -> File:
    path = Path(f"{place}.bin")
    path.write_bytes(source.path.read_bytes()[: 10_000 * place])
    return File(path)


@task
def size_of(part: File) -> int:
    return len(part.path.read_bytes())


@task
def add_up(sizes: list[int], whole: list[File]) -> int:
    assert sum(len(each.path.read_bytes()) for each in whole) == sum(sizes)
    return sum(sizes)


@flow
def daily_report(on: str = "2026-01-30", rows: int = 20_000) -> Report:
    """Files of 120 KB and more, from one worker to another and back."""
    source = extract(on, rows)
    return report(source, source.content_type)


@flow
def parts(rows: int = 20_000) -> int:
    """One file for each element, all of them together, and each alone."""
    made = each(part_of, place=[1, 2, 3, 4], given={"source": extract("today", rows)})
    return add_up(each(size_of, part=made), made)


@flow
def whole(rows: int = 20_000) -> list[File]:
    """What a program gets of a list in parts."""
    return each(part_of, place=[1, 2], given={"source": extract("today", rows)})
