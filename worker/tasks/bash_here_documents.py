"""Reads the here-documents of a bash script: their ends in a command, and their bodies below it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worker.tasks.bash_places import REFERENCE, Command, Form, Need, Word
from worker.tasks.bash_text import ENDS_WORD
from worker.tasks.bash_words import Words


@dataclass
class _HereDocument:
    end: str
    strips: bool
    is_quoted: bool
    start: int
    stop: int
    command: Command


class HereDocuments(Words):
    """Words, and the here-documents that begin in the current line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._here: list[_HereDocument] = []

    def _here_document(self, command: Command) -> None:
        self._at += 2
        strips = self._ahead("-")
        self._at += strips
        self._skip_blanks()
        start, end, is_quoted = self._at, "", False
        while self._at < self._stop and self._text[self._at] not in ENDS_WORD:
            character = self._text[self._at]
            if character in "'\"":
                close = self._text.find(character, self._at + 1, self._stop)
                close = self._stop if close < 0 else close
                end += self._text[self._at + 1 : close]
                self._at, is_quoted = close + 1, True
            elif character == "\\":
                end += self._text[self._at + 1 : self._at + 2]
                self._at, is_quoted = self._at + 2, True
            elif self._is_reference(self._at):
                self._reference(Form.COMMENT, None, Need.INTEGER, "it would be the end of a here-document")
            else:
                end += character
                self._at += 1
        command.has_own_input = True
        self._here.append(_HereDocument(end, strips, is_quoted, start, self._at, command))

    def _bodies(self) -> None:
        here, self._here = self._here, []
        for document in here:
            start = self._at
            while True:
                if self._at >= self._stop:
                    self._is_lost()
                    body_end = self._stop
                    break
                line_end = self._text.find("\n", self._at, self._stop)
                line_end = self._stop if line_end < 0 else line_end
                line = self._text[self._at : line_end]
                if (line.lstrip("\t") if document.strips else line) == document.end:
                    body_end, after = self._at, min(line_end + 1, self._stop)
                    break
                self._at = min(line_end + 1, self._stop)
                after = self._at
            self._body(document, start, body_end)
            self._at = after

    def _body(self, document: _HereDocument, start: int, end: int) -> None:
        before = len(self._script.references)
        stop, self._at, self._stop = self._stop, start, end
        if document.is_quoted:
            self._quoted_body(document)
        else:
            word = Word()
            self._quoted(None, word)
            document.command.input_is_dynamic = document.command.input_is_dynamic or word.is_dynamic
        self._stop = stop
        document.command.input += self._script.references[before:]

    def _quoted_body(self, document: _HereDocument) -> None:
        """Bash expands nothing here. If it contains references, it is turned into one that is expanded, all else
        escaped."""
        text = self._text[self._at : self._stop]
        if not REFERENCE.search(text):
            return
        is_simple = re.fullmatch(r"[A-Za-z0-9_]+", document.end) is not None
        if is_simple:
            self._script.edits.append((document.start, document.stop, document.end))
        while self._at < self._stop:
            if self._is_reference(self._at):
                why = "" if is_simple else "the end of its here-document is not a simple word"
                self._reference(Form.DOUBLE, None, Need.ANY if is_simple else Need.INTEGER, why)
                continue
            if is_simple and self._text[self._at] in "\\$`":
                self._script.edits.append((self._at, self._at, "\\"))
            self._at += 1
