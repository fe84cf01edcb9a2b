"""Finds where in a bash script the values of parameters are: a small, conservative reader of bash.

It runs nothing, and knows only as much of bash as decides about a reference: quotes, here-documents, comments,
substitutions, arithmetic, subscripts, `[[ ]]`, and which command a word belongs to. A script that it reads wrongly is
still safe: no value is ever put into a script's text.
"""

from __future__ import annotations

import re

from worker.tasks.bash_here_documents import HereDocuments
from worker.tasks.bash_places import Command, Form, Need, Script, Word

_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_INTEGER_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NAME_TESTS = frozenset({"-v", "-R"})
_BEFORE_A_COMMAND = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time"}
)


def read_script(text: str) -> Script:
    """The places of all references in `text`."""
    return _Reader(text).read()


class _Reader(HereDocuments):
    """Reads commands."""

    def read(self) -> Script:
        while self._at < self._stop:
            self._commands(None)
            self._at += 1
        return self._script

    def _commands(self, until: str | None) -> None:
        """Read commands up to `until`, which is not consumed, or to the end."""
        command = self._new_command()
        cases: list[bool] = []  # of each open `case`: whether a pattern comes next
        while True:
            self._skip_blanks()
            if self._at >= self._stop:
                if until is not None:
                    self._is_lost()
                return
            character = self._text[self._at]
            if character == "\n":
                self._at += 1
                self._bodies()
                command = self._new_command()
            elif character == "#":
                self._comment()
            elif character in ";&|" and not self._ahead("&>"):
                if (cases and self._ahead(";;")) or (cases and self._ahead(";&")):
                    cases[-1] = True
                self._at += 1
                while self._at < self._stop and self._text[self._at] in ";&|":
                    self._at += 1
                command = self._new_command()
            elif character == ")":
                if cases and cases[-1]:
                    cases[-1] = False
                    self._at += 1
                    command = self._new_command()
                elif until == ")":
                    return
                else:
                    self._at += 1
                    command = self._new_command()
            elif character == "(":
                if cases and cases[-1]:
                    self._at += 1
                else:
                    self._parenthesis(command)
                    command = self._new_command()
            elif character in "<>" or self._ahead("&>"):
                self._redirection(command)
            else:
                command = self._word_of_command(command, cases)

    def _new_command(self) -> Command:
        command = Command(self._line())
        self._script.commands.append(command)
        return command

    def _parenthesis(self, command: Command) -> None:
        if self._ahead("((") and not command.words and self._arithmetic_command():
            return
        self._at += 1
        self._commands(")")
        self._at += 1

    def _word_of_command(self, command: Command, cases: list[bool]) -> Command:
        start = self._at
        word = self._word(assigns=True)
        if self._at == start:  # a character with which no word can begin
            self._at += 1
            return command
        if cases and cases[-1]:
            if self._text[start : self._at] == "esac":
                cases.pop()
            return command
        raw = self._text[start : self._at]
        if command.words:
            command.words.append(word)
            return command
        if raw in _BEFORE_A_COMMAND:
            return command
        if raw == "esac" and cases:
            cases.pop()
            return command
        if raw in ("for", "select"):
            self._loop_head()
            return self._new_command()
        if raw == "case":
            self._skip_blanks()
            self._word()
            self._skip_white()
            if self._ahead("in"):
                self._at += 2
            cases.append(True)
            return self._new_command()
        if raw == "[[":
            self._condition()
            return command
        assigned = _ASSIGNED.match(raw)
        if assigned is None and (bracket := re.match(r"[A-Za-z_]\w*\[", raw)):
            assigned = bracket if re.search(r"\]\+?=", raw) else None
        if assigned is not None:
            self._assignment(assigned[0].rstrip("+=["), word)
            return command
        command.words.append(word)
        return command

    def _assignment(self, name: str, word: Word) -> None:
        if name in ("PS4", "PS0", "PROMPT_COMMAND", "BASH_ENV", "ENV", "LD_PRELOAD", "LD_LIBRARY_PATH"):
            for each in word.references:
                each.needs(Need.PLAIN, f"bash or a program reads code into {name}")
            if word.is_dynamic and name.startswith("P") and self._script.parses is None:
                self._script.parses = self._line()

    def _loop_head(self) -> None:
        self._skip_blanks()
        if self._ahead("((") and self._arithmetic_command():
            return
        for each in self._word().references:
            each.needs(Need.INTEGER, "it would be a variable's name")
        self._skip_white()
        if not re.compile(r"in(?=[\s;])").match(self._text, self._at, self._stop):
            return
        self._at += 2
        while True:
            self._skip_blanks()
            if self._at >= self._stop or self._text[self._at] in "\n;&|#()":
                return
            start = self._at
            for each in self._word().references:
                if each.form is Form.WORD:
                    each.form = Form.SPLIT
            if self._at == start:
                self._at += 1

    # -- redirections and here-documents

    def _redirection(self, command: Command) -> None:
        if self._ahead("<<<"):
            self._at += 3
            self._skip_blanks()
            word = self._word()
            command.has_own_input = True
            command.input_is_dynamic = command.input_is_dynamic or word.is_dynamic
            command.input += word.references
        elif self._ahead("<<"):
            self._here_document(command)
        elif self._ahead("<(") or self._ahead(">("):
            command.words.append(self._word())
        else:
            while self._at < self._stop and self._text[self._at] in "<>&|":
                self._at += 1
            self._skip_blanks()
            word = self._word()
            if word.has_process:
                command.has_own_input = command.input_is_dynamic = True

    # -- conditions

    def _condition(self) -> None:
        """Read the rest of `[[ ... ]]`."""
        term: list[Word] = []
        while True:
            self._skip_white()
            if self._at >= self._stop:
                self._is_lost()
                break
            character = self._text[self._at]
            if self._ahead("&&") or self._ahead("||"):
                self._check_term(term)
                term = []
                self._at += 2
            elif character in "();":
                self._check_term(term)
                term = []
                self._at += 1
            elif character in "<>&|" and not self._ahead("<("):
                self._at += 1
            elif character == "#":
                self._comment()
            else:
                is_regex = bool(term) and term[-1].text == "=~"
                start = self._at
                word = self._word(regex=is_regex)
                if self._at == start:
                    self._at += 1
                if self._text[start : self._at] == "]]":
                    break
                if is_regex:
                    for each in word.references:
                        if each.form is Form.WORD:
                            each.form = Form.PATTERN
                if self._text[start : self._at] != "!":
                    term.append(word)
        self._check_term(term)

    def _check_term(self, term: list[Word]) -> None:
        operators = {word.literal for word in term}
        if operators & _INTEGER_TESTS:
            why = "bash evaluates both sides of an integer comparison in [[ ]] as arithmetic"
        elif term and term[0].literal in _NAME_TESTS:
            why = "bash evaluates it as a variable's name"
        else:
            return
        for word in term:
            if word.is_dynamic or (word.literal is not None and re.match(r"[A-Za-z_]", word.literal)):
                self._evaluates()
            for each in word.references:
                each.needs(Need.INTEGER, why)
