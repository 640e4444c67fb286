"""The value of ``answer = %agent ...``: an agent's answer that a notebook can display."""

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from palimpsest.frontends.cell_turn.services import Pages
from palimpsest.frontends.user_cells.requested_cells import running_request
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.transcript.messages import parts_of
from palimpsest.transcript.parts import Part
from palimpsest.transcript.visible_text import visible_text

_PYTHON = re.compile(r"(?:i?python[23]?|py[23]?)?", re.IGNORECASE)


class AgentAnswer(Answer):
    """The answer to one prompt.

    ``str(answer)`` is its text. It displays nothing in the cell that produced it, since the answer
    is shown there already; anywhere else it displays its text.
    """

    # Unlike ``Answer``: equal by identity, and attributes can be set, as notebooks expect.
    __eq__, __hash__, __setattr__ = object.__eq__, object.__hash__, object.__setattr__

    def __init__(
        self, answer: Answer, shell: Any, pages: Pages, *, is_recorded: bool = False
    ) -> None:
        super().__init__(**{field.name: getattr(answer, field.name) for field in fields(Answer)})
        self._pages = pages
        self.recorded = is_recorded
        """Whether the answer comes from the session's record and nothing was sent."""
        self._shell = shell
        self._answer_execution_count = shell.execution_count

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of all messages of the turn, in order."""
        return tuple(parts_of(self.messages))

    @property
    def session(self) -> str:
        """The session's id."""
        return self.session_id

    @property
    def turn(self) -> str:
        """The turn's id."""
        return self.turn_id

    def to_cells(self) -> tuple[str, ...]:
        """Insert each Python listing of the answer as a new cell below this one, and return the listings.

        Runs nothing. Where no page can insert cells, one new cell holds all listings.
        """
        listings = python_listings(self.text)
        if not listings:
            return ()
        cell_id = (running_request(self._shell).get("metadata") or {}).get("cellId")
        if not self._pages.insert_cells(listings, cell_id):
            self._shell.set_next_input("\n\n".join(listings))
        return listings

    def __copy__(self) -> "AgentAnswer":
        return AgentAnswer(self, self._shell, self._pages, is_recorded=self.recorded)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"<answer of {self.steps} steps, {len(self.text)} characters, {self.stopped_by}, "
            f"session {self.session}>"
        )

    def _ipython_display_(self) -> None:
        if self._shell.execution_count != self._answer_execution_count:
            markdown = safe_markdown(self.text)
            data = {"text/markdown": markdown, "text/plain": visible_text(self.text)}
            self._shell.display_pub.publish(data)


def python_listings(markdown: str) -> tuple[str, ...]:
    r"""Return the contents of the code fences for Python or without a language, in order, except empty ones.

    The page shows buttons for the same listings (``state/text/codeListing.ts``).

    >>> python_listings("Try this:\n\n```python\nx = 1\n```\n\n```bash\nls\n```")
    ('x = 1',)
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 - the parser is needed for listings only

    return tuple(
        token.content.rstrip("\n")
        for token in MarkdownIt("commonmark").parse(markdown)
        if token.type == "fence"
        and _PYTHON.fullmatch(token.info.strip().partition(" ")[0])
        and token.content.strip()
    )
