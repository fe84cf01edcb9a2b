"""The graph of a flow, and of a run with its states, as notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _LETTERS = 168, 34, 52, 14, 22
_COLORS = {
    "SUCCESS": "#1a7f4b",
    "FORCED_SUCCESS": "#1a7f4b",
    "FAILURE": "#c62f2f",
    "KILL": "#c62f2f",
    "RUNNING_EXECUTION": "#2463c9",
    "DISPATCH": "#2463c9",
    "SKIPPED": "#9a9a9a",
}
_OTHER = "#6b6b6b"
_WAITING = "#b7791f"


def graph_of(spec: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """The tasks of a definition, and those that each comes after."""
    return {each["name"]: each.get("after", ()) for each in spec["tasks"]}


def svg(graph: Mapping[str, Sequence[str]], states: Mapping[str, str] | None = None) -> str:
    """A graph from left to right, in the order of its tasks.

    Args:
        graph: tasks, and those that each comes after.
        states: of tasks that have one.
    """
    depths, columns = _depths(graph), dict[int, list[str]]()
    for name in graph:
        columns.setdefault(depths[name], []).append(name)
    places = {
        name: (column * (_WIDTH + _ACROSS) + 2, row * (_HEIGHT + _DOWN) + 2)
        for column, names in columns.items()
        for row, name in enumerate(names)
    }
    width = len(columns) * (_WIDTH + _ACROSS) - _ACROSS + 4
    height = max((len(names) for names in columns.values()), default=0) * (_HEIGHT + _DOWN) - _DOWN + 4
    parts = [_arrow(places[other], places[name]) for name, after in graph.items() for other in after if other in places]
    parts += [_box(name, place, (states or {}).get(name, "")) for name, place in places.items()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'{head} font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'


def html(run: Mapping[str, Any], name: str) -> str:
    """A run as the API shows it: its state, why, and its graph."""
    states = {each["name"]: each["state"] for each in run["tasks"] if each.get("element") is None}
    graph = {each["name"]: each["after"] for each in run.get("graph") or ()}
    why = f": {escape(str(run['reason']))}" if run.get("reason") else ""
    head = f"run {escape(str(run['id']))} of {escape(name)}: {_colored(str(run['state']))}{why}"
    return f"<div>{head}</div>{svg(graph or dict.fromkeys(states, ()), states)}"


def _colored(state: str) -> str:
    return f'<b style="color: {_COLORS.get(state, _WAITING)}">{escape(state)}</b>'


def _depths(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many tasks come before each, on the longest way."""
    inner = {name: [each for each in after if each in graph] for name, after in graph.items()}
    found: dict[str, int] = {}
    for name in TopologicalSorter(inner).static_order():
        found[name] = max((found[each] + 1 for each in inner[name]), default=0)
    return found


def _box(name: str, place: tuple[int, int], state: str) -> str:
    x, y = place
    color = _COLORS.get(state, _WAITING if state else _OTHER)
    shown = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    title = f"{name}: {state}" if state else name
    border = f'fill="#fff" stroke="{color}" stroke-width="{2 if state else 1}"'
    middle, at = x + _WIDTH // 2, y + (15 if state else 21)
    lines = [f'<text x="{middle}" y="{at}" text-anchor="middle" fill="#111">{escape(shown)}</text>']
    if state:
        small = f'x="{middle}" y="{y + 28}" text-anchor="middle" font-size="9" fill="{color}"'
        lines.append(f"<text {small}>{escape(state)}</text>")
    rectangle = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" {border}/>'
    return f"<g><title>{escape(title)}</title>{rectangle}{''.join(lines)}</g>"


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y, to_x, to_y = start[0] + _WIDTH, start[1] + _HEIGHT // 2, end[0], end[1] + _HEIGHT // 2
    middle = (x + to_x) // 2
    path = f"M{x},{y} C{middle},{y} {middle},{to_y} {to_x},{to_y}"
    head = f"M{to_x - 6},{to_y - 4} L{to_x},{to_y} L{to_x - 6},{to_y + 4}"
    return f'<path d="{path} {head}" fill="none" stroke="#8a8a8a"/>'
