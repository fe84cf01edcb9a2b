"""The kinds of problems that a request may meet, each with a code that never changes.

The API answers with them, its clients raise the errors again that they stand for;
docs/reference/errors.md explains each.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from model.errors import (
    Changed,
    Forbidden,
    NotFound,
    OtherRequest,
    Refused,
    ShoalError,
    StillRunning,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unknown,
    VersionNeeded,
)

DOCUMENTATION = "docs/reference/errors.md"


@dataclass(frozen=True)
class Kind:
    """A kind of problem."""

    code: str
    status: HTTPStatus
    title: str

    @property
    def type(self) -> str:
        """A reference to its explanation."""
        return f"{DOCUMENTATION}#{self.code.lower()}"


UNAUTHENTICATED = Kind("SH-1001", HTTPStatus.UNAUTHORIZED, "Not logged in")
FORBIDDEN = Kind("SH-1002", HTTPStatus.FORBIDDEN, "The right is missing")
NOT_FOUND = Kind("SH-1003", HTTPStatus.NOT_FOUND, "There is no such thing")
CHANGED = Kind("SH-1004", HTTPStatus.PRECONDITION_FAILED, "It was changed meanwhile")
VERSION_NEEDED = Kind("SH-1005", HTTPStatus.PRECONDITION_REQUIRED, "The version that was read is missing")
TOO_MANY = Kind("SH-1006", HTTPStatus.TOO_MANY_REQUESTS, "Asked too often")
REFUSED = Kind("SH-1007", HTTPStatus.UNPROCESSABLE_ENTITY, "It cannot be done")
UNAVAILABLE = Kind("SH-1008", HTTPStatus.SERVICE_UNAVAILABLE, "A server does not answer")
UNKNOWN = Kind("SH-1009", HTTPStatus.SERVICE_UNAVAILABLE, "It is not known whether it was done")
INVALID = Kind("SH-1010", HTTPStatus.UNPROCESSABLE_ENTITY, "A field is wrong")
MALFORMED = Kind("SH-1011", HTTPStatus.BAD_REQUEST, "The request cannot be read")
TOO_LARGE = Kind("SH-1012", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large")
NO_SUCH_METHOD = Kind("SH-1013", HTTPStatus.METHOD_NOT_ALLOWED, "The method does not exist there")
IN_PROGRESS = Kind("SH-1014", HTTPStatus.CONFLICT, "The same request is being handled")
KEY_REUSED = Kind("SH-1015", HTTPStatus.UNPROCESSABLE_ENTITY, "The idempotency key was used for another request")
WRONG_HOST = Kind("SH-1016", HTTPStatus.MISDIRECTED_REQUEST, "The server has another name")
NO_SUCH_RANGE = Kind("SH-1017", HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "It is not that long")
TOO_MANY_STREAMS = Kind("SH-1018", HTTPStatus.TOO_MANY_REQUESTS, "Too many streams are open")
NO_SUCH_ADDRESS = Kind("SH-1019", HTTPStatus.NOT_FOUND, "There is no such address")
UNEXPECTED = Kind("SH-1099", HTTPStatus.INTERNAL_SERVER_ERROR, "An error of Shoal")

KINDS = (
    *(UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, CHANGED, VERSION_NEEDED, TOO_MANY, REFUSED, UNAVAILABLE, UNKNOWN),
    *(INVALID, MALFORMED, TOO_LARGE, NO_SUCH_METHOD, IN_PROGRESS, KEY_REUSED, WRONG_HOST, NO_SUCH_RANGE),
    *(TOO_MANY_STREAMS, NO_SUCH_ADDRESS, UNEXPECTED),
)

_KIND_OF: tuple[tuple[type[ShoalError], Kind], ...] = (
    (StillRunning, IN_PROGRESS),
    (OtherRequest, KEY_REUSED),
    (Unauthenticated, UNAUTHENTICATED),
    (Forbidden, FORBIDDEN),
    (NotFound, NOT_FOUND),
    (Changed, CHANGED),
    (VersionNeeded, VERSION_NEEDED),
    (TooMany, TOO_MANY),
    (Refused, REFUSED),
    (Unknown, UNKNOWN),
    (Unavailable, UNAVAILABLE),
)


def kind_of(error: ShoalError) -> Kind:
    """The kind of problem that an error is."""
    return next((kind for type_, kind in _KIND_OF if isinstance(error, type_)), UNEXPECTED)


def error_of(code: str, sentence: str, after_s: float) -> ShoalError:
    """The error that an answer stands for; of an unknown code, one that a repetition does not cure.

    An error of Shoal is none of input: it has the exit code that it has on the database itself.
    """
    if code == UNEXPECTED.code:
        return ShoalError(sentence)
    type_ = next((type_ for type_, kind in _KIND_OF if kind.code == code), None)
    if code == IN_PROGRESS.code:
        type_ = Unavailable
    if type_ is TooMany:
        return TooMany(sentence, after_s)
    return (type_ or Refused)(sentence)
