"""Step mode: hold each request until a person lets it go, and decide about one that is held."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.operation_text.command_output import CommandOutput, close_lines
from palimpsest.frontends.operations.operation import Desk, Done, Form, Operation
from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.controls.step_mode import NO_NEW_SUMMARY, NONE_PUT_ASIDE
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

ON = (
    "Step mode is on in this session: each request is held, and shown with its cost, until you let it go. "
    "%agent step off ends it."
)
OFF = "Step mode is off in this session: requests are sent at once. %agent step on holds each."
SEND = "%agent step send lets it go, %agent stop ends the turn; pin, exclude, policy and budget change it first."


class SteppingAnswer(Done):
    """Whether step mode is on."""

    on: bool = Field(exclude=True)
    held: tuple[ProposedRequest, ...] = Field(default=(), exclude=True)
    """The requests that are held."""


def _step(rest: str) -> "Operation | Mapping[str, Any] | None":
    told: dict[str, Operation | Mapping[str, Any]] = {
        "": {},
        "status": {},
        "on": {"on": True},
        "off": {"on": False},
        "send": ReleaseRequest(),
        "another": AskForAnotherSummary(),
        "older": UseOlderSummary(),
    }
    return told.get(rest.strip())


class SetStepMode(Operation):
    """Hold each request of this session until a person lets it go, or do so no more."""

    type: Literal["step"] = "step"
    session: str | None = None
    on: bool | None = None
    """None only tells it."""
    forms = (
        Form(
            "step",
            "hold each request until you let it go: %agent step on, off, status, send, another or older",
            read=_step,
            keywords=("on", "off", "status", "send", "another", "older"),
            begins_no_prompt=True,
        ),
    )

    async def run(self, at: Desk) -> SteppingAnswer:
        session = await at.find(self.session)
        if self.on is not None:
            session.step_mode.switch(on=self.on)
        return SteppingAnswer(on=session.step_mode.on, held=session.held)

    def output(self, answer: SteppingAnswer) -> CommandOutput:
        lines = [ON if answer.on else OFF]
        for one in answer.held:
            lines += held_request_text(one).splitlines()
        return close_lines([*lines, *((SEND,) if answer.held else ())])


class HeldOperation(Operation):
    """A decision about a held request; too late where it is not held any more."""

    session: str | None = None
    hold: str = Field(default="", max_length=100)
    """The id of the held request; empty for every one that it can be said of."""
    method: ClassVar[str]
    """The method of ``StepMode``."""
    done: ClassVar[str]
    nothing: ClassVar[str]

    async def run(self, at: Desk) -> Done:
        session = await at.find(self.session)
        named = [self.hold] if self.hold else [one.id for one in session.held if self.concerns(one)]
        decide = getattr(session.step_mode, self.method)
        decided = [decide(one) for one in named]
        return Done(late=not any(decided))

    def concerns(self, held: ProposedRequest) -> bool:  # noqa: ARG002
        """Tell whether it can be said of this request."""
        return True

    def output(self, answer: Done) -> str:
        return self.nothing if answer.late else self.done


class ReleaseRequest(HeldOperation):
    """Let a held request go; it is decided anew and sent."""

    type: Literal["release"] = "release"
    method: ClassVar[str] = "release"
    done: ClassVar[str] = "Sent."
    nothing: ClassVar[str] = "No request is held now."


class AskForAnotherSummary(HeldOperation):
    """Put the new summary aside that a held request would be the first to use, and request another."""

    type: Literal["another-summary"] = "another-summary"
    method: ClassVar[str] = "another_summary"
    done: ClassVar[str] = "The new summary is put aside, and another is requested."
    nothing: ClassVar[str] = NO_NEW_SUMMARY

    def concerns(self, held: ProposedRequest) -> bool:
        return held.new_summary is not None


class UseOlderSummary(HeldOperation):
    """Use the summary that was put aside, in place of a newer one or of the held request for one."""

    type: Literal["older-summary"] = "older-summary"
    method: ClassVar[str] = "older_summary"
    done: ClassVar[str] = "The summary that was put aside is used."
    nothing: ClassVar[str] = NONE_PUT_ASIDE

    def concerns(self, held: ProposedRequest) -> bool:
        return held.older_summary is not None
