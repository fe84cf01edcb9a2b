"""The web page in Chromium: on a `shoal up`, as its administrator, what takes how long until it is on the screen.

Times are taken inside the page, from what starts something (a press, the navigation) to the first frame in which its
result can be seen. Nothing of the driver is in them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
import psycopg
from playwright.sync_api import Browser, Page, sync_playwright

from bench import api
from bench.cluster import BenchFailed
from bench.figures import Figure, Target
from bench.sizes import Sizes
from tests.page.conftest import ARGUMENTS
from tests.page.running import RunningShoal, running_shoal
from tests.servers.chromium import chromium

PART = "The web page, in Chromium on the same machine"
_LAPTOP = {"width": 1440, "height": 900}
_LAYERS = 20
_LOG_LINE = "a line of the long log, as tasks print them"
_WAIT_MS = 120_000
_PAN_S = 2.0

# Before anything of a page runs. `shown(find)`: milliseconds since the navigation or `since` until `find` finds
# something, looked for in each frame, and painted.
_WATCH = """
window.vitals = {lcp: 0, cls: 0, long: 0};
new PerformanceObserver(list => { for (const e of list.getEntries()) vitals.lcp = e.startTime })
  .observe({type: 'largest-contentful-paint', buffered: true});
new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) vitals.cls += e.value })
  .observe({type: 'layout-shift', buffered: true});
new PerformanceObserver(list => { for (const e of list.getEntries()) vitals.long = Math.max(vitals.long, e.duration) })
  .observe({type: 'longtask', buffered: true});
window.shown = (find, since = 0) => new Promise((resolve, reject) => {
  const look = () => {
    if (find()) requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - since)));
    else if (performance.now() - since > 60000) reject(new Error(`not there after a minute: ${find}`));
    else requestAnimationFrame(look);
  };
  look();
});
"""
_NOW_IS_THERE = "() => shown(() => document.querySelector('h1, h2') && !document.querySelector('.skeleton'))"
_OPEN_RUN = """id => {
  const since = performance.now();
  document.querySelector(`a[href$="/runs/${id}"]`).click();
  return shown(() => document.querySelector('.canvas-graph canvas')?.width > 300, since);
}"""
_CANVAS_IS_THERE = "() => shown(() => document.querySelector('.canvas-graph canvas')?.width > 300)"
_COUNT_FRAMES = """() => {
  window.frames_ = []; window.isCounting = true;
  const count = at => { frames_.push(at); if (isCounting) requestAnimationFrame(count) };
  requestAnimationFrame(count);
}"""
_FRAMES_PER_S = """() => {
  isCounting = false;
  return (frames_.length - 1) / (frames_.at(-1) - frames_[0]) * 1000;
}"""
_TASKS_ARE_THERE = "() => shown(() => document.querySelector('.react-flow__node'))"
_SELECT = """place => {
  const node = document.querySelectorAll('.react-flow__node')[place];
  const name = node.querySelector('b').textContent;
  const since = performance.now();
  node.click();
  return shown(() => document.querySelector('.properties h2')?.textContent === name, since);
}"""
_LOG_IS_THERE = (
    "text => shown(() => [...document.querySelectorAll('.log-row')].some(e => e.textContent.includes(text)))"
)
_TO_START = """text => {
  const since = performance.now();
  [...document.querySelectorAll('.log footer button')][0].click();
  return shown(() => document.querySelector('.log-row')?.textContent.includes(text), since);
}"""
_LIST_IS_THERE = "() => shown(() => document.querySelector('[data-row]'))"
_OLDER = """() => {
  const first = document.querySelector('[data-row]').dataset.row;
  const since = performance.now();
  [...document.querySelectorAll('.panel footer button')].at(-1).click();
  return shown(() => {
    const row = document.querySelector('[data-row]');
    return row && row.dataset.row !== first && !document.querySelector('.panel[aria-busy=true]');
  }, since);
}"""
_STAMP_ENDS = """() => {
  window.ends = {};
  const look = () => {
    for (const row of document.querySelectorAll('[data-row]'))
      if (row.querySelector('[data-s=SUCCESS]')) ends[row.dataset.row] ??= Date.now();
    requestAnimationFrame(look);
  };
  look();
}"""


def page(sizes: Sizes) -> list[Figure]:
    """All figures of the part, on a `shoal up` of its own with one master and one worker."""
    with tempfile.TemporaryDirectory() as folder, running_shoal(Path(folder), 1, 1) as running:
        large, long = _prepare(running, sizes)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            state = Path(folder, "state.json")
            _log_in(browser, running, state)
            try:
                return [
                    *_first_load(browser, running, state, sizes),
                    *_large_run(browser, running, state, large, sizes),
                    *_editor(browser, running, state, sizes),
                    *_long_log(browser, running, state, long, sizes),
                    *_list(browser, running, state, sizes),
                    _idle(browser, running, state, sizes),
                ]
            finally:
                browser.close()


def _prepare(running: RunningShoal, sizes: Sizes) -> tuple[str, str]:
    """A run of many tasks, one with a long log, and a history; the ids of the first two."""
    running.apply("large.yaml", _layered(sizes.page_tasks))
    running.apply("drawn.yaml", _layered(sizes.page_drawn, "drawn"))
    script = f"seq -f '%.0f {_LOG_LINE}' {sizes.page_log_lines}"
    running.apply("long.yaml", f'name: long\ntasks: [{{name: long, type: SHELL, params: {{script: "{script}"}}}}]\n')
    running.apply("short.yaml", "name: short\ntasks: [{name: one, type: FAKE, params: {sleep_s: 0.2}}]\n")
    for name in ("large", "long"):
        running.shoal("run", name, "--wait")
    large, long = (str(running.json("runs", "--workflow", name)[0]["id"]) for name in ("large", "long"))
    url = running.json("db", "url")["url"]
    with psycopg.connect(url, autocommit=True) as connection:
        api.insert_history(connection, sizes.api_runs)
    return large, long


def _layered(tasks: int, name: str = "large") -> str:
    """A workflow in which each task comes after two of the layer before it: no two are alike."""
    width = tasks // _LAYERS
    lines = [f"name: {name}", "tasks:"]
    for number in range(tasks):
        layer, place = divmod(number, width)
        after = f", after: [t{number - width}, t{(layer - 1) * width + (place + 1) % width}]" if layer else ""
        lines.append(f"  - {{name: t{number}, type: FAKE{after}}}")
    return "\n".join(lines) + "\n"


def _log_in(browser: Browser, running: RunningShoal, state: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(running.login_link)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{running.url}/")
    context.storage_state(path=state)
    context.close()


@contextmanager
def _opened(browser: Browser, state: Path) -> Iterator[Page]:
    """A page with an empty cache, logged in, which watches itself."""
    context = browser.new_context(storage_state=state, viewport=_LAPTOP, locale="en-GB")  # type: ignore[arg-type]
    context.set_default_timeout(_WAIT_MS)
    context.add_init_script(_WATCH)
    yield context.new_page()
    context.close()


def _first_load(browser: Browser, running: RunningShoal, state: Path, sizes: Sizes) -> list[Figure]:
    """Now, with nothing in the browser's cache: what a person waits for, and what comes over the wire."""
    times, lcps, shifts, sent = [], [], [], 0
    for _ in range(sizes.page_rounds):
        with _opened(browser, state) as opened:
            opened.goto(running.url + "/")
            times.append(float(opened.evaluate(_NOW_IS_THERE)))
            opened.wait_for_timeout(500)
            vitals = opened.evaluate("vitals")
            lcps.append(float(vitals["lcp"]))
            shifts.append(float(vitals["cls"]))
            sent = int(
                opened.evaluate(
                    "performance.getEntriesByType('resource').filter(e => /[.](js|css)$/.test(e.name))"
                    ".reduce((sum, e) => sum + e.encodedBodySize, 0)"
                )
            )
    return [
        _figure("page_first_shown_ms", "first load, Now without a placeholder, p50", times, Target(1000, "lower")),
        _figure("page_first_lcp_ms", "first load, largest contentful paint, p50", lcps, Target(1000, "lower")),
        Figure("page_first_cls", PART, "first load, layout shift (CLS), the largest", max(shifts), "", _of(0.1)),
        Figure("page_first_kb", PART, "first load, scripts and styles as sent", sent / 1000, "kB", _of(260)),
    ]


