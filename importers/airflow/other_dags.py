"""Operators of Airflow that run other DAGs, or stand for them."""

from __future__ import annotations

from importers.airflow.flow import Args, shown, workflow_name
from importers.airflow.templates import parameter_name
from importers.airflow.values import Dag
from model.errors import Refused

PARALLEL = 16
"""How many tasks of a DAG run at once in Airflow, unless it says otherwise."""


def trigger(args: Args) -> None:
    if not args.has("trigger_dag_id"):
        raise Refused("which DAG it starts is not known; write a SUB_PROCESS with the workflow, or a DYNAMIC")
    if args.operator.over:
        raise Refused("it starts a DAG for each element of a list; write a DYNAMIC with the workflow")
    waits = args.flag("wait_for_completion")
    args.draft.type = "SUB_PROCESS"
    args.draft.params = {"workflow": workflow_name(args.text("trigger_dag_id")), **({} if waits else {"wait": False})}
    if given := args.mapping("conf"):
        args.draft.params["params"] = {parameter_name(name): each for name, each in given.items()}
    args.irrelevant("wait_for_completion", "poke_interval", "allowed_states", "failed_states", "deferrable",
                    "reset_dag_run", "trigger_run_id", "skip_when_already_exists",
                    "fail_when_dag_is_paused")  # fmt: skip
    if args.has("logical_date") or args.has("execution_date"):
        args.changed("logical_date", "the other run has the time of its start")
        args.irrelevant("logical_date", "execution_date")


def child(args: Args) -> None:
    """A DAG of the file that is run as a part of another one."""
    child = args.raw("subdag")
    if not isinstance(child, Dag) or not child.id:
        raise Refused(
            f"its DAG {str(shown(child))[:100]} is not known; write a SUB_PROCESS with the workflow that it is"
        )
    args.draft.type, args.draft.params = "SUB_PROCESS", {"workflow": workflow_name(child.id)}
    args.irrelevant("session", "conf", "propagate_skipped_state", "mode", "poke_interval", "timeout")


def mapped_group(args: Args) -> None:
    """A group that is run for each element of a list of the run."""
    child, over = args.raw("subdag"), args.raw("over", {})
    lists = [{"name": name, "value": args.written("expand", each)} for name, each in over.items()]
    args.draft.type = "DYNAMIC"
    args.draft.params = {"workflow": workflow_name(child.id), "lists": lists, "parallelism": PARALLEL}
    sentence = (
        f"its tasks are a workflow, of which {PARALLEL} run at once; functions there read a text such as 3 as JSON; "
        "of an empty list it is skipped there, and succeeds here"
    )
    args.changed("expand", sentence)


def marker(args: Args) -> None:
    """A rerun would reach another DAG, too."""
    args.draft.type = "FAKE"
    args.changed("external_dag_id", "a rerun of it does not run the tasks of the other DAG again")
    args.irrelevant("external_dag_id", "external_task_id", "execution_date", "logical_date", "recursion_depth")
