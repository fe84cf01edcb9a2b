"""What a run uses, and whether its project may: the one function that decides, for every way of naming a thing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from model.accounts.project_limits import NO_LIMITS, ProjectLimits, limits_of, used_by, used_by_start
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from tests.every import every

LIMITS = ProjectLimits(
    tenants=frozenset({"etl"}),
    worker_groups=frozenset({"default", "big"}),
    environments=frozenset({"spark"}),
    data_sources=frozenset({"shop"}),
    alert_groups=frozenset({"data"}),
)
FITS: dict[str, Any] = {"name": "a", "type": "SHELL", "tenant": "etl"}


def spec(*tasks: dict[str, Any], **fields: Any) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": list(tasks), **fields})


@every(
    ("given", "sentence"),
    [
        (spec({**FITS, "tenant": "root"}), 'the tenant "root", only etl'),
        (spec(FITS, tenant="root"), 'the tenant "root", only etl'),
        (spec({"name": "a", "type": "SHELL"}), "a worker's own tenant: a task names none, only etl"),
        (spec(FITS, {"name": "b", "type": "PLUGIN"}), "a worker's own tenant"),
        (spec({**FITS, "worker_group": "gpu"}), 'the worker group "gpu", only big, default'),
        (spec(FITS, worker_group="gpu"), 'the worker group "gpu"'),
        (spec({**FITS, "environment": "prod"}), 'the environment "prod", only spark'),
        (spec(FITS, environment="prod"), 'the environment "prod"'),
        (spec({"name": "b", "type": "SUB_PROCESS", "params": {"workflow": "x"}, "environment": "prod"}), '"prod"'),
        (spec({"name": "b", "type": "SUB_PROCESS", "params": {"workflow": "x"}, "worker_group": "gpu"}), '"gpu"'),
        (spec({**FITS, "type": "SQL", "params": {"datasource": "hr", "sql": "x"}}), 'the data source "hr", only shop'),
        (spec({**FITS, "type": "PROCEDURE", "params": {"datasource": "hr"}}), 'the data source "hr"'),
        (spec({**FITS, "type": "SQL", "params": {"alert_group": "ops"}}), 'the alert group "ops", only data'),
        (spec(FITS, alert_group="ops"), 'the alert group "ops", only data'),
        (spec(FITS, warning_type="ALL"), 'the alert group "default", only data'),
    ],
)
def test_what_a_definition_names_or_leaves_open_is_refused(given: WorkflowSpec, sentence: str) -> None:
    with pytest.raises(Refused) as error:
        LIMITS.check("p", used_by(given))
    assert f'project "p" may not use {sentence}' in str(error.value) or sentence in str(error.value)
    NO_LIMITS.check("p", used_by(given))


@every(
    ("named", "sentence"),
    [
        ({"worker_group": "gpu"}, 'the worker group "gpu"'),
        ({"environment": "prod"}, 'the environment "prod"'),
        ({"alert_group": "ops"}, 'the alert group "ops"'),
        ({"warning_type": "ALL"}, 'the alert group "default"'),
    ],
)
def test_what_a_start_names_is_refused(named: dict[str, str], sentence: str) -> None:
    nothing = dict.fromkeys(("worker_group", "environment", "alert_group", "warning_type"))
    with pytest.raises(Refused, match=sentence):
        LIMITS.check("p", used_by_start(SimpleNamespace(**{**nothing, **named}), None))
    LIMITS.check("p", used_by_start(SimpleNamespace(**{**nothing, "warning_type": "NONE"}), None))


def test_what_fits_is_allowed_and_logic_tasks_need_no_tenant() -> None:
    LIMITS.check("p", used_by(spec(FITS, {"name": "s", "type": "SUB_PROCESS", "params": {"workflow": "x"}})))
    LIMITS.check("p", used_by(spec({"name": "a", "type": "SHELL"}, tenant="etl", environment="spark")))
    named_later = {**FITS, "type": "SQL", "params": {"datasource": "${source}", "sql": "x"}}
    LIMITS.check("p", used_by(spec(named_later)))


def test_a_row_without_limits_is_the_one_that_masters_compare_with() -> None:
    row = {"tenants": None, "worker_groups": None, "environments": None, "data_sources": None, "alert_groups": None}
    assert limits_of(SimpleNamespace(**row)) is NO_LIMITS
    assert limits_of(SimpleNamespace(**{**row, "tenants": ["a"]})) == ProjectLimits(frozenset({"a"}))
