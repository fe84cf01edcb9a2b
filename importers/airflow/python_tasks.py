"""Tasks that call a function of the file: plain ones, and those that choose what comes after them."""

from __future__ import annotations

import ast
import re
import sys
from datetime import datetime
from typing import Any

from importers.airflow import answers, responses
from importers.airflow.calls import variable
from importers.airflow.dates import NoText
from importers.airflow.flow import Args, shown
from importers.airflow.functions import GIVES, SKIP, VALUE, Script, as_python, pushed, pushes, script_of
from importers.airflow.shims import POKE
from importers.airflow.templates import parameter_name
from importers.airflow.values import ITEM, Dataset, Dotted, Function, Operator, Output, Parameter
from model.errors import Refused

PYTHON = frozenset(
    {"@task", "@task.python", "@task.virtualenv", "@task.external_python", "PythonOperator"}
    | {"PythonVirtualenvOperator", "ExternalPythonOperator"}
)
"""Kinds of tasks that are a plain function."""
SENSORS = frozenset({"PythonSensor", "@task.sensor"})
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^$\x00-\x1f]*$")
NOT_YET = 75
"""The exit code of a sensor's script whose function is not satisfied: a Python that fails has another."""


def python(args: Args) -> None:
    """A function, whose result is passed on if somebody uses it."""
    is_used = args.flow.is_pulled(args.operator) or pushes(args.operator)
    script(args, lambda result: _given(args, result) if is_used else [])


def _given(args: Args, result: str) -> list[str]:
    """The lines that give a result to later tasks."""
    mapped = [each for each in args.flow.names if is_of_python(each) for given in each.over.values()
              if listed(given) is args.operator]  # fmt: skip
    each = f'_give("return_value_each", [json.dumps(each) for each in {result}])'
    return [f'_give("return_value", {result})', *([each] if mapped and not args.operator.over else [])]


