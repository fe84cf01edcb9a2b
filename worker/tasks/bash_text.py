"""A place in the text of a bash script, and the references that were found up to there."""

from __future__ import annotations

import re

from worker.tasks.bash_places import REFERENCE, Form, Need, Reference, Script, Word

ENDS_WORD = " \t\n;&|<>()"


class BashText:
    """Reads what contains no other construct: blanks, comments, single quotes, references."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stop = len(text)
        self._script = Script(text)
        self._script.has_keys = re.search(r"-[A-Za-z]*A", text) is not None

    def _ahead(self, text: str) -> bool:
        return self._text.startswith(text, self._at, self._stop)

    def _is_reference(self, at: int) -> bool:
        return at < self._stop and REFERENCE.match(self._text[at]) is not None

    def _line(self) -> int:
        return self._script.line(self._at)

    def _is_lost(self) -> None:
        if self._script.lost is None:
            self._script.lost = self._line()

    def _evaluates(self) -> None:
        if self._script.evaluates is None:
            self._script.evaluates = self._line()

    def _reference(self, form: Form, word: Word | None, need: Need = Need.ANY, why: str = "") -> None:
        found = Reference(self._at, form)
        found.needs(need, why)
        self._script.references.append(found)
        self._at += 1
        if word is not None:
            word.references.append(found)
            word.text += "\0"

    def _skip_blanks(self) -> None:
        while self._at < self._stop and (self._text[self._at] in " \t" or self._ahead("\\\n")):
            self._at += 2 if self._text[self._at] == "\\" else 1

    def _skip_white(self) -> None:
        while self._at < self._stop and self._text[self._at] in " \t\n":
            self._at += 1

    def _comment(self) -> None:
        while self._at < self._stop and self._text[self._at] != "\n":
            if self._is_reference(self._at):
                self._reference(Form.COMMENT, None)
            else:
                self._at += 1

    def _single(self, word: Word, *, ansi: bool = False) -> None:
        self._at += 1
        while self._at < self._stop and self._text[self._at] != "'":
            if self._is_reference(self._at):
                self._reference(Form.ANSI if ansi else Form.SINGLE, word)
            elif ansi and self._text[self._at] == "\\":
                if self._is_reference(self._at + 1):
                    self._script.edits.append((self._at, self._at + 1, ""))
                    self._at += 1
                else:
                    word.text += self._text[self._at : self._at + 2]
                    self._at += 2
            else:
                word.text += self._text[self._at]
                self._at += 1
        if self._at >= self._stop:
            self._is_lost()
        self._at += 1

    @staticmethod
    def _mark_dynamic(word: Word) -> None:
        word.is_dynamic = True
        word.text += "\0"
