"""A flow whose tasks give files to each other, as a person writes it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from shoal_sdk import File, TaskOptions, depends_on, each, flow, shell, subflow, task


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
    assert source.path.is_relative_to(Path.cwd()), "it is in the folder of the task"
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


@dataclass
class Packed:
    files: list[File]
    text: str


@task
def pack(rows: int, size: int) -> Packed:
    """Files of its folder, of another one, and the same once more; the largest is beyond what a result may have."""
    Path("made").mkdir()
    Path("made/large.bin").write_bytes(b"\x00" * size)
    with Path(tempfile.mkstemp(suffix=".txt")[1]).open("w") as elsewhere:
        elsewhere.write("x" * rows)
    large = File("made/large.bin")
    return Packed([large, File(elsewhere.name, "text/plain"), large], "of $ {x}")


@task(worker_group="other")
def unpack(packed: Packed, large: File, missing: File | None = None) -> File | None:
    first, second, third = packed.files
    assert first.path.read_bytes() == third.path.read_bytes() == large.path.read_bytes()
    assert (second.content_type, missing) == ("text/plain", None)
    return second if second.path.stat().st_size else None


@task
def claim() -> int:
    return File("a.csv")  # type: ignore[return-value]


@flow
def packs(rows: int = 7, size: int = 20_000_000) -> File | None:
    """Many in one result, some of them elsewhere, through a script too, and back unchanged; one that may be missing."""
    packed = pack(rows, size)
    first = packed.files[0]
    found = unpack(packed, first)
    script = "wc -c < ${large} > size.txt; echo '#{setValue(counted=size.txt)}'"
    other = TaskOptions(worker_group="other")
    count = shell("count", script, outputs={"counted": File}, large=first, options=other)
    depends_on(found, size_of(count.counted))
    return found


@flow
def repacks(rows: int = 7) -> File | None:
    """What a flow below gives."""
    return subflow(packs, rows=rows, size=10)


@flow
def unclaimed() -> int:
    return claim()


@flow
def whole(rows: int = 20_000) -> list[File]:
    """What a program gets of a list in parts."""
    return each(part_of, place=[1, 2], given={"source": extract("today", rows)})
