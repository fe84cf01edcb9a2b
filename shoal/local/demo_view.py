"""The display of `shoal demo`: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from model.runs.states import WorkflowState
from service.words import STATES

STORY_LINES = 8
PLAIN_EVERY_S = 2.0
BAR_WIDTH = 40


@dataclass(frozen=True)
class MasterPicture:
    """One master: its name, its slot as it sees it (empty: none), commands taken in all its lives, runs it owns."""

    name: str
    lives: bool
    slot: str
    taken: int
    owned: int


@dataclass(frozen=True)
class Picture:
    """One moment of the demo. `at_s` counts from its beginning; `wanted` is the expected number of runs at the end."""

    at_s: float
    wanted: int
    inserted: int
    waiting: int
    masters: Sequence[MasterPicture]
    runs: dict[WorkflowState, int] = field(default_factory=dict)
    tasks: int = 0

    @property
    def ended(self) -> int:
        return sum(number for state, number in self.runs.items() if state.is_final)


class View(Protocol):
    """A display of the demo."""

    def show(self, picture: Picture) -> None: ...

    def say(self, at_s: float, sentence: str) -> None: ...

    def close(self) -> None: ...


class PlainView:
    """Lines for pipes and logs: events at once, the numbers now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown_s = -PLAIN_EVERY_S

    def show(self, picture: Picture) -> None:
        """Print the numbers, if the last were printed some time ago."""
        if picture.at_s - self._shown_s < PLAIN_EVERY_S:
            return
        self._shown_s = picture.at_s
        masters = "   ".join(
            f"{each.name} {each.slot or ('no slot' if each.lives else 'dead')} took {each.taken} owns {each.owned}"
            for each in picture.masters
        )
        self._print(picture.at_s, f"{picture.ended}/{picture.wanted} runs ended, {picture.waiting} wait   {masters}")

    def say(self, at_s: float, sentence: str) -> None:
        self._print(at_s, sentence)

    def close(self) -> None:
        """Nothing to do."""

    def _print(self, at_s: float, line: str) -> None:
        self._console.print(f"{at_s:5.1f} s  {line}", markup=False, highlight=False, crop=False, overflow="ignore")


class LiveView:
    """A view that is redrawn in place, with the last events below."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._story: list[str] = []
        self._live = Live(console=console, refresh_per_second=8, transient=False)
        self._live.start()

    def show(self, picture: Picture) -> None:
        self._live.update(drawn(picture, self._story))

    def say(self, at_s: float, sentence: str) -> None:
        """Add the event to the list; it is drawn with the next picture."""
        self._story = [*self._story, f"{at_s:5.1f} s  {sentence}"][-STORY_LINES:]

    def close(self) -> None:
        """Leave the last picture on the screen and release the terminal."""
        self._live.stop()


def drawn(picture: Picture, story: Sequence[str]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("MASTER")
    for title in ("SLOT", "COMMANDS TAKEN", "RUNS OWNED"):
        table.add_column(title, justify="right")
    for each in picture.masters:
        sign, style = ("●", "green") if each.slot else ("✝", "red") if not each.lives else ("◌", "yellow")
        slot = each.slot or ("-" if each.lives else "dead")
        table.add_row(Text(f"{sign} {each.name}", style), Text(slot, style), str(each.taken), str(each.owned))
    states = Text()
    for state, number in sorted(picture.runs.items()):
        sign, style = STATES.get(state, ("?", ""))
        states.append(f"{sign} {number} {state}   ", style)
    bar = ProgressBar(total=picture.wanted, completed=picture.ended, width=BAR_WIDTH)
    progress = Table.grid(padding=(0, 1))
    progress.add_row(bar, f"{picture.ended} of {picture.wanted} runs ended, {picture.tasks} tasks")
    return Group(
        Text(
            f"shoal demo   {picture.at_s:.0f} s   {picture.inserted} commands inserted, {picture.waiting} wait", "bold"
        ),
        Text(),
        table,
        Text(),
        progress,
        states,
        Text(),
        *(Text(line) for line in story),
    )


def make_view(*, silent: bool) -> View:
    """The display that fits standard output; `silent` shows nothing."""
    console = Console(markup=False, highlight=False, emoji=False, quiet=silent)
    return LiveView(console) if console.is_terminal and not silent else PlainView(console)
