"""Raise an error in a cell whose turn failed, where the notebook runs unattended.

A notebook without a user (nbclient, Papermill, a scheduler) continues with the next cell unless a cell raises. The
cell's execute request shows whether a user is there (``allow_stdin``), and which kind of front end sent it.

Border: raises only; the answer is shown before.
"""

import os
from typing import Any

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.user_cells.requested_cells import running_request
from palimpsest.session.open_sessions.unattended_refusal import has_terminal
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_removal import scrubber

SUCCESSFUL_STOPS = frozenset({"finished", "cancelled"})
"""Values of ``stopped_by`` for which a cell does not fail; a turn that the user stopped raises TurnStopped."""

FAILURE_REASONS = {
    "rejected": "a call was refused",
    "steps": "it reached its step limit",
    "length": "the answer was cut at its length limit",
}
"""Reason by ``stopped_by``, for a turn that ended without an error."""


class AgentTurnFailed(UserError):
    """The turn of a cell did not finish; raised in unattended notebooks, or always if so configured.

    ``answer`` is the turn's answer, and ``answer.stopped_by`` the reason for its end.
    """

    def __init__(self, answer: AgentAnswer) -> None:
        stopped_by, scrub = answer.stopped_by, scrubber(os.environ)
        if answer.error is not None:
            reason = scrub(answer.error.message)
        else:
            reason = f"{FAILURE_REASONS.get(stopped_by, stopped_by)}."
        super().__init__(f"The agent's turn did not finish ({stopped_by}): {reason}")
        self.answer = answer


def raise_if_failed(answer: AgentAnswer, kernel_parts: KernelParts) -> None:
    """Raise AgentTurnFailed if the turn failed and the setting ``on_failure`` demands it."""
    if answer.stopped_by in SUCCESSFUL_STOPS:
        return
    on_failure = kernel_parts.services.config.value.on_failure
    if on_failure == "raise" or (on_failure == "auto" and not can_type(kernel_parts.shell)):
        raise AgentTurnFailed(answer)


def can_type(shell: Any) -> bool:
    """Return whether the front end of the running cell lets the user type an answer."""
    if getattr(shell, "kernel", None) is None:
        return has_terminal()
    content = running_request(shell).get("content") or {}
    return bool(content.get("allow_stdin", True))


def can_update_outputs(shell: Any) -> bool:
    """Return whether an output of the running cell can be updated in place.

    A terminal cannot, and neither can ``jupyter console`` nor qtconsole: they show a display once and ignore
    its updates. A page sends its cell's id in the request's metadata; a program does not allow stdin, or is
    nbclient, which keeps no history on disk. None of these is true for a console.
    """
    if getattr(shell, "kernel", None) is None:
        return False
    history_file = getattr(getattr(shell, "history_manager", None), "hist_file", "")
    has_metadata = bool(running_request(shell).get("metadata"))
    return has_metadata or not can_type(shell) or str(history_file) == ":memory:"
