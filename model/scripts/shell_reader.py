"""Reads a bash script as far as parameters need it: the quotes around each reference, and what the script does.

It runs nothing. An unreadable script is treated as the worst case: it accepts only numbers, and the quotes around
references stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from model.parameters.foreign_values import Need
from model.scripts import shell_text
from model.scripts.shell_commands import (
    DECIDES,
    DECLARES,
    SET_VARIABLES,
    files_written,
    need_of_command,
    runs_a_file,
    script_of_command,
)
from model.scripts.shell_needs import ScriptNeeds
from model.scripts.shell_script import (
    EVALUATING_TESTS,
    FIRST,
    REFERENCE,
    Form,
    Place,
    Script,
    Word,
    begins_arithmetic,
    is_assignment,
    mark_compared,
    without_reserved,
)

_WORD_END = " \t\n;&|<>()"


@lru_cache(maxsize=64)
def read_script(text: str) -> Script:
    """The places of all references in `text`, and the values they accept. The result is shared: do not change it."""
    return _Reader(text).read()


def need_of_arguments(words: Sequence[str]) -> tuple[Need, str]:
    """Which values a command accepts, and why; NUL stands for each part that is known only when it runs."""
    inner = script_of_command(words)
    if inner is None:
        return need_of_command(words)
    script = read_script(inner.replace("\0", chr(FIRST)))
    if any(place.evaluated or place.form is Form.SPLIT for place in script.places):
        return Need.NUMBER, f"the script of {words[0]} evaluates it"
    return max((Need.WORD if "\0" in inner else Need.TEXT, f"{words[0]} may run it"), (script.need, script.why))


class _Reader(ScriptNeeds):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._stop = len(text)
        self._bodies: list[tuple[str, bool, bool, int, int]] = []
        self._pipes = re.search(r"(?<!\|)\|(?!\|)|<<|[<>]\(", text) is not None

    def read(self) -> Script:
        try:
            self.commands(None)
        except RecursionError:
            self.need(Need.NUMBER, "the script is nested too deeply to be read")
        self._judge_names()
        return self.script

    def _ahead(self, *texts: str) -> bool:
        return self._text.startswith(texts, self._at, self._stop)

    def _is_reference(self, at: int) -> bool:
        return at < self._stop and self._text[at] >= "\U000f0000" and REFERENCE.match(self._text[at]) is not None

    # -- commands

    def commands(self, close: str | None) -> None:
        """Read commands up to `close`, which is not consumed, or to the end."""
        words: list[Word] = []
        cases = 0
        is_pattern = False
        while self._at < self._stop:
            character = self._text[self._at]
            condition = bool(words) and words[0].text == "[["
            if character in " \t" or self._ahead("\\\n") or (condition and character in "\n()|&<>"):
                self._at += 2 if character == "\\" else 1
            elif character == "#":
                self._comment()
            elif character == ")" and not is_pattern and close == ")":
                break
            elif self._ahead("((") and begins_arithmetic(words):
                self._at += 2
                self._arithmetic("))")
            elif self._ahead("<(", ">("):
                words.append(self._word())
            elif character in "<>" or self._ahead("&>"):
                self._redirection()
            elif character in "\n;&|()":
                self._at += 1
                if not is_pattern or character == ")":
                    if not is_pattern:
                        self._command(words)
                    is_pattern = character == ";" and bool(cases) and self._ahead(";", "&")
                words = []
                if character == "\n":
                    self._here_documents()
                elif character == "(" and not is_pattern and not self._ahead(")"):
                    self.commands(")")
                    self._at += 1
                elif self._ahead(";", "&", "|"):
                    self._at += 1
            else:
                words.append(self._word(words))
                last = words[-1].text
                if last in ("case", "[[") and words[-1].opens:
                    words = words[-1:]
                elif words[0].text == "case" and last == "in" and len(words) > 2:
                    words, cases, is_pattern = [], cases + 1, True
                elif last == "esac" and len(words) == 1 and cases:
                    words, cases, is_pattern = [], cases - 1, False
                elif condition:
                    words = self._condition(words)
        if close is not None and self._at >= self._stop:
            self._lost()
        self._command(words)

    def _condition(self, words: list[Word]) -> list[Word]:
        """The words since `[[`; empty after its end."""
        if (last := words[-1].text) in EVALUATING_TESTS:
            self.need(Need.PLAIN, f"bash evaluates what {last} compares")
        mark_compared(words)
        return [] if last == "]]" else words

    def _command(self, words: list[Word]) -> None:
        words = without_reserved(words[2:] if words and words[0].text == "function" else words)
        if words and words[0].text in ("for", "select"):
            for place in (place for word in words[2:] for place in word.places if place.form is Form.WORD):
                place.form = Form.SPLIT
            if words[1:] and (words[1].literal is None or re.fullmatch(DECIDES, words[1].text)):
                self.need(Need.NUMBER, "a variable there decides what is run, or has a name that is known only then")
            return
        assigned = list(takewhile(is_assignment, words))
        words = words[len(assigned) :]
        if words and words[0].text in DECLARES:
            assigned += filter(is_assignment, words[1:])
        for word in assigned:
            self._assigned(word)
        if not words or words[0].text == "case":
            return
        texts = [word.text for word in words]
        self._ran.update(texts[: 2 if runs_a_file(texts[0]) else 1])
        self._made.update(files_written(texts))
        if script_of_command(texts) is None and not self._pipes and "\0" not in "".join(texts):
            need, _ = need_of_command(texts)
            if need < Need.NUMBER and texts[0] not in SET_VARIABLES:
                return  # no value is inserted there
        self.need(*need_of_arguments(texts))

    def _assigned(self, word: Word) -> None:
        name = word.text.partition("=")[0].removesuffix("+")
        if word.literal is not None:
            self._fixed[name] += 1
        elif re.fullmatch(DECIDES, name):
            parts = shell_text.SIMPLE.sub("", self._text[word.start : word.stop])
            if word.places or "$" in parts or "`" in parts:
                self.need(Need.NUMBER, f"{name} decides what is run")
            self._deciding.update(found[1] for found in re.finditer(r"\$\{?(\w+)", self._text[word.start : word.stop]))
        elif word.literal is None and not name.islower():
            self.need(Need.PLAIN, f"programs may read {name}")

    def _redirection(self) -> None:
        if self._ahead("<<") and not self._ahead("<<<"):
            self._at += 2
            strips = self._ahead("-")
            self._at += strips
            while self._ahead(" ", "\t"):
                self._at += 1
            word = self._word()
            if word.literal is None:
                self._lost()
            raw = self._text[word.start : self._at]
            self._bodies.append((word.text, strips, raw != word.text, word.start, self._at))
            return
        while self._ahead("<", ">", "&", "|"):
            self._at += 1
        while self._ahead(" ", "\t"):
            self._at += 1
        self._made.add(self._word().text)

    def _here_documents(self) -> None:
        bodies, self._bodies = self._bodies, []
        for end, strips, is_quoted, start, stop in bodies:
            tabs = "\t*" if strips else ""
            found = re.compile(rf"^{tabs}{re.escape(end)}$", re.MULTILINE).search(self._text, self._at, self._stop)
            if found is None:
                self._lost()
            outer, self._stop = self._stop, found.start() if found else self._stop
            if is_quoted:
                self._quoted_body(end, start, stop)
            else:
                self._double(None, Word(self._at, text="<"))
            self._at, self._stop = found.end() if found else outer, outer

    def _quoted_body(self, end: str, start: int, stop: int) -> None:
        """A here-document that bash does not expand: with references it becomes one that expands, all else escaped."""
        if not REFERENCE.search(self._text, self._at, self._stop):
            return
        if not re.fullmatch(r"\w+", end):
            self._lost()
        self.script.edits.append((start, stop, end))
        self.script.escape(self._text, self._at, self._stop)

    # -- words

    def _comment(self) -> None:
        end = self._text.find("\n", self._at, self._stop)
        end = self._stop if end < 0 else end
        self.script.places += [Place(at, Form.BARE) for at in range(self._at, end) if self._is_reference(at)]
        self._at = end

    def _word(self, before: Sequence[Word] = ()) -> Word:
        word = Word(self._at, assigns=not before)
        if before:
            word.follow(before[0], before[-1])
        while self._at < self._stop:
            if self._ahead("<(", ">("):
                self._at += 1
                self._substitution(word, quoted=True)
            elif self._text[self._at] == "(" and word.assigns and shell_text.ASSIGNMENT.fullmatch(word.text):
                self._array(word)
            elif self._text[self._at] in _WORD_END:
                break
            else:
                self._piece(word)
        if len(word.places) == 1 and self._at - word.start == 1:
            word.places[0].alone = True
        if self._at == word.start:
            self._at += 1
        word.stop = self._at
        return word

    def _array(self, word: Word) -> None:
        self.need(Need.PLAIN, "bash evaluates an array's subscripts")
        self._at += 1
        while self._at < self._stop and not self._ahead(")"):
            if self._ahead(" ", "\t", "\n"):
                self._at += 1
            elif self._ahead("#"):
                self._comment()
            else:
                word.places += self._word().places
        self._at += 1

    def _piece(self, word: Word) -> None:
        character = self._text[self._at]
        if ordinary := shell_text.ORDINARY.match(self._text, self._at, self._stop):
            word.add(ordinary[0])
            self._at = ordinary.end()
        elif self._is_reference(self._at):
            self._reference(Form.WORD, word)
        elif character == "\\":
            if self._is_reference(self._at + 1):
                self.script.edits.append((self._at, self._at + 1, ""))
            else:
                word.add(self._text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 1
            self._at += 1
        elif character == "'":
            self._single(word, Form.SINGLE)
        elif self._ahead("$'"):
            self._at += 1
            self._single(word, Form.ANSI)
        elif self._ahead('"', '$"'):
            self._at += 1 if character == '"' else 2
            self._double('"', word)
        elif character in "$`":
            is_assigned = word.assigns and shell_text.ASSIGNMENT.match(word.text) is not None
            self._substitution(word, quoted=word.is_whole or is_assigned)
        elif character == "[" and shell_text.NAME.fullmatch(word.text):
            self._at += 1
            self._arithmetic("]")
            word.add("[]")
            if self._ahead("=", "+="):
                word.text = shell_text.NAME.match(word.text)[0]  # type: ignore[index]
        else:
            if character == "-" and word.text and not word.text.strip("\0"):
                self.script.needs_text = True
            word.add(character)
            self._at += 1

    def _reference(self, form: Form, word: Word, *, evaluated: bool = False) -> None:
        begins = not word.text.strip("\0") or shell_text.ASSIGNMENT.fullmatch(word.text.rstrip("\0")) is not None
        word.places.append(Place(self._at, form, begins, evaluated))
        self.script.places.append(word.places[-1])
        word.add("\0")
        self._at += 1

    def _single(self, word: Word, form: Form) -> None:
        self._at += 1
        while self._at < self._stop and self._text[self._at] != "'":
            if found := shell_text.IN_SINGLE.match(self._text, self._at, self._stop):
                word.add(found[0])
                self._at = found.end()
                continue
            if self._is_reference(self._at):
                self._reference(form, word)
                continue
            if form is Form.ANSI and self._text[self._at] == "\\":
                if self._is_reference(self._at + 1):
                    self.script.edits.append((self._at, self._at + 1, ""))
                else:
                    word.add("\\")
                    self._at += 1
            else:
                word.add(self._text[self._at])
            self._at += 1
        if self._at >= self._stop:
            self._lost()
        self._at += 1

    def _double(self, end: str | None, word: Word) -> None:
        """The content of double quotes up to and including `end`, or of a here-document, which has none."""
        while self._at < self._stop and self._text[self._at] != end:
            if found := shell_text.IN_DOUBLE.match(self._text, self._at, self._stop):
                word.add(found[0])
                self._at = found.end()
            elif self._is_reference(self._at):
                self._reference(Form.BARE, word)
            elif self._text[self._at] == "\\":
                if self._is_reference(self._at + 1):
                    self.script.edits.append((self._at, self._at, "\\"))
                else:
                    follows = self._text[self._at + 1 : self._at + 2]
                    word.add("" if follows == "\n" else follows if follows in ("$", "`", '"', "\\") else f"\\{follows}")
                    self._at += 1
                self._at += 1
            elif self._text[self._at] in "$`":
                self._substitution(word, quoted=True)
            else:
                if self._text[self._at] == "-" and word.text and not word.text.strip("\0"):
                    self.script.needs_text = True
                word.add(self._text[self._at])
                self._at += 1
        if end is not None:
            if self._at >= self._stop:
                self._lost()
            self._at += 1

    # -- what is expanded

    def _substitution(self, word: Word, *, quoted: bool) -> None:
        """Whatever begins with `$` or a backtick, or the rest of `<(`."""
        if found := shell_text.STATUS.match(self._text, self._at, self._stop):
            word.add("0")
            self._at = found.end()
            return
        before, begin = len(self.script.places), self._at
        if found := shell_text.SIMPLE.match(self._text, self._at, self._stop):
            self._at = found.end()
        elif self._ahead("$(("):
            self._at += 3
            self._arithmetic("))")
        elif self._ahead("$["):
            self._at += 2
            self._arithmetic("]")
        elif self._ahead("$(", "("):
            self._at += 2 if self._ahead("$") else 1
            self.commands(")")
            self._at += 1
        elif self._ahead("`"):
            self._backticks()
        elif self._ahead("${"):
            self._expansion(quoted)
        else:
            word.add("$")
            self._at += 1
            return
        if len(self.script.places) > before or "$" in self._text[begin + 1 : self._at]:
            self.need(Need.PLAIN, "bash makes other text of it there")
        if not quoted:
            self.need(Need.PLAIN, "a variable without quotes there is split into words")
        word.add("\0")

    def _backticks(self) -> None:
        end = self._text.find("`", self._at + 1, self._stop)
        if end < 0 or "\\" in self._text[self._at : end]:
            self._lost()
            end = self._stop if end < 0 else end
        outer, self._at, self._stop = self._stop, self._at + 1, end
        self.commands(None)
        self._at, self._stop = end + 1, outer

    def _arithmetic(self, end: str) -> None:
        """An arithmetic expression up to and including `end`."""
        self.need(Need.PLAIN, "bash evaluates arithmetic there")
        word = Word(self._at)
        depth = 0
        while self._at < self._stop and (depth or not self._ahead(end)):
            character = self._text[self._at]
            depth += character in "([{"
            depth -= character in ")]}" and depth > 0
            if self._is_reference(self._at):
                self._reference(Form.BARE, word, evaluated=True)
            elif character in "$`" and not self._ahead("$((", "$["):
                self._substitution(word, quoted=True)
            else:
                self._at += 2 if character == "\\" else 1
        if self._at >= self._stop:
            self._lost()
        self._at += len(end)

    def _expansion(self, quoted: bool) -> None:
        """A `${...}` that is more than a name."""
        self._at += 2
        start, word = self._at, Word(self._at)
        self.need(Need.PLAIN, "bash makes other text of a variable there")
        while self._at < self._stop and not self._ahead("}"):
            if self._ahead("["):
                self._at += 1
                self._arithmetic("]")
            elif self._is_reference(self._at):
                offset = re.fullmatch(r"[\w@*#!]*(:[^-=+?]*)?", self._text[start : self._at]) is not None
                self._reference(Form.BARE if quoted or offset else Form.WORD, word, evaluated=offset)
            elif (quoted and self._ahead("'", '"')) or self._ahead(*_WORD_END):
                self._at += 1
            elif quoted and self._ahead("\\"):
                if self._is_reference(self._at + 1):
                    self.script.edits.append((self._at, self._at, "\\"))
                    self._at -= 1
                self._at += 2
            elif quoted and self._ahead("$", "`"):
                self._substitution(word, quoted=True)
            else:
                self._piece(word)
        content = self._text[start : self._at]
        names_others = content.startswith("!") and not re.fullmatch(r"!\w+(\[[@*]\]|[@*])", content)
        if names_others or re.search(r"@[^]]$", content):
            self.need(Need.NUMBER, "bash evaluates a variable's content there")
        if "'" in content and quoted:
            self._lost()
        if self._at >= self._stop:
            self._lost()
        self._at += 1
