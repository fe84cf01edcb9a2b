"""Values that a process prints, in whatever pieces the stream comes."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.parameters.large_values import INLINE_BYTES_MAX
from tests.every import every
from tests.worker.scene import MemoryLog
from worker.tasks.set_value_lines import LINES_MAX, VALUES_MAX, PrintedValues


def read(*pieces: bytes) -> dict[str, str]:
    printed = PrintedValues(MemoryLog())
    for piece in pieces:
        printed.write(piece)
    return printed.outputs()


@every(
    ("text", "values"),
    [
        ("${setValue(a=1)}\n", {"a": "1"}),
        ("#{setValue(a=1)}\n", {"a": "1"}),
        ("before\n${setValue(a=1)}\nafter\n", {"a": "1"}),
        ("${setValue(a=1)}", {"a": "1"}),
        ("  ${setValue(a=1)}\t\r\n", {"a": "1"}),
        ("${setValue(a=1)}\n${setValue(b=2)}\n${setValue(a=3)}\n", {"a": "3", "b": "2"}),
        ("${setValue(a=)}\n", {"a": ""}),
        ("#{setValue(a=1)}#{setValue(b=2)} ${setValue(a=3)}\n", {"a": "3", "b": "2"}),
        ("${setValue(a=f(x)})}=)})}\n", {"a": "f(x)})}=)}"}),
        ("${setValue(a= two words )}\n", {"a": " two words "}),
        ('${setValue(a=["x", "ü"])}\n', {"a": '["x", "ü"]'}),
        ("${setValue( day.of_week =3)}\n", {"day.of_week": "3"}),
        ("echo ${setValue(a=1)}\n", {}),
        ("${setValue(a=1)} done\n", {}),
        ("${setValue(a=1\n)}\n", {}),
        ("{setValue(a=1)}\n$${setValue(a=1)}\n", {}),
        ("$\n#\n\n${setValue(\n", {}),
        (" " * 70_000 + "\n${setValue(a=1)}", {"a": "1"}),
    ],
)
def test_a_value_stands_on_a_line_of_its_own(text: str, values: dict[str, str]) -> None:
    data = text.encode()
    assert read(data) == values
    step = 1 + len(data) // 1_000
    assert read(*(data[at : at + step] for at in range(0, len(data), step))) == values


SKIPS = (b"#{setSkipped(c)}", b"${setSkipped(")


@given(
    st.lists(st.sampled_from([b"${setValue(a=1)}", b"#{setValue(b=", *SKIPS, b")}", b"x", b"\n", b"\xff\x00", b" "])),
    st.data(),
)
def test_where_the_stream_is_cut_changes_nothing(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    def outcome(*pieces: bytes) -> tuple[dict[str, str] | str, str | None, str]:
        printed = PrintedValues(log := MemoryLog())
        for piece in pieces:
            printed.write(piece)
        try:
            return printed.outputs(), printed.skip, log.text
        except Refused as error:
            return str(error), None, log.text

    assert outcome(*pieces) == outcome(whole)


def test_everything_goes_on_into_the_log() -> None:
    log = MemoryLog()
    printed = PrintedValues(log)
    for piece in (b"one\n${setVa", b"lue(a=1)}\n\xff\x00", b"two"):
        printed.write(piece)
    assert log.data == b"one\n${setValue(a=1)}\n\xff\x00two"
    assert printed.last_line().endswith("two")


@every(
    ("text", "sentence"),
    [
        (b"${setValue(a=" + b"x" * (INLINE_BYTES_MAX + 1) + b")}\n", r'"a" .* more than 65536 bytes; print a file'),
        (b"${setValue(a=" + b"x" * 10 * INLINE_BYTES_MAX, "more than 65536 bytes by setValue"),
        (b"".join(b"${setValue(a%d=%s)}\n" % (n, b"x" * INLINE_BYTES_MAX) for n in range(4)), "262144 bytes together"),
        (b"".join(b"${setValue(a%d=)}\n" % n for n in range(VALUES_MAX + 1)), "more than 1000 values"),
        (b"${setValue(a=1)}\n" * (LINES_MAX + 1), "more than 20000 lines with setValue"),
        (b"${setValue(a=\xff)}\n", 'value of "a" that it printed is not UTF-8'),
        (b"${setValue(a=\x00)}\n", 'value of "a" that it printed contains a NUL'),
    ],
)
def test_a_value_that_does_not_fit_fails_the_task_with_the_limit(text: bytes, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read(text)
    with pytest.raises(Refused, match=sentence):
        read(*(text[at : at + 1000] for at in range(0, len(text), 1000)), b"\n${setValue(b=1)}\n")


def test_the_same_name_again_and_again_is_one_value() -> None:
    assert read(*[b"${setValue(a=" + b"x" * 1000 + b")}\n"] * 1000) == {"a": "x" * 1000}


def test_a_name_that_no_reference_can_name_is_told_of_in_the_log() -> None:
    log = MemoryLog()
    printed = PrintedValues(log)
    printed.write("${setValue(my-key=1)}\n${setValue(nothing)}\n${setValue(b=2)}\n" + "${setValue(1=1)}\n" * 50)
    assert printed.outputs() == {"b": "2"}
    assert "gave no value: its name is not made of" in log.text
    assert "gave no value: there is no = in it" in log.text
    assert log.text.count("[shoal]") == 10


@every(
    "text",
    [
        "loading 100%${setValue(rows=42)}\n",
        "${setValue(rows=4\n2)}\n",
        "${setValue(rows=42) }\n",
        "x" * 10_000 + "#{setValue( rows =42)}",
        "${setValue(rows=42)}${setValue(rows=43)} done\n",
        "\n${setValue(rows=",
    ],
)
def test_a_value_that_does_not_stand_alone_on_a_line_is_missed_in_the_log(text: str) -> None:
    for size in (1, 7, len(text)):
        log = MemoryLog()
        printed = PrintedValues(log)
        for at in range(0, len(text), size):
            printed.write(text[at : at + size])
        assert printed.outputs() == {}
        assert log.text.count("[shoal] a line with setValue(rows=...) gave no value: print ") == 1
        assert '"rows" got no value' not in log.text, "it may have a default value, or that of a task before"


@pytest.mark.parametrize(
    "text",
    ["+ echo '#{setValue(rows=42)}'\n#{setValue(rows=42)}\n", "echo '${setValue()}'\n", "print $setValue(rows=1)\n"],
)
def test_what_only_shows_a_value_is_not_missed(text: str) -> None:
    log = MemoryLog()
    printed = PrintedValues(log)
    printed.write(text)
    printed.outputs()
    assert "[shoal]" not in log.text


@pytest.mark.parametrize("piece", [b"\0" * 65536, b"y\n" * 32768, b" " * 65536, b"${setValue(a=" * 5000])
def test_a_quarter_of_a_gigabyte_takes_neither_memory_nor_long(piece: bytes) -> None:
    class NoLog(MemoryLog):
        def write(self, text: str | bytes) -> None:
            pass

    printed = PrintedValues(NoLog())
    began = time.process_time()
    tracemalloc.start()
    for _ in range(4096):
        printed.write(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert time.process_time() - began < 10
