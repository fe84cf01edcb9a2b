"""Routes made of operations: the address, the parameters and the answer come from the operation's declaration."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from api import languages, problems
from api.denials import Denials
from api.heavy import LIGHT_BYTES_MAX, LIGHT_US_MAX, HeavyRequests
from api.open_streams import OpenStreams
from api.preferences import APPLIED, apply_wait, may_wait
from dao.accounts.idempotency import Answer
from model.cost import TooCostly, budget
from service import error_codes as kinds
from service.answered import headers_of, json_of
from service.call import Call, Replayed
from service.operation import BODY, QUERY, Operation
from service.wanted_fields import included

MakeCall = Callable[[Request, Operation[Any, Any]], Awaitable[Call]]

PROBLEM: Mapping[str, Any] = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
"""The content of an answer that is a problem. By reference: a model would be built again for each status of each route,
which took most of the time in which an application is made."""
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"content": PROBLEM, "description": text}
    for status, text in {
        400: "the request cannot be read",
        401: "not logged in",
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


@dataclass(frozen=True)
class Serving:
    """What the routes of one application work with; they find it in the application's state.

    Args:
        make_call: knows who sent a request.
        denials: records who may not.
        streams: which are open.
        heavy: answers heavy requests; None: this process does.
    """

    make_call: MakeCall
    denials: Denials
    streams: OpenStreams
    heavy: HeavyRequests | None

    @classmethod
    def of(cls, request: Request) -> Serving:
        """That of the application that a request is for."""
        found: Serving = request.app.state.serving
        return found


class Route(APIRoute):
    """A route whose endpoint may have `elsewhere`: it answers heavy requests before their bodies are parsed.

    Where it has none, nobody is known yet, and large bodies are refused.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        here = super().get_route_handler()
        elsewhere = getattr(self.endpoint, "elsewhere", refuse_larger(LIGHT_BYTES_MAX))

        async def handle(request: Request) -> Response:
            answer = await elsewhere(request)
            return await here(request) if answer is None else answer

        return handle


def refuse_larger(bytes_max: int) -> Callable[[Request], Awaitable[Response | None]]:
    """Answers only requests whose bodies are larger than this."""

    async def refuse(request: Request) -> Response | None:
        if len(await request.body()) <= bytes_max:
            return None
        said = f"the body is larger than {bytes_max} bytes; send less"
        return problems.problem(kinds.TOO_LARGE, said, request.state.request_id)

    return refuse


@lru_cache
def says_sentences(operation: Operation[Any, Any]) -> bool:
    """Whether there are sentences for people in what it answers."""
    schema = json.dumps(operation.answer.model_json_schema()) if operation.answer is not None else ""
    return any(f'"{name}": {{' in schema for name in languages.SAYING)


def in_language(response: Response, operation: Operation[Any, Any], request: Request) -> Response:
    """An answer in the language that the request prefers; a problem sees to that itself."""
    if isinstance(response, problems.ProblemAnswer) or not says_sentences(operation):
        return response
    response.headers.add_vary_header(languages.HEADER)
    if languages.preferred(request.headers.get(languages.HEADER, "")) == languages.CHINESE and response.body:
        response.body = languages.translated_answer(bytes(response.body))
        response.headers["Content-Length"] = str(len(response.body))
    return response


def add_route(router: APIRouter, operation: Operation[Any, Any]) -> None:
    async def elsewhere(request: Request) -> Response | None:
        serving = Serving.of(request)
        if serving.heavy is None or len(await request.body()) <= LIGHT_BYTES_MAX:
            return None
        call = await serving.make_call(request, operation)
        return in_language(await serving.heavy.answer(call.caller.key, request), operation, request)

    waits = may_wait(operation)

    async def endpoint(**given: Any) -> Response:
        request: Request = given.pop("request")
        serving = Serving.of(request)
        headers = apply_wait(request, given) if waits else {}
        call = await serving.make_call(request, operation)
        try:
            async with serving.denials.recording(call, request):
                with budget(None if serving.heavy is None else LIGHT_US_MAX):
                    answer = await operation(call, **given)
        except TooCostly:
            assert serving.heavy is not None
            return in_language(await serving.heavy.answer(call.caller.key, request), operation, request)
        except Replayed as before:
            response = await _replayed(operation, call, before.answer, given.get(QUERY))
        else:
            response = _response(operation, answer, given.get(QUERY))
        if (location := response.headers.get("Location")) is not None:
            headers["Location"] = f"{request.scope.get('root_path', '')}{router.prefix}{location}"
        response.headers.update(headers)
        return in_language(response, operation, request)

    parameters = [parameter_of(each) for each in operation.signature.parameters.values()]
    parameters.append(inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request))
    endpoint.__dict__["__signature__"] = inspect.Signature(parameters)
    endpoint.__dict__["elsewhere"] = elsewhere
    has_answer = operation.answer is not None
    router.add_api_route(
        operation.path,
        endpoint,
        status_code=operation.status,
        response_model=operation.answer if has_answer else None,
        response_model_exclude_none=True,
        responses=_responses(operation),
        dependencies=[] if QUERY in operation.signature.parameters else [Depends(_refuse_parameters)],
        **described(operation),
    )


async def _refuse_parameters(request: Request) -> None:
    """Refuse the parameters of an operation that has none, as its model does for one that has some.

    Otherwise `?dry_run=true` would pass silently where it stands in the body.
    """
    if request.query_params:
        said = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted", "input": None}
        raise RequestValidationError([{**said, "loc": (QUERY, name)} for name in request.query_params])


def _responses(operation: Operation[Any, Any]) -> dict[int | str, dict[str, Any]]:
    """What its route may answer besides what it usually does."""
    if not may_wait(operation):
        if hasattr(operation.answer, "is_outcome"):
            return {
                **PROBLEMS,
                200: {"model": operation.answer, "description": "what it would do; nothing was asked for"},
            }
        return PROBLEMS
    applied = {APPLIED: _header("the preference that was followed")}
    asked = {"headers": {"Location": _header("the command, a resource that says what becomes of it"), **applied}}
    text = "a master has taken the command within the time that was waited, or there was nothing to ask for"
    begun = {"model": operation.answer, "description": text, **asked}
    return {**PROBLEMS, 200: begun, operation.status: asked}


def _header(text: str) -> dict[str, Any]:
    return {"description": text, "schema": {"type": "string"}}


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
    body, status = stored.body, stored.status
    if operation.completes is not None:
        found = await operation.completes(call, operation.answer.model_validate_json(body), query)
        body, status = json_of(found), operation.status_of(found)
    return Response(body, status, headers, "application/json" if body else None)


def _response(operation: Operation[Any, Any], answer: Any, query: Any) -> Response:
    if answer is None:
        return Response(status_code=operation.status)
    assert isinstance(answer, BaseModel), operation.name
    content = json_of(answer, included(query, answer))
    return Response(content, operation.status_of(answer), headers_of(answer), "application/json")
