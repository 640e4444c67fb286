"""Run ``%agent step``: switch step mode on or off, show what is held, and let it go.

Border: calls a session's ``StepMode`` and returns lines of text; ``frontends/subcommands/dispatch.py`` formats them.
"""

from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.interfaces.kernel_session import KernelSession

ON = (
    "Step mode is on in this session: each request is held, and shown with its cost, until you let it go. "
    "%agent step off ends it."
)
OFF = "Step mode is off in this session: requests are sent at once. %agent step on holds each."
NOTHING = "No request is held now."
SENT = "Sent."
SEND = "%agent step send lets it go, %agent stop ends the turn; pin, exclude, policy and budget change it first."


def run_step_command(argument: str, session: KernelSession) -> tuple[str, ...]:
    """Do what the argument says, ``on``, ``off``, ``send`` or ``status``, and return lines about it."""
    step_mode = session.step_mode
    match argument:
        case "on" | "off":
            step_mode.switch(on=argument == "on")
        case "send":
            sent = [one for one in session.held if step_mode.release(one.id)]
            return (SENT if sent else NOTHING,)
        case _:
            pass
    lines = [ON if step_mode.on else OFF]
    for one in session.held:
        lines += held_request_text(one).splitlines()
    return (*lines, *((SEND,) if session.held else ()))
