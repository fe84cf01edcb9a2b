"""A value never becomes code of Python: thousands of scripts run with hostile values, beside a canary."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.parameters import replace_references
from tests.every import every
from worker.tasks.inserted import mark
from worker.tasks.python_values import python_script

SCRIPTS = 2_500

PYTHON_PLACES = [
    "x = @",
    "x = [@, (@), {@: @}]",
    "print(@)",
    "print('@', \"@\", r'@', b'@')",
    "x = f'{@}'",
    "x = f'@'",
    "x = f'{1:@}'",
    "x = f'{1:{@}}'",
    "x = f'{\"@\"}'",
    "x = rf'@' + f'{{@}}'",
    "x = f'''\n@ {@!r}'''",
    'x = """\n@\n"""',
    "x = '\\@'",
    "x = '\\\\@'",
    "# @",
    "#@\nx = 1 # '@",
    "x = 1 + @ * 2",
    "x = -@ ** 2",
    "x@ = 1",
    "x = os.@",
    "x = f@",
    "x = rb@",
    "x = 'a'@",
    "x = @'a'",
    "@",
    "if @: pass",
    'if"@": pass',
    "def f(a=@): return @\nf()",
    "x = lambda: @\nx()",
    "import @",
    "from os import @",
    "x = \\\n@",
    "x = f'{os.getcwd():>{@}}'; y = @",
    "x = f'{1:\">10}'; y = @",
    "eval('@')",
    'exec("@")',
    "eval(@)",
    "x = '@'; exec(x)",
    "e = eval; e('''@''')",
    "os.system('@')",
    "os.system('echo @')",
    "subprocess.run('echo @', shell=True)",
    "os.popen(@)",
    "__import__('@')",
    "exec(compile('@', '', 'exec'))",
    "x = '''@'''.format(os)",
    "x = u'@' if @ else '@'",
    "@ = 1",
    "match @:\n    case _: pass",
    "subprocess.run(@)",
    "subprocess.run([@])",
    "import os, subprocess as sp\nsp.run(['bash', '-c', 'echo @'])",
    "subprocess.run('@'.split())",
    "subprocess.run(['nice', @])",
    "subprocess.run(['env', '@'])",
    "subprocess.run(['split', '--filter=' + @, 'file'])",
    "cmd = [@]; subprocess.run(cmd)",
    "k = {'shell': True}; subprocess.run('@', **k)",
    "s = os.system; s(@)",
    "from os import system as s; s(@)",
    "os.__dict__['sys' + 'tem'](@)",
    "os.spawnlp(os.P_WAIT, @, 'x')",
    "import timeit; timeit.timeit(@, number=1)",
    "import cProfile; cProfile.run(@)",
    "x = f\"{'@'}\"; y = '\\\\\\@'; z = rb'@' + b'@'",
]


def test_no_value_is_run_by_python_wherever_it_stands(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    c = str(canary)
    touch = f"open({c!r}, 'w')"
    values = [
        touch,
        f"'); {touch}; ('",
        f'"); {touch}; ("',
        f"'''; {touch}; '''",
        f"{{{touch}}}",
        f"'{{{touch}}}'",
        f"\n{touch}\n",
        f"\r{touch}\r",
        f"\\'); {touch}; ('",
        f"\f{touch}",
        f"\u2028{touch}",
        f"1; {touch}",
        f"1\n{touch}",
        f"touch {c}",
        f"; touch {c} #",
        f"$(touch {c})",
        "canary",
        "os.environ",
        "trap.x",
        f"__import__('os').system('touch {c}')",
        f"(lambda: {touch})()",
        "\\",
        "'",
        "{",
    ]
    chance = random.Random("python")
    cases = [(place, value) for place in PYTHON_PLACES for value in values]
    while len(cases) < len(PYTHON_PLACES) * len(values) + SCRIPTS:
        cases.append(("\n".join(chance.sample(PYTHON_PLACES, chance.randint(2, 3))), chance.choice(values)))
    scripts: list[tuple[int, str]] = []
    for number, (place, value) in enumerate(cases):
        marked = replace_references(place.replace("@", "${v}"), {"v": value}, mark)
        try:
            scripts.append((number, python_script(marked, {})))
        except Refused:
            continue
    assert len(scripts) > 500
    driver = f"""
