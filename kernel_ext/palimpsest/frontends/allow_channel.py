"""What a page asks about permissions, modes, limits and trust, done and answered.

Border: called off the engine's loop, because what is kept for a project is a file.
"""

from typing import Any

from palimpsest.frontends.allowing import allowed_of, rules_of
from palimpsest.frontends.protocol import (
    ListAllowed,
    ModeChoice,
    OutcomeNotice,
    SetBudget,
    SetMode,
    TrustProject,
)
from palimpsest.session.interfaces.kernel_session import KernelSession
from palimpsest.tools.permission_rules.modes import MEANINGS, MODES

AboutPermissions = SetMode | SetBudget | ListAllowed | TrustProject


def answer(command: AboutPermissions, session: KernelSession, services: Any) -> OutcomeNotice:
    """Do what a page asks for; raises UserError with a sentence."""
    match command:
        case SetMode():
            session.control.use_mode(command.mode)
            return OutcomeNotice(id=command.id)
        case SetBudget():
            session.control.set_budget(usd=command.usd, tokens=command.tokens)
            return OutcomeNotice(id=command.id)
        case ListAllowed():
            if command.revoke is not None:
                session.control.revoke(*command.revoke)
            return OutcomeNotice(
                id=command.id,
                allowed=allowed_of(session.control),
                rules=rules_of(session.control),
            )
        case TrustProject():
            decide = getattr(services, "trust" if command.trusted else "distrust", None)
            if callable(decide):
                decide()
            return OutcomeNotice(id=command.id)


def choices(services: Any) -> dict[str, Any]:
    """Return which modes there are, which is the configured one, and what waits for trust."""
    config = getattr(services, "config", None)
    return {
        "modes": tuple(ModeChoice(name=mode, description=MEANINGS[mode]) for mode in MODES),
        "mode": getattr(getattr(config, "value", None), "mode", "ask"),
        "waits": tuple(one.words for one in getattr(config, "held", ())),
    }
