"""Bugs by which two had an effect where one was to have it."""

from __future__ import annotations

from tests.put_back.bug import Bug, Patch, Switch

TWO_AT_ONCE = (
    Bug(
        "19",
        "a SQL task of a frozen worker was committed beside the next attempt",
        Patch(
            "worker/tasks/sql.py", "    below_keeper = True\n", "    below_keeper = False\n", "in the worker's process"
        ),
        "tests/cluster/test_own_work.py::test_a_statement_of_a_frozen_worker_is_not_committed_after_another_ran_it",
    ),
    Bug(
        "19",
        "the same of HTTP",
        Patch("worker/tasks/http.py", "    below_keeper = True\n", "    below_keeper = False\n", "the same"),
        "tests/cluster/test_own_work.py::test_a_request_of_a_frozen_worker_is_not_sent_after_another_sent_it",
    ),
    Bug(
        "20",
        "timings that differ: two attempts side by side, no warning",
        Switch("stated", "1 of 600 seeds"),
    ),
    Bug(
        "21",
        "two workers with one address fenced each other, without asking the registry",
        Patch(
            "node/namesakes.py",
            "        return shown is not None and node.epoch not in shown\n",
            "        return shown is not None\n",
            "a registry that is not asked",
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
        "a node with another registry joined silently, and thought itself alone",
        Patch(
            "registry/belonging.py",
            "    if _root(place) != _root(recorded.place):\n        raise _another(place, recorded.place)\n",
            "",
            "whatever registry is named",
        ),
        "tests/cluster/test_belonging.py::test_a_node_or_verb_that_names_another_registry_is_refused",
    ),
    Bug(
        "24",
        "an upgrade that waited behind one reader blocked all work on its table",
        Patch(
            "dao/postgres/schema.py",
            '                    await connection.execute(_HASTY, {"limit": LOCK_TIMEOUT})\n',
            "",
            "no limit on its wait for a lock",
        ),
        "tests/dao/test_schema.py::test_a_script_that_waits_for_a_reader_holds_up_nobody_for_long_and_names_it",
    ),
    Bug(
        "24",
        "nodes went on unwarned under a schema that they did not know",
        Patch(
            "dao/postgres/newer_schema.py",
            "    if newest is None:\n        return None\n",
            "    if newest is None or newest > 0:\n        return None\n",
            "a beat that hears of no newer one",
        ),
        "tests/dao/test_newer_schema.py::test_a_beat_tells_of_a_newer_schema_and_whether_one_of_them_forbids_to_go_on",
    ),
    Bug(
        "25",
        "two runs of a serial workflow that one batch let go on were live at once, since it read the line once",
        Switch("line", "9 of 200 seeds"),
    ),
    Bug(
        "26",
        "what a killed worker left frozen went on after its fence",
        Switch("swept", "1 of 73 seeds"),
    ),
    Bug(
        "26",
        "a fence went on while what the worker left was still being searched for",
        Switch("searched", "3 of 400 seeds"),
    ),
    Bug(
        "26",
        "the same, with real processes",
        Patch(
            "node/left_tasks.py",
            "        if node.kind is not NodeKind.WORKER or not can_end(node.process):\n",
            "        if node.kind is not NodeKind.WORKER or can_end(node.process):\n",
            "a fence that ends nothing first",
        ),
        "tests/cluster/test_left_frozen.py::test_what_a_killed_worker_left_frozen_is_gone_before_it_is_fenced",
    ),
    Bug(
        "33",
        "a worker was fenced although nothing that it left was killed: the second for that included the search",
        Patch(
            "node/left_tasks.py",
            "_Search(mark.encode(), since), math.inf, 0\n",
            "_Search(mark.encode(), since), time.monotonic() + die_s_max, 0\n",
            "a limit that counts the search",
        ),
        "tests/node/test_left_tasks.py::test_however_long_it_takes_to_find_what_a_worker_left_it_is_killed",
    ),
    Bug(
        "39",
        "a clock that was an hour ahead, and is right again, made a broken resource fresh",
        Patch(
            "dao/tasks/pool_conditions.py",
            "     OR (r.checked_at <= clock_timestamp()\n         AND (r.checked_at",
            "     OR ((r.checked_at",
            "a check that is to come",
        ),
        "tests/dao/test_clock_set_back.py::test_a_resource_is_given_after_a_check_and_never_without_one",
    ),
    Bug(
        "40",
        "a draft from a stale window replaced what somebody else had published meanwhile",
        Patch(
            "service/workflows/drafts.py",
            "        made = None if before else await drafts.insert(",
            "        base_version = base_version or (head.version if head else None)\n"
            "        made = None if before else await drafts.insert(",
            "a draft that takes the present version for its own",
        ),
        "tests/api/test_drafts.py::test_a_draft_that_names_no_version_replaces_none",
    ),
)
