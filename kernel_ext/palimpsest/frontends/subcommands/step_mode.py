"""Run ``%agent step``: switch step mode on or off, show what is held, and let it go.

Border: calls a session's ``StepMode`` and returns lines of text; ``frontends/subcommands/dispatch.py`` formats them.
"""

from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.controls.step_mode import NO_NEW_SUMMARY, NONE_PUT_ASIDE
from palimpsest.session.open_sessions.followed_session import KernelSession

ON = (
    "Step mode is on in this session: each request is held, and shown with its cost, until you let it go. "
    "%agent step off ends it."
)
OFF = "Step mode is off in this session: requests are sent at once. %agent step on holds each."
NOTHING = "No request is held now."
SENT = "Sent."
SEND = "%agent step send lets it go, %agent stop ends the turn; pin, exclude, policy and budget change it first."
ANOTHER_SUMMARY = "The new summary is put aside, and another is requested."
OLDER_SUMMARY = "The summary that was put aside is used."


def run_step_command(argument: str, session: KernelSession) -> tuple[str, ...]:
    """Do what the argument says, ``on``, ``off``, ``send``, ``another``, ``older`` or ``status``; returns lines."""
    step_mode = session.step_mode
    match argument:
        case "on" | "off":
            step_mode.switch(on=argument == "on")
        case "send":
            sent = [one for one in session.held if step_mode.release(one.id)]
            return (SENT if sent else NOTHING,)
        case "another":
            new = [one for one in session.held if one.new_summary is not None]
            asked = [one for one in new if step_mode.another_summary(one.id)]
            return (ANOTHER_SUMMARY if asked else NO_NEW_SUMMARY,)
        case "older":
            aside = [one for one in session.held if one.older_summary is not None]
            used = [one for one in aside if step_mode.older_summary(one.id)]
            return (OLDER_SUMMARY if used else NONE_PUT_ASIDE,)
        case _:
            pass
    lines = [ON if step_mode.on else OFF]
    for one in session.held:
        lines += held_request_text(one).splitlines()
    return (*lines, *((SEND,) if session.held else ()))
