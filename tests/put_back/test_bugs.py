"""Every bug can still be put back, and its test exists; `make put-back` checks that the test finds it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.every import every
from tests.put_back.bug import Bug, Patch, Switch
from tests.put_back.bugs import BUGS
from tests.simulation.protections import Protections
from tests.simulation.test_switches import FOUND

ROOT = Path(__file__).parents[2]
SWITCHED = [bug for bug in BUGS if isinstance(bug.back_by, Switch)]
PATCHED = [bug for bug in BUGS if isinstance(bug.back_by, Patch)]


@every("bug", SWITCHED)
def test_a_switch_is_one_of_the_simulation_and_has_a_seed(bug: Bug) -> None:
    assert isinstance(bug.back_by, Switch)
    assert hasattr(Protections(), bug.back_by.name)
    assert bug.back_by.name in FOUND


@every("bug", PATCHED)
def test_a_patch_fits_the_file_as_it_is_and_its_test_is_there(bug: Bug) -> None:
    patch = bug.back_by
    assert isinstance(patch, Patch)
    text = (ROOT / patch.file).read_text()
    assert text.count(patch.old) == 1
    if patch.file.endswith(".py"):
        ast.parse(text.replace(patch.old, patch.new))
    file, _, name = bug.found_by.partition("::")
    tests = ast.parse((ROOT / file).read_text()).body
    assert name in [each.name for each in tests if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
