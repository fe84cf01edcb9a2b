"""What counts as printed as the page says, and what does not."""

from __future__ import annotations

from tests.every import every
from tests.newcomer.comparison import Ids, difference

TABLE = "RUN  WORKFLOW  STARTED\n  9  hello     2 s ago\n  8  hello     1 min 3 s ago\n"


@every(
    ("shown", "printed"),
    [
        ("Run 2 of hello: SUCCESS, 4 tasks in 71 ms", "Run 13 of hello: SUCCESS, 1 task in 1.2 s"),
        ("  a    b\n\nc", "a b\nc"),
        ("First at 2026-11-22T04:00:00.000Z", "First at 2027-01-03T23:30:00.125Z"),
        ("Sun 2026-11-22 05:00:00 CET", "Tue 2026-07-07 05:00:00 CEST"),
        ("master m1   127.0.0.1:35389   (data in ~/.local/share)", "master m2   127.0.0.1:1   (data in /tmp/x/data)"),
        ("key ee5608259db7 in 14 h", "key 1c940b97f5d5 in 9 d"),
        ("at postgresql+psycopg://…", "at postgresql+psycopg://shoal:***@/shoal?host=%2Ftmp"),
        ("a …\nz", "a b c\nz"),
        ("a\n…\nz", "a\nb\nc\nz"),
        ("a\n…", "a"),
    ],
)
def test_what_differs_each_time_does_not_count(shown: str, printed: str) -> None:
    assert difference(shown.splitlines(), printed) == ""


@every(
    ("shown", "printed"),
    [
        ("Run 2 of hello: SUCCESS", "Run 2 of hello: FAILURE"),
        ("a\nb", "a"),
        ("a", "a\nb"),
        ("a\nb", "b\na"),
        ("a\n…\nz", "a\nb"),
        ("a … c", "a b"),
        ("4 tasks", "four tasks"),
        ("postgresql://ada:***@db.example/crm", "postgresql://ada:secret@db.example/crm"),
    ],
)
def test_everything_else_counts(shown: str, printed: str) -> None:
    assert difference(shown.splitlines(), printed) != ""


def test_ids_of_the_page_become_those_of_here() -> None:
    ids = Ids()
    ids.learn(["Run 2 of hello", "Schedule 1 starts hello", "Workflow is requested by command 3."],
              "Run 7 of hello\nSchedule 5 starts hello\nWorkflow is requested by command 9.")  # fmt: skip
    assert ids.typed("shoal log 2/greet") == "shoal log 7/greet"
    assert ids.typed("shoal schedule off 1") == "shoal schedule off 5"
    assert ids.typed("shoal schedule delete 1") == "shoal schedule delete 5"
    assert ids.typed("shoal queue delete 3") == "shoal queue delete 9"
    assert ids.typed("shoal why command 3") == "shoal why command 9"
    assert ids.typed("shoal rerun 42 --task a") == "shoal rerun 7 --task a"
    assert ids.typed("shoal runs --limit 2") == "shoal runs --limit 2"
    ids.learn(TABLE.replace("9", "4").replace("8", "3").splitlines(), TABLE)
    assert ids.typed("shoal show 4") == "shoal show 9"
