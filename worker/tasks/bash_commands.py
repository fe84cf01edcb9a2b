"""What the commands of a bash script read from their arguments and their input: which of them treat text as code."""

from __future__ import annotations

import re
from collections.abc import Iterable

from worker.tasks.bash_places import Command, Need, Reference, Script, Word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WRAPPERS = _words(
    "command builtin exec env nohup sudo nice timeout setsid stdbuf chroot flock strace ionice doas time xargs "
    "busybox coproc setpriv unshare nsenter taskset chrt parallel"
)
_SHELLS = _words("bash sh dash zsh ksh mksh ash fish rbash csh tcsh")
_LANGUAGES = _words("perl ruby node nodejs php lua luajit Rscript tclsh expect groovy scala julia deno bun")
_FIRST_IS_CODE = _words("awk gawk mawk nawk sed gsed ed ex vi vim emacs bc dc m4")
_SQL_CLIENTS = _words(
    "psql mysql mariadb sqlite3 duckdb hive beeline spark-sql impala-shell clickhouse-client clickhouse sqlplus "
    "trino presto bq snowsql sqlcmd mongosh mongo redis-cli cqlsh"
)
_REMOTE = _words("ssh rsh su runuser watch script at batch crontab docker podman kubectl tmux screen")
_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly", "integer"})
_TAKES_NAMES = frozenset({"unset", "read", "mapfile", "readarray", "getopts"})
_SETS_CODE = frozenset({"alias", "bind", "complete", "compgen", "compopt", "enable", "hash", "fc"})
_CODE_FOLLOWS = re.compile(r"-[A-Za-z]*[ceEqr]|--(command|execute|eval|exec|query|expression|print|run)")
_BEGINS_COMMAND = re.compile(r"(^|[;&|(!`\n]|\b(?:then|do|else|exec|eval|command)\b)\s*\Z")
_BINARY = frozenset({"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})


def check_commands(script: Script) -> None:
    """Determine what the value of each reference in a command must be, and whether the script parses some text as
    code."""
    for command in script.commands:
        _Check(script, command).check(command.words)


class _Check:
    def __init__(self, script: Script, command: Command) -> None:
        self._script = script
        self._command = command

    def check(self, words: list[Word]) -> None:
        if not words:
            return
        first, rest = words[0], words[1:]
        if first.references:
            _need(first.references, Need.PLAIN, "it would be a command")
            if not first.text.rpartition("/")[2].strip("\0"):
                self._need_all(rest, Need.PLAIN, "the command that takes it is a value")
            return
        name = first.text.rpartition("/")[2]
        if "\0" in name:
            self._need_all(rest, Need.PLAIN, "which command takes it is known only when it runs")
        elif name in _WRAPPERS:
            self._wrapped(rest)
        elif name in ("eval", "trap"):
            self._code(rest[:1] if name == "trap" else rest, f"{name} runs it as a script")
        elif name in ("source", "."):
            self._sourced(rest)
        elif name == "let":
            self._evaluated(rest, "let evaluates it as arithmetic")
        elif name in _DECLARES:
            self._declared(name, rest)
        elif name in _TAKES_NAMES:
            self._evaluated(rest, f"{name} takes it for a variable's name")
        elif name == "printf" and rest:
            self._printed(rest)
        elif name == "wait" and any(word.text.startswith("-p") for word in rest):
            self._evaluated(rest, "wait takes it for a variable's name")
        elif name in ("test", "["):
            self._tested([word for word in rest if word.text != "]" or word.references])
        elif name in _SETS_CODE:
            self._need_all(rest, Need.PLAIN, f"{name} can make code of it")
        elif name in _SHELLS:
            self._shell(rest)
        elif name == "find":
            self._found(rest)
        else:
            self._program(name, rest)

    def _program(self, name: str, rest: list[Word]) -> None:
        if name in _REMOTE:
            self._need_all(rest, Need.PLAIN, f"{name} may give it to a shell")
            _need(self._command.input, Need.PLAIN, f"{name} may read it as a script")
        elif name in _LANGUAGES or re.fullmatch(r"python[0-9.]*|pypy[0-9.]*|perl[0-9.]*", name):
            self._language(name, rest)
        elif name in _FIRST_IS_CODE:
            self._first_is_code(name, rest)
        elif name in _SQL_CLIENTS:
            self._sql(name, rest)

    def _need_all(self, words: Iterable[Word], need: Need, why: str) -> None:
        for word in words:
            _need(word.references, need, why)

    def _parses(self) -> None:
        if self._script.parses is None:
            self._script.parses = self._command.line

    def _evaluates(self) -> None:
        if self._script.evaluates is None:
            self._script.evaluates = self._command.line

    def _evaluated(self, words: list[Word], why: str) -> None:
        self._need_all(words, Need.INTEGER, why)
        if any(word.is_dynamic or "=" in word.text for word in words):
            self._evaluates()

    def _code(self, words: list[Word], why: str) -> None:
        """Words that are a script: a plain value is data in it, except in the place of a command."""
        said = ""
        for word in words:
            if word.is_dynamic:
                self._parses()
            at = -1
            for each in word.references:
                at = word.text.find("\0", at + 1)
                is_command = _BEGINS_COMMAND.search(said + word.text[: max(at, 0)])
                evaluated = re.search(r"\(\(|\blet\b|\[\[|\$\[|\w\[", said + word.text)
                each.needs(Need.INTEGER if is_command or evaluated else Need.PLAIN, why)
            said += word.text + " "

    def _wrapped(self, rest: list[Word]) -> None:
        place = 0
        while place < len(rest) and (
            rest[place].references
            or rest[place].literal is None
            or re.match(r"-|[0-9.]+[smhd]?\Z|\w+=|\{\}", rest[place].text)
        ):
            _need(rest[place].references, Need.PLAIN, "it may become a command or a setting of one")
            place += 1
        for skipped in range(place, len(rest)):
            # The word that looks like the command may be an option's argument: then the next shell is the command.
            if rest[skipped].text.rpartition("/")[2] in _SHELLS | {"eval"}:
                self.check(rest[skipped:])
                return
        self.check(rest[place:])

    def _sourced(self, rest: list[Word]) -> None:
        self._need_all(rest[:1], Need.PLAIN, "it names the script that is read")
        if rest and (rest[0].has_process or rest[0].text.startswith("/dev/")):
            self._parses()
            _need(self._command.input, Need.INTEGER, "it is read as a script")

    def _declared(self, name: str, rest: list[Word]) -> None:
        flags = "".join(word.text for word in rest if word.text.startswith(("-", "+")))
        is_integer = "i" in flags or name == "integer"
        if is_integer or any(flag in flags for flag in "anA"):
            self._evaluates()
        for word in rest:
            before = word.text.partition("=")[0]
            for each in word.references:
                if "=" not in word.text or "\0" in before:
                    each.needs(Need.INTEGER, f"{name} takes it for a variable's name")
                elif is_integer:
                    each.needs(Need.INTEGER, f"{name} evaluates it as arithmetic")
                elif any(flag in flags for flag in "anA"):
                    each.needs(Need.PLAIN, f"{name} may evaluate it")
                elif before in ("PS4", "PS0", "PROMPT_COMMAND", "BASH_ENV", "ENV", "LD_PRELOAD"):
                    each.needs(Need.PLAIN, f"bash or a program reads code into {before}")
            if "=" not in word.text and word.is_dynamic:
                self._evaluates()

    def _printed(self, rest: list[Word]) -> None:
        if rest[0].text.startswith("-v"):
            self._evaluated(rest[:2], "printf takes it for a variable's name")
        elif rest[0].references and rest[0].text.startswith("\0"):
            self._script.edits.append((rest[0].start, rest[0].start, "-- "))  # else a value could be the option -v

    def _tested(self, words: list[Word]) -> None:
        for word in words:
            for each in word.references:
                each.is_whole_word = False  # an empty value is an operand too
        if words and words[0].literal == "!":
            words = words[1:]
        literals = [word.literal for word in words]
        if "-v" in literals or "-R" in literals:
            self._evaluated(words, "test evaluates a variable's name")
            return
        is_plain_test = (
            len(words) <= 1
            or (len(words) == 2 and literals[0] is not None)
            or (len(words) == 3 and literals[1] in _BINARY)
        )
        if not is_plain_test:
            self._evaluates()

    def _shell(self, rest: list[Word]) -> None:
        options = 0
        while options < len(rest) and rest[options].text.startswith(("-", "+")) and not rest[options].references:
            options += 2 if re.fullmatch(r"[-+][A-Za-z]*[oO]|--(rcfile|init-file)", rest[options].text) else 1
        given = "".join(word.text for word in rest[:options] if not word.text.startswith("--"))
        operands = rest[options:]
        if "c" in given:
            self._code(operands[:1], "a shell runs it as a script")
            return
        _need(operands[0].references if operands else [], Need.PLAIN, "it names the script that is run")
        if not operands or "s" in given or operands[0].text in ("-", "/dev/stdin") or operands[0].has_process:
            _need(self._command.input, Need.PLAIN, "a shell reads it as a script")
            if not self._command.has_own_input or self._command.input_is_dynamic or operands:
                self._parses()
        elif operands[0].literal is not None and self._is_written_here(operands[0].text):
            self._parses()

    def _is_written_here(self, file: str) -> bool:
        return re.search(r"(>|\btee\b[^\n|;]*)\s*[\"']?" + re.escape(file), self._script.text) is not None

    def _found(self, rest: list[Word]) -> None:
        for place, word in enumerate(rest):
            if word.literal in ("-exec", "-execdir", "-ok", "-okdir"):
                self.check(rest[place + 1 :])

    def _language(self, name: str, rest: list[Word]) -> None:
        place = 0
        while place < len(rest) and (rest[place].text.startswith("-") or rest[place].references):
            word = rest[place]
            _need(word.references, Need.PLAIN, f"{name} may read it as code")
            if word.text.startswith("-m"):
                return
            if _CODE_FOLLOWS.match(word.text):
                self._need_all(rest[place : place + 2], Need.PLAIN, f"{name} reads it as code")
                return
            if word.text == "-" or not word.text.startswith("-"):
                break
            place += 1
        if place >= len(rest) or rest[place].text == "-":
            _need(self._command.input, Need.PLAIN, f"{name} reads it as code")

    def _first_is_code(self, name: str, rest: list[Word]) -> None:
        _need(self._command.input if name not in ("awk", "gawk", "mawk", "nawk", "sed") else [], Need.PLAIN, name)
        place = 0
        while place < len(rest):
            word = rest[place]
            if word.text in ("-v", "-F", "-f") and not word.references:
                place += 2
            elif word.text.startswith(("-v", "-F")) or (word.text.startswith("-") and not word.references):
                place += 1
            else:
                _need(word.references, Need.PLAIN, f"{name} reads it as code")
                return

    def _sql(self, name: str, rest: list[Word]) -> None:
        _need(self._command.input, Need.PLAIN, f"{name} reads it as statements")
        for place, word in enumerate(rest):
            follows = place > 0 and _CODE_FOLLOWS.fullmatch(rest[place - 1].text) is not None
            if follows or re.search(r"\s", word.text) or _CODE_FOLLOWS.match(word.text) or name == "sqlite3":
                _need(word.references, Need.PLAIN, f"{name} reads it as a statement")


def _need(references: Iterable[Reference], need: Need, why: str) -> None:
    for each in references:
        each.needs(need, why)
