"""What the SDK makes of a flow, and what it says about a wrong one, without a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

import shoal_sdk
from service.workflows.definition_files import parse_files
from shoal_sdk import TaskOptions, WrongFlow, errors, flow, http, in_task, shell
from shoal_sdk.definition_text import yaml_of
from shoal_sdk.testing import failed, simulate
from tests.sdk import sales, subflows
from tests.sdk.sales import Loaded, daily_sales, extract, load, weekly
from worker.tasks.catalog import TaskCatalog

ROOT = Path(__file__).parent.parent.parent
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def test_a_task_outside_of_a_flow_is_its_function() -> None:
    assert load("a\nb", "sales").rows == 2
    assert extract(on="2026-01-30").startswith("/srv/in/2026-01-30.csv")


def test_a_flow_is_a_definition_that_shoal_takes_and_always_the_same() -> None:
    text = daily_sales.yaml()
    flows = (daily_sales, weekly, sales.steps, sales.everything, sales.large)
    parsed = parse_files([(each.name, each.yaml().encode()) for each in flows], TaskCatalog()).workflows
    for flow_, workflow in zip(flows, parsed, strict=True):
        assert [each.name for each in workflow.spec.tasks] == [each["name"] for each in flow_.spec()["tasks"]]
    here = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sdk'}", "PYTHONHASHSEED": "7"}
    again = "from tests.sdk.sales import daily_sales; import sys; sys.stdout.write(daily_sales.yaml())"
    done = subprocess.run([sys.executable, "-c", again], env=here, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == text


@given(st.dictionaries(texts, values, min_size=1, max_size=4))
def test_its_text_says_what_it_says(spec: dict[str, Any]) -> None:
    text = yaml_of(spec)
    assert json.loads(json.dumps(YAML(typ="safe", pure=True).load(text))) == spec


def test_a_simulated_run_takes_the_branch_that_shoal_takes() -> None:
    given = {"load": Loaded(rows=2, bad=500, files=["x", "bad"]), "join": {"rows": 2, "all": "x"}}
    run = simulate(daily_sales, at="2026-01-31 05:00", results=given)
    assert run.state == "SUCCESS", run.reason
    assert run.values("extract")["on"] == "2026-01-30"
    assert run.states() == {
        "extract": "SUCCESS",
        "load": "SUCCESS",
        "publish": "SKIPPED",
        "notify": "SUCCESS",
        "branch": "SUCCESS",
        "measure": "SUCCESS",
        "join": "SUCCESS",
        "clean_up": "SUCCESS",
    }
    assert run.result == {"rows": 2, "all": "x"}
    broken = simulate(daily_sales, at="2026-01-31 05:00", results={"load": failed})
    assert broken.state == "FAILURE"
    assert broken.states()["publish"] == "NEVER"
    assert broken.states()["clean_up"] == "SUCCESS", "it runs when the others are done, however they ended"
    assert simulate(weekly, at="2026-01-31", results={"notify": "well"}).result == "well"


def test_all_that_a_flow_imports_is_there_in_a_task() -> None:
    stands_in = in_task._shoal_sdk().modules
    public = {
        "shoal_sdk": shoal_sdk.__all__,
        "shoal_sdk.errors": _own(errors),
        "shoal_sdk.testing": ["Simulated", "failed", "simulate"],
    }
    for name, names in public.items():
        assert set(names) <= set(vars(stands_in[name]))
    assert set(public) == set(stands_in)


def _own(module: ModuleType) -> list[str]:
    return [name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__]


def test_a_simulated_run_returns_nothing_that_nobody_gave() -> None:
    assert simulate(weekly, at="2026-01-31").state == "SUCCESS"
    assert simulate(weekly, at="2026-01-31").result is None


def test_code_that_shoal_would_replace_stays_as_it_is() -> None:
    script = next(each for each in daily_sales.spec()["tasks"] if each["name"] == "load")["params"]["script"]
    assert "SystemExit" not in script, "the main program does not run in a task"
    assert "def daily_sales" not in script


def test_a_request_takes_values_by_name() -> None:
    @flow
    def asking(base: str) -> None:
        found = shell("find", "true", outputs={"id": int, "user": str})
        http("ask", "${base}/${id}?of=${user}", headers={"X-Id": "${id}"}, user=found.user, password="p", id=found.id)

    (_, asked) = asking.spec()["tasks"]
    assert asked["local_params"] == [{"name": "id", "type": "LONG", "value": "${find.id}"}]
    assert {"user", "password", "headers"} < set(asked["params"])
    assert "id" not in asked["params"]


def test_a_flow_returns_what_its_subflow_returned() -> None:
    assert subflows.told_by_subflow.spec()["outputs"] == ["returned"]
    assert simulate(subflows.told_by_subflow, at="2026-01-31", results={"told": "well"}).result == "well"


def test_what_a_flow_returns_is_not_taken_for_what_its_subflow_returned() -> None:
    assert subflows.told_beside_subflows.spec()["outputs"] == ["returned_2"]
    with pytest.raises(WrongFlow, match='and task "told" gives one too; let the flow return the result of a @task'):
        subflows.beside_two.spec()


def test_requirements_of_a_task_go_before_those_of_its_flow() -> None:
    @flow(defaults=TaskOptions(requirements=("reef",)))
    def reef() -> None:
        sales.swim()
        extract(on="2026-01-30")

    assert [each["params"]["requirements"] for each in reef.spec()["tasks"]] == [["fish==1"], ["reef"]]
