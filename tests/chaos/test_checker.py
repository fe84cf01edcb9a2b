"""The checker finds what it is there for: each rule is broken once on purpose, by plain SQL or in the journal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import audit, pool_rules
from tests.chaos.checker import Checker
from tests.chaos.journal import Journal, Line
from tests.chaos.load import Promises, ask
from tests.chaos.workflows import BACKFILLED, BY_KEY, KEYED, kinds
from tests.cluster.cluster import Cluster
from tests.servers.postgres import PostgresServer


class Scene:
    """A database as a good run left it: one command, one run of `single`, one task, two journal lines."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.promises = Promises()
        self.lines = [Line("start", "1.1", 1, 1), Line("end", "1.1", 1, 1)]
        self.kinds = kinds(Journal(cluster.folder / "journal"))
        for kind in self.kinds:
            cluster.define(kind.code, kind.name, **kind.spec)
        cluster.rows("""INSERT INTO node (incarnation, kind, address, process_boot, process_id, process_started)
                        VALUES (gen_random_uuid(), 'WORKER', 'here', '', 1, 1)""")
        command = ask(cluster, "START_PROCESS", 1010)
        self.promises.acknowledged[command] = "START_PROCESS"
        cluster.rows("DELETE FROM command")
        run = self.run(command)
        self.handled(command, run)
        self.task(run)

    def run(self, command: int, code: int = 1010, state: str = "SUCCESS") -> int:
        return int(self.cluster.one(
            """INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                              failure_strategy, priority, worker_group, ended_at)
               VALUES (%s, %s, 1, %s, 1, 'CONTINUE', 'MEDIUM', 'default', clock_timestamp()) RETURNING id""",
            command, code, state,
        ))  # fmt: skip

    def handled(self, command: int, run: int | None, type_: str = "START_PROCESS") -> None:
        self.cluster.rows(
            """INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at)
               VALUES (%s, %s, 'DONE', %s, 1, clock_timestamp())""",
            command, type_, run,
        )  # fmt: skip

    def task(self, run: int, attempt: int = 1, state: str = "SUCCESS") -> None:
        self.cluster.rows(
            """INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state,
                                          worker_group, workflow_priority, task_priority, worker_id, ended_at)
               VALUES (%s, 1, %s, 'a', 'SHELL', %s, 'default', 'MEDIUM', 'MEDIUM', 1, clock_timestamp())""",
            run, attempt, state,
        )  # fmt: skip

    def broken_rules(self) -> set[str]:
        found = Checker(self.cluster, self.kinds, self.promises, self.lines).violations()
        return {violation.rule for violation in found}


@pytest.fixture
def scene(database_url: str, postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Scene]:
    with postgres_server.connect(database_url.rpartition("/")[2]) as connection:
        audit.install(connection)
    with Cluster(database_url, "", tmp_path) as cluster:
        yield Scene(cluster)


def test_a_good_run_breaks_no_rule(scene: Scene) -> None:
    assert scene.broken_rules() == set()


def test_a_lost_command_is_found(scene: Scene) -> None:
    scene.promises.acknowledged[77] = "START_PROCESS"
    assert scene.broken_rules() == {"each command has one outcome"}


def test_a_command_that_was_done_without_effect_is_found(scene: Scene) -> None:
    scene.handled(78, None)
    assert scene.broken_rules() == {"each start made one run"}


def test_a_run_from_nowhere_is_found(scene: Scene) -> None:
    scene.run(79)
    assert scene.broken_rules() == {"each start made one run"}


@pytest.mark.parametrize(("commands", "named"), [((82, 83), {82}), ((), {84}), ((85,), {85, 86}), ((87,), {88})])
def test_a_key_that_made_another_number_of_runs_than_one_is_found(
    scene: Scene, commands: tuple[int, ...], named: set[int]
) -> None:
    for command in commands:
        run = scene.run(command, KEYED)
        scene.handled(command, run)
        scene.cluster.rows("""UPDATE workflow_instance SET params = '{"key": "k"}' WHERE id = %s""", run)
    scene.promises.keyed["k"] = named
    assert scene.broken_rules() == {"each key made one run"}


