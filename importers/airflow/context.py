"""What functions of a DAG file ask of Airflow's context, and what a script has in its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from importers.airflow.dates import NoText
from importers.airflow.templates import is_path
from importers.airflow.values import Defined

_MOMENT = '''\
def _moment(text):
    """A time of Airflow's context."""
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00"))
'''
_INSTANCE = '''\
class _Instance:
    """What the function asks of its task instance."""

{own}    def xcom_push(self, key, value):
        _give(key, value)

    def xcom_pull(self, task_ids=None, key="return_value"):
        if isinstance(task_ids, (list, tuple)):
            return [_PULLED[each, key] for each in task_ids]
        return _PULLED[task_ids, key]
'''
_RUN = '''\
def _tree(text):
    """A value of conf: a list or mapping, or a text as it is."""
    from json import loads

    try:
        found = loads(text)
    except ValueError:
        return text
    return found if isinstance(found, (list, dict)) else text


class _Run:
    """What the function asks of its run."""

    run_id = {run_id}
    run_type = {run_type}
    conf = {{name: _tree(value) for name, value in {conf}.items() if value}}
'''
_EVENTS = '''\
class _Events:
    """What the function says of the datasets that it updates: Shoal updates them at its success."""

    def __init__(self):
        self.extra = {}

    def __getitem__(self, dataset):
        return self

    def add(self, dataset, extra=None):
        pass
