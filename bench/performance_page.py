"""docs/internals/performance.md: people write the text, this module writes the part between the markers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from bench.cluster import BenchFailed
from bench.course import Result
from bench.figures import Figure, shown

PAGE = Path(__file__).parent.parent / "docs" / "internals" / "performance.md"
_BEGIN = "<!-- bench:begin, written by `make bench`; do not edit -->"
_END = "<!-- bench:end -->"
SAME = "″"


def write_page(result: Result, page: Path = PAGE) -> None:
    """Write the result between the markers of the page. Raises `BenchFailed` when they are missing."""
    text = page.read_text()
    if text.count(_BEGIN) != 1 or text.count(_END) != 1 or text.index(_END) < text.index(_BEGIN):
        raise BenchFailed(f"{page} must hold the lines {_BEGIN} and {_END} once each, in this order")
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    page.write_text(f"{before}{_BEGIN}\n\n{_result(result)}\n{_END}{after}")


def _result(result: Result) -> str:
    lines = list(_machine(result))
    for part, figures in groupby(result.figures, key=lambda figure: figure.part):
        lines += ["", f"### {part}", "", "| figure | value | wanted | measured with |", "|---|--:|--:|---|"]
        lines += rows(figures)
    if result.warnings:
        told = ", ".join(f"{count} x {name}" for name, count in result.warnings.items())
        lines += ["", f"Warnings in the logs of Shoal's processes: {told}."]
    return "\n".join(lines) + "\n"


def _machine(result: Result) -> Iterable[str]:
    machine = result.machine
    yield f"Measured on {machine.date}, commit {machine.commit}, in one run of {result.took_s:.0f} s:"
    yield ""
    yield (
        f"- {machine.cores} cores ({machine.processor}), {machine.memory_gib:g} GiB, {machine.kernel}; PostgreSQL, "
        f"Shoal and the bench share them; load average of the minute before: {machine.load_before:g}"
    )
    yield f"- PostgreSQL {machine.postgresql}, Python {machine.python}"
    yield f"- durability: {_settings(machine.durability)}"
    yield f"- set in PostgreSQL by the bench: {_settings(machine.changed_settings)}"
    yield f"- set in Shoal by the bench: {_settings(machine.shoal_settings)}; all else by default"
    if result.is_quick:
        yield "- **a quick run: it shows that the bench works, and its figures mean little**"
    yield ""
    missed = sum(figure.is_met is False for figure in result.figures)
    wanted = sum(figure.target is not None for figure in result.figures)
    yield f"Of {wanted} targets {missed} are missed: the values in bold."


def rows(figures: Iterable[Figure]) -> Iterator[str]:
    """The rows of a part; a description that begins as in the row above, up to the first semicolon, is not repeated."""
    above = ""
    for family, members in groupby(figures, key=lambda figure: figure.family):
        same = list(members)
        if family and all(figure.is_met is not False for figure in same):
            yield _row_of_family(family, same)
            continue
        for figure in same:
            value = figure.shown if figure.is_met is not False else f"**{figure.shown}**"
            yield f"| {figure.what} | {value} | {figure.target or ''} | {_how(figure.how, above)} |"
            above = figure.how


def _how(how: str, above: str) -> str:
    (first, _, rest), (first_above, _, rest_above) = how.partition("; "), above.partition("; ")
    if not how or first != first_above:
        return how
    return f"{SAME}; {rest}" if rest and rest != rest_above else SAME


def _row_of_family(family: str, figures: Sequence[Figure]) -> str:
    least, most = (pick(figures, key=lambda figure: figure.value) for pick in (min, max))
    values = f"{shown(least.value)} to {most.shown}"
    return f"| {len(figures)} {family} | {values} | {most.target or ''} | the highest: {most.what} |"


def _settings(values: Mapping[str, str]) -> str:
    return ", ".join(f"`{name} = {value.strip()}`" for name, value in values.items())
