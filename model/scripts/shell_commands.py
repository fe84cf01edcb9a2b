"""What a command of a bash script does with the text in its arguments.

Commands of `_TAKES_TEXT` treat all arguments as data; those of `_RUNS` and `_READS_CODE` run them. All others get plain
values only, so an unlisted command is no hole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from model.parameters.foreign_values import Need


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TAKES_TEXT = _words(
    "echo printf test [ : true false exit return shift break continue cd pwd cat cp mv rm ln ls mkdir rmdir touch head "
    "tail wc cut tr sort uniq comm diff cmp tee date sleep basename dirname realpath readlink stat du df chmod grep "
    "egrep fgrep gzip gunzip seq md5sum sha256sum hostname whoami id curl logger kill"
)
SET_VARIABLES = _words("export local declare typeset readonly unset read mapfile readarray getopts let wait")
_BEFORE_A_COMMAND = _words(
    "env command builtin exec nohup timeout nice ionice stdbuf setsid sudo doas time xargs flock chroot unshare "
    "nsenter setpriv strace ltrace taskset chrt systemd-run setarch linux32 linux64 choom prlimit unbuffer"
)
_BEFORE_IT = re.compile(r"-|[0-9.]+[smhd]?$|\w+=")
_WORDS_MAX = 200
_TOO_MANY = (Need.NUMBER, "its command has too many words to be read")
_CONTAINERS = _words("docker podman kubectl")
_RUNS = _words(
    "eval . source trap alias bind complete compgen enable hash coproc su sg pkexec parallel ssh rsh watch at batch "
    "crontab script busybox runuser tmux screen vim vi ex ed emacs gdb expect m4 dc bc entr socat nc start-stop-daemon "
    "run-parts capsh ssh-agent dbus-run-session perf"
)
_WRITES = _words("tee cp mv ln install sed")
_RUNS_VALUE = {
    "tar": r"-\w*[IF]|--(checkpoint-action|to-command|use-compress-program|info-script|new-volume-script|rsh-command)",
    "git": r"-c|config|--upload-pack|--receive-pack|--exec",
    "split": "--filter",
    "zip": "-TT|--unzip-command",
    "rsync": "-e|--rsh|--rsync-path",
    "scp": "-S|-o",
}
"""Options whose value a program runs."""
_SHELLS = re.compile(r"(ba|da|z|k|mk|a|fi|c|tc|rba)?sh")
_READS_CODE = re.compile(
    r"(python|pypy|perl|ruby|lua)[0-9.]*|node|nodejs|php|Rscript|tclsh|groovy|scala|julia|deno|bun|[gmn]?awk|g?sed|jq|"
    r"psql|mysql|mariadb|sqlite3|duckdb|hive|beeline|spark-sql|impala-shell|clickhouse(-client)?|sqlplus|trino|presto|"
    r"bq|snowsql|sqlcmd|mongosh?|redis-cli|cqlsh"
)
_IS_QUERY = re.compile(
    r"[gmn]?awk|g?sed|jq|psql|mysql|mariadb|sqlite3|duckdb|hive|beeline|spark-sql|impala-shell|clickhouse(-client)?|"
    r"sqlplus|trino|presto|bq|snowsql|sqlcmd|cqlsh"
)
_RUNS_TEXT = (
    r"system|popen|exec|eval|getline|`|(?<!\|)\|(?!\|)|\bqx\b|subprocess|child_process|spawn|shell|import_module|"
    r"__\w+__|pickle"
)
_OWN_SCRIPTS = (".sh", ".bash", ".py", ".pl", ".rb", ".R", ".js")
_FIRST_IS_CODE = re.compile(r"[gmn]?awk|g?sed|jq|mysql|mariadb|sqlite3|duckdb|redis-cli")


def need_of_command(words: Sequence[str], *, within: bool = False) -> tuple[Need, str]:
    """Which values a command accepts, and why. In its words NUL stands for each part that is known only when it runs.

    `within`: for a command after another one, which checks all words that may be commands themselves.
    """
    if "\0" in words[0]:
        return Need.NUMBER, "which command runs is known only then"
    name = re.sub("^(/usr)?(/local)?/bin/", "", words[0])
    rest = words[1:]
    if name in _BEFORE_A_COMMAND:
        return _wrapped(name, rest, within=within)
    if name in _CONTAINERS:
        return _program(name) if within else max(_program(name), *_any_command(rest))
    if name == "find":
        return _find(rest)
    if name in (".", "source") and _is_file(rest):
        return _program(name)
    if name in _RUNS:
        return Need.NUMBER, f"{name} may run it"
    if name == "set" and "\0" not in "".join(rest):
        return Need.TEXT, ""
    if name in SET_VARIABLES:
        return _names(name, rest)
    if _SHELLS.fullmatch(name):
        return (Need.TEXT, "") if _is_file(rest) else (Need.NUMBER, f"{name} runs it as a script")
    if _READS_CODE.fullmatch(name):
        return _code(name, rest)
    if name == "printf" and (rest[:1] == ["-v"] or "\0" in "".join(rest[:1])):
        return _printf(rest)
    if name in _TAKES_TEXT and not any(re.match("-[vR]$|--compress", word) for word in rest):
        return Need.TEXT, ""
    if _is_own_script(words[0]):
        return Need.TEXT, ""
    return _tool(name, rest)


def script_of_command(words: Sequence[str]) -> str | None:
    """The author's script inside a command that runs it, such as `bash -c '...' _ "${x}"`.

    None also if the script begins with a part that is known only when it runs.
    """
    name, texts = re.sub("^(/usr)?(/local)?/bin/", "", words[0]), words[2:3]
    if name == "eval":
        texts = words[1:]
    elif name == "trap":
        texts = words[2:3] if words[1:2] == ["--"] else words[1:2]
    elif name == "ssh":
        texts = _after_host(words)
    elif not (_SHELLS.fullmatch(name) and re.fullmatch("-[elux]*c", "".join(words[1:2]))):
        return None
    text = " ".join(texts)
    return None if not text or text.startswith(("\0", "-")) else text


def files_written(words: Sequence[str]) -> Sequence[str]:
    """The files that a command may create, besides its redirections."""
    return words[1:] if words[0] in _WRITES else ()


def runs_a_file(command: str) -> bool:
    """Whether a command may run the file named by its first argument."""
    name = command.rpartition("/")[2]
    is_program = _SHELLS.fullmatch(name) or (_READS_CODE.fullmatch(name) and not _FIRST_IS_CODE.fullmatch(name))
    return name in (".", "source") or bool(is_program)


def _printf(rest: Sequence[str]) -> tuple[Need, str]:
    sets = rest[0] == "-v"
    named = "".join(rest[1:2] if sets else rest[1:])
    if "\0" in named or re.fullmatch(DECIDES, named) or (sets and "[" in named):
        return Need.NUMBER, "printf takes it for a variable"
    return (Need.PLAIN, "printf sets a variable to it") if sets else (Need.TEXT, "")


def _wrapped(name: str, rest: Sequence[str], *, within: bool) -> tuple[Need, str]:
    """A command after another one. Options decide which word it is, so any may be."""
    for place, word in enumerate(rest):
        if "\0" in word:
            return Need.NUMBER, f"{name} may run it"
        if not _BEFORE_IT.match(word):
            follows = next((each for each in rest[place + 1 :] if not _BEFORE_IT.match(each) or "\0" in each), "")
            is_second = (place > 0 and rest[place - 1].startswith("-")) or name in (
                "flock",
                "chroot",
                "setarch",
                "taskset",
                "chrt",
            )
            if is_second and "\0" in follows:
                return Need.NUMBER, f"{name} may run it"
            if within:
                return _program(name)
            read = ["\0"] if name == "xargs" else []
            return max(_program(name), *_any_command([*rest[place:], *read]))
    return Need.TEXT, ""


def _any_command(words: Sequence[str]) -> list[tuple[Need, str]]:
    """The needs of each word, taken as a command with the rest as its arguments."""
    if len(words) > _WORDS_MAX:
        return [_TOO_MANY]
    return [
        need_of_command(words[place:], within=True) for place, word in enumerate(words) if word and "\0" not in word
    ] or [(Need.TEXT, "")]


def _find(rest: Sequence[str]) -> tuple[Need, str]:
    begin = next((place for place, word in enumerate(rest) if re.match("-(exec|ok)", word)), None)
    if begin is None:
        return _program("find")
    command = rest[begin + 1 :]
    if not command or "\0" in "".join(command):
        return Need.NUMBER, "find may run it"
    if len(command) > _WORDS_MAX:
        return _TOO_MANY
    return max(_program("find"), need_of_command(command))


def _tool(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    """Any other program. Some run the value of an option."""
    options = _RUNS_VALUE.get(name, "--(.*-)?(exec|execute|command|cmd|program|rsh|hook|shell|eval)")
    if name == "git" and rest and rest[0] in ("config", "-c") and "\0" in "".join(rest):
        return Need.NUMBER, "git may run it"
    for place, word in enumerate(rest):
        if re.fullmatch(f"({options})(=.*)?", word, re.DOTALL) and "\0" in "".join(rest[place : place + 2]):
            return Need.NUMBER, f"{name} may run it"
    return _program(name)


def _names(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    if any("\0" in word.partition("=")[0] for word in rest):
        return Need.NUMBER, f"{name} takes it for a variable's name"
    flags = "".join(word for word in rest if word.startswith("-"))
    if "n" in flags and name in ("declare", "typeset", "local"):
        return Need.NUMBER, f"{name} takes its value for a variable's name"
    if name in ("read", "mapfile", "readarray", "getopts") and any(re.fullmatch(DECIDES, word) for word in rest):
        return Need.NUMBER, f"{name} sets a variable that decides what is run"
    if flags or name not in ("export", "local", "declare", "typeset", "readonly", "unset"):
        return Need.PLAIN, f"{name} makes other text of it, or evaluates it"
    return Need.TEXT, ""


def _code(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    """Programs that read code. A value within the author's text is one plain word there."""
    if _is_file(rest) and not _FIRST_IS_CODE.fullmatch(name):
        return (Need.TEXT, "") if not _IS_QUERY.fullmatch(name) else _program(name)
    rest = _without_data(name, rest)
    code = next((word for word in rest if not word.startswith("-")), "")
    if rest and code and "\0" not in "".join(rest) and _has_code(name, rest):
        runs = re.search(_RUNS_TEXT if not re.fullmatch("g?sed|jq", name) else "$^", code)
        if runs:
            return Need.NUMBER, f"the code of {name} may run it"
        return (Need.TEXT, "") if re.fullmatch("[gmn]?awk|jq", name) else _program(name)
    if any(re.match("\0|.*\0[ew]", word, re.DOTALL) for word in rest):
        return Need.NUMBER, f"{name} may read it as code"
    return Need.WORD if _IS_QUERY.fullmatch(name) else Need.NUMBER, f"{name} may read it as code"


