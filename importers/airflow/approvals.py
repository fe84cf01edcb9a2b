"""Tasks of Airflow that wait for a person: APPROVAL tasks, whose form has the options as `chosen`.

Source: the operators of hitl in Airflow's provider standard.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from importers.airflow import branches, dags
from importers.airflow.answers import APPROVE, CHOSEN, REJECT
from importers.airflow.flow import Args, minutes, shown
from importers.airflow.templates import parameter_name
from model.errors import Refused


def entry(args: Args) -> None:
    """A person gives values; a single option is the button itself."""
    options = _options(args, ["OK"])
    _asks(args, options if len(options) > 1 else ())


def choice(args: Args) -> None:
    """A person chooses one of the options."""
    _asks(args, _options(args))


def approval(args: Args) -> None:
    """A person approves. One who rejects fails it, or else a SWITCH after it skips what comes later."""
    if args.flag("fail_on_reject"):
        default = _default(args)
        _asks(args, ())
        if default == REJECT:
            args.draft.params["on_timeout"] = "FAIL"
    else:
        _asks(args, [APPROVE, REJECT])
        if args.flag("ignore_downstream_trigger_rules"):
            args.changed("ignore_downstream_trigger_rules", "later tasks follow their own start rules")
        names = [args.flow.names[each] for each in args.flow.after(args.operator)]
        branches.gate(args, [{"when": _is(args, APPROVE), "then": names}])
    args.irrelevant("ignore_downstream_trigger_rules")


def branch(args: Args) -> None:
    """The option names the task that goes on."""
    options, mapping = _options(args), args.known("options_mapping", {})
    after = {each.id: args.flow.names[each] for each in args.flow.after(args.operator)}
    chosen = {each: str(mapping.get(each, each)) if isinstance(mapping, dict) else each for each in options}
    if missing := sorted(set(chosen.values()) - after.keys()):
        raise Refused(f"its options lead to {', '.join(missing)}, which does not come after it; write a SWITCH")
    _asks(args, options)
    branches.gate(args, [{"when": _is(args, each), "then": [after[task]]} for each, task in chosen.items()])


def _is(args: Args, option: str) -> str:
    return f'"${{{args.draft.name}.{CHOSEN}}}" == {json.dumps(option, ensure_ascii=False)}'


def _options(args: Args, default: Sequence[str] = ()) -> list[str]:
    given = args.known("options", list(default))
    if args.flag("multiple"):
        raise Refused("several of its options may be chosen; write an APPROVAL with a field for each")
    if not isinstance(given, list | tuple) or not given or not all(isinstance(each, str) and each for each in given):
        raise Refused("its options are not known; write an APPROVAL")
    return list(given)


def _default(args: Args) -> str | None:
    """The option that counts when nobody answers in time."""
    given = args.known("defaults", [])
    listed = given if isinstance(given, list | tuple) else [given]
    if len(listed) > 1:
        raise Refused(f"it has several defaults: {shown(given)}")
    return str(listed[0]) if listed else None


def _asks(args: Args, options: Sequence[str]) -> None:
    default = _default(args)
    form: dict[str, Any] = {}
    if options:
        form[CHOSEN] = {"enum": list(options), "required": True, **({"value": default} if default else {})}
    params = args.known("params", {})
    for name, value in params.items() if isinstance(params, dict) else ():
        called = parameter_name(str(name))
        if called in form or not called.isidentifier():
            raise Refused(f"its field {name} needs another name")
        form[called] = dags.declaration_of(value)
    args.given.pop("params", None)  # they are the form, and no parameters of the task
    texts = [args.text("subject"), args.text("body")]
    draft = args.draft
    draft.type = "APPROVAL"
    draft.params = {"text": "\n\n".join(filter(None, texts)), **({"form": form} if form else {})}
    limit = args.number("response_timeout", args.number("execution_timeout"))
    draft.fields.pop("timeout", None)
    if limit:
        draft.params["timeout"] = minutes(limit)
        if default:
            draft.params["on_timeout"] = "APPROVE"
    _people(args)


def _people(args: Args) -> None:
    users = args.known("assigned_users", [])
    listed = users if isinstance(users, list | tuple) else [users]
    names = [str(each.get("name", each.get("id"))) if isinstance(each, dict) else str(shown(each)) for each in listed]
    if names:
        args.draft.params["users"] = names
        args.changed("assigned_users", f"the accounts {', '.join(names)} may answer, and must exist")
    if args.has("notifiers"):
        args.changed("notifiers", "the alert group of the run is told, and no notifier is called")
    args.irrelevant("notifiers", "respondents")