def _large_run(browser: Browser, running: RunningShoal, state: Path, run: str, sizes: Sizes) -> list[Figure]:
    """A run of many tasks: pressed in the list, opened by its address, and dragged."""
    pressed, addressed, rates = [], [], []
    for _ in range(sizes.page_rounds):
        with _opened(browser, state) as opened:
            opened.goto(f"{running.url}/runs?workflow=large")
            opened.locator(f'a[href$="/runs/{run}"]').first.wait_for()
            pressed.append(float(opened.evaluate(_OPEN_RUN, run)))
        with _opened(browser, state) as opened:
            opened.goto(f"{running.url}/runs/{run}")
            addressed.append(float(opened.evaluate(_CANVAS_IS_THERE)))
            rates.append(_dragged(opened))
    tasks = f"{sizes.page_tasks:,} tasks"
    return [
        _figure("page_run_pressed_ms", f"a run of {tasks} opens from the list, p50", pressed, _of(1500)),
        _figure("page_run_opened_ms", f"a run of {tasks} opens by its address, p50", addressed, _of(1500)),
        Figure(
            "page_pan_fps",
            PART,
            f"frames while its graph of {tasks} is dragged, the fewest",
            min(rates),
            "/s",
            Target(45, "higher"),
        ),
    ]


def _editor(browser: Browser, running: RunningShoal, state: Path, sizes: Sizes) -> list[Figure]:
    """The editor of many tasks: until the first are there, and from a press on one to its fields."""
    opened_ms, selected_ms = [], []
    for _ in range(sizes.page_rounds):
        with _opened(browser, state) as opened:
            opened.goto(f"{running.url}/workflows/default/drawn")
            opened_ms.append(float(opened.evaluate(_TASKS_ARE_THERE)))
            opened.wait_for_timeout(2000)
            selected_ms += [float(opened.evaluate(_SELECT, place)) for place in range(3)]
    tasks = f"{sizes.page_drawn:,} tasks"
    return [
        _figure("page_editor_shown_ms", f"the editor of {tasks} shows the first, p50", opened_ms, _of(2000)),
        _figure("page_editor_select_ms", "a task pressed in it → its fields, p50", selected_ms, _of(100)),
    ]


