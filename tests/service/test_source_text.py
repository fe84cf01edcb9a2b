"""The text of a version is shown as it was written, brought up to date where it must be, and never holds a secret."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dao.secrets.parameters import sealed_spec
from dao.secrets.vault import Vault, new_key
from model.choices import ReleaseState
from model.definitions.layout import Layout, Place
from model.time.schedules import ScheduleSpec
from service.workflows.source_text import saying, to_store
from service.workflows.workflow_file import WorkflowDocument, parse_workflows
from service.workflows.workflow_text import WorkflowContent
from service.workflows.yaml_lines import BadYaml
from tests.every import every

TEXT = """\
# What it is for.
name: w   # by hand
description: 'say # this'

# The order matters.
tasks:
  # first
  - {name: a, type: FAKE}   # one
  - name: b
    type: SHELL
    after: [a]
    params:
      script: |
        # no comment of the YAML
        echo done

# the end
"""


def read(text: str) -> WorkflowDocument:
    (document,) = parse_workflows(text.encode(), "f.yaml", None)
    return document


def content_of(text: str) -> WorkflowContent:
    document = read(text)
    schedules = [(each.spec(document.spec.time_zone), each.online) for each in document.schedules]
    return WorkflowContent(
        document.project, document.name, document.release_state, document.spec.coded(), schedules, document.layout
    )


def added(before: str, after: str | None) -> list[str]:
    """The lines that came, if all others stayed in their order."""
    assert after is not None
    old, found = before.splitlines(), []
    for line in after.splitlines():
        if old and old[0] == line:
            old.pop(0)
        else:
            found.append(line)
    assert old == []
    return found


def test_a_text_that_says_the_content_stays_as_it_is() -> None:
    assert saying(TEXT, content_of(TEXT)) == TEXT


def test_a_text_of_another_definition_is_not_shown() -> None:
    other = content_of(TEXT.replace("echo done", "echo other"))
    assert saying(TEXT, other) is None
    assert saying("name: [", other) is None


def test_what_changed_beside_the_definition_is_written_in_its_own_section() -> None:
    content = content_of(TEXT)
    offline = replace(content, release_state=ReleaseState.OFFLINE)
    assert added(TEXT, saying(TEXT, offline)) == ["release_state: OFFLINE"]
    scheduled = replace(content, schedules=[(ScheduleSpec("0 0 5 * * ?"), True)])
    changed = saying(TEXT, scheduled)
    assert added(TEXT, changed) == ["schedules:", "  - cron: 0 0 5 * * ?"]
    assert changed is not None
    assert changed.index("schedules:") < changed.index("# The order matters.")
    drawn = replace(content, layout=Layout(tasks={"a": Place(x=1, y=2)}))
    assert added(TEXT, saying(TEXT, drawn))[0] == "layout:"
    with_all = saying(changed, replace(scheduled, layout=drawn.layout))
    assert with_all is not None
    assert saying(with_all, content) == TEXT


def test_sections_are_replaced_with_their_own_comments_only() -> None:
    text = TEXT.replace("\n# The order", "schedules:\n  # at night\n  - {cron: 0 0 5 * * ?}\n# The order")
    content = content_of(text)
    assert saying(text, content) == text
    changed = saying(text, replace(content, schedules=[(ScheduleSpec("0 0 6 * * ?"), False)]))
    assert changed is not None
    assert "at night" not in changed
    assert "# The order matters.\ntasks:\n  # first" in changed
    assert "state: OFFLINE" in changed


@every("text", ["{name: w, tasks: [{name: a, type: FAKE}]}", " name: w\n tasks: [{name: a, type: FAKE}]\n"])
def test_a_text_without_sections_is_shown_only_as_it_is(text: str) -> None:
    content = content_of(text)
    assert saying(text, content) == text
    assert saying(text, replace(content, release_state=ReleaseState.OFFLINE)) is None


def test_windows_lines_and_marks_of_documents_do_no_harm() -> None:
    text = "%YAML 1.2\r\n---\r\n# c\r\nname: w\r\ntasks:\r\n  - {name: a, type: FAKE}\r\n...\r\n"
    content = content_of(text)
    assert saying(text, content) == text
    changed = saying(text, replace(content, layout=Layout(tasks={"a": Place(x=1, y=2)})))
    assert changed is not None
    assert changed.endswith("...\r\n")


def test_each_workflow_of_a_file_has_its_own_text() -> None:
    first = "# of the file\nname: one\ntasks: [{name: a, type: FAKE}]\n"
    script = (
        "name: two\n# of the second\ntasks:\n  - name: a\n    type: SHELL\n    params:\n      script: |\n        ---\n"
    )
    found = parse_workflows(f"{first}---\n# only this\n---\n{script}".encode(), "f.yaml", None)
    assert [each.source for each in found] == [first, script]
    ended = parse_workflows(f"{first}...\n%YAML 1.2\n---\n{script}".encode(), "f.yaml", None)
    assert [each.source for each in ended] == [first, script]
    alone = "# alone\n---\nname: one\ntasks: [{name: a, type: FAKE}]\n"
    assert read(alone).source == alone


SECRET = """\
name: w
params:
  password: {type: SECRET, value: 'hunter22'}   # ask Ada
  other: {type: SECRET, value: "with\\ttab"}
tasks:
  - name: a
    type: FAKE
    local_params:
      token: {type: SECRET, value: tokentoken}
      plain: visible
schedules:
  - {cron: 0 0 5 * * ?, params: {password: fromschedule}}
"""


def stored(text: str) -> tuple[str | None, WorkflowContent]:
    document = read(text)
    spec = sealed_spec(document.spec, None, Vault([new_key()]), "default")
    return to_store(document, spec), replace(content_of(text), spec=spec.coded(), schedules=())


def test_secrets_are_stored_as_in_the_definition() -> None:
    text, content = stored(SECRET)
    assert text is not None
    for clear in ("hunter22", "with\\ttab", "tokentoken", "fromschedule"):
        assert clear not in text
    assert "# ask Ada" in text
    assert "plain: visible" in text
    shown = saying(text, content)
    assert shown is not None
    assert read(shown).spec.coded() == content.spec


@every(
    "text",
    [
        SECRET + "# hunter22\n",
        SECRET.replace("name: w\n", "name: w\ndescription: hunter22\n"),
        "x: &s hunter22\n" + SECRET.replace("'hunter22'", "*s"),
    ],
)
def test_a_text_in_which_a_secret_would_stay_is_not_stored(text: str) -> None:
    try:
        document = read(text.replace("x: &s", "description: &s"))
    except BadYaml:
        pytest.fail("the case itself is wrong")
    spec = sealed_spec(document.spec, None, Vault([new_key()]), "default")
    found = to_store(document, spec)
    assert found is None or "hunter22" not in found
