"""A value never becomes code of a shell: real bash runs thousands of scripts with hostile values, beside a canary."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from model.choices import ParameterType
from model.errors import Refused
from model.parameters.parameters import replace_references
from tests.every import every
from worker.tasks.bash_values import bash_script
from worker.tasks.inserted import mark

SCRIPTS = 2_500


def hostile(canary: Path) -> list[str]:
    """Values each of which makes the canary when it is read as code in some place."""
    c = str(canary)
    return [
        f"a[$(touch {c})]",
        f"a[`touch {c}`]",
        f"a[$(touch {c})]=1",
        f"x[$(touch {c})]+1",
        f"([$(touch {c})]=1)",
        f"$(touch {c})",
        f"`touch {c}`",
        f"; touch {c} #",
        f"& touch {c} &",
        f"| touch {c}",
        f"\ntouch {c}\n",
        f"\\\ntouch {c}\n",
        f"'; touch {c}; '",
        f'"; touch {c}; "',
        f"')); touch {c}; echo $(('",
        f")); touch {c}; ((1",
        f"]]; touch {c}; [[ 1",
        f"}}; touch {c}; {{ :",
        f"touch {c}",
        f"-v a[$(touch {c})]",
        f"E\ntouch {c}\ncat <<E",
        f"${{x:-$(touch {c})}}",
        f"${{x@P}}$(touch {c})",
        f"a[$(touch${{IFS}}{c})]",
        "SHOAL_PARAM_h",
        f"BASH_ENV={c}",
        f"-exec touch {c} ;",
        f"0]+a[$(touch {c})",
        f"*/; touch {c}; /*",
        f'");system("touch {c}");("',
        f"1e touch {c}",
        f"$[a[$(touch {c})]]",
        str(canary.parent),
        str(canary.parent / "ls"),
    ]


PLACES = [
    "echo @",
    'echo "@"',
    "echo '@'",
    "echo $'a\\n@'",
    'echo $"@"',
    "echo \\@",
    'echo "\\@"',
    "echo a@b'c@d'\"e@f\"",
    "y=@; echo $y",
    'y="@" z=\'@\'; echo "$y$z"',
    "cat <<E\n@\nE",
    "cat <<-E\n\t@ \\@\n\tE",
    "cat <<'E'\n@ $x `y` \\\nE",
    'cat <<"E"\n@\nE',
    'cat <<\\E\n"@"\nE',
    "cat <<E\n$(echo @) ${z:-@}\nE",
    "cat <<< @",
    'cat <<< "@"',
    "# @\n:",
    "echo hi # it's @ \"\necho there",
    "echo $(echo @)",
    'echo "$(echo "@")"',
    "echo `echo @`",
    'echo "`echo "@"`"',
    "echo `echo \\`echo @\\``",
    "echo $((@ + 1))",
    'echo "$(( 2 * @ ))"',
    "(( @ > 3 )) && echo yes",
    "echo $[ @ + 1 ]",
    "if [[ @ -gt 3 ]]; then echo; fi",
    "[[ 1 -lt 2 && 3 -eq '@' ]]",
    '[[ -v @ ]] || [[ "@" == x ]]',
    "[[ @ == x || ! @ =~ ^(a|b)$ ]]",
    "[[ abc =~ @ ]]",
    "[ @ -gt 3 ] || echo no",
    "test @ = yes && echo",
    "test -n @; [ -z @ ]; [ @ ]",
    "[ -v @ ]",
    "test -v @",
    "[ @ @ ]",
    "a[@]=1",
    "a=(1 2); echo ${a[@]}",
    "a=(@ [0]=1); echo ${#a[*]}",
    "declare -A m; m[@]=1; echo ${m[@]}",
    "declare -a q; q=(@); declare q=@",
    "s=abcdef; echo ${s:@:2} ${s:1:@}",
    "s=x; echo ${s:-@} ${t:-@} ${t:=@} ${s/@/@} ${s#@} ${t:+@}",
    'echo "${t:-@}" "${t:-"@"}" "${t:-\'@\'}"',
    "let z=@",
    'let "z = @ + 1"',
    "declare -i n=@",
    "declare -i n; n=@",
    "typeset -i n; n='@'",
    "local -i n=@",
    "f() { local -i n; n=$1; local @; }; f @",
    "f() { eval \"$1\"; }; f '@'",
    "f() { echo $(( $1 )); }; f @",
    "f() { [[ $1 -gt 3 ]]; }; f @",
    "n=@; echo $((n + 1))",
    "n=@; [[ $n -gt 3 ]]",
    "n=@; (( n++ ))",
    "n=@; a[n]=1; echo ${a[$n]}",
    "for i in @; do echo $((i)); done",
    'for i in a @ b; do echo "$i"; done',
    "for ((i = @; i < 3; i++)); do break; done",
    "declare @; export @; readonly @",
    "declare x=@; export y=@; readonly z=@",
    "declare -n r=@; echo $r; r=1",
    "n=@; declare -n r=n; echo ${!n} ${n@P}",
    "n=@; echo ${!n}",
    "echo ${!@}",
    "printf -v @ x",
    "printf -v n %s @; echo $n",
    "printf '%s\\n' @; printf @; printf %d @",
    "unset @",
    "unset 'a[@]'",
    "read @ <<< x",
    'read -r n <<< @; echo "$n"',
    "read -r n <<< @; echo $((n))",
    "mapfile -t @ <<< x; getopts a @",
    "mapfile -C @ -c 1 < <(echo x)",
    "eval @",
    'eval "echo @"',
    "eval 'echo @'",
    "c='@'; eval \"$c\"",
    "trap '@' EXIT; trap - EXIT",
    'trap "echo @" EXIT',
    "source @",
    ". <(echo @)",
    "source /dev/stdin <<< @",
    "bash -c @",
    'bash -c "echo @"',
    "bash -c 'echo @'",
    "bash -ec 'echo $1' _ @",
    "sh <<E\n@\nE",
    "bash <<'E'\necho @\nE",
    "echo @ | bash",
    "cat <<E | sh\necho @\nE",
    "bash <<< @",
    'x=@; bash <<< "$x"',
    "{ echo @; } | bash -s",
    "bash <(echo @)",
    "echo @ > run.sh; bash run.sh",
    "env bash -c @; command eval @; builtin eval @",
    "env FOO=1 sh -c 'echo @'",
    "echo x | xargs -I{} sh -c 'echo {} @'",
    "find . -maxdepth 0 -name @ -exec sh -c 'echo @' \\;",
    "find . -maxdepth 0 @",
    "nice -n 5 timeout 5 bash -c 'echo @'",
    "@",
    "@ x",
    "'@' x",
    "x=1 @",
    "echo | @",
    "if @; then echo; fi",
    "while @; do break; done",
    "case @ in x) echo;; *) echo '@';; esac",
    "case x in @) echo @;; (x) echo $((@));; esac",
    "echo $(case x in x) echo @;; esac) @",
    "case @ in @|b) [[ @ -eq 1 ]];; esac",
    "PS4='@'; set -x; :",
    'PS4="@ "; set -x; echo; set +x',
    "x=1; x+=@; echo $x",
    "declare -i k; k+=@",
    "alias ll=@; complete -C @ y",
    "echo {a,@} ~@ *@",
    "echo @ > out.txt 2>&1",
    "echo x > @.txt",
    "cat < @",
    "(echo @; (echo '@'))",
    "{ echo @; }",
    "! echo @",
    "time echo @",
    "coproc echo @; wait",
    "select x in @; do break; done <<< 1",
    "function g { echo @; }; g",
    "g() (\n  echo @\n); g",
    "echo a\\\n@",
    "awk 'BEGIN { print \"@\" }'",
    "awk -v x=@ 'BEGIN { print x }'",
    "sed -n '@p' /dev/null; sed -n \"s/x/@/p\" <<< x",
    f"{sys.executable} -c 'print(\"@\")'",
    f"{sys.executable} - <<'E'\nprint('@')\nE",
    "perl -e 'print \"@\"'",
    'set -- @; echo "$1"',
    "set -- @; echo $(( $1 ))",
    "exit @",
    "f() { return @; }; f",
    "shift @; ulimit -n @; wait @",
    "wait -p @ -n",
    "echo $((1 + $(echo @)))",
    "echo $(( ${#a[@]} ))",
    "echo $((echo @) | cat)",
    'echo "it\'s" \'"@"\' "\'@\'"',
    'echo "$(cat <<E\n@\nE\n)"',
    "cat <<A <<'B'\n@\nA\n@ $y\nB",
    "echo ${y-'@'} ${y-\"@\"} ${y:-a@b}",
    "[[ -n @ && @ > a && ( @ < b ) ]]",
    "[[ $SHOAL_PARAM_v -gt 3 ]]",
    "echo $((SHOAL_PARAM_v)) @",
    'eval "$SHOAL_PARAM_v"',
    'bash -c "\\$SHOAL_PARAM_v"',
    'bash -c "\\$1" _ "@"',
    'sh -c "\\$0" @; bash -c -- @',
    'eval "\\$SHOAL_PARAM_v"; eval "eval \\$SHOAL_PARAM_v"',
    'export a=@; bash -c "\\$a"',
    'bash -c "true; @"',
    'bash -c "true && env @"',
    'bash -c "x=@; \\$x"',
    'eval "f() { @; }; f"',
    "env -u X bash -c @; env -u X @",
    "env -C . bash -c @",
    "timeout -s KILL 5 bash -c @; timeout -s KILL 5 @",
    "nice -n 5 env -u X bash -c @",
    "stdbuf -o L @; exec -a name @",
    "exec -a name bash -c @",
    "time -p @",
    "flock lock @; flock lock -c @",
    "echo @ | xargs env",
    "echo @ | xargs -I{} sh -c '{}'",
    "echo @ | tee made.sh; bash made.sh",
    "echo @ > a.sh; cp a.sh b.sh; bash b.sh",
    'x=@; trap -- "$x" EXIT',
    "echo @ | awk '{ system($0) }'",
    "awk -v x=@ 'BEGIN { system(x) }'",
    "git -c alias.x=!@ x",
    "tar cf o.tar --checkpoint=1 --checkpoint-action=exec=@ file",
    "tar cf o.tar -I @ file",
    "split --filter @ file; zip -T -TT @ o.zip file",
    "x=@; echo ${x@P}; a=($x); echo ${a[@]@P}",
    "x=@; printf -v 'a[x]' 1",
    "find . -maxdepth 0 -exec @ \\;",
    "PATH=@:$PATH; ls",
    "read -r PATH <<< @; ls",
    "for PATH in @; do ls; done",
    'd=@; export PATH="$d:$PATH"; ls',
    "d=/opt; read -r d <<< @; export PATH=$d:$PATH; ls",
    "export d=@; bash -c 'PATH=$d:$PATH; ls'",
]
"""`@` is the place of a value."""


def rendered(place: str, value: str, values: dict[str, str], types: dict[str, ParameterType] | None = None) -> str:
    marked = replace_references(place.replace("@", "${v}"), {"v": value}, mark)
    return bash_script(marked, {**values, "v": value}, types or {})[0]


class Canary:
    """Runs scripts with their values by real bash, and finds those that made the canary."""

    def __init__(self, folder: Path, types: dict[str, ParameterType] | None = None) -> None:
        self.accepted = 0
        self._folder = folder
        self._types = types or {}

    def broken(self, cases: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        driver = [f"export HOME={self._folder} HISTFILE="]
        (self._folder / "ls").write_text(f"#!/bin/bash\necho > {self._folder}/canary\n")
        (self._folder / "ls").chmod(0o755)
        (self._folder / "file").write_text("b\na\n")
        for number, (place, values) in enumerate(cases):
            marked = replace_references(place.replace("@", "${v}").replace("%%", "${w}"), values, mark)
            try:
                script, variables = bash_script(marked, values, self._types)
            except Refused:
                continue
            self.accepted += 1
            (self._folder / f"{number}.sh").write_text(script)
            given = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
            driver.append(f"(export {given}; . ./{number}.sh) > /dev/null 2>&1 < /dev/null")
            driver.append(f"[ ! -e canary ] || {{ echo {number}; rm canary; }}")
        run = ["timeout", "300", "bash"]
        text = "\n".join(driver)
        found = subprocess.run(run, input=text, capture_output=True, text=True, cwd=self._folder, check=True)
        return [cases[int(number)] for number in found.stdout.split()]


def test_no_value_is_run_by_bash_wherever_it_stands(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    chance = random.Random("bash")
    values = hostile(canary)
    first = f"a[$(touch {canary})]"
    cases = [(place, value) for place in PLACES for value in values]
    while len(cases) < len(PLACES) * len(values) + SCRIPTS:
        cases.append(("\n".join(chance.sample(PLACES, chance.randint(2, 4))), chance.choice(values)))
    run = Canary(tmp_path)
    assert run.broken([(place, {"v": value, "h": first}) for place, value in cases]) == []
    assert run.accepted > 1_000


EXACT = [
    "printf %s @",
    'printf %s "@"',
    "printf %s '@'",
    "printf %s $'@'",
    "printf %s \\@",
    'printf %s "$(printf %s "@"x)" | head -c -1',
    "y='@'; printf %s \"$y\"",
    'f() { printf %s "$1"; }; f @',
    'a=(@ x); printf %s "${a[0]}"',
    'case @ in "$SHOAL_PARAM_v") printf %s @;; esac',
    "bash -c 'printf %s \"$1\"' _ @",
    "if [[ @ == '@' ]]; then printf %s @; fi",
    "# @ it's \nprintf %s @",
    "cat <<E | head -c -1\n@\nE",
    "cat <<'E' | head -c -1\n@\nE",
    "cat <<< @ | head -c -1",
    "case x in\n(y) ;;\nx) printf %s @ ;;\nesac",
    "( cd . && { printf %s @; } )",
]
HARD = ["plain", "it's \"a\" $HOME `pwd` \\ every*thing; & 'more' ~ äöü", "a\n\nb", "-n", "E", " a  b "]


@pytest.mark.parametrize("place", EXACT)
def test_a_shell_script_gets_a_value_to_the_letter_in_all_quotes(place: str) -> None:
    for value in [*HARD, "a[$(touch canary)]"]:
        marked = replace_references(place.replace("@", "${v}"), {"v": value}, mark)
        script, variables = bash_script(marked, {"v": value}, {"v": ParameterType.TEXT})
        run = ["bash", "-c", script]
        ended = subprocess.run(run, capture_output=True, env={**variables, "PATH": "/bin:/usr/bin"}, check=False)
        assert ended.stdout.decode() == value, (run, ended.stderr)


def test_a_quoted_here_document_stays_as_it_is_but_for_its_values() -> None:
    script = rendered("cat <<'E'\n$HOME `x` \\n \\\\ @ $(y)\nE", "it's", {})
    ended = subprocess.run(["bash", "-c", script], capture_output=True, env={"SHOAL_PARAM_v": "it's"}, check=True)
    assert ended.stdout == b"$HOME `x` \\n \\\\ it's $(y)\n"


@every(
    ("place", "said"),
    [
        ("echo\n[[ @ -gt 3 ]]", "script, line 2: .* declare the parameter INTEGER"),
        ("echo $(( @ + 1 ))", "line 1: .* declare the parameter INTEGER"),
        ("a[@]=1", "declare the parameter INTEGER"),
        ("let n=@", "let makes other text of it, or evaluates it"),
        ("declare -i n=@", "declare makes other text of it, or evaluates it"),
        ('eval "echo @"', "eval may run it"),
        ("ssh host ls @", "ssh may run it"),
        ("n=@\n(( n > 1 ))", "line 2: .* is not plain, and bash evaluates arithmetic .* declare"),
        ("load @", "is not plain, and what load does with it is not known; .* v: {type: TEXT}"),
    ],
)
def test_a_refusal_says_which_line_and_how_to_fix_it(place: str, said: str) -> None:
    with pytest.raises(Refused, match=f"(?s){said}") as refused:
        rendered(place, "a[$(touch canary)]", {})
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("place", ["echo $(( @ + 1 ))", "[[ @ -gt 3 ]] && echo", "a[@]=1", "declare -i n=@", "echo @"])
def test_a_parameter_of_type_integer_must_be_one_wherever_it_stands(place: str) -> None:
    for type_ in (ParameterType.INTEGER, ParameterType.LONG):
        assert rendered(place, "42", {}, {"v": type_})
        for value in ("a[$(touch canary)]", "", "1_000", " 5", "x"):
            with pytest.raises(Refused, match="whole number"):
                rendered(place, value, {}, {"v": type_})


def test_the_elements_and_the_keys_of_an_array_are_no_evaluation() -> None:
    script = 'files=(a b); for f in "${files[@]}" "${!files[@]}" "${@:2}"; do cp "$f" "/out/${v}/"; done'
    assert bash_script(replace_references(script, {"v": "prod"}, mark), {"v": "prod"}, {})


@pytest.mark.parametrize("type_", [ParameterType.TEXT, ParameterType.LIST, ParameterType.SECRET, ParameterType.FILE])
def test_a_declared_type_answers_for_its_value(type_: ParameterType) -> None:
    place = 'load @ --data="@"; n=$(date +%d); (( n > 3 )) && echo @'
    value = '[{"note": "it\'s 5 $"}]'
    script, variables = bash_script(
        replace_references(place.replace("@", "${v}"), {"v": value}, mark), {"v": value}, {"v": type_}
    )
    assert value in variables.values()
    with pytest.raises(Refused, match="type: TEXT"):
        rendered(place, value, {})
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=True)


def test_two_names_that_make_one_variable_keep_their_own_values() -> None:
    values = {"a.b": "first", "a_b": "second"}
    script, variables = bash_script(replace_references("printf '%s %s' ${a.b} ${a_b}", values, mark), values, {})
    environment = {**variables, "PATH": "/bin:/usr/bin"}
    ended = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=True)
    assert ended.stdout == b"first second"


def test_a_list_of_words_is_a_list_only_in_a_for() -> None:
    script = rendered("for i in @; do printf '<%s>' $i; done; printf '<%s>' @", "a b", {})
    ended = subprocess.run(["bash", "-c", script], env={"SHOAL_PARAM_v": "a b"}, capture_output=True, check=True)
    assert ended.stdout == b"<a><b><a b>"


@pytest.mark.parametrize(
    "words", ["env " * 60, "sudo -u x docker run " * 30, "find . -exec " * 90, "timeout 5 xargs " * 900]
)
def test_commands_within_commands_are_read_in_a_short_time(words: str) -> None:
    with pytest.raises(Refused):
        rendered(f"{words} bash -c @", "touch x", {})