def test_a_good_command_that_was_refused_is_found(scene: Scene) -> None:
    scene.cluster.rows("INSERT INTO error_command (command_id, type, reason, master_id) VALUES (80, 'STOP', 'no', 1)")
    scene.cluster.rows("""INSERT INTO command_history (command_id, type, outcome, master_id, created_at)
                          VALUES (80, 'STOP', 'ERROR', 1, clock_timestamp())""")
    assert scene.broken_rules() == {"only what is wrong was refused"}


def test_what_is_left_behind_is_found(scene: Scene) -> None:
    ask(scene.cluster, "START_PROCESS", 1010)
    scene.cluster.rows("INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (1, 1, 1, 'X')")
    assert scene.broken_rules() == {"everything has ended"}


def test_a_run_that_failed_for_no_reason_is_found(scene: Scene) -> None:
    scene.handled(81, scene.run(81, state="FAILURE"))
    assert scene.broken_rules() == {"each run ended as it should"}


def test_a_repeated_success_is_found(scene: Scene) -> None:
    scene.task(1, attempt=2)
    scene.lines += [Line("start", "1.1", 2, 1), Line("end", "1.1", 2, 1)]
    assert scene.broken_rules() == {"no success was repeated"}


def test_an_attempt_that_is_left_out_is_found(scene: Scene) -> None:
    scene.task(1, attempt=3, state="FAILURE")
    assert "attempts follow each other" in scene.broken_rules()


def test_attempts_that_overlap_are_found(scene: Scene) -> None:
    scene.cluster.rows("UPDATE task_instance SET state = 'SUCCESS', ended_at = clock_timestamp() + interval '1 min'")
    scene.task(1, attempt=2, state="FAILURE")
    scene.cluster.rows("UPDATE task_instance SET started_at = clock_timestamp() WHERE attempt = 2")
    assert "attempts follow each other" in scene.broken_rules()


def test_an_illegal_change_is_found_even_if_the_database_let_it_pass(scene: Scene) -> None:
    scene.cluster.rows("ALTER TABLE workflow_instance DISABLE TRIGGER workflow_instance_moves_legally")
    scene.cluster.rows("UPDATE workflow_instance SET state = 'FAILURE' WHERE id = 1")
    assert "states changed legally" in scene.broken_rules()


def _two_of_a_key(scene: Scene) -> tuple[int, int]:
    """Two runs of one key, the newer command first."""
    newer, older = scene.run(93, BY_KEY), scene.run(92, BY_KEY)
    scene.cluster.rows("UPDATE workflow_instance SET serial_key = '7' WHERE workflow_code = %s", BY_KEY)
    for command, run in ((93, newer), (92, older)):
        scene.handled(command, run)
        scene.task(run)
    return newer, older


def test_runs_of_one_key_that_began_in_another_order_are_found_by_the_journal(scene: Scene) -> None:
    for run in _two_of_a_key(scene):
        scene.lines += [Line("start", f"{run}.1", 1, 1), Line("end", f"{run}.1", 1, 1)]
    assert scene.broken_rules() == {"runs of a key kept their order"}
    scene.cluster.rows("UPDATE workflow_instance SET serial_key = command_id::text WHERE workflow_code = %s", BY_KEY)
    assert scene.broken_rules() == set()


def test_runs_of_one_key_that_began_in_another_order_are_found_by_the_witness(scene: Scene) -> None:
    newer, older = _two_of_a_key(scene)
    for run in (older, newer):
        scene.lines += [Line("start", f"{run}.1", 1, 1), Line("end", f"{run}.1", 1, 1)]
    assert scene.broken_rules() == set()
    for run in (newer, older):
        scene.cluster.rows(
            "UPDATE workflow_instance SET state = 'RUNNING_EXECUTION', ended_at = NULL WHERE id = %s", run
        )
        scene.cluster.rows(
            "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = clock_timestamp() WHERE id = %s", run
        )
    assert scene.broken_rules() == {"runs of a key kept their order"}


def test_runs_of_one_key_at_once_are_found(scene: Scene) -> None:
    newer, older = _two_of_a_key(scene)
    begun = [Line("start", f"{run}.1", 1, 1) for run in (older, newer)]
    scene.lines += [*begun, *(Line("end", line.key, 1, 1) for line in begun)]
    assert scene.broken_rules() == {"runs of a key kept their order"}


