"""Bugs by which two had an effect where one was to have it."""

from __future__ import annotations

from tests.put_back.bug import Bug, Patch, Switch

TWO_AT_ONCE = (
    Bug(
        "19",
        "a SQL task of a frozen worker was committed beside the next attempt",
        Patch(
            "worker/tasks/sql.py",
            "    below_keeper = True\n",
            "    below_keeper = False\n",
            "SQL in the worker's process",
        ),
        "tests/cluster/test_own_work.py::test_a_statement_of_a_frozen_worker_is_not_committed_after_another_ran_it",
    ),
    Bug(
        "19",
        "the same of HTTP",
        Patch(
            "worker/tasks/http.py",
            "    below_keeper = True\n",
            "    below_keeper = False\n",
            "HTTP in the worker's process",
        ),
        "tests/cluster/test_own_work.py::test_a_request_of_a_frozen_worker_is_not_sent_after_another_sent_it",
    ),
    Bug(
        "20",
        "nodes with different times ran two attempts at once",
        Switch("stated", "1 of 600 seeds"),
    ),
    Bug(
        "21",
        "two workers with one address fenced each other",
        Patch(
            "node/namesakes.py",
            "        return shown is not None and node.epoch not in shown\n",
            "        return shown is not None\n",
            "a check that ignores the registry",
        ),
        "tests/node/test_namesakes.py::test_a_silent_worker_of_that_name_is_not_fenced_while_the_registry_shows_it",
    ),
    Bug(
        "22",
        "two workers shared a folder, and served each other's logs",
        Patch(
            "worker/folder.py",
            "                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n                break\n",
            "                break\n",
            "no lock on the folder",
        ),
        "tests/cluster/test_names.py::test_a_second_worker_in_a_folder_is_refused_with_the_name_of_the_first",
    ),
    Bug(
        "23",
        "a node with another registry joined silently",
        Patch(
            "registry/belonging.py",
            "    if _root(place) != _root(recorded.place):\n        raise _another(place, recorded.place)\n",
            "",
            "any registry accepted",
        ),
        "tests/cluster/test_belonging.py::test_a_node_or_verb_that_names_another_registry_is_refused",
    ),
    Bug(
        "24",
        "an upgrade that waited for a reader blocked its table",
        Patch(
            "dao/postgres/table_changes.py",
            '                    await connection.execute(_HASTY, {"limit": LOCK_TIMEOUT})\n',
            "",
            "no limit on the wait for a lock",
        ),
        "tests/dao/test_schema.py::test_a_script_that_waits_for_a_reader_holds_up_nobody_for_long_and_names_it",
    ),
    Bug(
        "24",
        "nodes continued without a warning under an unknown schema",
        Patch(
            "dao/postgres/newer_schema.py",
            "    if newest is None:\n        return None\n",
            "    if newest is None or newest > 0:\n        return None\n",
            "a beat that ignores newer schemas",
        ),
        "tests/dao/test_newer_schema.py::test_a_beat_tells_of_a_newer_schema_and_whether_one_of_them_forbids_to_go_on",
    ),
    Bug(
        "25",
        "one batch resumed two runs of a serial workflow at once",
        Switch("line", "9 of 200 seeds"),
    ),
    Bug(
        "26",
        "frozen processes of a killed worker continued after its fence",
        Switch("swept", "1 of 73 seeds"),
    ),
    Bug(
        "26",
        "a fence did not wait for the search for such processes",
        Switch("searched", "3 of 400 seeds"),
    ),
    Bug(
        "26",
        "the same, with real processes",
        Patch(
            "node/left_tasks.py",
            "        if node.kind is not NodeKind.WORKER or not can_end(node.process):\n",
            "        if node.kind is not NodeKind.WORKER or can_end(node.process):\n",
            "a fence that kills nothing first",
        ),
        "tests/cluster/test_left_frozen.py::test_what_a_killed_worker_left_frozen_is_gone_before_it_is_fenced",
    ),
    Bug(
        "33",
        "a worker was fenced while its processes ran: the search took too long",
        Patch(
            "node/left_tasks.py",
            "_Search(mark.encode(), since), math.inf, 0\n",
            "_Search(mark.encode(), since), time.monotonic() + die_s_max, 0\n",
            "a limit that includes the search",
        ),
        "tests/node/test_left_tasks.py::test_however_long_it_takes_to_find_what_a_worker_left_it_is_killed",
    ),
    Bug(
        "39",
        "a broken resource counted as fresh after a clock was set back",
        Patch(
            "sql/schema.sql",
            "        OR (checked_at <= clock_timestamp()\n            AND (checked_at",
            "        OR ((checked_at",
            "a check in the future accepted",
        ),
        "tests/dao/test_clock_set_back.py::test_a_resource_is_given_after_a_check_and_never_without_one",
    ),
    Bug(
        "40",
        "a draft from a stale window replaced a newer version",
        Patch(
            "service/workflows/drafts.py",
            "        made = None if before else await drafts.insert(",
            "        base_version = base_version or (head.version if head else None)\n"
            "        made = None if before else await drafts.insert(",
            "a draft based on the current version",
        ),
        "tests/api/test_drafts.py::test_a_draft_that_names_no_version_replaces_none",
    ),
    Bug(
        "41",
        "who took over a run that cleaned up began that again",
        Patch(
            "master/drive/runnable.py",
            "            effects += self._restore_closing(closing, self.instance.ending_as)\n",
            "            effects += self._restore_closing((), self.instance.ending_as)\n",
            "the attempts that clean up forgotten",
        ),
        "tests/simulation/test_closing.py::test_what_cleans_up_does_so_once_however_it_is_disturbed",
    ),
)
