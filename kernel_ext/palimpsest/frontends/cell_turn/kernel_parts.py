"""The application, the main thread and the pages of one kernel, for the prompts of cells.

Border: opens sessions and shows texts in the running cell; the other modules of this folder use it.
"""

import os
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from palimpsest.frontends.cell_turn.agent_answer import AgentAnswer
from palimpsest.frontends.cell_turn.magic_line import MagicOptions
from palimpsest.frontends.cell_turn.services import FrontendServices, Pages
from palimpsest.frontends.kernel.main_thread import MainThread
from palimpsest.frontends.turn_output.mime_bundle import status_line
from palimpsest.render.safety.safe_markdown import safe_markdown
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.visible_text import visible_text

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class KernelParts:
    """The parts of one kernel that a cell's prompt uses."""

    services: FrontendServices
    main_thread: MainThread
    pages: Pages

    @property
    def shell(self) -> Any:
        """The shell that runs the cells."""
        return self.main_thread.shell

    def run(self, coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run a coroutine on the engine and return its result."""
        return self.services.engine.submit(coroutine).result()

    async def open_session(self, options: MagicOptions, notebook: str | None) -> KernelSession:
        """Return the session of a prompt, and make it the notebook's current one; on the engine."""
        workspace, permission = self.services.workspace, options.permission
        if options.new and options.session is None:
            session = await workspace.new(notebook, title=options.title, permission=permission)
        else:
            session = await workspace.open_or_current(options.session, notebook)
        self.pages.adopt(session)
        return session

    def cell_answer(self, answer: Answer, *, is_recorded: bool = False) -> AgentAnswer:
        """Return an answer as the object that cells receive."""
        return AgentAnswer(answer, self.shell, self.pages, is_recorded=is_recorded)

    def show_sentence(self, sentence: str) -> None:
        """Show a sentence about the turn in the cell, without secrets."""
        sentence = scrubber(os.environ)(sentence)
        data = {"text/markdown": status_line(sentence), "text/plain": visible_text(sentence)}
        self.shell.display_pub.publish(data, {})

    def show_text(self, text: str) -> None:
        """Show an answer's text in the cell, without secrets."""
        text = scrubber(os.environ)(text)
        data = {"text/markdown": safe_markdown(text), "text/plain": visible_text(text)}
        self.shell.display_pub.publish(data, {})