def test_a_write_after_the_fence_is_found(scene: Scene) -> None:
    scene.cluster.rows("UPDATE node SET state = 'FENCED'")
    scene.cluster.rows("SET application_name = 'shoal-master-1'")
    scene.cluster.rows("BEGIN")
    scene.cluster.rows("SELECT FROM node WHERE id = 1 FOR SHARE")
    scene.cluster.rows("UPDATE workflow_instance SET reason = 'zombie' WHERE id = 1")
    scene.cluster.rows("COMMIT")
    assert scene.broken_rules() == {"nobody wrote after the fence"}


def test_a_write_without_a_licence_is_found(scene: Scene) -> None:
    """Of two transactions of a living node, only one holds the node's row."""
    rows = scene.cluster.rows
    rows("SET application_name = 'shoal-worker-1'")
    with Cluster(scene.cluster.environment["SHOAL_DATABASE_URL"], "", scene.cluster.folder) as beside:
        for cluster in (beside, scene.cluster):
            cluster.rows("BEGIN")
            cluster.rows("SELECT FROM node WHERE id = 1 FOR SHARE")
        rows("UPDATE task_instance SET reason = 'fine' WHERE id = 1")
        rows("COMMIT")
        assert scene.broken_rules() == set()
        rows("UPDATE task_instance SET reason = 'unasked' WHERE id = 1")
        beside.rows("ROLLBACK")
    assert scene.broken_rules() == {"nobody wrote without a licence"}


def test_serial_runs_that_overlap_are_found(scene: Scene) -> None:
    query = "INSERT INTO chaos.change (kind, row_id, workflow, after) VALUES ('workflow', %s, 1019, %s)"
    for run, state in ((8, "RUNNING_EXECUTION"), (9, "SERIAL_WAIT"), (9, "RUNNING_EXECUTION"), (8, "SUCCESS")):
        scene.cluster.rows(query, run, state)
    assert scene.broken_rules() == {"who runs alone ran alone"}


def test_a_schedule_that_fired_twice_or_not_at_all_is_found(scene: Scene) -> None:
    for second in (0, 2, 2, 4, 8):
        scene.cluster.rows("INSERT INTO chaos.fire VALUES (1, %s)", f"2026-01-01 00:00:0{second}+00")
    assert scene.broken_rules() == {"each time fired once"}


def test_a_schedule_that_left_out_the_times_before_a_master_saw_it_is_found(scene: Scene) -> None:
    rows = scene.cluster.rows
    rows("INSERT INTO schedule (workflow_code, crontab, created_at) VALUES (1002, '', '2026-01-01 00:00:01+00')")
    assert scene.broken_rules() == {"each time fired once"}, "not even one"
    for second in (2, 4):
        rows("INSERT INTO chaos.fire SELECT id, %s FROM schedule", f"2026-01-01 00:00:0{second}+00")
        command = 1000 + second
        run = scene.run(command, 1002)
        scene.handled(command, run, "SCHEDULER")
        fire = "SELECT schedule_id, schedule_time FROM chaos.fire ORDER BY 2 DESC LIMIT 1"
        rows(f"UPDATE workflow_instance SET (schedule_id, schedule_time) = ({fire}) WHERE id = %s", run)
    assert scene.broken_rules() == set()
    rows("UPDATE schedule SET created_at = created_at - interval '2 s'")
    assert scene.broken_rules() == {"each time fired once"}


def test_a_run_may_fail_with_a_task_whose_keeper_was_killed_and_so_may_those_above_it(scene: Scene) -> None:
    for command in (90, 91):
        scene.handled(command, scene.run(command, state="FAILURE"))
    scene.cluster.rows("UPDATE workflow_instance SET parent_instance_id = 2 WHERE id = 3")
    scene.promises.unkept.add(("2.1", 1))
    assert scene.broken_rules() == {"each run ended as it should"}, "the one below it may not"
    scene.promises.unkept.add(("3.1", 1))
    assert scene.broken_rules() == set()
    scene.promises.unkept = {("3.1", 1)}
    assert scene.broken_rules() == set()


def test_a_date_that_was_not_filled_is_found(scene: Scene) -> None:
    scene.promises.backfills[82] = 3
    assert scene.broken_rules() == {"each date was filled once"}


