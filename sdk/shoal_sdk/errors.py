"""The errors of the SDK, grouped by what the catcher does about them.

SdkError
├── WrongFlow        a flow is wrong: correct it as the sentence says
│   ├── NotAValueYet a result was used as a value while its flow was built
│   └── NoSuchPart   a result has no such field or output; an AttributeError too, for hasattr
├── Refused          the server answered that it will not: the sentence has the cause, `code` its number
├── Unavailable      the server does not answer: try again later
└── RunFailed        a run ended, and not as SUCCESS
"""

from __future__ import annotations


class SdkError(Exception):
    """Anything that the SDK says about a flow or a server, in one sentence."""


class WrongFlow(SdkError):
    """A flow, a task or the file of one is wrong."""


class NotAValueYet(WrongFlow):
    """A result was used as a value while its flow is built: it is known only when the flow runs."""


class NoSuchPart(WrongFlow, AttributeError):
    """A result has no such field or output."""


class Refused(SdkError):
    """The server refused a request. `code` is Shoal's number of the error, such as SH-1003, `status` that of HTTP."""

    def __init__(self, sentence: str, code: str = "", status: int = 0) -> None:
        self.code, self.status = code, status
        super().__init__(sentence)


class Unavailable(SdkError):
    """The server does not answer, or answers that it cannot at present."""


class RunFailed(SdkError):
    """A run has no result, since it did not end as SUCCESS. `state` is how it ended, `run` its id."""

    def __init__(self, run: str, state: str, sentence: str) -> None:
        self.run, self.state = run, state
        super().__init__(sentence)
