"""Where in a bash script the values of parameters stand: a small, conservative reader of bash.

A reference is one character of a private plane in the text. The reader runs nothing and knows only as much of bash as
decides about a reference: quotes, here-documents, comments, substitutions, arithmetic, subscripts, `[[ ]]`, and which
command a word belongs to. A script that it reads wrongly is still safe: no value ever stands in a script's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto

FIRST = 0xF0000
"""The character of reference 0."""

REFERENCE = re.compile("[\U000f0000-\U000ffffd]")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_INTEGER_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NAME_TESTS = frozenset({"-v", "-R"})
_BEFORE_A_COMMAND = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time"}
)
_ENDS_WORD = " \t\n;&|<>()"


class Form(Enum):
    """How a reference is to be written where it stands."""

    WORD = auto()
    SPLIT = auto()
    """In the list of a `for`: the words of the value are the list's."""
    DOUBLE = auto()
    """In double quotes or a here-document."""
    SINGLE = auto()
    ANSI = auto()
    PATTERN = auto()
    COMMENT = auto()


class Need(IntEnum):
    """What a value must be where bash, or a program that it starts, reads more into it than a text."""

    ANY = 0
    PLAIN = 1
    KEY = 2
    """A subscript: a whole number, or a word if the script has associative arrays."""
    INTEGER = 3


@dataclass
class Reference:
    """One `${name}` of a script."""

    position: int
    form: Form = Form.WORD
    need: Need = Need.ANY
    why: str = ""
    is_whole_word: bool = False

    def needs(self, need: Need, why: str) -> None:
        """Remember the strictest need and its reason."""
        if need > self.need:
            self.need, self.why = need, why


@dataclass
class Word:
    """One word of a command: its text without quotes, NUL for what is known only when it runs."""

    start: int = 0
    text: str = ""
    references: list[Reference] = field(default_factory=list)
    is_dynamic: bool = False
    has_process: bool = False

    @property
    def literal(self) -> str | None:
        """Its text if it is known."""
        return None if self.references or self.is_dynamic else self.text


@dataclass
class Command:
    """A simple command: its words without assignments and redirections, and what its input is made of."""

    line: int
    words: list[Word] = field(default_factory=list)
    input: list[Reference] = field(default_factory=list)
    has_own_input: bool = False
    input_is_dynamic: bool = False


@dataclass
class Script:
    """What was found."""

    text: str
    references: list[Reference] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    """Parts of the text that are to be written in another way, so that a reference in them is expanded."""
    evaluates: int | None = None
    """The first line that evaluates the text of some variable as arithmetic or as a name."""
    parses: int | None = None
    """The first line that reads some variable's text or its input as a script."""
    has_keys: bool = False
    """Whether there are associative arrays."""
    lost: int | None = None
    """The line of a quote or bracket that has no end."""

    def line(self, position: int) -> int:
        """Counted from 1."""
        return self.text.count("\n", 0, position) + 1


@dataclass
class _HereDocument:
    end: str
    strips: bool
    is_quoted: bool
    start: int
    stop: int
    command: Command


def read_script(text: str) -> Script:
    """The places of all references in `text`."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stop = len(text)
        self._script = Script(text)
        self._here: list[_HereDocument] = []
        self._script.has_keys = re.search(r"-[A-Za-z]*A", text) is not None

    def read(self) -> Script:
        while self._at < self._stop:
            self._commands(None)
            self._at += 1
        return self._script

    # -- the text

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

    # -- commands

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
        if self._at == start:  # a sign that no word can begin with
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
        if assigned is None and _NAME.match(raw) and (bracket := re.match(r"[A-Za-z_]\w*\[", raw)):
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

    def _skip_white(self) -> None:
        while self._at < self._stop and self._text[self._at] in " \t\n":
            self._at += 1

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

    def _comment(self) -> None:
        while self._at < self._stop and self._text[self._at] != "\n":
            if self._is_reference(self._at):
                self._reference(Form.COMMENT, None)
            else:
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

    def _here_document(self, command: Command) -> None:
        self._at += 2
        strips = self._ahead("-")
        self._at += strips
        self._skip_blanks()
        start, end, is_quoted = self._at, "", False
        while self._at < self._stop and self._text[self._at] not in _ENDS_WORD:
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
        """Bash expands nothing here. So that references are, it becomes one that is expanded, all else escaped."""
        text = self._text[self._at : self._stop]
        if not REFERENCE.search(text):
            return
        is_simple = re.fullmatch(r"[A-Za-z0-9_]+", document.end) is not None
        if is_simple:
            self._script.edits.append((document.start, document.stop, document.end))
        while self._at < self._stop:
            if self._is_reference(self._at):
                why = "" if is_simple else "the end of its here-document is no simple word"
                self._reference(Form.DOUBLE, None, Need.ANY if is_simple else Need.INTEGER, why)
                continue
            if is_simple and self._text[self._at] in "\\$`":
                self._script.edits.append((self._at, self._at, "\\"))
            self._at += 1

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
            elif character in _ENDS_WORD:
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

    def _quoted(self, end: str | None, word: Word) -> None:
        """What double quotes hold, up to and with `end`; a here-document has none."""
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
        """What begins with `$` or a backtick."""
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

    @staticmethod
    def _mark_dynamic(word: Word) -> None:
        word.is_dynamic = True
        word.text += "\0"

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
        """Read `(( ... ))`; False, and nothing read, if the two closing ones are not side by side."""
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

    def _condition(self) -> None:
        """The rest of `[[ ... ]]`."""
        term: list[Word] = []
        while True:
            self._skip_white()
            if self._at >= self._stop:
                self._is_lost()
                break
            character = self._text[self._at]
            if self._ahead("&&") or self._ahead("||"):
                self._judge_term(term)
                term = []
                self._at += 2
            elif character in "();":
                self._judge_term(term)
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
        self._judge_term(term)

    def _judge_term(self, term: list[Word]) -> None:
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