def _has_code(name: str, rest: Sequence[str]) -> bool:
    """Whether the code is in the arguments, so that none comes from standard input."""
    return re.fullmatch("[gmn]?awk|g?sed|jq", name) is not None or any(
        re.fullmatch("-[A-Za-z]*[cepr]", word) for word in rest[:-1]
    )


def _without_data(name: str, rest: Sequence[str]) -> list[str]:
    """The arguments without those that set a variable of the code."""
    left, at = [], 0
    while at < len(rest):
        if name == "jq" and rest[at] == "--arg" and "\0" not in "".join(rest[at + 1 : at + 2]):
            at += 3
        elif re.fullmatch("[gmn]?awk", name) and re.match(r"-v\w+=|-v$", rest[at]):
            at += 2 if rest[at] == "-v" and re.match(r"\w+=", "".join(rest[at + 1 : at + 2])) else 1
        else:
            left.append(rest[at])
            at += 1
    return left


def _after_host(words: Sequence[str]) -> Sequence[str]:
    """What ssh sends to the other host's shell; empty unless its options and the host are all known."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if re.fullmatch("-[A-Za-z]*[bcDEeFIiJLlmOopQRSWw]", words[at]) else 1
    return () if "\0" in "".join(words[: at + 1]) else words[at + 1 :]


def _program(name: str) -> tuple[Need, str]:
    return Need.PLAIN, f"what {name[:50]} does with it is not known"


def _is_own_script(word: str) -> bool:
    """Whether a program is the author's, who knows what it does with its arguments."""
    is_named = word.endswith(_OWN_SCRIPTS) and "/" in word
    return "\0" not in word and (is_named or (word.startswith("./") and len(word) > len("./")))


def _is_file(rest: Sequence[str]) -> bool:
    """Whether the program's own arguments come after the name of a script that the author wrote."""
    return bool(rest) and "\0" not in rest[0] and not rest[0].startswith(("-", "/dev/"))


DECIDES = r"\w*(ENV|HOME|PATH|LIB|OPTS|OPTIONS|FLAGS|COMMAND)|IFS|PS\d|(LD|GIT)_\w+|SHELL|PAGER|EDITOR|VISUAL"
DECLARES = frozenset({"export", "local", "declare", "typeset", "readonly"})