import builtins, json, os, subprocess, sys
class Names(dict):
    def __missing__(self, name):
        if name in ('canary', 'trap'): open({c!r}, 'w')
        raise KeyError(name)
sys.stdout = open(os.devnull, 'w')
for number, script in json.load(open('scripts.json')):
    try: exec(script, {{}}, Names(os=os, subprocess=subprocess))
    except BaseException: pass
    if os.path.exists({c!r}): os.unlink({c!r}); print(number, file=sys.stderr)
"""
    (tmp_path / "scripts.json").write_text(json.dumps(scripts))
    run = [sys.executable, "-W", "ignore", "-c", driver]
    found = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False)
    assert found.returncode == 0, found.stderr[-500:]
    broken = [cases[int(line)] for line in found.stderr.split() if line.isdecimal()]
    assert not broken, f"{len(broken)} of {len(scripts)}, such as {broken[:3]}"


@every(
    ("value", "type_", "literal"),
    [
        ("42", None, 42),
        ("-1.5", None, -1.5),
        ("007", None, "007"),
        ("os.environ", None, "os.environ"),
        ("it's \"\n\\", None, "it's \"\n\\"),
        ("äö🐟", None, "äö🐟"),
        ("True", None, "True"),
        ("true", ParameterType.BOOLEAN, True),
        ("42", ParameterType.LONG, 42),
        ("1e3", ParameterType.DOUBLE, 1000.0),
        ('[1, "a", null]', ParameterType.LIST, [1, "a", None]),
        ('{"a": [true, 1.5]}', ParameterType.JSON, {"a": [True, 1.5]}),
        ('"a"', ParameterType.JSON, "a"),
        ("2026-01-31", ParameterType.DATE, "2026-01-31"),
    ],
)
def test_outside_of_quotes_a_value_is_a_literal_of_its_type(
    value: str, type_: ParameterType | None, literal: object
) -> None:
    marked = replace_references("x = ${v}", {"v": value}, mark)
    names: dict[str, object] = {}
    exec(python_script(marked, {"v": type_} if type_ else {}), names)
    assert names["x"] == literal
    assert type(names["x"]) is type(literal)


@every("place", ["'@'", '"@"', "f'@'", "f'{1}@'", "'''@'''", 'u"""@"""', "('a' '@')"])
@every(
    "value",
    [
        "Müller GmbH",
        "It's done (3 rows)!",
        "2026-11-26 05:00:00",
        "https://a/b?x=1&y=2",
        '{"a": ["b"]}',
        "C:\\new",
        "a\nb",
        "",
        "\\",
    ],
)
def test_inside_of_quotes_any_value_is_text(place: str, value: str) -> None:
    marked = replace_references(f"x = {place.replace('@', '${v}')}", {"v": value}, mark)
    names: dict[str, object] = {}
    exec(python_script(marked, {}), names)
    assert str(names["x"]).removeprefix("1" if "{1}" in place else "a" if "(" in place else "") == value


@pytest.mark.parametrize("place", ["r'@'", "rb'@'", "f\"{'@'}\"", "'\\@'"])
def test_where_no_escape_can_stand_a_value_with_quotes_is_refused(place: str) -> None:
    with pytest.raises(Refused, match="could end it"):
        python_script(mark("v", "it's").join(f"x = {place}".split("@")), {})


@pytest.mark.parametrize(
    "place", ["'@'.format(open)", "@.format(open)", "'{} @'.format(1)", "f = str.format; f(@, open)"]
)
def test_a_value_is_no_format_of_the_scripts_objects(place: str) -> None:
    with pytest.raises(Refused, match=r"braces, which format\(\) reads"):
        python_script(mark("v", "{0.__class__}").join(place.split("@")), {})


@pytest.mark.parametrize(
    "script",
    [
        "import os, sys\nos.makedirs('/tmp/x')\nprint('@')",
        "status = 200\ncode = status\nprint(vars, '@')",
        "print('the system is up: use sh')\nprint('@')",
        "model.eval()\nparser.add_argument('-c', default='@')",
    ],
)
def test_an_ordinary_script_takes_any_text(script: str) -> None:
    assert python_script(mark("v", "It's done (3 rows)!").join(script.split("@")), {})


def test_a_value_that_does_not_fit_its_type_is_refused_in_python_too() -> None:
    with pytest.raises(Refused, match='parameter "v" is INTEGER'):
        python_script(mark("v", "os.environ"), {"v": ParameterType.INTEGER})
