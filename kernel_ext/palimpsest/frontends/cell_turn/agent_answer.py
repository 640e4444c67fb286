"""The value of ``answer = %agent ...``: the agent's answer as an object that a notebook displays."""

from collections.abc import Sequence
from typing import Any

from palimpsest.frontends.cell_turn.code_listings import python_listings
from palimpsest.frontends.cell_turn.services import Pages
from palimpsest.frontends.turn_output.segments import parts_of
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message, StoppedBy
from palimpsest.transcript.parts import Part
from palimpsest.transcript.values import Usage
from palimpsest.transcript.visible_text import visible


class AgentAnswer:
    """The answer to one prompt.

    ``str(answer)`` is its text. In the cell that produced it it displays nothing, since the answer
    is shown there already; anywhere else it displays its text.
    """

    def __init__(self, answer: Answer, shell: Any, pages: Pages, *, recorded: bool = False) -> None:
        self._answer = answer
        self._pages = pages
        self.recorded = recorded
        """Whether nothing was sent for it: it was answered before, and its record is shown."""
        self._shell = shell
        self._came_at = shell.execution_count

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self._answer.text

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of all messages of the turn, in order."""
        return tuple(parts_of(self._answer.messages))

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of the turn, one for each step."""
        return self._answer.messages

    @property
    def usage(self) -> Usage:
        """Tokens that the provider reported, summed over the turn."""
        return self._answer.usage

    @property
    def cost(self) -> float | None:
        """US dollars; None when the price is unknown."""
        return self._answer.cost

    @property
    def steps(self) -> int:
        """How many model requests the turn made."""
        return self._answer.steps

    @property
    def error(self) -> ErrorValue | None:
        """Why the turn ended early, or None."""
        return self._answer.error

    @property
    def stopped_by(self) -> StoppedBy:
        """Why the turn ended; ``finished`` when it ended normally."""
        return self._answer.stopped_by

    @property
    def session(self) -> str:
        """The session's id."""
        return self._answer.session_id

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self._answer.turn_id

    def to_cells(self) -> tuple[str, ...]:
        """Put each Python listing of the answer into a new cell below this one, and return the listings.

        Nothing is run. Where no page can insert cells, one new cell holds all listings. Empty where the answer
        has none.
        """
        found = python_listings(self.text)
        if not found:
            return ()
        kernel = getattr(self._shell, "kernel", None)
        parent = kernel.get_parent("shell") if kernel is not None else {}
        cell_id = (parent.get("metadata") or {}).get("cellId")
        if not self._pages.insert_cells(found, cell_id):
            self._shell.set_next_input("\n\n".join(found))
        return found

    def as_value(self) -> Answer:
        """Return the answer as the session layer has it."""
        return self._answer

    def __str__(self) -> str:
        return self._answer.text

    def __repr__(self) -> str:
        return (
            f"<answer of {self.steps} steps, {len(self.text)} characters, {self.stopped_by}, "
            f"session {self.session}>"
        )

    def _ipython_display_(self) -> None:
        if self._shell.execution_count != self._came_at:
            markdown = safe_markdown(self.text)
            self._shell.display_pub.publish(
                {"text/markdown": markdown, "text/plain": visible(self.text)}
            )
