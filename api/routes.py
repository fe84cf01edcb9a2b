"""Routes made of operations: the address, the parameters and the answer come from the operation's declaration."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request, Response
from pydantic import BaseModel, ValidationError

from api.denials import Denials
from dao.accounts.idempotency import Answer
from service.call import Call, Replayed, headers_of
from service.operation import BODY, QUERY, Operation

MakeCall = Callable[[Request, Operation[Any, Any]], Awaitable[Call]]

PROBLEM: Mapping[str, Any] = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""The content of an answer that is a problem. By reference: a model would be built again for each status of each route,
which took most of the time in which an application is made."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"content": PROBLEM, "description": text}
    for status, text in {
        400: "the request cannot be read",
        401: "it is not known who asks",
        403: "the right is missing",
        404: "there is no such thing",
        409: "the same request is being handled",
        412: "it was changed meanwhile",
        413: "the request is too large",
        422: "a field is wrong, or it cannot be done",
        428: "the version that was read is missing",
        429: "asked too often",
        503: "a server does not answer; ask again after `Retry-After` seconds",
    }.items()
}


def add_route(router: APIRouter, operation: Operation[Any, Any], make_call: MakeCall, denials: Denials) -> None:
    """Add the route of an operation; `make_call` knows who sent a request, `denials` records who may not."""

    async def endpoint(**given: Any) -> Response:
        request: Request = given.pop("request")
        call = await make_call(request, operation)
        try:
            async with denials.recording(call, request):
                answer = await operation(call, **given)
        except Replayed as before:
            return await _replayed(operation, call, before.answer, given.get(QUERY))
        return _response(operation, answer)

    parameters = [parameter_of(each) for each in operation.signature.parameters.values()]
    parameters.append(inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request))
    endpoint.__dict__["__signature__"] = inspect.Signature(parameters)
    has_answer = operation.answer is not None
    router.add_api_route(
        operation.path,
        endpoint,
        status_code=operation.status,
        response_model=operation.answer if has_answer else None,
        response_model_exclude_none=True,
        responses=PROBLEMS,
        **described(operation),
    )


def described(operation: Operation[Any, Any]) -> dict[str, Any]:
    """What the route of any operation says of it: method, name, texts."""
    text = inspect.getdoc(operation.run) or ""
    return {
        "methods": [operation.method],
        "operation_id": operation.name,
        "name": operation.name,
        "summary": text.split("\n")[0].rstrip("."),
        "description": text,
        "tags": [operation.tag],
    }


def parameter_of(given: inspect.Parameter) -> inspect.Parameter:
    """A parameter of an operation as one of its route, with the place in a request where it stands."""
    place = {QUERY: Query, BODY: Body}.get(given.name, Path)
    return given.replace(
        kind=inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[given.annotation, place()],
        default=_default(given) if given.name == BODY else inspect.Parameter.empty,
    )


def _default(body: inspect.Parameter) -> Any:
    """A body may be left out if all its fields may."""
    try:
        return body.annotation()
    except (ValidationError, TypeError):
        return inspect.Parameter.empty


async def _replayed(operation: Operation[Any, Any], call: Call, stored: Answer, query: Any) -> Response:
    """A stored answer. What was not known yet when it was stored, such as the run of a start, is added now."""
    headers = {**stored.headers, "Idempotency-Replayed": "true"}
    body = stored.body
    if operation.completes is not None:
        found = await operation.completes(call, operation.answer.model_validate_json(body), query)
        body = found.model_dump_json(exclude_none=True).encode()
    return Response(body, stored.status, headers, "application/json" if body else None)


def _response(operation: Operation[Any, Any], answer: Any) -> Response:
    if answer is None:
        return Response(status_code=operation.status)
    assert isinstance(answer, BaseModel), operation.name
    content = answer.model_dump_json(exclude_none=True)
    return Response(content, operation.status, headers_of(answer), "application/json")
