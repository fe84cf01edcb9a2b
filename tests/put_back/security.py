"""Bugs by which somebody read, ran or wrote what was not theirs."""

from __future__ import annotations

from tests.put_back.bug import Bug, Patch

SECURITY = (
    Bug(
        "27",
        "bash ran the value of a parameter as code, in arithmetic and subscripts",
        Patch(
            "worker/tasks/bash_values.py",
            "            named.check(name, value, types.get(name))\n",
            "            assert types is not None\n",
            "values allowed everywhere in a script",
        ),
        "tests/worker/test_values_as_code.py::test_no_value_is_run_by_bash_wherever_it_stands",
    ),
    Bug(
        "28",
        "statements on SQLite and DuckDB reached the worker's files",
        Patch(
            "worker/attempts/executor.py",
            "            self._worker.settings.local_files,\n",
            "            True,\n",
            "any file allowed",
        ),
        "tests/worker/test_local_files.py::test_a_statement_reaches_no_file_but_that_of_its_data_source",
    ),
    Bug(
        "29",
        "anybody on the machine could read all logs",
        Patch(
            "worker/logs/service.py",
            "            check(self._key, request.url.path, request.query_params, boottime_s())\n",
            "            str(self._key)\n",
            "requests without a signature",
        ),
        "tests/worker/test_log_service.py::test_only_what_is_signed_is_given_and_only_in_its_time",
    ),
    Bug(
        "29",
        "100 idle connections kept all readers out",
        Patch(
            "http_server/connections.py",
            "        return list(islice(chain(idle, answered), max(count, 0)))\n",
            "        return list(islice(chain(idle, answered), 0))\n",
            "silent connections that make no room",
        ),
        "tests/http_server/test_connections.py::test_hundreds_of_connections_that_say_nothing_keep_nobody_out",
    ),
    Bug(
        "30",
        "tasks could read the environment of a master of the same user",
        Patch(
            "shoal/secrecy.py",
            "    hide_from_own_user()\n",
            "    assert hide_from_own_user\n",
            "no protection of the environment",
        ),
        "tests/cluster/test_secrecy.py::test_no_task_of_its_user_reads_the_environment_or_memory_of_a_master_or_worker",
    ),
    Bug(
        "31",
        "`parent` written by SQL made children of other runs",
        Patch(
            "master/claim/start_commands.py",
            'if (command.parent or command.source) and row.from_above != "true":',
            'if (command.parent or command.source) and row.from_above == "anybody":',
            "any parent accepted",
        ),
        "tests/scenarios/test_sub_process.py::test_a_forged_parent_makes_no_child_and_no_other_run_hears_of_it",
    ),
    Bug(
        "35",
        "the sealed value of a secret could be opened in another project",
        Patch(
            "model/parameters/secret_values.py",
            "if found is None or found.name != name or not found.is_of(project):",
            "if found is None or found.name != name:",
            "a sealed value of any project",
        ),
        "tests/scenarios/test_secret_parameters.py::test_a_secret_of_another_project_comes_in_by_no_row",
    ),
    Bug(
        "36",
        "a row of `command` bypassed its project's limits",
        Patch(
            "master/claim/to_start.py",
            "head.limits.check(head.project, plan.used | used_by_start(command, plan.spec))",
            "head.limits.check(head.project, ())",
            "a master that does not check",
        ),
        "tests/scenarios/test_project_limits.py::test_a_row_of_command_passes_no_limit",
    ),
)
