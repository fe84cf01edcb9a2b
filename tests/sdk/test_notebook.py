"""What a notebook shows of flows and runs, by the formatter and the publisher of IPython."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from shoal_sdk import AsyncClient
from shoal_sdk.notebook import svg
from tests.sdk import sales
from tests.sdk.conftest import Shoal

SVG = "{http://www.w3.org/2000/svg}"


def shown(thing: object) -> dict[str, str]:
    """What the formatter of a notebook makes of a value, by its kind."""
    made: dict[str, str] = InteractiveShell.instance().display_formatter.format(thing)[0]
    return made


def titles(text: str) -> list[str]:
    return [str(each.text) for each in ElementTree.fromstring(text).iter(f"{SVG}title")]


def test_a_flow_is_its_graph() -> None:
    found = shown(sales.daily_sales)["image/svg+xml"]
    assert sorted(titles(found)) == sorted(each["name"] for each in sales.daily_sales.spec()["tasks"])
    arrows = list(ElementTree.fromstring(found).iter(f"{SVG}path"))
    assert len(arrows) == sum(len(each.get("after", ())) for each in sales.daily_sales.spec()["tasks"])


def test_a_long_graph_and_odd_names_are_drawn() -> None:
    graph = {f"<{place}> & a name that is rather long": [] for place in range(1_500)}
    names = list(graph)
    found = svg({name: names[place - 1 : place] for place, name in enumerate(names)}, {names[0]: "SUCCESS"})
    assert titles(found)[:2] == [f"{names[0]}: SUCCESS", names[1]]


async def test_a_run_is_its_graph_with_the_states_of_its_tasks_until_its_end(shoal: Shoal, tmp_path: Path) -> None:
    shutil.copy(sales.__file__, tmp_path / "sales.py")
    shoal.sdk("deploy", "sales.py", "--project", "notebook", folder=tmp_path)
    InteractiveShell.instance()
    with shoal.client() as client, capture_output() as captured:
        run = client.start(sales.daily_sales, project="notebook", on="2026-01-31").watch(every_s=0.2)
        last = shown(run)["text/html"]
        first = len(captured.outputs)
        async with AsyncClient(shoal.url, shoal.token) as other:
            again = await (await other.start(sales.daily_sales, project="notebook", on="2026-01-30")).watch(0.2)
            assert await again.state() == run.state == "SUCCESS"
    pages = [each.data["text/html"] for each in captured.outputs]
    assert f"run {again.id} of daily_sales: <b" in pages[-1]
    assert "SUCCESS</b>" in pages[-1]
    pages = pages[:first]
    assert len(pages) >= 2
    assert "RUNNING_EXECUTION" in pages[0]
    assert pages[-1] == last
    assert f"run {run.id} of daily_sales" in last
    states = dict(each.split(": ") for each in titles(last[last.index("<svg") :]) if ": " in each)
    assert states["extract"] == "SUCCESS"
