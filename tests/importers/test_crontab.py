"""A crontab: each line as a workflow that does what cron did."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from importers.crontab import Form, import_crontabs
from importers.imported import Imported
from importers.report import Grade
from tests.every import every
from tests.importers.exports import TYPES, documents, said

CRONTAB = (Path(__file__).parents[1] / "shoal" / "crontab.txt").read_text()


def imported(text: str, **form: Any) -> Imported:
    return import_crontabs([("crontab.txt", text.encode())], TYPES, Form(**form))


def test_each_line_is_a_workflow_with_its_time_and_zone() -> None:
    found = imported(CRONTAB)
    assert not found.report.has_todo
    load, cat = (documents(found)[name] for name in ("load.sh_yesterday", "cat"))
    assert (load.schedules[0].cron, load.spec.time_zone) == ("30 2 * * 1-5", "Europe/Berlin")
    assert (load.schedules[0].state, load.schedules[0].misfire) == ("OFFLINE", "SKIP")
    assert cat.schedules[0].cron == "@hourly"
    assert documents(imported(CRONTAB, online=True))["cat"].schedules[0].state == "ONLINE"


def test_a_script_has_the_variables_and_the_input_of_its_line(tmp_path: Path) -> None:
    text = f"HOME={tmp_path}\nGREETING='good day'\n* * * * * echo \"$GREETING\" > out; cat >> out%one%two \\% three\n"
    (document,) = documents(imported(text)).values()
    subprocess.run(["bash", "-c", document.spec.tasks[0].params["script"]], check=True)
    assert (tmp_path / "out").read_text() == "good day\none\ntwo % three\n"


def test_a_variable_counts_for_the_lines_below_it() -> None:
    found = documents(imported("0 1 * * * a\nX=1\n0 2 * * * b\n"))
    assert "X=1" not in found["a"].spec.tasks[0].params["script"]
    assert "export X=1" in found["b"].spec.tasks[0].params["script"]


def test_a_system_s_crontab_names_the_user_before_the_command() -> None:
    (document,) = documents(imported("17 * * * * etl /opt/run.sh\n", is_system=True)).values()
    assert (document.name, document.spec.tenant) == ("run.sh", "etl")


@every("line", ["@reboot start.sh", "61 * * * * a", "nonsense", "* * * *"])
def test_what_is_no_schedule_here_is_a_todo(line: str) -> None:
    assert imported(f"{line}\n").report.has_todo


def test_a_zone_and_mail_that_are_not_there_are_said() -> None:
    found = imported("MAILTO=ops@example.org\n0 1 * * * a\n")
    sentences = said(found, Grade.CHANGED)
    assert any("no time zone" in each for each in sentences)
    assert any("ops@example.org" in each for each in sentences)


def test_a_password_of_a_command_is_not_written() -> None:
    found = imported("0 1 * * * mysqldump -ph1dden-one shop > /srv/shop.sql\n")
    assert "h1dden-one" not in "".join(found.files.values())
    assert found.report.has_todo


def test_lines_of_one_name_are_workflows_of_their_own() -> None:
    assert set(documents(imported("0 1 * * * a\n0 2 * * * a\n"))) == {"a", "a-2"}
