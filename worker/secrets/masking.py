"""Replaces secrets in a log by asterisks, wherever the stream is cut.

A chunk may end in the middle of a secret. So the longest suffix that could become one is held back until the next chunk
decides; ordinary output is not delayed. This protects against carelessness (an `echo`, a `set -x`), not against a task
that wants to reveal its secret: it can spell it backwards. Secrets that a program splits, as `pprint` does, are not
found either: allowing quotes and indentation after each blank makes the search many times slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from worker.secrets.forms import Form, forms_of

MASK = b"******"


class Masking:
    """Masks one stream of bytes. The result does not depend on how the input is divided into chunks."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._anchors: list[tuple[bytes, Form]] = []
        self._in_line = _Beginnings()
        self._over_lines = _Beginnings()
        self._first_bytes: frozenset[int] = frozenset()
        self._rest = b""
        for secret in set(secrets):
            self.add(secret)

    def add(self, secret: str) -> None:
        """Mask this secret too from now on, including what was held back."""
        for form in forms_of(secret):
            self._anchors += [(anchor, form) for anchor in form.anchors]
            (self._in_line if form.is_in_a_line else self._over_lines).add(form)
            self._first_bytes |= {beginning[0] for beginning in form.beginnings}

    def feed(self, data: bytes) -> bytes:
        """The output that may be shown now."""
        if not self._anchors:
            return data
        data = self._rest + data
        shown: list[bytes] = []
        position = 0
        undecided = self._undecided_from(data, 0)
        for begin, end in self._occurrences(data):
            if begin >= undecided:
                break
            shown += (data[position:begin], MASK)
            position = end
            undecided = max(undecided, self._undecided_from(data, position)) if position > undecided else undecided
        shown.append(data[position:undecided])
        self._rest = data[undecided:]
        return b"".join(shown)

    def finish(self) -> bytes:
        """The rest that was held back, at the end of the input."""
        rest, self._rest = self._rest, b""
        return self._whole(rest) if rest else rest

    def masked(self, text: str) -> str:
        """Mask a whole text; the stream is not touched."""
        return self._whole(text.encode(errors="replace")).decode(errors="replace") if self._anchors else text

    def _whole(self, data: bytes) -> bytes:
        shown: list[bytes] = []
        position = 0
        for begin, end in self._occurrences(data):
            shown += (data[position:begin], MASK)
            position = end
        return b"".join([*shown, data[position:]])

    def _occurrences(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Begin and end of each secret from left to right, the longest at each place."""
        near = dict.fromkeys(form for anchor, form in self._anchors if anchor in data)
        ahead = {form: found for form in near if (found := form.find(data, 0))}
        while ahead:
            begin, end = min(ahead.values(), key=lambda each: (each[0], -each[1]))
            yield begin, end
            for form in [form for form, (its_begin, _) in ahead.items() if its_begin < end]:
                found = form.find(data, end)
                if found is None:
                    del ahead[form]
                else:
                    ahead[form] = found

    def _undecided_from(self, data: bytes, start: int) -> int:
        """The start of the longest suffix of `data` that more bytes could make into a secret, else its length."""
        end = len(data)
        first = end - 1 if end > start and data[-1] in self._first_bytes else end
        first = self._in_line.first_open(data, max(start, data.rfind(b"\n") + 1), first)
        return self._over_lines.first_open(data, start, first)


class _Beginnings:
    """The beginnings of some forms."""

    def __init__(self) -> None:
        self._forms: list[tuple[bytes, Form]] = []
        self._size_max = 0
        self._any: re.Pattern[bytes] | None = None

    def add(self, form: Form) -> None:
        self._forms += [(beginning, form) for beginning in form.beginnings]
        self._size_max = max(self._size_max, form.size_max)
        self._any = None

    def first_open(self, data: bytes, start: int, first: int) -> int:
        """The first place from `start` on and before `first` that more bytes could make into a secret, else `first`."""
        begin = max(start, len(data) - self._size_max + 1)
        if begin >= first or not self._forms:
            return first
        if self._any is None:
            self._any = re.compile(b"|".join(re.escape(each) for each in {each for each, _ in self._forms}))
        found = self._any.search(data, begin)
        if found is None:
            return first
        for beginning, form in self._forms:
            to = first + len(beginning) - 1
            at = data.find(beginning, max(found.start(), len(data) - form.size_max + 1), to)
            while at >= 0 and not form.is_open(data, at):
                at = data.find(beginning, at + 1, to)
            if at >= 0:
                first = at
        return first