'''
_TEXTS = ("ds", "ds_nodash", "ts", "ts_nodash", "data_interval_start", "data_interval_end", "logical_date",
          "execution_date", "next_ds", "yesterday_ds", "tomorrow_ds", "run_id", "task_instance_key_str",
          "next_ds_nodash", "yesterday_ds_nodash", "tomorrow_ds_nodash", "prev_ds", "prev_ds_nodash",
          "prev_execution_date", "next_execution_date")  # fmt: skip
_MOMENTS = ("data_interval_start", "data_interval_end", "logical_date", "execution_date",
            "prev_execution_date", "next_execution_date")  # fmt: skip
_INSTANCES = ("ti", "task_instance")
_OF_INSTANCE = ("task_id", "dag_id", "run_id", "try_number")
"""What a task instance has besides."""
_IDS = {"dag": "dag_id", "task": "task_id"}
"""What has its name in Airflow's context -> how that is called."""
_OBJECTS = ("dag", "task", "conf", "macros", "var", "conn", "inlets", "outlets", "inlet_events",
            "prev_start_date_success", "prev_data_interval_start_success", "prev_data_interval_end_success",
            "triggering_asset_events", "triggering_dataset_events", "test_mode", "ts_nodash_with_tz",
            "asset_state_store", "task_state_store", "prev_end_date_success", "expanded_ti_count",
            "task_reschedule_count")  # fmt: skip
"""What Airflow's context has besides, and nothing here."""


class Context:
    """What a function asks of Airflow's context."""

    def __init__(self, written: Callable[[Any], str], pulled: Callable[[str | None, str], str | None]) -> None:
        self._written = written
        self._pulled = pulled
        self.problems: list[str] = []
        self.notes: list[str] = []
        """What differs, and works."""
        self.gives = False
        """Whether the function gives values by itself."""
        self._results: dict[tuple[str | None, str], str] = {}
        self._own: dict[str, str] = {}
        self._entries: dict[str, str] = {}
        self._texts: dict[str, None] = {}

    def texts(self) -> list[str]:
        """The lines of the script that stand for the context."""
        made = list(self._texts)
        if self.gives:
            entries = ", ".join(f"({task!r}, {key!r}): {text}" for (task, key), text in self._results.items())
            own = "".join(f"    {name} = {text}\n" for name, text in self._own.items())
            made += [f"_PULLED = {{{entries}}}\n", _INSTANCE.format(own=own and f"{own}\n")]
        if self._entries:
            entries = ", ".join(f"{key!r}: {text}" for key, text in self._entries.items())
            made += [f"def get_current_context():\n    return {{{entries}}}\n"]
        return made

    def expression(self, name: str, value: Any) -> str:
        try:
            return self._written(value)
        except NoText as error:
            self.problems.append(f"its argument {name}: {error}")
            return "None"

    def asked(self, node: Defined, given: Mapping[str, str]) -> dict[str, str]:
        """The arguments that Airflow gives by itself: those that a function names, or takes from its `**context`."""
        found: dict[str, str] = {}
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for name in parameters:
            if name not in given and (name in (*_TEXTS, *_INSTANCES, *_OBJECTS, "dag_run", "params", "outlet_events")):
                found[name] = self._value(name, node)
        if node.args.kwarg is not None:
            for key in _keys_of(node, node.args.kwarg.arg):
                if key is None:
                    self.problems.append(f"which parts of {node.args.kwarg.arg} it uses is not known")
                elif key not in found and key not in given and key not in parameters:
                    found[key] = self._value(key, node)
        wanted = [*parameters[: len(parameters) - len(node.args.defaults) - len(node.args.kwonlyargs)]]
        wanted += [each.arg for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                   if default is None]  # fmt: skip
        self.problems += [
            f"what its argument {name} is, is not known" for name in wanted if name not in given and name not in found
        ]
        self.enter(node, {**found, **given})
        return found

    def enter(self, node: Defined, known: Mapping[str, str]) -> None:
        """What a function takes from its current context; `known` are expressions for parts of it."""
        for key in _current_keys(node):
            if key is None:
                self.problems.append("which parts of get_current_context() it uses is not known")
            elif key not in self._entries:
                self._entries[key] = known.get(key) or self._value(key, node)

    def _value(self, name: str, node: Defined) -> str:
        if name in _INSTANCES:
            self._instance(node)
            return "_Instance()"
        if name in _TEXTS:
            text = self.expression(name, f"{{{{ {name} }}}}")
            if name not in _MOMENTS:
                return text
            if foreign := sorted(_attributes_of(node, name) - set(dir(datetime))):
                self.problems.append(f"it uses {name}.{foreign[0]}, and here {name} is a datetime of Python")
            self._texts[_MOMENT] = None
            return f"_moment({text})"
        if name == "dag_run":
            self._run(node)
            return "_Run()"
        if name == "outlet_events":
            self._texts[_EVENTS] = None
            if "extra" in {getattr(each, "attr", getattr(each, "arg", "")) for each in ast.walk(node)}:
                self.notes.append("what it says of a dataset as extra reaches nobody here")
            return "_Events()"
        if name in _IDS and _is_only_named(node, name):
            text = self.expression(name, f"{{{{ {_IDS[name]} }}}}")
            self._texts["from types import SimpleNamespace\n"] = None
            return f"SimpleNamespace({_IDS[name]}={text})"
        if name == "params":
            return self.expression(name, "{{ params }}")
        self.problems.append(f"it uses {name} of Airflow's context")
        return "None"

    def _instance(self, node: Defined) -> None:
        self.gives = True
        self._pushed(node)
        asked = {each for name in _INSTANCES for each in _attributes_of(node, name)} - {"xcom_push", "xcom_pull"}
        self.problems += [f"it uses {name} of its task instance" for name in sorted(asked.difference(_OF_INSTANCE))]
        for name in sorted(asked.intersection(_OF_INSTANCE)):
            text = self.expression(name, f"{{{{ ti.{name} }}}}")
            self._own[name] = f"int({text})" if name == "try_number" else text
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "xcom_pull":
                given = {one.arg: one.value for one in each.keywords}
                if each.args:
                    given.setdefault("task_ids", each.args[0])
                tasks, key = given.get("task_ids"), _text_of(given.get("key"))
                listed = tasks.elts if isinstance(tasks, ast.List | ast.Tuple) else [tasks]
                is_own = given.keys() <= {"task_ids", "key"} and len(each.args) < 2
                for task in map(_text_of, listed):
                    found = None
                    is_any = tasks is None and key is not None
                    if (task is not None or is_any) and is_own and ("key" not in given or key is not None):
                        found = self._pulled(task, key or "return_value")
                    if found is None:
                        self.problems.append(f"which result {ast.unparse(each)} asks for is not known")
                        break
                    self._results[task, key or "return_value"] = found

    def _run(self, node: Defined) -> None:
        foreign = _attributes_of(node, "dag_run") - {"conf", "run_id", "run_type"}
        self.problems += [f"it uses dag_run.{each}" for each in sorted(foreign)]
        entries: dict[str, str] = {}
        for key in _conf_keys(node):
            if key is None:
                self.problems.append("which parts of dag_run.conf it uses is not known")
            else:
                entries[key] = self.expression(f"dag_run.conf {key}", f"{{{{ dag_run.conf.get({key!r}, '') }}}}")
        listed = ", ".join(f"{key!r}: {text}" for key, text in entries.items())
        asked = _attributes_of(node, "dag_run")
        said = {name: self.expression(name, f"{{{{ dag_run.{name} }}}}") if name in asked else None
                for name in ("run_id", "run_type")}  # fmt: skip
        self._texts[_RUN.format(conf=f"{{{listed}}}", **said)] = None
        if entries:
            named = ", ".join(entries)
            self.notes.append(f"what dag_run.conf has of {named} are parameters here: texts, lists or mappings")

    def _pushed(self, node: Defined) -> None:
        for each, key in pushed_keys(node).items():
            if key is None or not is_path(key):
                said = ast.unparse(each) if key is None else f'"{key}"'
                self.problems.append(f"{said} is no name for a value: letters, digits and _ are")


def pushed_keys(node: Defined) -> dict[ast.Call, str | None]:
    """The calls by which a function gives results, and their keys; None for one that is not written there."""
    found: dict[ast.Call, str | None] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "xcom_push":
            given = {one.arg: one.value for one in each.keywords}
            found[each] = _text_of(given.get("key", each.args[0] if each.args else None))
    return found


def _text_of(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _keys_of(node: Defined, holder: str, binds: int = 0) -> Iterator[str | None]:
    """The keys that a function takes from a mapping; None for a use that is none of those, or if it binds the name
    more often than this."""
    known: set[ast.AST] = set()
    bound = [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    own = [each for each in bound if each.id == holder]
    if len(own) == binds:
        known.update(own)
    for each in ast.walk(node):
        match each:
            case ast.Subscript(ast.Name(name) as of, index) if name == holder:
                known.add(of)
                yield _text_of(index)
            case ast.Call(ast.Attribute(ast.Name(name) as of, "get"), [first, *_]) if name == holder:
                known.add(of)
                yield _text_of(first)
            case ast.Compare(first, [ast.In() | ast.NotIn()], [ast.Name(name) as of]) if name == holder:
                known.add(of)
                yield _text_of(first)
    if any(isinstance(each, ast.Name) and each.id == holder and each not in known for each in ast.walk(node)):
        yield None


def _current_keys(node: Defined) -> Iterator[str | None]:
    """The keys that a function takes from its current context."""
    for each in ast.walk(node):
        match each:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("get_current_context"))):
                yield from _keys_of(node, name, 1)
            case ast.Subscript(ast.Call(ast.Name("get_current_context")), index):
                yield _text_of(index)
            case ast.Call(ast.Name("get_current_context")) if not _is_held(node, each):
                yield None


def _is_held(node: Defined, call: ast.Call) -> bool:
    """Whether this call is subscripted, or has a name."""
    return any(isinstance(each, ast.Assign | ast.Subscript) and each.value is call for each in ast.walk(node))


def _conf_keys(node: Defined) -> Iterator[str | None]:
    """The keys that a function takes from the `conf` of its run; None for a use that is none of those."""
    known: set[ast.AST] = set()
    for each in ast.walk(node):
        match each:
            case ast.Assign([ast.Name(name)], ast.Attribute(attr="conf") as of):
                known.add(of)
                yield from _keys_of(node, name, 1)
            case ast.Assign([ast.Name(name)], ast.BoolOp(ast.Or(), [ast.Attribute(attr="conf") as of, ast.Dict([])])):
                known.add(of)
                yield from _keys_of(node, name, 1)
            case ast.Subscript(ast.Attribute(attr="conf") as of, index):
                known.add(of)
                yield _text_of(index)
            case ast.Call(ast.Attribute(ast.Attribute(attr="conf") as of, "get"), [first, *_]):
                known.add(of)
                yield _text_of(first)
            case ast.Compare(first, [ast.In() | ast.NotIn()], [ast.Attribute(attr="conf") as of]):
                known.add(of)
                yield _text_of(first)
            case ast.If(test) | ast.IfExp(test):  # whether there is any
                known.update((test, *(test.values if isinstance(test, ast.BoolOp) else ())))
    if any(isinstance(each, ast.Attribute) and each.attr == "conf" and each not in known for each in ast.walk(node)):
        yield None


def _attributes_of(node: Defined, name: str) -> set[str]:
    """What a function asks of an argument, or of the entry of this name in its context."""
    return set(_asked_of(node, name))


def _asked_of(node: Defined, name: str) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Attribute(ast.Name(of), attribute) if of == name:
                yield attribute
            case ast.Attribute(ast.Subscript(_, ast.Constant(of)), attribute) if of == name:
                yield attribute
            case ast.Attribute(ast.Call(ast.Attribute(_, "get"), [ast.Constant(of), *_]), attribute) if of == name:
                yield attribute


def _is_only_named(node: Defined, name: str) -> bool:
    """Whether a function asks for nothing but the name of that."""
    asked = list(_asked_of(node, name))
    uses = [each for each in ast.walk(node) if name in (getattr(each, "id", None), getattr(each, "value", None))]
    return set(asked) == {_IDS[name]} and len(asked) == len(uses)
