"""APPROVAL: wait for a person, who approves or rejects; the values of an approval are the task's results.

The form declares these values as a workflow declares its parameters (`model/parameters/declared.py`). Its text and
defaults may name parameters of the run, which are inserted when somebody opens the question: the attempt's row has all
that they need.

The answer, the timeout or a halt of the run ends the attempt, whichever locks its row first (`dao/tasks/approvals.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from model.accounts.rights import RIGHTS_OF_ROLE, Role, rights_in
from model.choices import ParameterType
from model.fields import Minutes, Name, each_once
from model.logic.fields import LogicParams
from model.near import nearest
from model.parameters.declared import Fault, LongForm, WrongParameters, declared_apart, is_open, lacking, misfit_of
from model.parameters.local import NAME
from model.parameters.parameters import Room, replace_references
from model.parameters.secret_values import without_sealed
from model.parameters.text import ParameterValue, plain_data
from model.time.run_time import RunTime

APPROVAL = "APPROVAL"
ANSWERED_BY = "answered_by"
"""The result that names who approved."""
TEXT_MAX = 20_000
FIELDS_MAX = 100
USERS_MAX = 100
REASON_MAX = 2_000


class OnTimeout(StrEnum):
    """What happens to a task that nobody has answered at its timeout."""

    FAIL = "FAIL"
    SKIP = "SKIP"
    APPROVE = "APPROVE"


class FormField(LongForm):
    """One value that a person gives; `value` is its default."""

    value: ParameterValue = ""


def _long(given: Any) -> Any:
    """Expand each field to its long form, as the `params` of a workflow."""
    if not isinstance(given, Mapping):
        return given
    apart = declared_apart({"params": given})
    values, declared = apart["params"], apart.get("declared", {})
    fields = {}
    for name, written in given.items():
        if isinstance(written, Mapping) and written.get("type") == ParameterType.SECRET:
            raise ValueError(f'"{name}" is SECRET, and an answer is stored in clear; choose another type')
        value = {"value": values[name]} if name in values else {}
        fields[name] = {**declared.get(name, {}), **value}
    return fields


Form = Annotated[
    dict[Annotated[str, Field(max_length=200, pattern=NAME)], FormField],
    BeforeValidator(_long, json_schema_input_type=dict[str, LongForm | Any]),
    Field(max_length=FIELDS_MAX),
]


class ApprovalParams(LogicParams):
    """What a person reads and fills in, who may answer, and the time limit.

    The `users` may answer, and accounts with `role` or higher in the project; without both, an OPERATOR. The alert goes
    to `alert_group`, else to the run's.
    """

    text: Annotated[str, Field(min_length=1, max_length=TEXT_MAX), AfterValidator(plain_data)]
    form: Form = Field(default_factory=dict)
    users: Annotated[tuple[Name, ...], Field(max_length=USERS_MAX), AfterValidator(each_once)] = ()
    role: Role | None = None
    alert_group: Name | None = None
    timeout: Minutes = 0
    on_timeout: OnTimeout = OnTimeout.FAIL

    @model_validator(mode="after")
    def _defaults_fit(self) -> Self:
        for name, field in self.form.items():
            if name == ANSWERED_BY:
                raise ValueError(f'form: "{name}" is the result that names who approved; choose another name')
            if field.value and not is_open(field.value, given=True) and (said := misfit_of(name, field, field.value)):
                raise ValueError(f"form: {said}")
            if self.on_timeout is OnTimeout.APPROVE and field.required and not field.value:
                raise ValueError(
                    f'form: "{name}" is required, and nobody gives it when the timeout approves; give it a default, or '
                    "choose another on_timeout"
                )
        if self.on_timeout is not OnTimeout.FAIL and not self.timeout:
            raise ValueError(f"on_timeout: {self.on_timeout} needs a timeout; add one, such as timeout: 8h")
        return self

    @property
    def least_role(self) -> Role | None:
        """The lowest role that may answer; None: only the named users may."""
        return Role.OPERATOR if self.role is None and not self.users else self.role

    @property
    def answerers(self) -> str:
        named = [*self.users[:5], *([f"{len(self.users) - 5} others"] if len(self.users) > 5 else [])]
        if self.least_role is not None:
            an = "an" if self.least_role[0] in "EO" else "a"
            named.append(f"{an} {self.least_role} of the project")
        return " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))

    def may_be_answered_by(self, name: str, project: str, roles: Mapping[str, Role], *, is_admin: bool) -> bool:
        """Whether an account may answer: as a named user, or by its role; an admin has every role."""
        if name.lower() in (each.lower() for each in self.users):
            return True
        least = self.least_role
        return least is not None and RIGHTS_OF_ROLE[least] <= rights_in(project, roles, is_admin)


@dataclass(frozen=True, slots=True)
class Question:
    """What a person sees, with the run's values inserted."""

    text: str
    form: Mapping[str, FormField]

    def results(self, given: Mapping[str, str]) -> dict[str, str]:
        """The results of an approval; a value that is not given gets its default.

        Raises `WrongParameters` with the faults of all fields.
        """
        faults = []
        for name in given.keys() - self.form.keys():
            near = nearest(name, self.form)
            cure = f'did you mean "{near}"?' if near else f"it asks for {', '.join(self.form) or 'no values'}"
            faults.append(Fault(name, f'the form has no field "{name[:100]}"; {cure}'))
        values = {name: given.get(name, field.value) for name, field in self.form.items()}
        for name, field in self.form.items():
            if values[name] and (said := misfit_of(name, field, values[name])):
                faults.append(Fault(name, said))
        faults += [
            Fault(name, f'"{name}" is required ({self.form[name].allowed()}); give it with the answer')
            for name in lacking(self.form, values)
        ]
        if faults:
            raise WrongParameters(faults)
        return values


def question_of(params: ApprovalParams, values: Mapping[str, str], time: RunTime) -> Question:
    """Insert these values into the text and the defaults. Raises `Refused`."""
    room = Room("the text and the form")

    def put_in(text: str) -> str:
        # First, so that inserted values are not parsed.
        return without_sealed(replace_references(time.put_into(text), values, room.take))

    form = {name: field.model_copy(update={"value": put_in(field.value)}) for name, field in params.form.items()}
    return Question(put_in(params.text), form)
