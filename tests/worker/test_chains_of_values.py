"""No value becomes code by way of another: real bash runs chains of two values, arrays, options and list arguments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from model.choices import ParameterType
from model.errors import Refused
from tests.every import every
from tests.worker.test_values_as_code import Canary, hostile, rendered

CHAINS = [
    'x="@%%"',
    "x=@; x+=%%",
    'x=@; y="%%"; x="$x$y"',
    'a=(@ %%); x="${a[*]}"',
    'a=("@%%"); x=${a[0]}',
    'x=$(printf "%s%s" @ "%%")',
    'x=`echo "@%%"`',
    'f() { x="$1$2"; }; f @ "%%"',
    'read -r x <<< "@%%"',
    'printf -v x "%s%s" "@" "%%"',
    'set -- "@" "%%"; x="$1$2"',
    'x="@ %%"',
    'x="-%%"; x="@$x"',
    "declare x=@%%",
    'for x in @ "%%" "@%%"; do',
    'x="z@%%"; x="${x#z}"',
    'x=$(cut -c2- <<< "z@%%")',
    'echo "z @%%" | while read -r _ x; do',
]
SINKS = [
    "(( x > 1 ))",
    "echo $((x + 1))",
    "[[ $x -gt 1 ]]",
    "y[x]=1; echo ${y[$x]}",
    "echo ${s:x:1} ${!x} ${x@P}",
    "let y=x",
    "declare -i y=x; declare -n z=x; echo $z",
    'test -v "$x"',
    "[ $x = 1 ]",
    'eval "$x"; eval $x',
    'bash -c "$x"; sh <<< "$x"',
    "$x",
    'env "$x" bash -c true; env $x bash -c true',
    'export "$x"; bash -c true',
    'declare -x "$x"; bash -c true',
    'BASH_ENV="$x" bash -c true',
    'sort "$x" file; sort n $x; sort file $x',
    'tar cf out.tar "$x" file; tar cf out.tar $x',
    'tar cf out.tar "@-%%" file',
    'git "$x" log; git log "$x"; git grep x $x',
    'sed "$x" file; sed -n $x file',
    'make "$x"; make $x',
    'find . -maxdepth 0 "$x"; find . -maxdepth 0 $x',
    'nice "$x"; timeout 1 $x; xargs -a file "$x"',
    'awk "$x" file; perl -e "$x"; python3 -c "$x"',
    'printf -v "$x" x; read -r "$x" <<< y; unset "$x"',
    'trap "$x" EXIT; trap - EXIT',
    'source "$x"; . ./$x',
    'PS4="$x"; set -x; :; set +x',
    "export x; bash -c '(( x > 1 ))'; bash -c 'eval \"$x\"'",
    "f() { (( x > 1 )); eval $x; }; f",
    "if (( x > 1 )); then :; elif (( x )); then :; fi",
    "while ! (( x > 1 )); do break; done; until (( x )); do break; done",
    "for ((i = x; i < 1; i++)); do break; done",
    "case a in a) (( x > 1 ));; esac; [ -z a ] || (( x ))",
    "f() (( x > 1 )); f; function g (( x )); g",
    "{ (( x )); }; ( (( x )) ); time (( x ))",
    "if [[ 1 -eq x ]]; then :; fi; echo ${#x} ${x:x}",
    "set x; shift x; exit x",
    "echo $[x] $((x)) `echo $((x))` $(( $(echo 1) + x ))",
    'cat <<< "$((x))"; cat <<E\n$((x))\nE',
    "y=(1 2); y+=([x]=1); unset 'y[x]'",
    "n=1; ((n+=x)); let n=x; typeset -i m=x; local -i k=x; readonly -i r=x; export -n x",
    'alias l="$x"; PROMPT_COMMAND=$x',
]
CASES = 8_000


def values_of(folder: Path) -> list[str]:
    canary, program = folder / "canary", folder / "program"
    return [
        *hostile(canary),
        f"BASH_ENV={program}",
        f"SHELL={program}",
        f"--compress-program={program}",
        f"--eval=$(shell touch {canary})",
        f"-I{program}",
        f"I{program}",
        f"--checkpoint-action=exec={program}",
        f"--use-compress-program={program}",
        f"-O{program}",
        f"--open-files-in-pager={program}",
        f"-exec {program} ;",
        f"-c alias.log=!{program}",
        "SHOAL_PARAM_h",
        "SHOAL_PARAM_t",
        str(program),
    ]


def test_no_chain_of_two_values_is_run(tmp_path: Path) -> None:
    (tmp_path / "program").write_text(f"#!/bin/bash\ntouch {tmp_path}/canary\n")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "file").write_text("b\na\n")
    (tmp_path / "Makefile").write_text("all:\n\techo\n")
    chance = random.Random("chains")
    values = values_of(tmp_path)
    first = f"a[$(touch {tmp_path}/canary)]"
    cases = []
    for _ in range(CASES):
        value = chance.choice(values)
        cut = chance.randint(0, len(value))
        chain = chance.choice(CHAINS)
        end = "; done" if chain.endswith("do") else ""
        place = chain + ("\n" if not end else " ") + chance.choice(SINKS) + end
        cases.append((place, {"v": value[:cut], "w": value[cut:], "h": first, "t": first}))
    run = Canary(tmp_path, {"t": ParameterType.TEXT})
    assert run.broken(cases) == []
    assert run.accepted > 200


@every(
    ("place", "value"),
    [
        ("make @", "--eval=$(shell touch f)"),
        ("sort n @", "--compress-program=/bin/x"),
        ('sort n "@"', "-T/tmp"),
        ("env @ bash -c true", "BASH_ENV=/tmp/x"),
        ("env -i @ bash -c true", "/tmp/x"),
        ('rm "@"', "-rf"),
        ('x=@; rm "$x"', "-rf"),
        ('for x in @; do rm "$x"; done', "a -rf"),
        ('x="@"; tar cf o.tar $x', "a --checkpoint-action=exec=x"),
        ('rm "@-old"', ""),
        ("make @", "SHELL=/tmp/x"),
        ("cp @ /tmp", "-t"),
    ],
)
def test_a_value_is_no_option_and_no_assignment(place: str, value: str) -> None:
    with pytest.raises(Refused, match="declare in the task's local_params"):
        rendered(place, value, {})
    assert rendered(place, "2026-01-31", {})


def test_a_value_that_looks_like_an_option_may_stand_inside_of_a_text() -> None:
    assert rendered('echo "note: @" "--note=@"; cat <<E\n@\nE', "-n it's", {})
