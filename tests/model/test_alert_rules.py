"""Rules of alerts in words: what each form means, and what a wrong one is answered."""

from __future__ import annotations

import re
from datetime import time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.alerts.rules import FORMS, Fails, Late, Recovers, Rule, Succeeds, TakesLonger, parse_rule
from model.errors import Refused
from model.time.zones import zone
from tests.every import every

BERLIN = zone("Europe/Berlin")


@every(
    ("text", "rule"),
    [
        ("any run of load fails -> group data", Rule(Fails(1), "load", "data")),
        ("load fails -> group data", Rule(Fails(1), "load", "data")),
        ("Any run of load Fails\n → Group data", Rule(Fails(1), "load", "data")),
        ("any run of load fails twice in a row -> group data", Rule(Fails(2), "load", "data")),
        ("any run of load fails three times in a row -> group data", Rule(Fails(3), "load", "data")),
        ("any run of load fails 12 times in a row -> group data", Rule(Fails(12), "load", "data")),
        ("any run of this project fails -> group data", Rule(Fails(1), None, "data")),
        ('any run of "this project" fails -> group data', Rule(Fails(1), "this project", "data")),
        ("any run of load orders fails -> group the night", Rule(Fails(1), "load orders", "the night")),
        ('any run of "it fails" fails -> group "the night"', Rule(Fails(1), "it fails", "the night")),
        ("any run of 'a \"b\"' recovers -> group data", Rule(Recovers(), 'a "b"', "data")),
        ("load recovered -> group data", Rule(Recovers(), "load", "data")),
        ("any run of load succeeds -> group data", Rule(Succeeds(), "load", "data")),
        ("load takes longer than 30 minutes -> group ops", Rule(TakesLonger(timedelta(minutes=30)), "load", "ops")),
        ("load takes longer than 1 hour -> group ops", Rule(TakesLonger(timedelta(hours=1)), "load", "ops")),
        ("load takes longer than 1h30m -> group ops", Rule(TakesLonger(timedelta(minutes=90)), "load", "ops")),
        (
            "load takes longer than 1 hour and 5 minutes -> group ops",
            Rule(TakesLonger(timedelta(minutes=65)), "load", "ops"),
        ),
        ("load takes longer than 90 s -> group ops", Rule(TakesLonger(timedelta(seconds=90)), "load", "ops")),
        ("load takes longer than 5 min -> group ops", Rule(TakesLonger(timedelta(minutes=5)), "load", "ops")),
        ("late: load not ended by 06:00 -> group ops", Rule(Late(time(6)), "load", "ops")),
        ("late: load not ended by 6:05 Europe/Berlin -> group ops", Rule(Late(time(6, 5), BERLIN), "load", "ops")),
        (
            "late: load not succeeded by 06:00 Europe/Berlin since 20:00 on weekdays -> group ops",
            Rule(Late(time(6), BERLIN, time(20), frozenset(range(5)), True), "load", "ops"),
        ),
        (
            "late: load not ended by 06:00 on monday, Wed and sundays -> group ops",
            Rule(Late(time(6), days=frozenset({0, 2, 6})), "load", "ops"),
        ),
        (
            'late: "not ended by 05:00" not ended by 06:00 since 01:00 -> group ops',
            Rule(Late(time(6), since=time(1)), "not ended by 05:00", "ops"),
        ),
    ],
)
def test_what_a_rule_says(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@every(
    ("text", "sentence"),
    [
        ("", "the rule is empty; write one such as: any run of NAME fails -> group data"),
        ("any run of load fails", "says not who is notified; end it with -> group NAME"),
        ("any run of load fails -> data", 'after the arrow stands "data"; write -> group NAME'),
        ("any run of load fails ->", 'after the arrow stands ""'),
        ('any run of load fails -> group ""', "must have 1 to 200 printable characters"),
        (f"any run of load fails -> group {'x' * 201}", "must have 1 to 200 printable characters"),
        ("load breaks -> group data", '"load breaks" is not understood; write one of: any run of NAME fails'),
        ("fails -> group data", '"fails" is not understood'),
        ("load fails often -> group data", '"load fails often" is not understood'),
        ('"" fails -> group data', "the name of the workflow is empty"),
        ("load fails once times in a row -> group data", '"once times" is not a number of failures; write twice'),
        ("load fails 1 times in a row -> group data", "is not a number of failures"),
        ("load fails 101 times in a row -> group data", "2 times to 100 times in a row"),
        ("load takes longer than a while -> group data", '"a while" is not a time that a run may take'),
        ("load takes longer than 0 minutes -> group data", "is not a time that a run may take"),
        ("load takes longer than 900 days -> group data", "at most 366 days"),
        ("late load -> group data", "write late: NAME not ended by 06:00 Europe/Berlin"),
        ("late: load not ended by noon -> group data", "write late: NAME not ended by 06:00 Europe/Berlin"),
        ("late: load not ended by 24:00 -> group data", '"24:00" is not a time of the day; write it as 06:00'),
        ("late: load not ended by 06:00 since 6 -> group data", '"6" is not a time of the day'),
        ("late: load not ended by 06:00 Mars/City -> group data", 'there is no time zone "Mars/City"'),
        ("late: load not ended by 06:00 on someday -> group data", '"someday" is not a day of the week'),
        ("late: this project not ended by 06:00 -> group data", "is about one workflow; name it"),
    ],
)
def test_a_wrong_rule_is_answered_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(Refused) as raised:
        parse_rule(text)
    assert sentence in str(raised.value)


def test_each_rule_of_the_documentation_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "alerts.md").read_text("utf-8")
    (written,) = re.findall(r"(?ms)^```rules\n(.*?)^```", page)
    assert len(written.splitlines()) == 10
    assert {parse_rule(line).group for line in written.splitlines()} == {"data", "ops", "night shift"}


@every("form", FORMS)
def test_each_form_that_a_sentence_names_is_a_rule(form: str) -> None:
    assert parse_rule(f"{form} -> group data").workflow == "NAME"


@given(text=st.text(max_size=300) | st.text("any run of fails late: not ended by 06:00 -> group \"'", max_size=120))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except Refused:
        return
    assert rule.group
