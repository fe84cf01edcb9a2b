"""Warnings about workflows that are valid but probably wrong."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from model.choices import Direct, FailureStrategy, Flag, Restart, StartWhen
from model.definitions.defaults import WITHOUT_EXIT_CODES
from model.definitions.problems import Problem
from model.definitions.result_references import texts_of
from model.definitions.triggers import EVENT
from model.definitions.workflow import WorkflowSpec
from model.files.task_files import WITHOUT_FOLDER
from model.logic.catalog import LOGIC_TYPES
from model.logic.dynamic import OUTPUT, own_output
from model.near import nearest
from model.parameters.builtin import builtin_names, closing_names
from model.parameters.declared import lacking
from model.parameters.parameters import parameter_variable, references
from model.parameters.results import written
from service.workflows.result_checks import doubtful_results

_WITHOUT_ENVIRONMENT = {"K8S", *WITHOUT_EXIT_CODES, *LOGIC_TYPES}


def one_variable(spec: WorkflowSpec) -> Iterator[Problem]:
    """Names of parameters that are one environment variable in a script, such as `a.b` and `a_b`."""
    for place, task in enumerate(spec.tasks):
        names = defaultdict(set)
        for name in (*spec.params, *spec.secrets, *(param.name for param in task.local_params)):
            names[parameter_variable(name)].add(name)
        for variable, alike in names.items():
            if len(alike) > 1:
                shown = " and ".join(f'"{name}"' for name in sorted(alike))
                sentence = (
                    f'task "{task.name}": the parameters {shown} are one variable, {variable}; rename one of them'
                )
                yield Problem(where=("tasks", place), sentence=sentence)


def doubts(spec: WorkflowSpec) -> Iterator[str]:
    """What is valid and probably not meant, in sentences."""
    yield from _doubtful_references(spec)
    yield from doubtful_results(spec)
    yield from _behind_endless_streams(spec)
    yield from _one_output(spec)
    yield from _fields_without_effect(spec)
    yield from _kept_from_starting(spec)
    yield from _triggered_in_vain(spec)


def _fields_without_effect(spec: WorkflowSpec) -> Iterator[str]:
    """Environments of tasks that run no bash, exit codes of ones without a program. A plug-in's type may use them."""
    for task in spec.tasks:
        if task.environment is not None and task.type in _WITHOUT_ENVIRONMENT:
            yield f'task "{task.name}": an environment has no effect on the type {task.type}; remove it'
        if task.data_sources and task.type in _WITHOUT_ENVIRONMENT:
            yield f'task "{task.name}": data_sources have no effect on the type {task.type}; remove them'
        if task.skip_exit_codes and task.type in WITHOUT_EXIT_CODES:
            yield f'task "{task.name}": skip_exit_codes have no effect on the type {task.type}; remove them'
        if task.files and task.type in WITHOUT_FOLDER:
            yield f'task "{task.name}": files have no effect on the type {task.type}, which has no folder; remove them'


def _kept_from_starting(spec: WorkflowSpec) -> Iterator[str]:
    """Tasks that are meant to start after a failure, which ends the run."""
    if spec.failure_strategy is FailureStrategy.END:
        for task in spec.tasks:
            if task.start_when in (StartWhen.ALL_DONE, StartWhen.ONE_FAILED, StartWhen.ALL_FAILED):
                yield (
                    f'task "{task.name}" (start_when: {task.start_when}) does not start after a failure, since '
                    "failure_strategy: END ends the run then; write CONTINUE"
                )


def _triggered_in_vain(spec: WorkflowSpec) -> Iterator[str]:
    """Starts by triggers that will be refused: one gives nothing but `event`. A project may give values and secrets."""
    for name in lacking(spec.declared, {EVENT: "given", **spec.params}) if spec.triggers else ():
        yield f'triggers give no "{name}", which is required; give it a value here or in the project'
    for trigger in spec.triggers:
        if trigger.webhook in spec.params and trigger.webhook not in spec.secrets:
            yield f'the key "{trigger.webhook}" of a webhook is no SECRET; write {trigger.webhook}: {{type: SECRET}}'


def _one_output(spec: WorkflowSpec) -> Iterator[str]:
    """DYNAMIC tasks whose results have one name, since no name of a parameter tells those of the tasks apart."""
    names = defaultdict(list)
    for task in spec.tasks:
        if task.type == "DYNAMIC":
            names[own_output(task.name)].append(task.name)
    for output, tasks in names.items():
        if len(tasks) > 1:
            shown = " and ".join(f'"{name}"' for name in tasks)
            apart = " and ".join(written(name, OUTPUT) for name in tasks)
            yield f"the results of the tasks {shown} are one parameter, {output}: only the last stays; write {apart}"


def _doubtful_references(spec: WorkflowSpec) -> Iterator[str]:
    """A `${name}` without a parameter, but with one of a similar name. A start could still give the value."""
    declared = {*spec.params, *spec.secrets, *(param.name for task in spec.tasks for param in task.local_params)}
    known, of_closing = builtin_names(), closing_names()
    tasks = {task.name for task in spec.tasks}
    given = None
    for task in spec.tasks:
        for name in dict.fromkeys(name for text in texts_of(task) for name in references(text)):
            if name in declared or name in known or (name in of_closing and task.is_closing):
                continue
            if "[" in name or name.partition(".")[0] in tasks:
                continue  # `result_checks` judges it
            if name in of_closing:
                yield f'task "{task.name}": ${{{name}}} is known only to tasks with teardown or on_exit; remove it'
                continue
            near = nearest(name, sorted(known if name.startswith("system.") else declared), cutoff=0.7)
            cure = f"did you mean ${{{near}}}?" if near else "remove it"
            if name.startswith("system."):
                yield f'task "{task.name}": ${{{name}}} is no built-in parameter; {cure}'
            elif near:
                given = _words_given(spec) if given is None else given
                if name not in given and "" not in given:
                    yield f'task "{task.name}": ${{{name}}} is no parameter of the workflow; {cure}'


def _words_given(spec: WorkflowSpec) -> set[str]:
    """What may be names of values that tasks give to those after them; with "" they may be any."""
    words: set[str] = set()
    before = {name for task in spec.tasks for name in task.after}
    for task in spec.tasks:
        if task.name in before and not any(param.direct is Direct.OUT for param in task.local_params):
            own = re.sub(r"\$\{[A-Za-z_][A-Za-z0-9_.]*\}", "", json.dumps(task.params))
            words.update(re.findall(r"[A-Za-z_][A-Za-z0-9_.]*", own))
            words |= {"SUB_PROCESS": {""}, "HTTP": {"status", "body"}}.get(task.type, set())
            words |= {""} if task.type == "DEPENDENT" and "pass_outputs" in own else set()
    return words


def _behind_endless_streams(spec: WorkflowSpec) -> Iterator[str]:
    """A task that begins when a stream has succeeded that is started again after each end."""
    endless = {
        task.name for task in spec.tasks if task.stream and task.restart is Restart.ALWAYS and task.flag is Flag.YES
    }
    for task in spec.tasks:
        if task.start_when in (StartWhen.ONE_SUCCESS, StartWhen.ONE_FAILED, StartWhen.ALWAYS):
            continue
        if before := [name for name in task.after if name in endless]:
            yield (
                f'task "{task.name}" never begins: the stream "{before[0]}" before it is started again after each end; '
                "give that one restart: on_failure, or remove it from its after"
            )
