"""One kernel in three hands: a person's command in a cell, Python in a cell, and a page's message."""

import ast
import uuid
from pathlib import Path
from typing import Any

from tests.harness.kernel import Kernel, Message, Run

WAYS = ("command", "Python", "protocol")
SETUP = """
import palimpsest
from palimpsest.model.script import calls, fails, says, stalls
from tests.harness.kernel_application import load
room = load(get_ipython())
now = palimpsest.current_session
"""


class ThreeInterfaces:
    """A kernel with a whole application, a cell to write in and a page that watches.

    Responsibilities: do a thing one of three ways; look at the state that it left; hear what is told.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        run = kernel.client.run(SETUP)
        assert run.status == "ok", run.reply["content"]
        kernel.request(type="watch", client="page")
        self._mark = 0
        self._session = ""

    @property
    def folder(self) -> Path:
        """The project."""
        return self.kernel.folder

    def begin(self, *answers: str, title: str = "") -> str:
        """Begin a session whose model answers like this; what was told before counts no more."""
        self.kernel.request(type="watch", client="page")
        self.kernel.script(*answers)
        self._mark = len(self.kernel.iopub)
        begun = self.sends(type="new", title=title or None)
        self._session = str(begun["session"]["session"])
        return self._session

    def cell(self, code: str, **options: Any) -> Run:
        """Run a cell that does not fail."""
        run = self.kernel.client.run(code, **options)
        assert run.status == "ok", run.reply["content"]
        return run

    def says(self, line: str) -> str:
        """Return the words below a cell with a command."""
        return self.cell(f"%agent {line}").story()

    def sends(self, **command: Any) -> Message:
        """Send a page's command and return what became of it, without an error."""
        found = self.outcome(self.posts(**command))
        assert "error" not in found, found
        return found

    def posts(self, **command: Any) -> str:
        """Send a page's command and wait for nothing; returns its id."""
        name = command.setdefault("id", uuid.uuid4().hex)
        reply = self.kernel.request(**command)
        assert reply["status"] == "ok", reply
        return str(name)

    def outcome(self, name: str) -> Message:
        """Wait for what became of a command."""
        message = self.kernel.wait(
            lambda m: m["content"].get("kind") == "outcome" and m["content"].get("id") == name
        )
        found: Message = message["content"]
        return found

    def picture(self) -> Message:
        """Return the whole session as a page is told it."""
        name = self.posts(type="resync")
        message = self.kernel.wait(
            lambda m: m["content"].get("resync") == name and m["content"]["last"]
        )
        found: Message = message["content"]
        return found

    def look(self, expression: str) -> Any:
        """Return what an expression of plain values gives in the kernel."""
        found = self.kernel.value(expression)
        try:
            return ast.literal_eval(found)
        except (SyntaxError, ValueError):
            raise AssertionError(f"{expression} is no plain value: {found}") from None

    def told(self, kind: str, **fields: Any) -> Message:
        """Wait for a record of the session that was begun last, as the page is told it."""

        def found(message: Message) -> Message | None:
            if self._session not in ("", message["content"].get("session")):
                return None  # what a session before it still had to say
            for one in message["content"].get("records", ()):
                if one["type"] == kind and all(one.get(k) == v for k, v in fields.items()):
                    return dict(one)
            return None

        message = self.kernel.wait(
            lambda m: m["header"]["msg_type"] == "palimpsest_notice" and found(m), since=self._mark
        )
        one = found(message)
        assert one is not None
        return one

    def mark(self) -> None:
        """Let ``told`` find only what is told from now on."""
        self._mark = len(self.kernel.iopub)

    def answers(self, *, prompt: str = "Hello.") -> str:
        """Ask in a cell and return what stands below it."""
        return self.says(f"--yes {prompt}")
