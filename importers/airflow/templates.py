"""Jinja templates of Airflow as texts of Shoal: the day of a run, parameters, results of other tasks.

In a DAG whose schedule has intervals, the logical date is the start of the interval; without a schedule it is the time
of the run. Source: the templates reference of Airflow's documentation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from importers.airflow.dates import NoText, Step, java_pattern, of_pendulum, shift

_EXPRESSION = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
_LOOP = re.compile(
    r"\{%-?\s*for\s+(\w+)\s+in\s+(range\([\d\s,]+\)|\[[^\]%]*\])\s*-?%\}((?:(?!\{%).)*)\{%-?\s*endfor\s*-?%\}",
    re.DOTALL,
)
ROUNDS_MAX = 1_000
ELSE_MAX = 500
"""Characters of an expression with a default."""
_GIVEN = r"""\s*['"]([A-Za-z_][\w.-]*)['"]\s*(?:,\s*(?:default(?:_var)?\s*=\s*)?([^(),]+?)\s*)?"""
_ELSE = re.compile(
    r"""(?:(.+?)\s+if\s+(?:dag_run(?:\.conf)?|dag_run\s+and\s+dag_run\.conf)\s+else|(.+?)(?:\s+or|\s*\|\s*default\())"""
    r"""\s*('[^']*'|"[^"]*"|\d+)\s*\)?"""
)
"""What stands between the brackets of `get`: a name, and perhaps a default."""
_PARTS = {"year": "yyyy", "month": "M", "day": "d", "hour": "H", "minute": "m", "second": "s"}
_NAME = r"[A-Za-z_]\w*"
_KEY = r"""\[['"](\w[\w-]*)['"]\]"""
_START = (
    r"(?:data_interval_start|logical_date|execution_date|dag_run\.(?:logical_date|execution_date|data_interval_start))"
)
_END = r"(?:data_interval_end|dag_run\.data_interval_end)"
_BESIDE = r"(?:(?:prev|next)_execution_date)"
_WHEN = rf"(?:{_START}|{_END}|{_BESIDE})"
_MONTH = (
    rf"\(?\s*({_WHEN})(?:\s*([+-])\s*macros\.dateutil\.relativedelta\.relativedelta"
    r"\(\s*(months|years)\s*=\s*([+-]?\d+)\s*\)\s*\))?(\.replace\(\s*day\s*=\s*1\s*\))?"
)
_STRFTIME = r"""\.strftime\(\s*(['"])([^'"]*)\6\s*\)"""
_PLAIN = [rf"(?:params|dag_run\.conf){each}" for each in (rf"\.({_NAME})", _KEY, rf"\.get\({_GIVEN}\)")]
"""A parameter: its name is the first group, and perhaps a default the second."""
_CONF = rf"""(?:dag_run\.conf|params)((?:\.{_NAME}|\[['"]\w+['"]\])+)"""
_SHIFTED = re.compile(r"[+-]\d+(?:/24(?:/60)?)?$")
_DAY, _COMPACT, _TIME = "yyyy-MM-dd", "yyyyMMdd", "HH:mm:ss"


AS_JSON = "a list or mapping is written as JSON, and not as Python shows it"
TEXT_OF_TIME = "a time has a T between its day and hour"
"""Said of a moment that stands in a text."""


@dataclass
class Templates:
    """Those of one DAG.

    Args:
        intervals: whether its runs have intervals.
        dag_id: its name.
        result_of: the reference to a result of a task, for its id and the path; None if there is no such task.
        step: from one run to the next; None if that is not always the same.
        zone: of its days and times.
    """

    intervals: bool
    dag_id: str
    result_of: Callable[[str, str], str | None]
    step: Step | None = None
    zone: str = "UTC"
    params: set[str] = field(default_factory=set)
    """The parameters that its templates name."""
    variables: set[str] = field(default_factory=set)
    """The variables of Airflow that they name."""
    defaults: dict[str, str] = field(default_factory=dict)
    """What they name where such a one is not given."""
    trees: set[str] = field(default_factory=set)
    """Parameters of which they name a part."""
    gives_container: Callable[[str], bool] = lambda _: False
    """Whether a task is seen to give a list or mapping."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The values of its parameters, as far as the file says them."""
    notes: dict[str, None] = field(default_factory=dict)
    """What differs in the texts that were made since these were taken."""
    uses_days: bool = False
    """Whether one is made of the logical date."""
    uses_run_type: bool = False
    """Whether one says what started the run."""

    def text(self, template: str) -> str:
        """The same text for Shoal. Raises `NoText`."""
        template = _LOOP.sub(self._unrolled, _COMMENT.sub("", template))
        if found := _STATEMENT.search(template):
            raise NoText(f"{found[0]} is a statement of Jinja; write it as a task, or as a condition of a SWITCH")
        return _EXPRESSION.sub(lambda match: self.expression(match[1].strip()), template)

    def expression(self, text: str) -> str:
        """What stands for `{{ text }}`. Raises `NoText`."""
        for pattern, made in self._forms():
            if found := re.fullmatch(pattern, text):
                return made(found)
        if len(text) <= ELSE_MAX and (found := _ELSE.fullmatch(text)) and (named := self._plain(found[1] or found[2])):
            return self._or(named, found[3], is_empty_too=found[1] is None)
        raise NoText(f"{{{{ {text} }}}} has no counterpart here")

    def logical(self, pattern: str) -> str:
        """A day or time of the logical date, by a pattern of Java."""
        self.uses_days = True
        return f"$[interval_start({pattern})]" if self.intervals else f"$[{pattern}]"

    def _forms(self) -> list[tuple[str, Callable[[re.Match[str]], str]]]:
        return [
            (r"(yesterday_|tomorrow_)?ds(_nodash)?", self._day),
            (r"ts", lambda _: self._moment("start")),
            (r"ts_nodash", lambda _: f"{self.logical(_COMPACT)}T{self.logical('HHmmss')}"),
            (r"(next|prev)_ds(_nodash)?", lambda found: self._of(f"{found[1]}_execution_date",
                                                                _COMPACT if found[2] else _DAY)),
            (_WHEN, self._as_text),
            (rf"({_WHEN})\s*\|\s*(ds|ds_nodash|ts)", self._filtered),
            (rf"({_WHEN})\.strftime\(\s*(['\"])([^'\"]*)\2\s*\)", self._strftime),
            (rf"({_WHEN})\.(?:to_date_string|date)\(\)", lambda found: self._of(found[1], _DAY)),
            (rf"({_WHEN})\.({'|'.join(_PARTS)})", lambda found: self._of(found[1], _PARTS[found[2]])),
            (rf"({_WHEN})\.isoformat\(\)", lambda found: self._moment_of(found[1])),
            (rf"({_WHEN})\.format\(\s*(['\"])([^'\"]*)\2\s*\)",
             lambda found: self._of(found[1], java_pattern(of_pendulum(found[3])))),
            (r"ds\.replace\(\s*(['\"])-\1\s*,\s*(['\"])([^'\"\w]*)\2\s*\)",
             lambda found: self.logical(f"yyyy{found[3]}MM{found[3]}dd")),
            (r"ds\[0?:([47])\]", lambda found: self.logical("yyyy" if found[1] == "4" else "yyyy-MM")),
            (rf"\(?\s*({_WHEN})\s*([+-])\s*macros\.timedelta\(\s*([^()]*?)\s*\)\s*\)?"
             r"\.strftime\(\s*(['\"])([^'\"]*)\4\s*\)", self._shifted),
            (r"macros\.ds_add\(\s*ds\s*,\s*([+-]?\d+)\s*\)", lambda found: self.logical(f"{_DAY}{int(found[1]):+d}")),
            (r"macros\.ds_format\(\s*ds\s*,\s*['\"]%Y-%m-%d['\"]\s*,\s*(['\"])([^'\"]*)\1\s*\)",
             lambda found: self.logical(java_pattern(found[2]))),
            (r"macros\.ds_format\(\s*macros\.ds_add\(\s*ds\s*,\s*([+-]?\d+)\s*\)\s*,\s*['\"]%Y-%m-%d['\"]\s*,"
             r"\s*(['\"])([^'\"]*)\2\s*\)",
             lambda found: self.logical(f"{java_pattern(found[3])}{int(found[1]):+d}")),
            (rf"({_WHEN})\s*([+-])\s*macros\.timedelta\(\s*([^()]*?)\s*\)", self._moment_beside),
            (rf"{_MONTH}(?:{_STRFTIME}|\s*\|\s*(ds|ds_nodash)|\.to_date_string\(\))", self._month),
            (rf"({_WHEN})\.(add|subtract)\(([^()]*)\)", self._moment_beside),
            *((pattern, self._param) for pattern in _PLAIN),
            (_CONF, self._part_of_param),
            (rf"var\.value\.get\({_GIVEN}\)", self._variable),
            (r"var\.(?:value|json)\.([\w.]+)", self._variable),
            (r"(?:ti|task_instance)\.xcom_pull\(([^()]*)\)((?:\[(?:\d+|'\w+'|\"\w+\")\])*)", self._pulled),
            (r"task_instance_key_str|ti\.key_str", lambda _: f"{self.dag_id}__${{system.task.definition.name}}__"
             f"{self.logical(_COMPACT)}"),
            (rf"({_WHEN})\.(add|subtract)\(([^()]*)\)(?:\.strftime\((['\"])([^'\"]*)\4\)|\.(?:to_date_string|date)\(\))",
             self._moved),
            (r"conn\.(\w+\.(?:host|port|login|schema))", self._variable),
            (r"(?:dag_run\.|ti\.)?run_id", lambda _: self._run_id()),
            (r"dag_run\.run_type", lambda _: self._run_type()),
            (r"(?:dag\.|dag_run\.|ti\.)?dag_id", lambda _: self.dag_id),
            (r"(?:task\.|ti\.|task_instance\.)?task_id", lambda _: "${system.task.definition.name}"),
            (r"(?:ti|task_instance)\.try_number", lambda _: "${system.task.attempt}"),
            (r"each(?:\..+)?", lambda found: f"${{{found[0]}}}"),
        ]  # fmt: skip

    def _day(self, found: re.Match[str]) -> str:
        step = {"yesterday_": "-1", "tomorrow_": "+1"}.get(found[1], "")
        return self.logical(f"{_COMPACT if found[2] else _DAY}{step}")

    def _unrolled(self, found: re.Match[str]) -> str:
        """A loop over what is written there, as its rounds."""
        name, over, body = found.groups()
        if over.startswith("range"):
            values = list(map(str, range(*(int(each) for each in re.findall(r"\d+", over)))))[:ROUNDS_MAX]
        else:
            values = ["".join(each) for each in re.findall(r"""['"]([^'"]*)['"]|(\d+)""", over)]
        return "".join(re.sub(rf"\{{\{{-?\s*{name}\s*-?\}}\}}", each, body) for each in values)

    def _moment(self, which: str) -> str:
        self.uses_days = True
        if self.intervals:
            return f"${{system.interval.{which}}}"
        return f"$[{_DAY}]T$[{_TIME}]{self._offset('logical_date', '')}"

    def _offset(self, moment: str, step: str) -> str:
        return "+00:00" if self.zone == "UTC" else self._of(moment, f"XXX{step}")

    def _as_text(self, found: re.Match[str]) -> str:
        self.notes[TEXT_OF_TIME] = None
        return self._moment_of(found[0])

    def _moment_of(self, moment: str) -> str:
        if not re.fullmatch(_BESIDE, moment):
            return self._moment("end" if re.fullmatch(_END, moment) else "start")
        if self.intervals and moment.startswith("next"):
            return self._moment("end")
        return self._iso(moment, "")

    def _moment_beside(self, found: re.Match[str]) -> str:
        span = shift(found[0], found[3], is_back=found[2] in ("-", "subtract"))
        self.notes[TEXT_OF_TIME] = None
        return self._iso(found[1], span)

    def _month(self, found: re.Match[str]) -> str:
        """A day so many months later, or the first one of that month."""
        months = int(found[4] or 0) * (12 if found[3] == "years" else 1) * (-1 if found[2] == "-" else 1)
        pattern = java_pattern(found[7]) if found[6] else _COMPACT if found[8] == "ds_nodash" else _DAY
        if re.search("[,()]|[HmsE]" if found[5] else "[,()]", pattern):
            raise NoText(f"{{{{ {found[0]} }}}} has no counterpart here")
        return self._of(found[1], f"{'month_first_day' if found[5] else 'add_months'}({pattern},{months:+d})")

    def _iso(self, moment: str, step: str) -> str:
        """A moment so much later, as ISO writes it."""
        day, time = (self._of(moment, f"{pattern}{step}") for pattern in (_DAY, _TIME))
        return f"{day}T{time}{self._offset(moment, step)}"

    def _end(self, pattern: str) -> str:
        self.uses_days = True
        return f"$[interval_end({pattern})]" if self.intervals else f"$[{pattern}]"

    def _of(self, moment: str, pattern: str) -> str:
        if re.fullmatch(_BESIDE, moment) and not (self.intervals and moment.startswith("next")):
            if self.step is None or _SHIFTED.search(pattern) or "(" in pattern:
                which = "after" if moment.startswith("next") else "before"
                raise NoText(f"the run {which} this one is not always as far away; write its time")
            return self.logical(self.step.shifted(pattern, 1 if moment.startswith("next") else -1))
        return self.logical(pattern) if re.fullmatch(_START, moment) else self._end(pattern)

    def _filtered(self, found: re.Match[str]) -> str:
        if found[2] == "ts":
            return self._moment_of(found[1])
        return self._of(found[1], _DAY if found[2] == "ds" else _COMPACT)

    def _strftime(self, found: re.Match[str]) -> str:
        return self._of(found[1], java_pattern(found[3]))

    def _shifted(self, found: re.Match[str]) -> str:
        return self._of(found[1], f"{java_pattern(found[5])}{shift(found[0], found[3], is_back=found[2] == '-')}")

    def _moved(self, found: re.Match[str]) -> str:
        span = shift(found[0], found[3], is_back=found[2] == "subtract")
        return self._of(found[1], f"{java_pattern(found[5]) if found[5] else _DAY}{span}")

    def _param(self, found: re.Match[str]) -> str:
        name = parameter_name(found[1])
        self.params.add(name)
        self._default(name, found)
        if isinstance(self.given.get(found[1]), dict | list | tuple):
            self.notes[AS_JSON] = None
        elif self.given.get(found[1], "") is None:
            self.notes[f'"{found[1]}" is None, and here an empty text'] = None
        return f"${{{name}}}"

    def _part_of_param(self, found: re.Match[str]) -> str:
        """A value within a parameter of JSON."""
        first, *steps = re.findall(r"\w+", found[1])
        self.params.add(first)
        self.trees.add(first)
        return f"${{{'.'.join((first, *steps))}}}"

    def _plain(self, text: str) -> str | None:
        """The parameter that an expression is, and nothing else."""
        for pattern in _PLAIN:
            if found := re.fullmatch(pattern, text.strip()):
                return found[1]
        return None

    def _or(self, named: str, default: str, *, is_empty_too: bool) -> str:
        """A parameter, and what stands for it where it is not given."""
        name = parameter_name(named)
        self.params.add(name)
        default = default.strip("'\"")
        if self.defaults.setdefault(name, default) != default:
            raise NoText(f'"{named}" has another default in another place')
        if is_empty_too:
            self.notes[f'its default holds where "{name}" is not given; an empty one stays empty'] = None
        return f"${{{name}}}"

    def _run_id(self) -> str:
        self.notes["run_id is the number of the run"] = None
        return "${system.workflow.instance.id}"

    def _run_type(self) -> str:
        self.uses_run_type = True
        self.notes["run_type is scheduled, or else manual: also for a backfill and a dataset"] = None
        return "${run_type}"

    def _default(self, name: str, found: re.Match[str]) -> None:
        """Keep the default that a `get` names."""
        if len(found.groups()) < 2 or found[2] is None:
            return
        try:
            default = ast.literal_eval(found[2])
        except (ValueError, SyntaxError):
            raise NoText(f"{{{{ {found[0]} }}}}: the default {found[2]} is not known") from None
        if self.defaults.setdefault(name, str(default)) != str(default):
            raise NoText(f"{{{{ {found[0]} }}}}: it has another default in another place")

    def _variable(self, found: re.Match[str]) -> str:
        name = parameter_name(found[1])
        self._default(name, found)
        if "json" in found[0] and "." not in name:
            self.notes[AS_JSON] = None
        self.variables.add(name.partition(".")[0] if "json" in found[0] else name)
        return f"${{{name}}}"

    def _pulled(self, found: re.Match[str]) -> str:
        given = re.sub(rf"dag_id\s*=\s*['\"]{re.escape(self.dag_id)}['\"]", "", found[1])
        task = re.search(r"task_ids\s*=\s*\[?\s*['\"]([^'\"]+)['\"]\s*\]?", given) or re.match(
            r"\s*['\"]([^'\"]+)['\"]", given
        )
        key = re.search(r"key\s*=\s*['\"]([^'\"]+)['\"]", given)
        texts = re.findall(r"['\"][^'\"]*['\"]", given)
        if task is None or len(texts) > (2 if key else 1):
            raise NoText(f"{{{{ {found[0]} }}}}: which task it asks is not known")
        if key and not is_path(key[1]):
            raise NoText(f'"{key[1]}" is no name for a value: letters, digits and _ are')
        steps = re.findall(r"\w+", found[2])
        if re.search(r"=\s*\[|^\s*\[", given):  # a list of one
            if steps[:1] != ["0"]:
                raise NoText(f"{{{{ {found[0]} }}}}: it is a list there; ask for one task, or for its element [0]")
            steps = steps[1:]
        path = "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)
        if (found_ := self.result_of(task[1], f"{key[1] if key else 'return_value'}{path}")) is None:
            raise NoText(f"{{{{ {found[0]} }}}}: which task it asks is not known")
        if not key and not path and self.gives_container(task[1]):
            self.notes[AS_JSON] = None
        return found_


def parameter_name(text: str) -> str:
    """A name for a parameter that `${...}` can hold, made of any text: others stay as they are written there."""
    made = re.sub(r"[^A-Za-z0-9_.]", "_", text)
    return f"_{made}" if made[:1].isdigit() else made


def is_path(text: str) -> bool:
    """Whether a key of a result, with the steps into it, can be one here."""
    return re.fullmatch(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*", text, re.ASCII) is not None
