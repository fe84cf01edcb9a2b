"""What a command of a bash script does with text that it is given.

Commands of `_TAKES_TEXT` treat arguments as data, whatever they are; those of `_RUNS` and `_READS_CODE` run them. All
others get plain values only, so a command that is in no list is no hole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from model.foreign_values import Need


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TAKES_TEXT = _words(
    "echo printf test [ : true false exit return shift break continue cd pwd cat cp mv rm ln ls mkdir rmdir touch head "
    "tail wc cut tr sort uniq comm diff cmp tee date sleep basename dirname realpath readlink stat du df chmod grep "
    "egrep fgrep gzip gunzip seq md5sum sha256sum hostname whoami id curl logger"
)
SET_VARIABLES = _words("export local declare typeset readonly unset read mapfile readarray getopts let wait")
_BEFORE_A_COMMAND = _words("env command builtin exec nohup timeout nice ionice stdbuf setsid sudo time")
_RUNS = _words(
    "eval . source trap alias bind complete compgen enable hash coproc doas su xargs parallel ssh rsh watch at "
    "batch crontab script chroot unshare nsenter setpriv busybox strace flock taskset chrt systemd-run runuser docker "
    "podman kubectl tmux screen vim vi ex ed emacs gdb expect m4 dc bc"
)
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
_FIRST_IS_CODE = re.compile(r"[gmn]?awk|g?sed|jq|mysql|mariadb|sqlite3|duckdb|redis-cli")


def need_of_command(words: Sequence[str]) -> tuple[Need, str]:
    """What values a command accepts, and why. In its words NUL stands for each part that is known only when it runs."""
    if "\0" in words[0]:
        return Need.NUMBER, "which command runs is known only then"
    name = re.sub("^(/usr)?/bin/", "", words[0])
    rest = words[1:]
    if name in _BEFORE_A_COMMAND:
        return _wrapped(name, rest)
    if name in _RUNS or (name == "find" and any(re.match("-(exec|ok)", word) for word in rest)):
        return Need.NUMBER, f"{name} may run it"
    if name == "set" and "\0" not in "".join(rest):
        return Need.TEXT, ""
    if name in SET_VARIABLES:
        return _names(name, rest)
    if _SHELLS.fullmatch(name):
        return _program(name) if _is_file(rest) else (Need.NUMBER, f"{name} runs it as a script")
    if _READS_CODE.fullmatch(name):
        return _code(name, rest)
    if name == "printf" and (rest[:1] == ["-v"] or "\0" in "".join(rest[:1])):
        takes_name = "\0" in "".join(rest[1:2] if rest[0] == "-v" else rest[1:])
        is_text = rest[0] != "-v" and not takes_name
        return Need.NUMBER if takes_name else Need.TEXT if is_text else Need.PLAIN, "printf takes it for a variable"
    if name in _TAKES_TEXT and not any(re.match("-[vR]$|--compress", word) for word in rest):
        return Need.TEXT, ""
    return _program(name)


def script_of_command(words: Sequence[str]) -> str | None:
    """The script that the author wrote into a command that runs it, such as `bash -c '...' _ "${x}"`."""
    texts = words[1:2]
    if re.fullmatch("(/usr)?(/bin/)?(ba|da)?sh", words[0]) and re.fullmatch("-[eux]*c", "".join(texts)):
        texts = words[2:3]
    elif words[0] == "eval":
        texts = words[1:]
    elif words[0] != "trap":
        return None
    return None if not texts or "\0" in "".join(texts) else " ".join(texts)


def runs_a_file(command: str) -> bool:
    """Whether its first argument may be a file that it runs."""
    name = command.rpartition("/")[2]
    return name in (".", "source") or (_SHELLS.fullmatch(name) or _READS_CODE.fullmatch(name)) is not None


def _wrapped(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    for place, word in enumerate(rest):
        if "\0" in word:
            return Need.NUMBER, f"{name} may run it"
        if not re.match(r"-|[0-9.]+[smhd]?$|\w+=", word):
            return max(need_of_command(rest[place:]), _program(name))
    return Need.TEXT, ""


def _names(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    """Builtins that set variables."""
    if any("\0" in word.partition("=")[0] for word in rest):
        return Need.NUMBER, f"{name} takes it for a variable's name"
    flags = "".join(word for word in rest if word.startswith("-"))
    if "n" in flags and name in ("declare", "typeset", "local"):
        return Need.NUMBER, f"{name} takes its value for a variable's name"
    if flags or name not in ("export", "local", "declare", "typeset", "readonly", "unset"):
        return Need.PLAIN, f"{name} makes other text of it, or evaluates it"
    return Need.TEXT, ""


def _code(name: str, rest: Sequence[str]) -> tuple[Need, str]:
    """Programs that read code. A value inside of a text of the author's is one plain word there."""
    if _is_file(rest) and not _FIRST_IS_CODE.fullmatch(name):
        return _program(name)
    if any(re.match("\0|.*\0[ew]", word, re.DOTALL) for word in rest):
        return Need.NUMBER, f"{name} may read it as code"
    return Need.WORD if _IS_QUERY.fullmatch(name) else Need.NUMBER, f"{name} may read it as code"


def _program(name: str) -> tuple[Need, str]:
    return Need.PLAIN, f"what {name[:50]} does with it is not known"


def _is_file(rest: Sequence[str]) -> bool:
    """Whether a program's own arguments come after the name of a script that the author wrote."""
    return bool(rest) and "\0" not in rest[0] and not rest[0].startswith(("-", "/dev/"))


DECIDES = r"\w*(ENV|PATH|LIB|OPTS|OPTIONS|FLAGS|COMMAND)|IFS|PS\d|(LD|GIT)_\w+|SHELL|PAGER|EDITOR|VISUAL"
DECLARES = frozenset({"export", "local", "declare", "typeset", "readonly"})
