"""Operations of step mode: hold each request until the user releases it, and decide about held requests."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from palimpsest.frontends.operation_base.operation import (
    Done,
    Operation,
    OperationContext,
    single_form,
)
from palimpsest.frontends.operation_text.command_output import CommandOutput, unspaced_output
from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.controls.step_mode import NO_NEW_SUMMARY, NONE_PUT_ASIDE
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

STEP_MODE_ON = (
    "Step mode is on in this session: each request is held, and shown with its cost, until you let it go. "
    "%agent step off ends it."
)
STEP_MODE_OFF = (
    "Step mode is off in this session: requests are sent at once. %agent step on holds each."
)
SEND_HINT = "%agent step send lets it go, %agent stop ends the turn; pin, exclude, policy and budget change it first."


class StepModeAnswer(Done):
    """Whether step mode is on, and the requests that it holds."""

    on: bool = Field(exclude=True)
    held: tuple[ProposedRequest, ...] = Field(default=(), exclude=True)
    """The requests that are held."""


def _parse_step(argument_text: str) -> "Operation | Mapping[str, Any] | None":
    arguments_by_word: dict[str, Operation | Mapping[str, Any]] = {
        "": {},
        "status": {},
        "on": {"on": True},
        "off": {"on": False},
        "send": ReleaseRequest(),
        "another": AskForAnotherSummary(),
        "older": UseOlderSummary(),
    }
    return arguments_by_word.get(argument_text.strip())


class SetStepMode(Operation):
    """Switch step mode, in which each request of this session is held until the user releases it."""

    type: Literal["step"] = "step"
    session: str | None = None
    on: bool | None = None
    """None only shows whether it is on."""
    forms = single_form(
        "step",
        "hold each request until you let it go: %agent step on, off, status, send, another or older",
        parse_rest=_parse_step,
        keywords=("on", "off", "status", "send", "another", "older"),
        is_never_prompt=True,
    )

    async def run(self, context: OperationContext) -> StepModeAnswer:
        session = await context.find(self.session)
        if self.on is not None:
            session.step_mode.switch(is_on=self.on)
        return StepModeAnswer(on=session.step_mode.is_on, held=session.held)

    def output(self, answer: StepModeAnswer) -> CommandOutput:
        lines = [STEP_MODE_ON if answer.on else STEP_MODE_OFF]
        for request in answer.held:
            lines += held_request_text(request).splitlines()
        return unspaced_output([*lines, *((SEND_HINT,) if answer.held else ())])


class HeldRequestDecision(Operation):
    """A decision about held requests; ``late`` where none is held any more."""

    session: str | None = None
    hold: str = Field(default="", max_length=100)
    """The id of the held request; empty means all to which the decision applies."""
    step_mode_method: ClassVar[str]
    """The name of the method of ``StepMode`` that carries the decision out."""
    done_sentence: ClassVar[str]
    nothing_held_sentence: ClassVar[str]

    async def run(self, context: OperationContext) -> Done:
        session = await context.find(self.session)
        if self.hold:
            request_ids = [self.hold]
        else:
            request_ids = [request.id for request in session.held if self.applies_to(request)]
        decide = getattr(session.step_mode, self.step_mode_method)
        were_held = [decide(request_id) for request_id in request_ids]
        return Done(late=not any(were_held))

    def applies_to(self, request: ProposedRequest) -> bool:  # noqa: ARG002
        """Return whether the decision is possible for this request."""
        return True

    def output(self, answer: Done) -> str:
        return self.nothing_held_sentence if answer.late else self.done_sentence


class ReleaseRequest(HeldRequestDecision):
    """Release a held request; it is assembled again and sent."""

    type: Literal["release"] = "release"
    step_mode_method: ClassVar[str] = "release"
    done_sentence: ClassVar[str] = "Sent."
    nothing_held_sentence: ClassVar[str] = "No request is held now."


class AskForAnotherSummary(HeldRequestDecision):
    """Set aside the new summary that a held request would use first, and request another summary."""

    type: Literal["another-summary"] = "another-summary"
    step_mode_method: ClassVar[str] = "another_summary"
    done_sentence: ClassVar[str] = "The new summary is put aside, and another is requested."
    nothing_held_sentence: ClassVar[str] = NO_NEW_SUMMARY

    def applies_to(self, request: ProposedRequest) -> bool:
        return request.new_summary is not None


class UseOlderSummary(HeldRequestDecision):
    """Use the summary that was set aside, instead of a newer summary or a held request for a summary."""

    type: Literal["older-summary"] = "older-summary"
    step_mode_method: ClassVar[str] = "older_summary"
    done_sentence: ClassVar[str] = "The summary that was put aside is used."
    nothing_held_sentence: ClassVar[str] = NONE_PUT_ASIDE

    def applies_to(self, request: ProposedRequest) -> bool:
        return request.older_summary is not None
