"""Reads the words of a bash script: quotes, substitutions, arithmetic, subscripts."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from worker.tasks.bash_places import REFERENCE, Form, Need, Word
from worker.tasks.bash_text import ENDS_WORD, BashText

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Words(BashText, ABC):
    """How words are read from a place in a text; a subclass reads the content of substitutions."""

    @abstractmethod
    def _commands(self, until: str | None) -> None:
        """Read commands up to `until`, which is not consumed, or to the end."""

    # -- words

    def _word(self, *, assigns: bool = False, regex: bool = False) -> Word:
        word = Word(self._at)
        start, depth = self._at, 0
        while self._at < self._stop:
            character = self._text[self._at]
            if regex and character in "()|<>;&" and (character not in ")" or depth):
                depth += (character == "(") - (character == ")")
                word.text += character
                self._at += 1
            elif regex and depth and character in " \t":
                self._at += 1
            elif self._ahead("<(") or self._ahead(">("):
                word.is_dynamic = word.has_process = True
                self._at += 2
                self._commands(")")
                self._at += 1
            elif character in "@!+?*" and self._ahead(character + "(") and not regex:
                self._at += 2
                self._commands(")")
                self._at += 1
                word.text += "\0"
            elif character == "(" and assigns and self._text[start : self._at].endswith("="):
                self._array(word)
            elif character in ENDS_WORD:
                break
            elif character == "[" and _NAME.fullmatch(word.text) and not word.references:
                self._subscript(word)
            else:
                self._piece(word)
        if len(word.references) == 1 and self._at - start == 1:
            word.references[0].is_whole_word = True
        return word

    def _array(self, word: Word) -> None:
        self._at += 1
        while self._at < self._stop and self._text[self._at] != ")":
            self._skip_white()
            if self._ahead("#"):
                self._comment()
            elif self._ahead("["):
                self._subscript(word)
            elif self._at < self._stop and self._text[self._at] != ")":
                before = self._at
                inner = self._word()
                word.is_dynamic = word.is_dynamic or inner.is_dynamic
                if self._at == before:
                    self._at += 1
        self._at += 1

    def _piece(self, word: Word) -> None:
        """The next quoted part, substitution, reference or character, outside of quotes."""
        character = self._text[self._at]
        if self._is_reference(self._at):
            self._reference(Form.WORD, word)
        elif character == "\\":
            if self._is_reference(self._at + 1):
                self._script.edits.append((self._at, self._at + 1, ""))
                self._at += 1
            else:
                word.text += self._text[self._at + 1 : self._at + 2].replace("\n", "")
                self._at += 2
        elif character == "'":
            self._single(word)
        elif self._ahead("$'"):
            self._at += 1
            self._single(word, ansi=True)
        elif character == '"' or self._ahead('$"'):
            self._at += 2 if character == "$" else 1
            self._quoted('"', word)
        elif character in "$`":
            self._substitution(word, quoted=False)
        else:
            word.text += character
            self._at += 1

    def _quoted(self, end: str | None, word: Word) -> None:
        """Read the content of double quotes, up to and with `end`; a here-document has no `end`."""
        while self._at < self._stop and self._text[self._at] != end:
            character = self._text[self._at]
            if self._is_reference(self._at):
                self._reference(Form.DOUBLE, word)
            elif character == "\\":
                if self._is_reference(self._at + 1):
                    self._script.edits.append((self._at, self._at, "\\"))
                    self._at += 1
                else:
                    word.text += self._text[self._at : self._at + 2]
                    self._at += 2
            elif character in "$`":
                self._substitution(word, quoted=True)
            else:
                word.text += character
                self._at += 1
        if end is not None:
            if self._at >= self._stop:
                self._is_lost()
            self._at += 1

    def _substitution(self, word: Word, *, quoted: bool) -> None:
        """Read what begins with `$` or a backtick."""
        if self._ahead("`"):
            self._mark_dynamic(word)
            self._backticks()
        elif self._ahead("$(("):
            self._mark_dynamic(word)
            start = self._at
            self._at += 1
            if not self._arithmetic_command():
                self._at = start + 2
                before = len(self._script.references)
                self._commands(")")
                self._at += 1
                for each in self._script.references[before:]:
                    each.needs(Need.INTEGER, "bash may take it for arithmetic; put a blank into $( (")
        elif self._ahead("$("):
            self._mark_dynamic(word)
            self._at += 2
            self._commands(")")
            self._at += 1
        elif self._ahead("$["):
            self._mark_dynamic(word)
            self._at += 2
            self._arithmetic("]")
            self._at += 1
        elif self._ahead("${"):
            self._mark_dynamic(word)
            self._at += 2
            self._expansion(word, quoted)
        else:
            self._at += 1
            name = _NAME.match(self._text, self._at, self._stop)
            if name is not None:
                self._mark_dynamic(word)
                self._at = name.end()
            elif self._at < self._stop and self._text[self._at] in "0123456789@*#?!$-":
                self._mark_dynamic(word)
                self._at += 1
            else:
                word.text += "$"

    def _backticks(self) -> None:
        start = end = self._at + 1
        while end < self._stop and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= self._stop:
            self._is_lost()
            end = self._stop
        before = len(self._script.references)
        stop, self._at, self._stop = self._stop, start, end
        while self._at < self._stop:
            self._commands(None)
            self._at += 1
        self._at, self._stop = end + 1, stop
        if "\\" in self._text[start:end]:
            for each in self._script.references[before:]:
                each.needs(Need.INTEGER, "it stands in backticks with a backslash; write $( )")

    # -- what is evaluated

    def _arithmetic_command(self) -> bool:
        """Read `(( ... ))`; False, and nothing read, if the two closing ones are not adjacent."""
        start, references, edits = self._at, len(self._script.references), len(self._script.edits)
        commands, lost = len(self._script.commands), self._script.lost
        self._at += 2
        self._arithmetic(")")
        if self._ahead("))"):
            self._at += 2
            return True
        self._at = start
        del self._script.references[references:], self._script.edits[edits:], self._script.commands[commands:]
        self._script.lost = lost
        return False

    def _arithmetic(self, end: str, why: str = "bash evaluates arithmetic there") -> None:
        """Read an expression up to `end`, which is not consumed."""
        depth = 0
        opening = {")": "(", "]": "[", "}": "{"}[end]
        start = self._at
        while self._at < self._stop:
            character = self._text[self._at]
            if character == end and not depth:
                break
            depth += (character == opening) - (character == end)
            if self._is_reference(self._at):
                self._reference(Form.DOUBLE, None, Need.INTEGER, why)
            elif self._ahead("$(") and not self._ahead("$(("):
                self._evaluates()
                self._at += 2
                self._commands(")")
                self._at += 1
            elif character == "`":
                self._evaluates()
                self._backticks()
            elif character == "\\":
                self._at += 2
            elif character in "'\"" and end != "}":
                close = self._text.find(character, self._at + 1, self._stop)
                inner = self._text[self._at + 1 : close] if close > 0 else ""
                if REFERENCE.search(inner) or "$" in inner or close < 0:
                    self._at += 1
                else:
                    self._at = close + 1
            else:
                self._at += 1
        if self._at >= self._stop:
            self._is_lost()
        if re.search(r"[A-Za-z_$]", self._text[start : self._at]):
            self._evaluates()

    def _subscript(self, word: Word) -> None:
        """`[...]` after a name, in a word or an expansion."""
        self._at += 1
        before = len(self._script.references)
        self._arithmetic("]", "it is a subscript, which bash evaluates")
        for each in self._script.references[before:]:
            if each.need is Need.INTEGER and each.why.startswith("it is a subscript"):
                each.need = Need.KEY
        word.references += self._script.references[before:]
        word.text += "[\0]"
        self._at += 1

    def _expansion(self, word: Word, quoted: bool) -> None:
        """The rest of `${...}`."""
        if self._ahead("!"):
            self._evaluates()
            self._at += 1
        elif self._ahead("#"):
            self._at += 1
        name = re.compile(r"[A-Za-z_]\w*|\d+|[@*?$!#-]").match(self._text, self._at, self._stop)
        if name is not None:
            self._at = name.end()
        if self._is_reference(self._at):
            self._reference(Form.DOUBLE, None, Need.INTEGER, "it would be a variable's name")
        if self._ahead("["):
            self._subscript(Word())
        if (self._ahead("@P") or self._ahead("@E")) and self._script.parses is None:
            self._script.parses = self._line()
        if re.compile(r":(?![-=+?])").match(self._text, self._at, self._stop):
            self._at += 1
            self._arithmetic("}", "bash evaluates an offset or a length there")
            self._at += 1
            return
        before, odd = len(self._script.references), False
        inner = Word()
        while self._at < self._stop and self._text[self._at] != "}":
            character = self._text[self._at]
            if quoted and character in "'\"":
                odd = odd or character == "'"
                self._at += 1
            elif quoted and self._is_reference(self._at):
                self._reference(Form.DOUBLE, inner)
            elif quoted and character == "\\" and self._is_reference(self._at + 1):
                self._script.edits.append((self._at, self._at, "\\"))
                self._at += 1
            elif quoted and character in "$`":
                self._substitution(inner, quoted=True)
            elif character in " \t\n;&|<>()":
                self._at += 1
            else:
                self._piece(inner)
        if self._at >= self._stop:
            self._is_lost()
        self._at += 1
        found = self._script.references[before:]
        word.references += inner.references
        for each in found:
            each.is_whole_word = False
            if odd:
                each.needs(Need.INTEGER, "it stands beside single quotes inside ${...}")
