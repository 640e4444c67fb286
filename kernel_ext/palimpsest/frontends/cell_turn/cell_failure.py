"""Fail the cell whose turn failed, where nobody is there to read that it did.

A notebook that runs by itself (nbclient, Papermill, a scheduler) goes on to the next cell unless a cell
raises. Whether somebody is there is what the cell's own request says: ``allow_stdin``; it also says what kind of
front end sent it.

Border: decides and raises; the answer was shown before.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.session.prompts.unattended_refusal import has_terminal
from palimpsest.transcript.errors import UserError

WELL = frozenset({"finished", "cancelled"})
"""Ends after which a cell has not failed; who stops a turn is told in another way."""

WORDS = {
    "rejected": "a call was refused",
    "steps": "it reached its step limit",
    "length": "the answer was cut at its length limit",
}
"""What ended a turn that carries no error."""


class AgentTurnFailed(UserError):
    """The turn of a cell did not finish, and nobody is there to read that.

    ``answer`` is what came of it, ``answer.stopped_by`` says what ended it.
    """

    def __init__(self, answer: AgentAnswer, clean: Callable[[str], str] = str) -> None:
        by = answer.stopped_by
        why = clean(answer.error.message) if answer.error is not None else f"{WORDS.get(by, by)}."
        super().__init__(f"The agent's turn did not finish ({by}): {why}")
        self.answer = answer


def raise_if_failed(
    answer: AgentAnswer, services: Any, shell: Any, clean: Callable[[str], str]
) -> None:
    """Raise AgentTurnFailed where the turn failed and the setting ``on_failure`` lets the cell fail."""
    if answer.stopped_by in WELL:
        return
    config = getattr(getattr(services, "config", None), "value", None)
    chosen = getattr(config, "on_failure", "auto")
    if chosen == "raise" or (chosen == "auto" and not may_type(shell)):
        raise AgentTurnFailed(answer, clean)


def may_type(shell: Any) -> bool:
    """Tell whether the cell that runs came from somewhere where a person can type an answer."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return has_terminal()
    content = kernel.get_parent("shell").get("content") or {}
    return bool(content.get("allow_stdin", True))


def shows_updates(shell: Any) -> bool:
    """Tell whether an output of the cell that runs can be refreshed where it stands.

    A terminal cannot, and neither can ``jupyter console`` nor qtconsole: they show a display once and leave out its
    updates. A page names its cell in the request's metadata; a program lets nobody type, or is nbclient, which keeps
    no history on the disk. A console does none of these.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    history = getattr(getattr(shell, "history_manager", None), "hist_file", "")
    said = bool(kernel.get_parent("shell").get("metadata"))
    return said or not may_type(shell) or str(history) == ":memory:"
