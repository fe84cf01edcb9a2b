"""Bugs by which runs never ended and work starved."""

from __future__ import annotations

from tests.put_back.bug import Bug, Patch, Switch

NEVER_ENDING = (
    Bug(
        "1",
        "full masters waited for each other: waiting runs held their children's room",
        Switch("room", "19 of 60 seeds"),
    ),
    Bug(
        "2",
        "a run that somebody set to FAILOVER stopped all of its master",
        Patch(
            "master/drive/driver.py",
            "        if isinstance(error, OwnershipLost):\n            suspects = error.ids\n",
            "        if isinstance(error, OwnershipLost):\n            from model.errors import Unknown\n\n"
            "            raise Unknown(str(error)) from error\n",
            "a missed row treated as an unknown commit",
        ),
        "tests/cluster/test_rows_in_the_way.py::"
        "test_a_run_that_somebody_set_to_failover_goes_on_and_no_other_waits_for_it",
    ),
    Bug(
        "2",
        "a node continued although its row had another kind",
        Patch(
            "dao/cluster/nodes.py",
            "AND kind = :kind\n      AND coalesce(state",
            "AND coalesce(state",
            "a permission that ignores the kind",
        ),
        "tests/dao/test_odd_values.py::test_a_node_of_another_kind_than_it_was_writes_no_more",
    ),
    Bug(
        "2",
        "an unreadable list of task codes broke `shoal runs`",
        Patch(
            "dao/runs/code_lists.py",
            "    except (ValueError, TypeError, RecursionError):\n",
            "    except RecursionError:\n",
            "unreadable values passed on",
        ),
        "tests/cluster/test_rows_in_the_way.py::"
        "test_a_run_with_a_list_that_cannot_be_read_is_named_and_the_others_go_on",
    ),
    Bug(
        "3",
        "each batch read the whole line of a serial workflow",
        Patch(
            "dao/runs/serial_line.py",
            "ELSE command_id END) LIMIT 1)\n    ) AS head",
            "ELSE command_id END))\n    ) AS head",
            "a read of all waiting runs",
        ),
        "tests/dao/test_plans.py::test_a_hot_statement_walks_its_index_and_reads_no_more_than_it_must",
    ),
    Bug(
        "4",
        "suspect commands waited until the ordinary ones were done",
        Patch(
            "master/claim/command_loop.py",
            "goes_on |= await self._try_suspects()",
            "goes_on = goes_on or await self._try_suspects()",
            "a loop that empties the ordinary queue first",
        ),
        "tests/cluster/test_suspect_commands.py::test_what_is_suspect_is_tried_in_turn_with_a_stream_that_does_not_end",
    ),
    Bug(
        "4",
        "a full master kept commands that an idle neighbour could have taken",
        Patch(
            "master/claim/command_loop.py",
            "            await self._suspects.give_back()\n            return False\n"
            "        culprit = await self._suspects.next_group(room)\n",
            "            return False\n        culprit = await self._suspects.next_group(100)\n",
            "a full master that takes a whole group",
        ),
        "tests/cluster/test_suspect_commands.py::test_a_full_master_leaves_what_is_suspect_to_a_neighbour_with_room",
    ),
    Bug(
        "5",
        "each end evaluated all waiting DEPENDENT tasks of the cluster",
        Patch(
            "master/drive/awaited.py",
            "        return {\n            id_\n",
            "        return set(self._keys) or {\n            id_\n",
            "all of them evaluated at each end",
        ),
        "tests/master/test_dependents.py::test_an_end_costs_only_those_that_await_it",
    ),
    Bug(
        "6",
        "the end of a run of 10,000 tasks blocked the event loop",
        Patch("master/drive/handling.py", "MANY = 200", "MANY = 200_000_000", "all of it done on the loop"),
        "tests/master/test_plans.py::test_a_run_of_many_tasks_is_handled_in_a_thread",
    ),
    Bug(
        "7",
        "a lock on a due row made masters poll 50 times a second",
        Patch(
            "master/poller.py",
            "        return min(pause_s, due_in_s)\n",
            "        return min(0.0, pause_s, due_in_s)\n",
            "no pause after an empty poll",
        ),
        "tests/master/test_poller.py::"
        "test_an_attempt_whose_row_somebody_holds_makes_no_master_spin_and_the_others_are_queued_in_time",
    ),
    Bug(
        "7",
        "each poll read the unread events of all other masters",
        Patch(
            "dao/tasks/task_events.py",
            "WHERE e.owner = :master AND e.id >= :first\n",
            "WHERE e.owner + 0 = :master AND e.id >= :first\n",
            "a condition without an index",
        ),
        "tests/dao/test_plans.py::test_however_many_events_others_have_not_read_a_look_reads_none_of_them",
    ),
    Bug(
        "7",
        "a connection in use stayed open when idle ones were closed",
        Patch(
            "dao/postgres/pool.py",
            "            elif generation == self._generation and connection",
            "            elif connection",
            "a connection returned to a closed pool",
        ),
        "tests/dao/test_connections.py::test_what_is_in_use_when_the_others_are_closed_is_closed_when_it_is_given_back",
    ),
    Bug(
        "8",
        "three lost masters in a run's long life made it FAILURE",
        Patch(
            "dao/runs/failover.py",
            "                              THEN 1\n",
            "                              THEN i.takeovers + 1\n",
            "every lost master counted",
        ),
        "tests/dao/test_workflow_instances.py::test_a_run_that_lives_for_long_may_lose_any_number_of_masters",
    ),
    Bug(
        "9",
        "a lost worker's task began in a paused run, or kept it from ending",
        Switch("obeyed", "9 of 300 seeds"),
    ),
    Bug(
        "10",
        "a run that could not be failed over stopped all failovers",
        Patch(
            "master/claim/row_sets.py",
            "            return await self._one_by_one()\n",
            "            raise\n",
            "failover of the whole set only",
        ),
        "tests/cluster/test_odd_owners.py::test_a_run_that_cannot_be_failed_over_holds_up_no_other_and_no_task",
    ),
    Bug(
        "10",
        "a run whose owner has no row in `node` was never found",
        Patch(
            "sql/schema.sql",
            "SELECT m.id FROM unfinished_master m WHERE m.id IS NOT NULL\n        UNION ALL\n",
            "SELECT m.id FROM unfinished_master m\n        WHERE (SELECT n.id FROM node n WHERE n.id = m.id"
            " AND n.kind = 'MASTER' AND n.state IN ('FENCED', 'LEFT')) IS NOT NULL\n        UNION ALL\n",
            "lost owners found by their rows only",
        ),
        "tests/cluster/test_odd_owners.py::test_runs_in_every_state_of_every_owner_that_is_not_there_end",
    ),
    Bug(
        "11",
        "a state that no code writes made one command an error command",
        Patch(
            "sql/schema.sql",
            "CHECK (state IN ('SERIAL_WAIT', 'RUNNING_EXECUTION',",
            "CHECK (state IN ('WAIT_TO_RUN', 'SERIAL_WAIT', 'RUNNING_EXECUTION',",
            "the state allowed by the CHECK of the table",
        ),
        "tests/dao/test_schema_constraints.py::test_a_column_takes_the_words_of_the_model_and_no_others",
    ),
    Bug(
        "11",
        "starts of children of stopped tasks became error commands",
        Patch(
            "master/claim/start_commands.py",
            'isinstance(error, _NotAwaited) and row.from_above == "true"',
            'isinstance(error, _NotAwaited) and row.from_above == ""',
            "a refusal of a child that no task waits for",
        ),
        "tests/scenarios/test_sub_process.py::"
        "test_a_child_for_which_its_task_waits_no_more_is_not_made_and_nothing_went_wrong",
    ),
    Bug(
        "12",
        "a replaced attempt still counted: `flag = 'YES'` gave two rows of a task",
        Switch("superseded", "9 of 20 seeds"),
    ),
    Bug(
        "13",
        "nothing limited the wait for a worker",
        Patch(
            "master/poller.py",
            "failed, more_late = await self._undispatched.write()",
            "failed, more_late = 0, False",
            "a poll that fails none",
        ),
        "tests/scenarios/test_limits.py::test_the_limit_on_waiting_survives_the_master",
    ),
    Bug(
        "13",
        "a run's timeout counted from the last failover",
        Patch(
            "master/drive/run_timeouts.py",
            "ran_s = runnable.instance.ran_s",
            "ran_s = 0.0",
            "a timer that starts at the failover",
        ),
        "tests/scenarios/test_limits.py::test_its_length_counts_from_its_start_whoever_drives_it",
    ),
    Bug(
        "14",
        "a link that swallows data blocked a node forever",
        Switch("answer_deadline", "3 of 60 seeds"),
    ),
    Bug(
        "14",
        "the same, on real links",
        Patch(
            "dao/postgres/connection.py",
            "self.pgconn.socket, interval, self.answer_within_s)",
            "self.pgconn.socket, interval, None)",
            "a client without deadlines",
        ),
        "tests/cluster/test_half_open_links.py::"
        "test_links_to_the_database_that_swallow_for_a_moment_are_left_within_ten_seconds",
    ),
    Bug(
        "15",
        'a lack of descriptors became "there is no time zone UTC"',
        Patch(
            "model/time/zones.py",
            "        if is_passing(error):\n            raise Unavailable",
            '        if is_passing(error) and name == "":\n            raise Unavailable',
            "`OSError` treated as a missing zone",
        ),
        "tests/model/test_zones.py::test_a_zone_that_cannot_be_read_for_want_of_descriptors_is_not_refused",
    ),
    Bug(
        "15",
        "tasks failed for lack of descriptors",
        Patch(
            "worker/attempts/failed_attempt.py",
            "return is_passing(error) or isinstance(error, NoMeans)",
            'return is_passing(error) and str(error) == ""',
            "a shortage treated as a failure",
        ),
        "tests/worker/test_want_of_means.py::test_a_task_that_finds_no_descriptor_is_given_back_and_the_next_one_runs",
    ),
    Bug(
        "16",
        "a new schedule lost the times before a master first saw it",
        Patch(
            "model/time/misfires.py",
            "begin = min(now, counts_from) if counts_from else now",
            "begin = now",
            "times that count from the first look",
        ),
        "tests/master/test_schedules.py::"
        "test_times_that_pass_before_any_master_sees_a_new_schedule_go_by_its_misfire_rule",
    ),
    Bug(
        "17",
        "tasks that had ended when their worker was killed ran again, or failed",
        Patch(
            "worker/launcher/last_word.py",
            "        if exit_code > EXIT_CODE_MAX:\n",
            "        if exit_code >= 0:\n",
            "a keeper that writes nothing",
        ),
        "tests/cluster/test_kept_ends.py::test_what_ended_before_its_worker_was_killed_counts_and_does_not_run_again",
    ),
    Bug(
        "17",
        "tasks that ended while their worker slept were reported as lost",
        Patch(
            "worker/launcher/task_process.py",
            "            if not ((is_all and self._ended_by_itself) or self._left):\n                raise\n",
            "            raise\n",
            "a cancellation that always counts",
        ),
        "tests/cluster/test_kept_ends.py::"
        "test_a_worker_that_slept_past_its_horizon_and_was_not_fenced_tells_what_ended_meanwhile",
    ),
    Bug(
        "18",
        "a transaction in a dead connection was reported as a bug",
        Patch(
            "master/drive/open_transactions.py",
            "        return self._resolved == self.unknown and all(number > begun for number in self._open)\n",
            "        return begun >= 0\n",
            "a comparison with the rows at any time",
        ),
        "tests/cluster/test_half_open_links.py::"
        "test_what_hangs_in_a_dead_connection_is_called_neither_stuck_nor_unknown",
    ),
    Bug(
        "18",
        "a worker that started on a full disk exited with code 2",
        Patch(
            "worker/folder.py",
            "            if is_passing(error):\n                raise Unavailable(\n",
            "            if is_passing(error) and self._lock is not None:\n                raise Unavailable(\n",
            "a full disk refused",
        ),
        "tests/worker/test_folder_without_room.py::test_a_worker_that_starts_without_room_waits_until_there_is_some",
    ),
    Bug(
        "32",
        "a run whose timeout passed during its failover never ended",
        Switch("timed_again", "3 of 400 seeds"),
    ),
    Bug(
        "34",
        "a task that needed several checked resources starved",
        Patch(
            "sql/schema.sql",
            "    FROM (SELECT DISTINCT k.needed FROM kinds_in_line(CASE WHEN pool.validity_check IS NOT NULL"
            " THEN pool.name END) AS k\n          WHERE k.needed > 1) AS several\n",
            "    FROM (SELECT max(l.needed) AS needed FROM (\n"
            "              SELECT needed FROM pool_line WHERE pool_name = pool.name ORDER BY workflow_priority,\n"
            "              workflow_instance_id, task_priority, task_instance_id LIMIT 50) AS l\n"
            "          HAVING max(l.needed) > 1) AS several\n",
            "a read of the first fifty",
        ),
        "tests/dao/test_pool_checks.py::test_who_needs_several_gets_them_whatever_else_waits_in_the_line",
    ),
    Bug(
        "37",
        "a task that killed its worker ran on one worker after another",
        Patch("dao/tasks/lost_tasks.py", "WORKERS_MAX = 3\n", "WORKERS_MAX = 4\n", "a fourth worker for it"),
        "tests/cluster/test_suspect_tasks.py::"
        "test_a_task_under_which_three_workers_were_lost_fails_and_the_fourth_lives",
    ),
    Bug(
        "38",
        "a fault of the driver refused all commands",
        Patch(
            "model/blame.py",
            "if self._handled[failure.kind] > failure.handled_before or lasts_s >= self._long_s:",
            "if self._handled[failure.kind] >= failure.handled_before:",
            "no wait for other commands",
        ),
        "tests/cluster/test_shared_faults.py::test_commands_that_all_fail_wait_and_are_handled_once_they_can_be",
    ),
)
