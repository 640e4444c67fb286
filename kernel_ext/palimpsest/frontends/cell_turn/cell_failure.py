"""Raise an error in a cell whose turn failed, when the notebook runs unattended.

A notebook that runs by itself (nbclient, Papermill, a scheduler) goes on to the next cell unless a cell
raises. Whether a person is there is read from the cell's own execute request (``allow_stdin``), and so is
the kind of front end that sent it.

Border: decides and raises; the answer was shown before.
"""

import os
from typing import Any

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.session.open_sessions.unattended_refusal import has_terminal
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_removal import scrubber

WELL = frozenset({"finished", "cancelled"})
"""Reasons to stop after which a cell does not fail; a turn that the user stopped raises TurnStopped."""

WORDS = {
    "rejected": "a call was refused",
    "steps": "it reached its step limit",
    "length": "the answer was cut at its length limit",
}
"""Descriptions of why a turn that carries no error ended, by ``stopped_by``."""


class AgentTurnFailed(UserError):
    """The turn of a cell did not finish; raised in unattended notebooks, or always if so configured.

    ``answer`` holds what the turn produced, ``answer.stopped_by`` why it ended.
    """

    def __init__(self, answer: AgentAnswer) -> None:
        by, clean = answer.stopped_by, scrubber(os.environ)
        why = clean(answer.error.message) if answer.error is not None else f"{WORDS.get(by, by)}."
        super().__init__(f"The agent's turn did not finish ({by}): {why}")
        self.answer = answer


def raise_if_failed(answer: AgentAnswer, parts: KernelParts) -> None:
    """Raise AgentTurnFailed where the turn failed and the setting ``on_failure`` lets the cell fail."""
    if answer.stopped_by in WELL:
        return
    chosen = parts.services.config.value.on_failure
    if chosen == "raise" or (chosen == "auto" and not may_type(parts.shell)):
        raise AgentTurnFailed(answer)


def may_type(shell: Any) -> bool:
    """Tell whether the running cell was sent by a front end where a person can type an answer."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return has_terminal()
    content = kernel.get_parent("shell").get("content") or {}
    return bool(content.get("allow_stdin", True))


def shows_updates(shell: Any) -> bool:
    """Tell whether an output of the running cell can be updated in place.

    A terminal cannot, and neither can ``jupyter console`` nor qtconsole: they show a display once and ignore
    its updates. A page names its cell in the request's metadata; a program does not allow stdin, or is
    nbclient, which keeps no history on disk. A console does none of these.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    history = getattr(getattr(shell, "history_manager", None), "hist_file", "")
    said = bool(kernel.get_parent("shell").get("metadata"))
    return said or not may_type(shell) or str(history) == ":memory:"