def text_of(args: Args) -> str | None:
    """The text that its function gives, if it does nothing else."""
    function = function_of(args)
    body = [each for each in function.node.body if not isinstance(each, ast.Expr)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    found = args.flow.reader.inlined(function, args.given.get("op_kwargs", {}))
    return found if isinstance(found, str) else None


def bash(args: Args) -> None:
    """A function that gives the text of a script, which then runs."""
    outside: dict[str, str] = {}
    own = {name: _from_outside(repr(text), outside) for name, text in args.mapping("env").items()}
    env = ", ".join(["**os.environ", *(f"{name!r}: {text}" for name, text in own.items())])
    given = "".join(
        f", {name}={_from_outside(repr(text), outside)}" for name, text in (("cwd", args.text("cwd")),) if text
    )
    is_used = args.flow.is_pulled(args.operator)
    piped = ", stdout=subprocess.PIPE, text=True" if is_used else ""
    after = ["print(done.stdout, flush=True)", '_give("return_value", (done.stdout.splitlines() or [""])[-1])']
    script(args, lambda result: [
        f'done = subprocess.run(["bash", "-c", {result}], env={{{env}}}{given}{piped})',
        *(after if is_used else []),
        "raise SystemExit(done.returncode)",
    ], outside)  # fmt: skip
    text = str(args.draft.params["script"])
    for name, value in outside.items():
        text = text.replace(f"os.environ[{name!r}]", f"os.environ[{'SHOAL_PARAM_' + name!r}]")
        args.draft.fields.setdefault("local_params", {})[name] = value
    args.draft.params["script"] = f"import os\nimport subprocess\n\n{text}"
    args.irrelevant("append_env", "output_encoding", "output_processor")


def sensor(args: Args) -> tuple[str, dict[str, str]]:
    """A function that is asked again: the script, which ends with `NOT_YET` if it is to be, and the values that it
    finds in its environment."""
    outside: dict[str, str] = {}
    is_used = args.flow.is_pulled(args.operator)

    def ends(result: str) -> list[str]:
        wanted = f"{result}.xcom_value if isinstance({result}, {POKE}) else None"
        lines = ["result = " + wanted, *_given(args, result)] if is_used else []
        return [f"if not {result}:", f"    raise SystemExit({NOT_YET})", *lines]

    made = script(args, ends, outside)
    text = str(args.draft.params["script"])
    if is_used and POKE not in made.uses:
        args.todo("xcom_pull", f"its result is used, and it returns no {POKE}")
    if args.draft.fields.pop("skip_exit_codes", None):
        sentence = "it skips itself, which a WAIT does only after its timeout; return True, and let a task skip itself"
        args.todo("python_callable", f"{sentence}")
    return f"import os\n\n{text}" if outside else text, outside


def _from_outside(expression: str, outside: dict[str, str]) -> str:
    """The same expression of Python with texts that Shoal fills taken from the environment."""

    class Texts(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            if not isinstance(node.value, str) or not ("${" in node.value or "$[" in node.value):
                return node
            name = next((name for name, text in outside.items() if text == node.value), f"VALUE_{len(outside) + 1}")
            outside[name] = node.value
            return ast.parse(f"os.environ[{name!r}]", mode="eval").body

    try:
        return ast.unparse(Texts().visit(ast.parse(expression, mode="eval")))
    except SyntaxError:  # a value without quotes
        return expression


def moment_of(args: Args, name: str, given: datetime) -> Any:
    """What the function of this argument makes of a time, if that is known."""
    function = args.raw(name)
    if not isinstance(function, Function) or not function.node.args.args:
        return None
    return args.flow.reader.inlined(function, {function.node.args.args[0].arg: given})


def script(args: Args, ends: Any, outside: dict[str, str] | None = None) -> Script:
    """Make the task the script that calls its function.

    Args:
        args: of the task.
        ends: the lines after the call, for its result.
        outside: gets the values that the script is to find in its environment; None if Shoal puts them into it.
    """
    flow = args.flow
    if args.operator.function is None and isinstance(found := args.given.get("python_callable"), Dotted):
        _imported(args, found, ends)
        return Script()
    function = function_of(args)
    arguments = {**_mapped(args), **_positional(args, function), **_named(args)}
    if args.has("templates_dict") and (function.node.args.kwarg or "templates_dict" in _names(function)):
        arguments["templates_dict"] = args.known("templates_dict")
    params = _params(args)
    if isinstance(given := args.given.get("op_args"), list | tuple) and len(given) > len(_names(function)):
        args.todo("op_args", "it takes more than it names; give them by name")

    def put(expression: str) -> str:
        return expression if outside is None else _from_outside(expression, outside)

    made = script_of(
        flow.reader,
        function,
        arguments,
        lambda value: put(as_python(value, flow.templates.text, lambda output: _result(args, output), params)),
        ends,
        lambda id_, key: next((put(_result(args, Output(each, key))) for each in _pulled(args, id_, key)), None),
        lambda name, has_default: put(repr(variable(flow.reader, name, "" if has_default else None))),
    )
    args.draft.type, args.draft.params = "PYTHON", {"script": made.text}
    if "AirflowSkipException" in made.uses:
        args.draft.fields["skip_exit_codes"] = [SKIP]
    if "AirflowFailException" in made.uses and args.draft.fields.get("retry_times"):
        args.changed("retries", "it is retried too after AirflowFailException, which ends it there")
    if made.modules:
        args.changed("python_callable", f"the workers' python3 needs {', '.join(made.modules)}")
    for note in made.notes:
        args.changed("python_callable", note)
    for problem in made.problems:
        args.todo("python_callable", f"{problem}")
    _requirements(args, args.raw("requirements", function.given.get("requirements")))
    if args.has("python"):
        args.draft.params["interpreter"] = args.text("python")
    for name in ("system_site_packages", "python_version", "use_dill", "multiple_outputs",
                 "show_return_value_in_logs", "do_xcom_push", "expect_airflow",
                 "venv_cache_path"):  # fmt: skip
        args.irrelevant(name)
    return made


def _pulled(args: Args, id_: str | None, key: str) -> list[Operator]:
    """The task that is asked for a result: in Airflow 2, if none is named, the only one that pushes it."""
    flow = args.flow
    if id_ is None and flow.reader.is_third(flow.dag):
        return []
    if id_ is not None:
        return [each for each in flow.names if each.id == id_]
    found = [each for each in flow.names if key in pushed(each)]
    return found if len(found) == 1 and not found[0].over and key != "return_value" else []


def added_datasets(args: Args) -> list[Dataset]:
    """The datasets that its function adds to an alias. Raises `Refused` if they are not known."""
    body = args.operator.function.node.body if args.operator.function is not None else []
    adds = [each for statement in body for each in ast.walk(statement) if isinstance(each, ast.Attribute)
            and each.attr == "add" and ast.unparse(each.value).startswith("outlet_events[")]  # fmt: skip
    always = {each.value.func: each.value for each in body
              if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)}  # fmt: skip
    found = [args.flow.reader.value(always[each].args[0]) for each in adds if each in always]
    if not adds or len(found) < len(adds) or not all(isinstance(each, Dataset) for each in found):
        raise Refused("whether or which dataset its function adds to the alias is not known; write updates")
    return found


def _requirements(args: Args, given: Any) -> None:
    """What a virtual environment of its own has: a list, or the text of a file of requirements."""
    listed = given.splitlines() if isinstance(given, str) else given
    if not listed:
        return
    if not (
        isinstance(listed, list | tuple) and all(isinstance(each, str) and _REQUIREMENT.match(each) for each in listed)
    ):
        args.todo("requirements", f"write requirements, as names of packages: {shown(given)}")
        return
    args.draft.params["requirements"] = list(listed)
    args.changed("requirements", "they are kept from run to run, on workers that have worker.uv")


def _imported(args: Args, function: Dotted, ends: Any) -> None:
    """A function of a module that is not in the file: the script imports it."""
    steps = args.raw("python_callable").path.split(".")
    classes = [place for place, each in enumerate(steps[:-1]) if each[:1].isupper()]
    at = classes[0] if classes else len(steps) - 1  # a class is imported, and not what it has
    module, name = ".".join(steps[:at]), ".".join(steps[at:])
    if not module or module.partition(".")[0] == "airflow":
        raise Refused(f"its function {function.path} is not in this file; write the script")
    flow, given = args.flow, args.known("op_args", [])
    values = [("", each) for each in (given if isinstance(given, list | tuple) else [])]
    values += [(f"{key}=", each) for key, each in {**_mapped_by_name(args), **_named(args)}.items()]
    written = []
    for key, value in values:
        try:
            text = as_python(value, flow.templates.text, lambda output: _result(args, output), _params(args))
        except NoText as error:
            args.todo("python_callable", f"its argument {key}{error}")
            text = "None"
        written.append(key + text)
    call = f"{name}({', '.join(written)})"
    tail = ends("result")
    head = ["import json\n"] if tail or "json.loads(" in call or "_value(" in call else []
    parts = [
        *head,
        f"from {module} import {steps[at]}\n",
        *([GIVES] if tail else []),
        *([VALUE] if "_value(" in call else []),
    ]
    parts.append("\n".join([f"result = {call}" if tail else call, *tail]) + "\n")
    args.draft.type, args.draft.params = "PYTHON", {"script": "\n".join(parts)}
    needs = "" if module.partition(".")[0] in sys.stdlib_module_names else f"the workers' python3 needs {module}; "
    args.changed("python_callable", f"{needs}of Airflow's context {name} gets nothing by itself")
    args.irrelevant("do_xcom_push", "show_return_value_in_logs")


def _params(args: Args) -> dict[str, str]:
    """The parameters of the DAG and of the task, and the expression for each."""
    own, shared = args.given.get("params"), args.flow.dag.given.get("params")
    given = {**(shared if isinstance(shared, dict) else {}), **(own if isinstance(own, dict) else {})}
    called = {parameter_name(str(name)) for name in given}
    others = {name: 0 for name in args.flow.params if name not in called}
    return {str(name): _param(str(name), each) for name, each in {**others, **given}.items()}


def _param(name: str, given: Any) -> str:
    text = f"${{{parameter_name(name)}}}"
    default, kinds = (given.default, given.schema.get("type")) if isinstance(given, Parameter) else (given, "null")
    if default is None and kinds is not None and "null" in kinds:
        is_text = isinstance(kinds, str) or "string" in kinds
        return f"'{text}' or None" if is_text else f"json.loads('{text}' or 'null')"
    return f"'{text}'" if isinstance(default, str) else text


def _mapped_by_name(args: Args) -> dict[str, Any]:
    over = {name: each for name, each in args.operator.over.items() if name}
    return {name: Output(_EACH, "each" if len(over) == 1 else f"each.{name}") for name in over}


def _result(args: Args, output: Output) -> str:
    """A result of another task, as an expression of Python: what a function gave is JSON, all else is text."""
    if output.of is _EACH:
        return _element(args, output.path.partition(".")[2])
    if responses.path_of(output.of) is not None:
        return f'json.loads("{args.flow.output(output)}")'
    is_answer = output.of.kind in answers.ASKING
    key, *steps = re.findall(r"[^.\[\]]+", output.path)
    if not is_of_python(output.of) and key not in pushed(output.of) and output.of is not ITEM and not is_answer:
        return repr(args.flow.output(output))
    inner = "".join(f"[{step}]" if step.isdigit() else f"[{step!r}]" for step in steps)
    if output.of is ITEM:
        return f'_value("${{{key}}}"){inner}'
    if is_answer:
        return answers.as_python(output.of, args.flow.names[output.of]) + inner
    found = f'json.loads("${{{args.flow.names[output.of]}.{key}_json}}")'
    # Of a mapped task it is a list of what its elements gave.
    return (
        f"[json.loads(each) if isinstance(each, str) else each for each in {found}]"
        if output.of.over
        else found + inner
    )


def _element(args: Args, name: str) -> str:
    """An argument of an element: the element itself, or its part of this name."""
    over = args.operator.over
    given = over[""] if "" in over else over[name] if name else next(iter(over.values()))
    text = f'"${{each.{name}}}"' if name else '"${each}"'
    if isinstance(given, list | tuple):
        values = [each.get(name) for each in given if isinstance(each, dict)] if "" in over else given
        texts = [isinstance(each, str) for each in values]
        return text if all(texts) else f"_value({text})" if any(texts) else f"json.loads({text})"
    if listed(given) is not None:
        return f'json.loads("${{each}}")[{name!r}]' if "" in over else 'json.loads("${each}")'
    return f"_value({text})"


def listed(given: Any) -> Operator | None:
    """The function over whose list a task is mapped."""
    source = given if isinstance(given, Operator) else given.of if isinstance(given, Output) else None
    is_whole = isinstance(given, Operator) or (isinstance(given, Output) and given.path == "return_value")
    return source if source is not None and is_whole and is_of_python(source) else None


def is_of_python(operator: Operator) -> bool:
    """Whether a task is a function of Python, which gives its results as JSON too."""
    return operator.kind in PYTHON | SENSORS


def function_of(args: Args) -> Function:
    """The function that a task calls. Raises `Refused` for one that is not in the file."""
    if args.operator.function is not None:
        return args.operator.function
    found = args.raw("python_callable")
    if not isinstance(found, Function):
        raise Refused(f"its function {shown(found)} is not in this file; write the script")
    return found


def _named(args: Args) -> dict[str, Any]:
    given = args.known("op_kwargs", {})
    return dict(given) if isinstance(given, dict) else {}


def _positional(args: Args, function: Function) -> dict[str, Any]:
    given = args.known("op_args", [])
    return dict(zip(_names(function), given if isinstance(given, list | tuple) else [], strict=False))


def _names(function: Function) -> list[str]:
    """The arguments that may be given by their place."""
    return [each.arg for each in (*function.node.args.posonlyargs, *function.node.args.args)]


def _mapped(args: Args) -> dict[str, Any]:
    """The arguments of an element of a mapped task."""
    over = args.operator.over
    if not over:
        return {}
    if "" in over:
        names = [each.arg for each in function_of(args).node.args.args]
        return {name: Output(_EACH, f"each.{name}") for name in names if name not in _named(args)}
    return {name: Output(_EACH, "each" if len(over) == 1 else f"each.{name}") for name in over}


_EACH = Operator("each", "", {}, 0)
"""Stands for the element of a mapped task."""
