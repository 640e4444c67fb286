"""Errors that are stored as values, and the tree of exceptions that this package raises.

What a user, a model or the loop can act on is a value stored in the transcript. An exception
means that a contract between two pieces of this software was broken, or that the caller must
decide; each message says what happened, to what, and what to do.

    PalimpsestError
    |-- UserError            one sentence for the user; front ends print it without a traceback
    |   |-- ConfigError      a value in a configuration file or an option is wrong
    |   |-- NotFound         a key, session or message that does not exist
    |   |-- SessionBusy      the operation needs an idle session
    |   |-- SessionHeld      another kernel writes this session
    |   |-- LayoutTooNew     the folder was written by a newer version
    |   |-- GuardStopped     a guard (budget, window) ends the turn
    |   |-- WaitAborted      the session was closed, so what is waited for never comes
    |   `-- StorageFailed    the disk is full or cannot be written
    |-- ModelFailed          a model call failed; carries the classified error value
    |-- PermissionDenied     a rule or the user refused a tool call
    `-- Aborted              the work was cancelled
"""

import sys
from typing import Annotated, Any, Literal

from pydantic import Field

from palimpsest.transcript.values import Value
from palimpsest.transcript.visible_text import encodable_text, visible_text


class AuthError(Value):
    """The provider requires a key that is missing or wrong."""

    type: Literal["auth"] = "auth"
    provider: str
    message: str


class OutputLengthError(Value):
    """The answer reached its length limit before it contained anything usable."""

    type: Literal["output-length"] = "output-length"
    message: str = "The answer reached its length limit before anything usable came."


class AbortedError(Value):
    """The turn was stopped by the user or by the end of the kernel."""

    type: Literal["aborted"] = "aborted"
    message: str = "Stopped."


class ContextOverflowError(Value):
    """The request does not fit the model's context window."""

    type: Literal["context-overflow"] = "context-overflow"
    message: str
    tokens: int | None = None
    """Tokens of the request: estimated where it was not sent, else as the provider reported them."""
    budget: int | None = None
    compaction_failed: bool = False
    """Whether the provider's message is about a failed compaction, so that another compaction would not help."""
    suspected: bool | None = None
    """Whether the provider's message is not surely about an overflow; it is treated as one only once in a turn."""
    response_body: str | None = None


class ApiError(Value):
    """The provider answered with an error, or the connection failed."""

    type: Literal["api"] = "api"
    message: str
    status: int | None = None
    retryable: bool = False
    headers: dict[str, str] | None = None
    response_body: str | None = None
    metadata: dict[str, Any] | None = None


class ContentFilterError(Value):
    """The provider withheld the answer."""

    type: Literal["content-filter"] = "content-filter"
    message: str = "The provider's content filter stopped the answer."


class StructuredOutputError(Value):
    """The turn ended without the structured answer that its prompt asked for."""

    type: Literal["structured-output"] = "structured-output"
    message: str
    retries: int = 0
    """Number of times that the model was asked again for the structured answer."""


class UnknownError(Value):
    """Any other error; only its message is known."""

    type: Literal["unknown"] = "unknown"
    message: str
    explained: bool | None = None
    """Whether the message itself contains advice for the user."""


ErrorValue = Annotated[
    AuthError
    | OutputLengthError
    | AbortedError
    | ContextOverflowError
    | ApiError
    | ContentFilterError
    | StructuredOutputError
    | UnknownError,
    Field(discriminator="type"),
]


class PalimpsestError(Exception):
    """The root of everything this package raises on purpose."""


class UserError(PalimpsestError):
    """An error that the user can act on, in one clear sentence."""

    def __str__(self) -> str:
        """Return the sentence without control characters, since it may quote a model or a file."""
        return visible_text(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """Return the sentence alone; IPython's protocol for showing an exception."""
        return [encodable_text(f"{type(self).__name__}: {self}", sys.stdout)]


class ConfigError(UserError):
    """A configuration value or an option is wrong; the message names it and the fix."""


class NotFound(UserError):
    """A key, session, message or file that does not exist."""


class SessionBusy(UserError):
    """The operation needs an idle session."""


class SessionHeld(UserError):
    """Another kernel writes this session; it can be read, followed and forked."""


class LayoutTooNew(UserError):
    """The folder was written by a newer version of Palimpsest."""


class StorageFailed(UserError):
    """The disk is full or cannot be written."""


class GuardStopped(UserError):
    """A guard ends the turn; ``guard`` names it and is journaled with the turn's last answer."""

    def __init__(self, message: str, guard: str) -> None:
        super().__init__(message)
        self.guard = guard


class WaitAborted(UserError):
    """The awaited result will not arrive, since its session was closed."""


class ModelFailed(PalimpsestError):
    """A model call failed; ``error`` is the value to store."""

    def __init__(self, error: "ErrorValue") -> None:
        super().__init__(error.message)
        self.error = error


class PermissionDenied(PalimpsestError):
    """A rule or the user refused a tool call.

    ``stops_turn`` is true when the user rejected without feedback: the turn ends there. ``denied_by`` is the source of the
    refusal: ``rule``, ``person``, ``engine``, or ``headless`` where no user could be asked; ``reason`` is the
    reason in a few words for the call's row. ``guard`` names the guard that ends the turn with this call.
    ``diff`` is the change that the call would have made, as the question showed it.
    """

    def __init__(
        self,
        message: str,
        *,
        stops_turn: bool,
        denied_by: str = "rule",
        reason: str = "",
        guard: str | None = None,
    ) -> None:
        super().__init__(message)
        self.stops_turn = stops_turn
        self.denied_by = denied_by
        self.reason = reason
        self.guard = guard
        self.diff: str | None = None


class Aborted(PalimpsestError):
    """The work was cancelled; ``diff`` is the change that the call would have made, if a question showed it."""

    diff: str | None = None
