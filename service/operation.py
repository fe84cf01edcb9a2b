"""What may be asked of Shoal, each thing once.

An operation has a name, the right that it needs, its REST address, and a typed function. The API makes its routes of
operations, the command line calls them, directly or through the API.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

from model.accounts.rights import CLUSTER_RIGHTS, Right, Scope
from model.errors import Forbidden, Hidden, NotFound, Refused

if TYPE_CHECKING:
    from service.call import Call

P = ParamSpec("P")
R = TypeVar("R")
Completes = Callable[..., Awaitable[Any]]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

QUERY, BODY = "query", "body"
"""Parameters with these names are pydantic models of the fields of query and body; all others stand in the path."""


_SUBJECTS = {
    "workflow-definitions": "definitions",
    "schedules": "definitions",
    "projects": "projects",
    "members": "projects",
    "files": "definitions",
    "audit": "projects",
    "users": "admin",
    "sessions": "admin",
    "tokens": "admin",
    "cluster": "cluster",
    "data-sources": "cluster",
    "environments": "cluster",
    "secrets": "cluster",
    "resource-pools": "cluster",
    "alert-channels": "cluster",
    "alert-groups": "cluster",
    "alert-rules": "definitions",
}
"""What the scopes of tokens call a resource; all others belong to runs."""


@dataclass(frozen=True)
class Declaration:
    """How something may be asked.

    Args:
        method: of its REST route.
        path: below the API's base, with `{name}` for each parameter in it.
        right: what the caller needs, on the project or the cluster that the function names to the call.
        tag: the resource to which it belongs, for the documentation.
        status: of the answer when all is well; 200 for one that says by `is_outcome` what came of the request.
        reads: it changes nothing, though its method is POST since an address could not contain what is asked.
        has_secret: its request or answer contains a secret that may not be stored, not even as a hash that can be
            guessed: an idempotency key has no effect on it.
        of_account: it is about an account, and the function says to the call which. Any other that only reads, with a
            right on the cluster, is permitted before it runs.
        completes: adds to an answer what is known only after the change, such as the run of a command; given the call,
            the answer and the query. A stored answer that is sent again is completed by it too.
    """

    method: Method
    path: str
    right: Right
    tag: str
    status: int = 200
    reads: bool = False
    has_secret: bool = False
    of_account: bool = False
    completes: Completes | None = None

    @property
    def changes(self) -> bool:
        return self.method != "GET" and not self.reads

    @property
    def thing(self) -> str:
        """What it is about, in a word: the singular of its tag."""
        return self.tag.replace("-", " ").removesuffix("s")

    @property
    def scope(self) -> Scope:
        subject = _SUBJECTS.get(self.tag, "runs")
        if self.right is Right.ADMINISTER or subject == Scope.ADMIN:
            return Scope.ADMIN
        return Scope(f"{subject}:{'write' if self.changes and subject != 'cluster' else 'read'}")

    def status_of(self, answer: Any) -> int:
        return HTTPStatus.OK if getattr(answer, "is_outcome", False) else self.status


@dataclass(frozen=True)
class Operation(Declaration, Generic[P, R]):
    """One thing that may be asked. The first argument of the function `run` is the call, its first line the summary of
    the documentation.
    """

    run: Callable[Concatenate[Call, P], Awaitable[R]] = field(kw_only=True)

    @property
    def name(self) -> str:
        """Such as `start_run`: the id in the OpenAPI document and the action in the audit."""
        return self.run.__name__

    @cached_property
    def signature(self) -> inspect.Signature:
        """Of its function without the call, with types instead of their names."""
        whole = inspect.signature(self.run, eval_str=True)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    @property
    def answer(self) -> Any:
        """The type of its answer; None when it has none."""
        return self.signature.return_annotation

    async def __call__(self, call: Call, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it for a call.

        Raises:
            Forbidden: the caller may not.
            Hidden: there is none that the caller may see.
            Replayed: a request with the same key has been answered.
            ShoalError: see the function.
        """
        try:
            if self.right in CLUSTER_RIGHTS and not self.changes and not self.of_account:
                call.permit(None)
            answer = await self.run(call, *args, **kwargs)
        except Refused as error:
            if not isinstance(error, Forbidden | Hidden):
                await call.check_replayed()  # what stands in its way may be what it did the first time
            if isinstance(error, NotFound) and not call.is_permitted and not call.caller.sees_all:
                call.check_scope()
                raise call.hidden() from None  # in the words that it would have if it were there
            raise
        if not call.is_permitted:
            raise AssertionError(f"{self.name} did not say on what it needs {self.right}")
        return answer


@dataclass(frozen=True)
class operation(Declaration):  # noqa: N801 - it stands before functions
    """Makes an operation of a function."""

    def __call__(self, run: Callable[Concatenate[Call, P], Awaitable[R]]) -> Operation[P, R]:
        return Operation(**vars(self), run=run)
