"""Lists in conditions of SWITCH tasks, which CEL asks by `in`."""

from importers.dolphinscheduler.types.javascript import condition_of
from model.logic.expression import read_condition
from tests.every import every


@every(
    ("written", "meant"),
    [
        ("['a', 'b'].includes('${x}')", "('${x}' in ['a', 'b'])"),
        ('["a","b"].indexOf(${x}) > -1', '(${x} in ["a","b"])'),
        ("['${y}', 'a'].includes('${x}')", "('${x}' in ['${y}', 'a'])"),
        ("['c'].indexOf('${x}') === -1", "!('${x}' in ['c'])"),
    ],
)
def test_a_list_that_includes_a_value_is_asked_by_in(written: str, meant: str) -> None:
    assert condition_of(written) == (meant, "")
    assert read_condition(meant).holds({"x": "a", "y": "b"})
    assert read_condition(meant).holds({"x": "c", "y": "b"}) is False
