"""What a person answered, as other tasks read it: one mapping there, and here a result for each value of the form.

{"chosen_options": ["Approve"], "params_input": {"rows": 3}, "responded_by_user": {"id": "ada", "name": "ada"}}
"""

from __future__ import annotations

import re

from importers.airflow.templates import parameter_name
from importers.airflow.values import Operator, Output, Parameter

CHOSEN, ANSWERED_BY = "chosen", "answered_by"
APPROVE, REJECT = "Approve", "Reject"
ASKING = frozenset({"HITLOperator", "HITLEntryOperator", "HITLBranchOperator", "ApprovalOperator"})
"""Kinds of tasks that wait for a person."""
_PART = re.compile(r"return_value\.(?:params_input\.(\w+)|(chosen_options\[0\])|responded_by_user\.(?:id|name))")


def path_of(value: Output) -> str:
    """The path of a result, as its task here gives it."""
    if value.of.kind not in ASKING or (found := _PART.fullmatch(value.path)) is None:
        return value.path
    return parameter_name(found[1]) if found[1] else CHOSEN if found[2] else ANSWERED_BY


def as_python(operator: Operator, name: str) -> str:
    """The whole answer to the task of this name, as an expression of Python."""
    fields, options = operator.given.get("params"), operator.given.get("options")
    listed = fields.items() if isinstance(fields, dict) else ()
    values = ", ".join(f"{each!r}: {_field(name, each, value)}" for each, value in listed)
    if operator.kind == "HITLEntryOperator" and not (isinstance(options, list | tuple) and len(options) > 1):
        chosen = repr(options[0] if isinstance(options, list | tuple) and options else "OK")
    elif operator.kind == "ApprovalOperator" and operator.given.get("fail_on_reject") is True:
        chosen = repr(APPROVE)
    else:
        chosen = f'"${{{name}.{CHOSEN}}}"'
    who = f'"${{{name}.{ANSWERED_BY}}}"'
    person = f'"responded_by_user": {{"id": {who}, "name": {who}}}'
    return f'{{"chosen_options": [{chosen}], "params_input": {{{values}}}, {person}}}'


def _field(name: str, field: str, value: object) -> str:
    text = f'"${{{name}.{parameter_name(field)}}}"'
    kind = value.schema.get("type") if isinstance(value, Parameter) else "string" if isinstance(value, str) else None
    return text if kind == "string" else f"_value({text})"
