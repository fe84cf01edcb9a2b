"""What stands in a script for the names of Airflow that its code imports: exceptions, variables, results of sensors.

Other names of Airflow have nothing here; a person has to write what uses them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from importers.airflow.sources import SHIMMED, free_names, is_of_airflow

_EXCEPTIONS = {
    "AirflowException": "Exception",
    "AirflowSkipException": "AirflowException",
    "AirflowFailException": "AirflowException",
}
"""Each name -> its base."""
POKE = "PokeReturnValue"
_POKE = '''\
class PokeReturnValue:
    """What the function of a sensor returns."""

    def __init__(self, is_done, xcom_value=None):
        self.is_done, self.xcom_value = is_done, xcom_value

    def __bool__(self):
        return bool(self.is_done)
'''
_DATASETS = ("Asset", "Dataset", "Alias", "Metadata")
_DATASET = '''\
class {name}:
    """It names what an event is about."""

    def __init__(self, *given, **named):
        pass
'''
_VARIABLE = '''\
class Variable:
    """The variables that its code asks for."""

    @staticmethod
    def get(key, default_var=None, deserialize_json=False, default=None):
        if not _VARIABLES[key]:
            return default_var if default is None else default
        return json.loads(_VARIABLES[key]) if deserialize_json else _VARIABLES[key]
'''


@dataclass
class Shims:
    """Those of one script; `problems` are what a person has to write."""

    texts: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """What its code uses of Airflow and has here."""
    problems: list[str] = field(default_factory=list)


def shims_of(nodes: Sequence[ast.stmt], variable: Callable[[str, bool], str]) -> Shims:
    """What statements need of Airflow.

    Args:
        nodes: all statements of the script, imports included.
        variable: what stands for a variable, by its name, and whether its code says what it is without one.
    """
    made = Shims()
    used = {name for each in nodes if not is_of_airflow(each) for name in free_names(each)}
    foreign: dict[str, None] = {}
    bound: dict[str, str] = {}
    for name, as_name, text in _imported(nodes, used):
        if name in SHIMMED:
            bound[as_name] = name
        else:
            foreign[text] = None
    if foreign:
        made.problems.append(f"its code uses Airflow ({'; '.join(foreign)}), which is not here")
    made.names = set(bound.values())
    exceptions = set(made.names & _EXCEPTIONS.keys())
    exceptions |= {"AirflowException"} if exceptions else set()
    made.texts += [f"class {name}({base}):\n    pass\n" for name, base in _EXCEPTIONS.items() if name in exceptions]
    made.texts += [_DATASET.format(name=name) for name in sorted(made.names) if name.endswith(_DATASETS)]
    made.texts += [_POKE] if POKE in made.names else []
    if "Variable" in made.names:
        _variables(nodes, {as_name for as_name, name in bound.items() if name == "Variable"}, made, variable)
    made.texts += [f"{as_name} = {name}\n" for as_name, name in bound.items() if as_name != name]
    return made


def _imported(nodes: Sequence[ast.stmt], used: set[str]) -> Iterator[tuple[str, str, str]]:
    """What is imported of Airflow and used: the name, that under which it is used, and the import for people."""
    for node in nodes:
        for each in ast.walk(node):
            if not isinstance(each, ast.Import | ast.ImportFrom) or not is_of_airflow(each):
                continue
            for alias in each.names:
                as_name = alias.asname or alias.name.partition(".")[0]
                if each is not node or as_name in used:
                    bare = ast.unparse(each).partition(" import ")[0] if isinstance(each, ast.ImportFrom) else ""
                    text = f"{bare} import {alias.name}".strip()
                    yield ("" if isinstance(each, ast.Import) else alias.name), as_name, text


def _variables(nodes: Sequence[ast.stmt], bound: set[str], made: Shims, variable: Callable[[str, bool], str]) -> None:
    found: dict[str, str] = {}
    known: set[ast.AST] = set()
    for each in (one for node in nodes for one in ast.walk(node)):
        match each:
            case ast.Call(ast.Attribute(ast.Name(name) as of, "get"), [ast.Constant(str(key)), *others]) if (
                name in bound
            ):
                known.add(of)
                given = {one.arg for one in each.keywords}
                found[key] = variable(key, bool(others) or not given.isdisjoint(("default_var", "default")))
            case ast.Name(name) if name in bound and each not in known:
                made.problems.append("which variable of Airflow it asks for, or that it sets one, is not known")
    entries = ", ".join(f"{key!r}: {text}" for key, text in found.items())
    made.texts += [f"_VARIABLES = {{{entries}}}\n", _VARIABLE]