def test_a_backfill_ends_with_the_run_that_fails_and_with_no_other(scene: Scene) -> None:
    rows, failed, good = scene.cluster.rows, *(ask(scene.cluster, "COMPLEMENT_DATA", BACKFILLED) for _ in range(2))
    rows("DELETE FROM command")
    rest = json.dumps({"backfill": {"dates": ["2026-01-02T00:00:00Z"], "mode": "SERIAL"}})
    for command, state, day in ((failed, "FAILURE", 1), (good, "SUCCESS", 1), (9_999, "SUCCESS", 2)):
        run = scene.run(command, BACKFILLED, state)
        if command in (failed, good):
            scene.handled(command, run, "COMPLEMENT_DATA")
        rows("UPDATE workflow_instance SET schedule_time = %s WHERE id = %s", f"2026-01-0{day} 00:00:00+00", run)
    rows("UPDATE workflow_instance SET backfill = %s WHERE command_id = %s", rest, failed)
    assert "each date was filled once" not in scene.broken_rules()
    rows("UPDATE workflow_instance SET backfill = NULL")
    assert "each date was filled once" in scene.broken_rules()


def test_a_child_that_is_missing_is_found(scene: Scene) -> None:
    scene.cluster.rows("UPDATE task_instance SET task_type = 'SUB_PROCESS'")
    scene.lines.clear()
    assert scene.broken_rules() == {"children were made once"}


@pytest.mark.parametrize(
    "lines",
    [
        [["start", 1, 1], ["end", 1, 1], ["start", 1, 2]],
        [["start", 1, 1], ["start", 2, 1], ["tick", 1, 1], ["end", 1, 1]],
        [["start", 1, 9], ["end", 1, 9]],
        [["start", 1, 1]],
    ],
)
def test_a_journal_that_tells_another_story_is_found(scene: Scene, lines: list[list[object]]) -> None:
    """Started twice; two attempts at once; on another worker than is told; a success that never came to its end."""
    scene.lines = [Line(str(what), "1.1", int(str(attempt)), int(str(worker))) for what, attempt, worker in lines]
    assert "the journal agrees" in scene.broken_rules(), json.dumps(lines)


@pytest.mark.parametrize(
    "broken",
    [
        "INSERT INTO duty_done (name, due_at, node_id, node_name, began_at, steps, late, is_fine, result) "
        "SELECT 'a', '2026-01-01'::timestamptz + n * interval '4 s', 1, '', clock_timestamp(), 1, false, true, '' "
        "FROM generate_series(1, 3) AS n",
        "INSERT INTO duty_done (name, due_at, node_id, node_name, began_at, ended_at, steps, late, is_fine, result) "
        "SELECT 'a', '2026-01-01'::timestamptz + n * interval '5 s', 1, '', now(), now() + interval '1 s', 1, false, "
        "true, '' FROM generate_series(1, 2) AS n",
        "INSERT INTO duty (name, every_s, due_at) VALUES ('a', 5, clock_timestamp() - interval '1 min')",
        "INSERT INTO duty (name, every_s, failures, error) VALUES ('a', 5, 1, 'broke')",
    ],
)
def test_a_duty_that_is_out_of_step_overlaps_or_is_not_done_is_found(scene: Scene, broken: str) -> None:
    scene.cluster.rows(broken)
    assert scene.broken_rules() == {"duties were done once a period"}


def test_it_sees_a_resource_with_two_users_one_that_is_left_and_a_line_without_its_task(scene: Scene) -> None:
    pool_rules.make_pools(scene.cluster)
    assert scene.broken_rules() == set()
    pool_rules.witness(scene.cluster.folder).write_text("1.1 1 proxies-2\n")
    scene.cluster.rows(
        "UPDATE pool_resource SET task_instance_id = 1, worker_id = 1, taken_at = now() WHERE name = 'licence-1'"
    )
    scene.cluster.rows("INSERT INTO pool_line VALUES ('proxies', 'MEDIUM', 1, 'MEDIUM', 1, 1, '{}', 'default')")
    assert list(pool_rules.broken(scene.cluster)) == [
        "1.1 1 proxies-2: somebody else had it",
        "resource licence-1 is held by attempt 1 of worker 1, and nothing runs",
        "attempt 1 stands in the line of proxies and does not wait",
    ]
    assert scene.broken_rules() == {"no resource had two users"}
