"""`model/near.py`: the name that is meant, found soon however many and long the names are."""

from __future__ import annotations

import time
from pathlib import Path

from model.near import CUTOFF, cure_of, nearest
from tests.every import every

ROOT = Path(__file__).parents[2]
LONG = "".join(chr(ord("a") + number * number % 23) for number in range(190))


@every(
    ("name", "known", "meant"),
    [
        ("wroflow", ["other", "workflow"], "workflow"),
        ("x", ["workflow"], None),
        ("", ["workflow"], None),
        ("workflow", [], None),
        ("a" * 1_000_000, ["a" * 200, "b" * 1_000_000], "a" * 200),
        (f"{LONG}01234", [f"{LONG}{number:05}" for number in range(0, 10_000, 2)], f"{LONG}01230"),
        (f"{LONG[1:]}x00042", [f"{LONG}{number:05}" for number in range(1_000)], f"{LONG}00042"),
    ],
)
def test_the_nearest_name(name: str, known: list[str], meant: str | None) -> None:
    near = nearest(name, known)
    assert near == meant or (near is not None and meant is not None and near[:194] == meant[:194])


def test_ten_thousand_long_names_are_compared_soon() -> None:
    """All letters of all of them took half a minute."""
    known = [f"{LONG}{number:05}" for number in range(10_000)]
    began = time.process_time()
    assert nearest(f"{LONG}0123x456", known) is not None
    assert time.process_time() - began < 5


def test_what_to_write_instead() -> None:
    assert cure_of("ab1", ["ab", "xy"], "empty") == 'did you mean "ab"?'
    assert cure_of("q", ["ab", "xy"], "empty") == "known: ab, xy"
    assert cure_of("q", [], "empty") == "empty"
    assert nearest("abcd", ["abxy"], cutoff=0.5) == "abxy"
    assert nearest("abcd", ["abxy"], cutoff=CUTOFF) is None


def test_no_other_code_compares_letter_by_letter_or_line_by_line() -> None:
    layers = ("alert", "api", "dao", "http_server", "logstore", "master", "metrics", "model", "node", "registry")
    found = {
        str(path.relative_to(ROOT))
        for layer in (*layers, "service", "shoal", "worker")
        for path in (ROOT / layer).rglob("*.py")
        if "get_close_matches" in path.read_text() or "SequenceMatcher" in path.read_text()
    }
    assert found == {"model/near.py", "model/definitions/line_diff.py"}
