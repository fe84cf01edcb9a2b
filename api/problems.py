"""Errors as answers: problem details (RFC 9457), each with a code that never changes, and a sentence on how to fix it.

docs/reference/errors.md explains each code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from api import languages
from model.definitions.problems import Invalid
from model.errors import Denied, ShoalError, TooMany
from model.parameters.declared import WrongParameters
from service.error_codes import NOT_FOUND, Kind, kind_of
from service.fields import fault_of
from service.workflows.workflow_file import BadWorkflowFile

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
ERRORS_MAX = 100


class FieldError(BaseModel):
    """What is wrong with one field; `pointer` is a JSON pointer (RFC 6901) into the body, or names a parameter."""

    pointer: str = Field(examples=["/params/day"])
    detail: str


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    type: str = Field(examples=[NOT_FOUND.type])
    title: str = Field(examples=[NOT_FOUND.title])
    status: int = Field(examples=[404])
    detail: str = Field(description="what is wrong, where, and how to fix it", examples=["there is no run 1042"])
    instance: str = Field(description="the id of the request, for the log", examples=["0e6c1f0a9b3d4c55"])
    code: str = Field(examples=[NOT_FOUND.code])
    errors: list[FieldError] | None = Field(None, description="the fields that are wrong")


class ProblemAnswer(JSONResponse):
    """The answer for a problem, in the language that the request prefers."""

    media_type = MEDIA_TYPE

    def __init__(self, content: Problem, headers: Mapping[str, str]) -> None:
        self._problem = content.model_dump(exclude_none=True)
        super().__init__(self._problem, content.status, headers)

    def said(self, accepted: str) -> tuple[str, str]:
        """The sentence in the language that is preferred, as far as there is a translation, and its languages."""
        content, contained = languages.translated(self._problem, languages.preferred(accepted))
        return str(content["detail"]), contained

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        language = languages.preferred(Headers(scope=scope).get(languages.HEADER, ""))
        content, contained = languages.translated(self._problem, language)
        if language != languages.ENGLISH:
            self.body = self.render(content)
            self.headers["Content-Length"] = str(len(self.body))
        self.headers[languages.OF_ANSWER] = contained
        self.headers.add_vary_header(languages.HEADER)
        await super().__call__(scope, receive, send)


def problem(
    kind: Kind,
    detail: str,
    request_id: str,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> ProblemAnswer:
    content = Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=detail,
        instance=request_id,
        code=kind.code,
        errors=list(errors) or None,
    )
    given = dict(headers or {})
    if kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
        given.setdefault("Retry-After", str(RETRY_AFTER_S))
    if kind.status == HTTPStatus.UNAUTHORIZED:
        given.setdefault("WWW-Authenticate", 'Bearer realm="shoal"')
    return ProblemAnswer(content, given)


def problem_of(error: ShoalError, request_id: str) -> ProblemAnswer:
    headers = {"Retry-After": str(max(1, round(error.after_s)))} if isinstance(error, TooMany) else {}
    sentence = "the database does not let the API in" if isinstance(error, Denied) else str(error)
    return problem(kind_of(error), sentence, request_id, _errors(error), headers)


def _errors(error: ShoalError) -> list[FieldError]:
    match error:
        case BadWorkflowFile():
            return [FieldError(pointer="", detail=str(fault)) for fault in error.faults[:ERRORS_MAX]]
        case WrongParameters():
            faults = error.faults[:ERRORS_MAX]
            return [
                FieldError(pointer=_pointer(("body", "params", each.name)), detail=each.sentence) for each in faults
            ]
        case Invalid():
            problems = error.problems[:ERRORS_MAX]
            return [FieldError(pointer=_pointer(("body", *each.where)), detail=each.sentence) for each in problems]
        case _:
            return []


def field_errors(faults: Sequence[Any]) -> list[FieldError]:
    """The errors of pydantic, as pointers and sentences, without the given values: they may be secrets."""
    return [FieldError(pointer=_pointer(fault["loc"]), detail=fault_of(fault)) for fault in faults]


def _pointer(loc: Sequence[str | int]) -> str:
    """Such as `/params/day` in the body, `query/limit` for a parameter."""
    where, *steps = loc
    path = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)
    return path if where == "body" else f"{where}{path}"