def _dragged(opened: Page) -> float:
    """Frames a second while the graph is dragged to and fro."""
    box = opened.locator(".canvas-graph canvas").bounding_box()
    if box is None:
        raise BenchFailed("the graph of the run is not on the screen")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    opened.mouse.move(x, y)
    opened.mouse.down()
    opened.evaluate(_COUNT_FRAMES)
    ends, step = time.monotonic() + _PAN_S, 0
    while time.monotonic() < ends:
        step += 1
        opened.mouse.move(x + 150 * ((step // 25) % 2 * 2 - 1) * (step % 25) / 25, y + step % 40)
    rate = float(opened.evaluate(_FRAMES_PER_S))
    opened.mouse.up()
    return rate


def _long_log(browser: Browser, running: RunningShoal, state: Path, run: str, sizes: Sizes) -> list[Figure]:
    """A log of very many lines, which opens at its end; then its start."""
    opened_ms, start_ms = [], []
    for _ in range(sizes.page_rounds):
        with _opened(browser, state) as opened:
            opened.goto(f"{running.url}/runs/{run}?tab=logs&task=long")
            opened_ms.append(float(opened.evaluate(_LOG_IS_THERE, f"{sizes.page_log_lines} {_LOG_LINE}")))
            if opened.locator(".log footer button").count():
                start_ms.append(float(opened.evaluate(_TO_START, f"1 {_LOG_LINE}")))
    lines = f"{sizes.page_log_lines:,} lines"
    figures = [
        _figure("page_log_ms", f"the page of a log of {lines} loads and shows its end, p50", opened_ms, _of(1500))
    ]
    if start_ms:
        figures.append(
            _figure("page_log_start_ms", f"its start, pressed at the end of {lines}, p50", start_ms, _of(500))
        )
    return figures


def _list(browser: Browser, running: RunningShoal, state: Path, sizes: Sizes) -> list[Figure]:
    """The list of runs over a long history: its older pages; and how soon a run's end is on the screen."""
    runs = f"{sizes.api_runs:,} runs"
    with _opened(browser, state) as opened:
        opened.goto(f"{running.url}/runs")
        opened.evaluate(_LIST_IS_THERE)
        opened.wait_for_timeout(1000)
        pages = [float(opened.evaluate(_OLDER)) for _ in range(sizes.page_steps)]
        opened.goto(f"{running.url}/runs?workflow=short")
        opened.evaluate(_STAMP_ENDS)
        for _ in range(sizes.page_changes):
            running.shoal("run", "short", "--wait")
        opened.wait_for_timeout(2000)
        seen = opened.evaluate("ends")
    with psycopg.connect(running.json("db", "url")["url"], autocommit=True) as connection:
        ended = connection.execute(
            "SELECT id::text, extract(epoch FROM ended_at) * 1000 FROM workflow_instance WHERE workflow_code ="
            " (SELECT code FROM workflow_definition WHERE name = 'short')"
        ).fetchall()
    late = [seen[id_] - float(at) for id_, at in ended if id_ in seen]
    if len(late) != sizes.page_changes:
        raise BenchFailed(f"of {sizes.page_changes} runs that ended, {len(late)} were seen to end on the page")
    return [
        _figure("page_list_ms", f"the next page of the list of {runs}, p50", pages, _of(300)),
        Figure("page_change_ms", PART, "a run's end in the database → on the screen, the latest", max(late), "ms",
               _of(1000), f"{len(late)} runs, p50 {median(late):.0f} ms"),
    ]  # fmt: skip


def _idle(browser: Browser, running: RunningShoal, state: Path, sizes: Sizes) -> Figure:
    """The load of all browser processes while nothing happens and Now is open."""
    with _opened(browser, state) as opened:
        opened.goto(running.url + "/")
        opened.evaluate(_NOW_IS_THERE)
        opened.wait_for_timeout(5000)
        family = [each for each in psutil.Process().children(recursive=True) if "chrom" in each.name()]
        before, began = _cpu_s(family), time.monotonic()
        opened.wait_for_timeout(sizes.idle_s * 1000)
        share = (_cpu_s(family) - before) / (time.monotonic() - began) * 100
    return Figure("page_idle_cpu", PART, "processor of an idle page, all of the browser", share, "% of a core", _of(1))


def _cpu_s(processes: list[psutil.Process]) -> float:
    times = [each.cpu_times() for each in processes if each.is_running()]
    return sum(each.user + each.system for each in times)


def _of(limit: float) -> Target:
    return Target(limit, "lower")


def _figure(key: str, what: str, times_ms: list[float], target: Target) -> Figure:
    how = f"{len(times_ms)} times, {min(times_ms):.0f} to {max(times_ms):.0f} ms"
    return Figure(key, PART, what, median(times_ms), "ms", target, how)
