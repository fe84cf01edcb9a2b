"""Checks of databases, mails, commands on other machines, and sensors for moments, as tasks here."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from threading import Thread

import yaml

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import DAILY, in_dag, tasks

CHECKS = """
from airflow.providers.common.sql.operators.sql import (
    SQLCheckOperator, SQLColumnCheckOperator, SQLIntervalCheckOperator, SQLTableCheckOperator,
    SQLThresholdCheckOperator, SQLValueCheckOperator
)
from airflow.providers.ssh.operators.ssh import SSHOperator
from airflow.operators.email import EmailOperator
from airflow.sensors.date_time import DateTimeSensor
from airflow.sensors.time_delta import TimeDeltaSensor
from airflow.sensors.weekday import DayOfWeekSensor
"""


@every(
    ("written", "is_met"),
    [
        ("SQLCheckOperator({}, sql='SELECT count(*) FROM t')", True),
        ("SQLCheckOperator({}, sql='SELECT max(a, 0), b FROM t WHERE a > 9')", None),
        ("SQLCheckOperator({}, sql='SELECT * FROM t')", None),
        ("SQLCheckOperator({}, sql='SELECT a, count(*) FROM t GROUP BY 1')", None),
        ("SQLCheckOperator({}, sql='SELECT count(*) AS n, 1 < 2 few FROM t HAVING n > 1')", None),
        ("SQLCheckOperator({}, sql='SELECT count(*), max(a) > 1 AS many FROM t')", True),
        ("SQLCheckOperator({}, sql='SELECT count(*), sum(a) IS NULL FROM t')", False),
        ("SQLCheckOperator({}, sql='SELECT count(*), sum(a) FROM t WHERE a > 9')", False),
        ("SQLCheckOperator({}, sql='WITH u AS (SELECT a FROM t) SELECT count(*) FROM u')", True),
        ("SQLValueCheckOperator({}, sql='SELECT count(*), count(DISTINCT b) AS n FROM t', pass_value=3)", True),
        ("SQLValueCheckOperator({}, sql='SELECT count(*), count(a) FROM t', pass_value=3)", False),
        ("SQLValueCheckOperator({}, sql='WITH u AS (SELECT a, b FROM t) SELECT max(a), min(a) + 1 x FROM u',"
         " pass_value=2)", True),
        ("SQLThresholdCheckOperator({}, sql='SELECT count(*) AS n, max(b) FROM t', min_threshold=1, max_threshold=3)",
         True),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(x)': 1.6, 'count(*)': 1.1}})", True),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(x)': 1.5}}, days_back=7)", False),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(x)': 0.51}},"
         " ratio_formula='relative_diff')", True),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(y)': 1.5}})", True),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(y)': 1.5}}, ignore_zero=False)", False),
        ("SQLIntervalCheckOperator({}, table='d', metrics_thresholds={{'sum(x)': 9}}, days_back=6)", False),
        ("SQLValueCheckOperator({}, sql='SELECT count(*) FROM t;', pass_value=3)", True),
        ("SQLValueCheckOperator({}, sql='SELECT count(*) FROM t', pass_value='4', tolerance=0.25)", True),
        ("SQLValueCheckOperator({}, sql='SELECT count(*) FROM t', pass_value=4, tolerance=0.2)", False),
        ("SQLValueCheckOperator({}, sql='SELECT max(b) FROM t', pass_value=\"it's\")", True),
        ("SQLThresholdCheckOperator({}, sql='SELECT sum(a) FROM t', min_threshold=1, max_threshold=3.5)", True),
        ("SQLThresholdCheckOperator({}, sql='SELECT 9', min_threshold=1, max_threshold='SELECT max(a) FROM t')", False),
        ("SQLColumnCheckOperator({}, table='t', column_mapping={{'a': {{'null_check': {{'equal_to': 0}}}}}})", False),
        ("SQLColumnCheckOperator({}, table='t', partition_clause='a > 0', column_mapping={{"
         "'a': {{'null_check': {{'equal_to': 0}}, 'max': {{'leq_to': 1.9, 'tolerance': 0.1}}}},"
         "'b': {{'distinct_check': {{'geq_to': 2, 'partition_clause': 'a IS NOT NULL'}}}}}})", True),
        ("SQLTableCheckOperator({}, table='t', checks={{'n': {{'check_statement': 'count(*) >= 3'}}}})", True),
        ("SQLTableCheckOperator({}, table='t', checks={{'n': {{'check_statement': 'count(*) >= 3'}},"
         "'m': {{'check_statement': 'a < 2', 'partition_clause': 'a IS NOT NULL'}}}})", False),
        ("SQLTableCheckOperator({}, table='t', checks={{'m': {{'check_statement': 'a < 2',"
         "'partition_clause': 'a > 9'}}}})", False),
    ],
)  # fmt: skip
def test_a_check_says_what_it_says_there(written: str, is_met: bool | None) -> None:
    found = in_dag(written.format("task_id='a', conn_id='w', retries=2"), before=CHECKS)
    if is_met is None:
        assert any(
            "WAIT by SQL" in each or "name them" in each or "is not known" in each for each in said(found, Grade.TODO)
        )
        return
    task = tasks(found)["a"]
    assert (task.type, task.params["timeout"], task.retry_times) == ("WAIT", "1s", 2)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (a int, b text)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1, "it's"), (2, "b"), (None, "c")])
        database.execute("CREATE TABLE d (ds text, x int, y int)")
        database.executemany("INSERT INTO d VALUES (?, ?, ?)", [("2026-01-31", 3, 0), ("2026-01-24", 2, 4)])
        query = task.params["for"]["sql"]["sql"]
        for back, day in (("", "2026-01-31"), ("-7", "2026-01-24"), ("-6", "2026-01-25")):
            query = query.replace(f"$[interval_start(yyyy-MM-dd{back})]", day)
        row = database.execute(query).fetchone()
    assert bool(row[0]) is is_met


def test_a_mail_reaches_all_who_are_to_get_it() -> None:
    found = in_dag(
        """EmailOperator(task_id="a", to="a@x.org, b@x.org", cc=["c@x.org"], bcc=["d@x.org"], subject="Done: {{ ds }}",
                         html_content="<b>It's done</b>", files=[__FILE__])""".replace("__FILE__", repr(__file__)),
        before=CHECKS,
    )
    script = tasks(found)["a"].params["script"]
    heard: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Thread(target=_listen, args=(server, heard))
        listener.start()
        for name, value in (("host", f"127.0.0.1:{server.getsockname()[1]}"), ("from_email", "shoal@x.org")):
            script = script.replace(f"${{smtp_default.{name}}}", value)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        listener.join(10)
    assert done.returncode == 0, done.stderr
    assert [each for each in heard if each.startswith("rcpt")] == [f"rcpt TO:<{each}@x.org>" for each in "abcd"]
    assert "Subject: Done: $[interval_start(yyyy-MM-dd)]" in heard
    assert "Cc: c@x.org" in heard
    assert 'Content-Disposition: attachment; filename="test_checks_and_mails.py"' in heard
    assert not any("d@x.org" in each for each in heard if not each.startswith("rcpt"))


def _listen(server: socket.socket, heard: list[str]) -> None:
    """Take one mail."""
    connection, _ = server.accept()
    with connection, connection.makefile("rw", newline="\r\n") as lines:
        lines.write("220 x\n")
        lines.flush()
        is_text = False
        for line in lines:
            heard.append(line.rstrip("\r\n"))
            if is_text and heard[-1] != ".":
                continue
            word = heard[-1].lower()
            is_text = word == "data"
            lines.write("354 x\n" if is_text else "221 x\n" if word == "quit" else "250 x\n")
            lines.flush()
            if word == "quit":
                return


def test_a_command_for_another_machine_arrives_as_it_is_written() -> None:
    found = in_dag(
        """SSHOperator(task_id="a", ssh_conn_id="box", command='cd "$HOME" && ./load.sh {{ ds }} `date`', cmd_timeout=9,
                       skip_on_exit_code=[7], environment={"MODE": "a b"})""",
        before=CHECKS,
    )
    task = tasks(found)["a"]
    assert task.params["script"] == (
        'ssh -o BatchMode=yes "${box.host}" "export MODE=\'a b\'; '
        'cd \\"\\$HOME\\" && ./load.sh $[interval_start(yyyy-MM-dd)] \\`date\\`"\n'
    )
    assert task.skip_exit_codes == (7,)
    found = in_dag("SSHOperator(task_id='a', ssh_hook=made_elsewhere(), command='date')", before=CHECKS)
    assert any("its command and machine are not known" in each for each in said(found, Grade.TODO))


@every(
    ("given", "time"),
    [
        ("datetime(2026, 1, 1, 5)", "2026-01-01T05:00:00+00:00"),
        ("'2026-01-01 06:30:00'", "2026-01-01T06:30:00+00:00"),
        ("'{{ data_interval_end }}'", "${system.interval.end}"),
        ("'{{ execution_date.add(hours=30) }}'",
         "$[interval_start(yyyy-MM-dd+1800/24/60)]T$[interval_start(HH:mm:ss+1800/24/60)]+00:00"),
        ("'{{ ds }}'", "$[interval_start(yyyy-MM-dd)]"),
        ("'{{ execution_date.tomorrow() }}'", None),
    ],
)  # fmt: skip
def test_a_sensor_waits_for_a_moment(given: str, time: str | None) -> None:
    found = in_dag(f"DateTimeSensor(task_id='a', target_time={given})", before=CHECKS)
    if time is None:
        assert any("which moment it waits for is not known" in each for each in said(found, Grade.TODO))
        return
    assert tasks(found)["a"].params["for"] == {"time": time}
    assert not said(found, Grade.CHANGED)


@every(("by_run", "today"), [(True, '"$[interval_start(EEEE)]"'), (False, '"$(LC_ALL=C date -u +%A)"')])
def test_a_sensor_waits_for_a_day_of_the_week(by_run: bool, today: str) -> None:
    found = in_dag(f"DayOfWeekSensor(task_id='a', week_day='monday', use_task_logical_date={by_run})", before=CHECKS)
    assert tasks(found)["a"].params["for"] == {"script": f"case {today} in Monday) exit 0 ;; *) exit 1 ;; esac\n"}


@every(
    ("schedule", "before"),
    [
        ('"0 5 * * *"', "$[interval_start(yyyy-MM-dd-1)]"),
        ('"@hourly"', "$[interval_start(yyyy-MM-dd-60/24/60)]"),
        ("timedelta(hours=3)", "$[interval_start(yyyy-MM-dd-180/24/60)]"),
        ('"0 5 1 * *"', "$[interval_start(add_months(yyyy-MM-dd,-1))]"),
        ('"0 5 31 * *"', None),
        ('"0 5 * * 1,4"', None),
        ("None", "$[yyyy-MM-dd]"),
    ],
)
def test_the_run_before_is_as_far_away_as_the_schedule_says(schedule: str, before: str | None) -> None:
    given = f"schedule={schedule}, start_date=datetime(2026, 1, 1), catchup=False"
    found = in_dag("BashOperator(task_id='a', bash_command='{{ prev_ds }}')", given=given)
    if before is None:
        assert any("the run before this one is not always as far away" in each for each in said(found, Grade.TODO))
    else:
        assert tasks(found)["a"].params["script"] == f"{before}\n"


@every(
    ("template", "text", "param"),
    [
        ('dag_run.conf["x"]["y"]', "${x.y}", {"type": "JSON", "required": True}),
        ("params.x.y.z", "${x.y.z}", {"type": "JSON", "required": True}),
        ('dag_run.conf["x"] if dag_run else "none"', "${x}", "none"),
        ('dag_run.conf.get("x") or "none"', "${x}", "none"),
        ("params.x | default(3)", "${x}", "3"),
        ("dag_run.run_type", "${run_type}", None),
    ],
)
def test_a_template_takes_parts_and_defaults(template: str, text: str, param: object) -> None:
    found = in_dag(f"BashOperator(task_id='a', bash_command='''echo {{{{ {template} }}}}''')")
    assert tasks(found)["a"].params["script"] == f"echo {text}\n"
    if param is None:
        assert "run_type: manual" in "".join(found.files.values())
        assert "run_type: scheduled" in "".join(found.files.values())
        return
    written = next(text for name, text in found.files.items() if name == "workflows/d.yaml")
    assert yaml.safe_load(written)["params"]["x"] == param


def test_a_default_that_the_params_overrule_is_told() -> None:
    found = in_dag(
        "BashOperator(task_id='a', bash_command=\"{{ dag_run.conf.get('x', 'b') }}\")",
        given=DAILY + ", params={'x': 'a'}",
    )
    assert any("it is what params say, and not the default b" in each for each in said(found, Grade.CHANGED))


def test_a_dag_in_a_condition_on_a_library_is_there() -> None:
    before = "try:\n    from kubernetes.client import models as k8s\nexcept ImportError:\n    k8s = None\n"
    found = in_dag("if k8s:\n    BashOperator(task_id='a', bash_command='date')", before=before)
    assert list(tasks(found)) == ["a"]


@every("number", ["float('inf')", "float('nan')", "10 ** 400", "[1]"])
def test_a_number_that_is_none_is_to_be_done(number: str) -> None:
    found = in_dag(
        f"DateTimeSensor(task_id='a', target_time='2026-01-01', poke_interval={number})\n"
        f"SQLValueCheckOperator(task_id='b', sql='SELECT 1', pass_value={number})",
        before=CHECKS,
    )
    assert any("poke_interval" in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)
    assert any("pass_value" in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_long_templates_and_statements_take_no_time() -> None:
    long = " " * 20_000
    found = in_dag(
        f"BashOperator(task_id='a', bash_command='''{{{{ a{long}or{long}b }}}}''')\n"
        f"SQLCheckOperator(task_id='b', sql='''SELECT a{long}b''')",
        before=CHECKS,
    )
    assert any("has no counterpart here" in each for each in said(found, Grade.TODO))
