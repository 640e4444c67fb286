"""Handle the page commands about permissions, modes, limits and trust.

Border: called off the engine's loop, because a project's permissions are stored in a file.
"""

from typing import Any

from palimpsest.frontends.protocol.outcome import OutcomeNotice
from palimpsest.frontends.protocol.permissions import (
    AskForAnotherSummary,
    ListApprovals,
    ReleaseRequest,
    SetBudget,
    SetMode,
    SetStepMode,
    TrustProject,
    UseOlderSummary,
)
from palimpsest.frontends.subcommands.permissions import approvals_of, rules_of
from palimpsest.session.controls.step_mode import StepMode
from palimpsest.session.open_sessions.followed_session import KernelSession

PermissionCommand = (
    SetMode
    | SetBudget
    | SetStepMode
    | ReleaseRequest
    | AskForAnotherSummary
    | UseOlderSummary
    | ListApprovals
    | TrustProject
)


def answer_permission_command(
    command: PermissionCommand, session: KernelSession, services: Any
) -> OutcomeNotice:
    """Carry out a command and return its outcome; raises UserError with a sentence."""
    match command:
        case SetMode():
            session.control.use_mode(command.mode)
            return OutcomeNotice(id=command.id)
        case SetBudget():
            session.control.set_budget(usd=command.usd, tokens=command.tokens)
            return OutcomeNotice(id=command.id)
        case SetStepMode():
            session.step_mode.switch(on=command.on)
            return OutcomeNotice(id=command.id)
        case ReleaseRequest() | AskForAnotherSummary() | UseOlderSummary():
            first = _decide_held(command, session.step_mode)
            return OutcomeNotice(id=command.id, late=not first)
        case ListApprovals():
            if command.revoke is not None:
                session.control.revoke(*command.revoke)
            return OutcomeNotice(
                id=command.id,
                approvals=approvals_of(session.control),
                rules=rules_of(session.control),
            )
        case TrustProject():
            decide = getattr(services, "trust" if command.trusted else "distrust", None)
            if callable(decide):
                decide()
            return OutcomeNotice(id=command.id)


def _decide_held(
    command: ReleaseRequest | AskForAnotherSummary | UseOlderSummary, step_mode: StepMode
) -> bool:
    """Answer a held request; returns whether it was still held."""
    match command:
        case ReleaseRequest():
            return step_mode.release(command.hold)
        case AskForAnotherSummary():
            return step_mode.another_summary(command.hold)
        case UseOlderSummary():
            return step_mode.older_summary(command.hold)
